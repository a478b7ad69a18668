//! Arms a joystick: creates its effects and starts them with zero force.

use crate::hid::force::PidEncoder;
use crate::hid::layout::{Choice, PidLayout};
use crate::hid::link::HidLink;
use crate::hid::report::{Report, Shape};
use crate::open_error::OpenError;
use std::time::Duration;

/// Maximum number of requests for the result of creating an effect.
const LOAD_ATTEMPTS: u32 = 20;
/// Interval between requests for the result of creating an effect.
const LOAD_WAIT: Duration = Duration::from_millis(5);
/// Time allowed for a device to reset.
const RESET_WAIT: Duration = Duration::from_millis(10);

/// Creates and starts one effect with zero force for each axis, and returns their block indices.
///
/// # Errors
/// If the device rejects a request or cannot play enough effects. The error names the request or the remedy.
pub fn arm(link: &mut dyn HidLink, code: &PidEncoder) -> Result<Vec<i64>, OpenError> {
    let layout = code.layout();
    let axes = layout.axes.len();
    send_command(link, layout.control.reset.as_ref())?;
    std::thread::sleep(RESET_WAIT);
    check_capacity(link, layout, axes)?;
    send_command(link, layout.control.enable.as_ref())?;
    if let Some((shape, gain)) = &layout.gain {
        write(link, &shape.empty().with(gain, gain.logical.1))?;
    }
    let mut blocks = Vec::new();
    for axis in 0..axes {
        let block = create(link, code).map_err(|error| error.of(&format!("effect {} of {axes}", axis + 1)))?;
        for report in [code.set_effect(axis, block), code.set_magnitude(block, 0), code.start(block)] {
            write(link, &report)?;
        }
        blocks.push(block);
    }
    Ok(blocks)
}

fn write(link: &mut dyn HidLink, report: &Report) -> Result<(), OpenError> {
    link.write(report).map_err(|error| OpenError::rejected(format!("report {}", report.bytes()[0]), &error))
}

/// Sends a Device Control command, if the device supports it.
///
/// # Errors
/// If the device rejects the command.
pub fn send_command(link: &mut dyn HidLink, command: Option<&(Shape, Choice)>) -> Result<(), OpenError> {
    command.map_or(Ok(()), |(shape, choice)| write(link, &shape.empty().with(&choice.field, choice.value)))
}

/// Rejects a device that reports fewer simultaneous effects than it has axes. A device that does not report the number
/// is accepted, because it may still work.
fn check_capacity(link: &mut dyn HidLink, layout: &PidLayout, axes: usize) -> Result<(), OpenError> {
    let Some((shape, field)) = &layout.simultaneous else { return Ok(()) };
    let mut report = shape.empty();
    if link.get_feature(&mut report).is_err() {
        return Ok(());
    }
    match report.get(field) {
        capacity if capacity > 0 && capacity < axes as i64 => {
            let effects = if capacity == 1 { "effect" } else { "effects" };
            let text =
                format!("it can play only {capacity} {effects} at a time, {axes} axes need {axes}; write axes = 1");
            Err(OpenError::Unsupported(text))
        }
        _ => Ok(()),
    }
}

/// Creates one constant effect and returns its block index.
fn create(link: &mut dyn HidLink, code: &PidEncoder) -> Result<i64, OpenError> {
    let load = &code.layout().load;
    link.set_feature(&code.create()).map_err(|error| OpenError::rejected("a new effect", &error))?;
    for _ in 0..LOAD_ATTEMPTS {
        let mut report = load.shape.empty();
        link.get_feature(&mut report)
            .map_err(|error| OpenError::rejected("a request for the result of a new effect", &error))?;
        let (block, status) = (report.get(&load.block_index), report.get(&load.success.field));
        if status == load.success.value && block > 0 {
            return Ok(block);
        }
        if Some(status) == load.full {
            let text = "it has no free effect; unplug it, or stop the program that uses it";
            return Err(OpenError::Unsupported(text.to_owned()));
        }
        std::thread::sleep(LOAD_WAIT);
    }
    Err(OpenError::Unsupported("it created no effect and gave no reason".to_owned()))
}

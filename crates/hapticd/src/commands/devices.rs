//! `hapticd devices`: lists connected devices and their backends, or reads a report descriptor ([`descriptor`]).

use super::{descriptor, print_json, print_line};
use crate::cli::DevicesArguments;
use crate::failure::Failure;
use haptic_backends::BACKENDS;
use haptic_backends::discovery::{Found, found};
use haptic_backends::native::SERIAL;
use haptic_device::KindSpec;
use serde::Serialize;

#[derive(Serialize)]
struct Devices {
    devices: Vec<Found>,
}

/// Runs the command.
///
/// # Errors
/// If the output cannot be written, or the report descriptor cannot be read.
pub fn devices(arguments: &DevicesArguments) -> Result<(), Failure> {
    if let Some(file) = &arguments.descriptor {
        return descriptor::describe(file, arguments.json);
    }
    let devices = found();
    if arguments.json {
        return print_json(&Devices { devices });
    }
    if devices.is_empty() {
        return print_line("no haptic device found; `hapticd emulate` creates a virtual one");
    }
    devices.iter().try_for_each(|found| print_line(&describe(found)))
}

fn describe(found: &Found) -> String {
    let Found { port, serial_number, name, usb, backend, axes, capabilities, unknown, missing } = found;
    let mut text = format!("{port}: {name} ({usb}), serial number {}", or_none(serial_number));
    let axes = axes.map(|axes| if axes == 1 { "one axis".to_owned() } else { format!("{axes} axes") });
    let abilities: Vec<String> =
        axes.into_iter().chain(Some(capabilities.clone())).filter(|text| !text.is_empty()).collect();
    if !abilities.is_empty() {
        text += &format!("\n    {}", abilities.join(": "));
    }
    text += &match found.can_be_driven() {
        true => format!("\n    driven by kind = \"{backend}\""),
        false => "\n    not supported".to_owned(),
    };
    if *backend == SERIAL.name {
        // Kinds of serial devices that cannot be recognised from their USB description.
        let hidden = BACKENDS.iter().filter(|other| other.recognise.is_none() && other.spec.keys.contains(&"port"));
        for KindSpec { name, about, .. } in hidden.map(|other| other.spec) {
            let device = about.split(':').next().unwrap_or(about);
            text += &format!("; if it is a {device}, write kind = \"{name}\"");
        }
    }
    for question in unknown {
        text += &format!("\n    not known: {question}");
    }
    for problem in missing {
        text += &format!("\n    missing: {problem}");
    }
    text
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

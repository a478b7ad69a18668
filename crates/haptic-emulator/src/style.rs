//! Force-feedback devices of several makers. They use the same HID usages but differ in report ids, ranges and layouts.

use crate::writer::{DescriptorWriter, GENERIC_DESKTOP, Main, PHYSICAL_INTERFACE};

/// Encoding of a command in a Device Control report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// One bit per command.
    Bits,
    /// One number per command, counted from one.
    Numbers,
}

/// A command in a Device Control report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlCommand {
    /// Switches the motors on.
    Enable,
    /// Switches the motors off.
    Disable,
    /// Stops all effects.
    Stop,
    /// Deletes all effects.
    Reset,
    /// Pauses all effects.
    Pause,
    /// Continues all effects.
    Continue,
}

impl ControlCommand {
    fn usage(self) -> i64 {
        match self {
            Self::Enable => 0x97,
            Self::Disable => 0x98,
            Self::Stop => 0x99,
            Self::Reset => 0x9A,
            Self::Pause => 0x9B,
            Self::Continue => 0x9C,
        }
    }
}

/// A field of a Set Effect report that follows the block index and the effect type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Duration of the effect, u16, ms.
    Duration,
    /// Trigger repeat interval, u16, ms.
    TriggerRepeat,
    /// Sample period, u16, ms.
    SamplePeriod,
    /// Start delay, u16, ms.
    StartDelay,
    /// Gain of the effect; the width depends on the style.
    Gain,
    /// Trigger button, u8.
    TriggerButton,
    /// Enable bits for x, y and direction, u8.
    Enables,
    /// Direction, as two numbers; the width depends on the style.
    Directions,
    /// Offsets of type-specific blocks, two u16, which constant forces do not need.
    BlockOffsets,
}

/// Report layout of one maker's force-feedback device with two axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "ids and ranges of the reports they name")]
pub struct Style {
    pub name: &'static str,
    pub vendor: u16,
    pub product: u16,
    pub input_id: u8,
    pub button_bytes: usize,
    /// Number of hats after the buttons, four bits each, an even number. Their unit and physical range are left standing
    /// for the axes.
    pub hats: usize,
    /// Usages of the axes, 16 bits each: x, y, then axes without motors, such as pedals.
    pub axes: &'static [i64],
    /// Whether an input report is sent only when something in it has changed, and else every [`REPEAT_US`].
    pub reports_changes: bool,
    pub axis_range: (i64, i64),
    pub effect_id: u8,
    pub effect_parts: &'static [Part],
    pub effect_gain_max: i64,
    pub direction_max: i64,
    pub envelope_id: u8,
    pub constant_id: u8,
    pub magnitude_max: i64,
    pub operation_id: u8,
    pub free_id: u8,
    pub control_id: u8,
    pub control: Control,
    /// Device Control commands, in the order of their bits or numbers.
    pub commands: [ControlCommand; 6],
    pub gain_id: u8,
    pub gain_max: i64,
    pub create_id: u8,
    pub load_id: u8,
    pub pool_id: u8,
    pub blocks: u8,
}

use ControlCommand::{Continue, Disable, Enable, Pause, Reset, Stop};
use Part::{BlockOffsets, Directions, Duration, Enables, Gain, SamplePeriod, StartDelay, TriggerButton, TriggerRepeat};

/// Interval at which a device that reports only changes repeats an unchanged report, µs.
pub const REPEAT_US: u64 = 100_000;

/// OpenFFBoard 1.17 with two motors: eight axes, reports only when something has changed, 16-bit directions, one bit per
/// Device Control command, and feature report ids above the output report ids.
pub const OPEN_FFBOARD: Style = Style {
    name: "openffboard",
    vendor: 0x1209,
    product: 0xFFB0,
    input_id: 1,
    button_bytes: 8,
    hats: 0,
    // Z to Rz, dial and slider carry the analog inputs.
    axes: &[0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x37, 0x36],
    reports_changes: true,
    axis_range: (-32767, 32767),
    effect_id: 1,
    effect_parts: &[
        Duration,
        TriggerRepeat,
        SamplePeriod,
        StartDelay,
        Gain,
        TriggerButton,
        Enables,
        Directions,
        BlockOffsets,
    ],
    effect_gain_max: 255,
    direction_max: 36000,
    envelope_id: 2,
    constant_id: 5,
    magnitude_max: 32767,
    operation_id: 0x0A,
    free_id: 0x0B,
    control_id: 0x0C,
    control: Control::Bits,
    commands: [Enable, Disable, Stop, Reset, Pause, Continue],
    gain_id: 0x0D,
    gain_max: 255,
    create_id: 0x11,
    load_id: 0x12,
    pool_id: 0x13,
    blocks: 40,
};

/// Arduino force-feedback library: two hats ahead of the axes, 8-bit directions, no start delay, and one number per
/// Device Control command.
pub const ARDUINO: Style = Style {
    name: "arduino",
    vendor: 0x2341,
    product: 0x8036,
    input_id: 1,
    button_bytes: 4,
    hats: 2,
    axes: &[0x30, 0x31, 0x32, 0x33, 0x34, 0x35],
    reports_changes: false,
    axis_range: (-32767, 32767),
    effect_id: 1,
    effect_parts: &[Duration, TriggerRepeat, SamplePeriod, Gain, TriggerButton, Enables, Directions, BlockOffsets],
    effect_gain_max: 255,
    direction_max: 255,
    envelope_id: 2,
    constant_id: 5,
    magnitude_max: 10000,
    operation_id: 0x0A,
    free_id: 0x0B,
    control_id: 0x0C,
    control: Control::Numbers,
    commands: [Enable, Disable, Stop, Reset, Pause, Continue],
    gain_id: 0x0D,
    gain_max: 255,
    create_id: 5,
    load_id: 6,
    pool_id: 7,
    blocks: 14,
};

/// VPforce: output report ids above 100, 16-bit gains, the start delay last in Set Effect, and Disable before Enable in
/// Device Control.
pub const VPFORCE: Style = Style {
    name: "vpforce",
    vendor: 0xFFFF,
    product: 0x2055,
    input_id: 1,
    button_bytes: 4,
    hats: 0,
    axes: &[0x30, 0x31],
    reports_changes: false,
    axis_range: (-4096, 4096),
    effect_id: 101,
    effect_parts: &[Duration, TriggerRepeat, SamplePeriod, Gain, TriggerButton, Enables, Directions, StartDelay],
    effect_gain_max: 4096,
    direction_max: 255,
    envelope_id: 102,
    constant_id: 105,
    magnitude_max: 4096,
    operation_id: 110,
    free_id: 111,
    control_id: 112,
    control: Control::Numbers,
    commands: [Disable, Enable, Stop, Reset, Pause, Continue],
    gain_id: 113,
    gain_max: 4096,
    create_id: 5,
    load_id: 6,
    pool_id: 7,
    blocks: 30,
};

/// All styles.
pub const STYLES: [Style; 3] = [OPEN_FFBOARD, ARDUINO, VPFORCE];

/// Width of a number up to `maximum`, bytes: one or two.
pub(crate) fn width(maximum: i64) -> usize {
    if maximum <= 0xFF { 1 } else { 2 }
}

impl Style {
    /// Length of a field of a Set Effect report, bytes.
    pub fn part_bytes(&self, part: Part) -> usize {
        match part {
            Duration | TriggerRepeat | SamplePeriod | StartDelay => 2,
            TriggerButton | Enables => 1,
            Gain => width(self.effect_gain_max),
            Directions => 2 * width(self.direction_max),
            BlockOffsets => 4,
        }
    }

    /// Offset of a field in a Set Effect report, bytes, counted from the report id; `None` if the style has no such
    /// field.
    pub fn part_offset(&self, part: Part) -> Option<usize> {
        let before = self.effect_parts.iter().position(|other| *other == part)?;
        Some(3 + self.effect_parts[..before].iter().map(|part| self.part_bytes(*part)).sum::<usize>())
    }

    /// Length of a Set Effect report, bytes, including the report id.
    pub fn effect_bytes(&self) -> usize {
        3 + self.effect_parts.iter().map(|part| self.part_bytes(*part)).sum::<usize>()
    }

    /// Length of a Set Envelope report, bytes, including the report id.
    pub fn envelope_bytes(&self) -> usize {
        14
    }

    /// Returns the report descriptor of a device of this style.
    pub fn descriptor(&self) -> Vec<u8> {
        let mut writer = DescriptorWriter::default();
        writer.page(GENERIC_DESKTOP);
        writer.application(0x04, |writer| {
            self.write_input(writer);
            writer.page(PHYSICAL_INTERFACE);
            self.write_state(writer);
            self.write_set_effect(writer);
            self.write_envelope(writer);
            self.write_constant(writer);
            self.write_operation(writer);
            self.write_control(writer);
            self.write_features(writer);
        });
        writer.into_bytes()
    }

    fn write_input(&self, writer: &mut DescriptorWriter) {
        const BUTTON_PAGE: i64 = 0x09;
        writer.report_id(self.input_id);
        writer.page(BUTTON_PAGE);
        let buttons: Vec<i64> = (1..=8 * self.button_bytes as i64).collect();
        writer.usages(&buttons);
        writer.numbers(Main::Input, 1, buttons.len() as i64, (0, 1));
        writer.page(GENERIC_DESKTOP);
        if self.hats > 0 {
            writer.physical((0, 315));
            writer.unit(0x14, 0);
            writer.usages(&vec![0x39; self.hats]);
            writer.numbers(Main::Input, 4, self.hats as i64, (0, 7));
        }
        writer.usages(self.axes);
        writer.numbers(Main::Input, 16, self.axes.len() as i64, self.axis_range);
        writer.physical((0, 0));
        writer.unit(0, 0);
    }

    /// Writes PID State, an input report with five flags.
    fn write_state(&self, writer: &mut DescriptorWriter) {
        writer.logical(0x92, |writer| {
            writer.report_id(2);
            writer.usages(&[0x9F, 0xA0, 0xA4, 0xA6, 0x94]);
            writer.numbers(Main::Input, 1, 5, (0, 1));
            writer.padding(Main::Input, 3);
        });
    }

    fn write_block_index(&self, writer: &mut DescriptorWriter, main: Main) {
        writer.usage(0x22);
        writer.numbers(main, 8, 1, (1, i64::from(self.blocks)));
    }

    fn write_effect_types(&self, writer: &mut DescriptorWriter, main: Main) {
        const TYPES: [i64; 11] = [0x26, 0x27, 0x30, 0x31, 0x32, 0x33, 0x34, 0x40, 0x41, 0x42, 0x43];
        writer.logical(0x25, |writer| {
            writer.usages(&TYPES);
            writer.choice(main, 8, (1, TYPES.len() as i64));
        });
    }

    fn write_set_effect(&self, writer: &mut DescriptorWriter) {
        writer.logical(0x21, |writer| {
            writer.report_id(self.effect_id);
            self.write_block_index(writer, Main::Output);
            self.write_effect_types(writer, Main::Output);
            self.effect_parts.iter().for_each(|part| self.write_part(writer, *part));
        });
    }

    fn write_part(&self, writer: &mut DescriptorWriter, part: Part) {
        match part {
            Duration => write_times(writer, &[0x50], 16),
            TriggerRepeat => write_times(writer, &[0x54], 16),
            SamplePeriod => write_times(writer, &[0x51], 16),
            StartDelay => write_times(writer, &[0xA7], 16),
            Gain => write_number(writer, 0x52, (0, self.effect_gain_max)),
            TriggerButton => write_number(writer, 0x53, (0, 255)),
            Enables => write_enables(writer),
            Directions => self.write_directions(writer),
            BlockOffsets => writer.logical(0x58, |writer| {
                writer.usages(&INSTANCES);
                writer.numbers(Main::Output, 16, 2, (0, 32765));
            }),
        }
    }

    fn write_directions(&self, writer: &mut DescriptorWriter) {
        writer.logical(0x57, |writer| {
            writer.usages(&INSTANCES);
            writer.physical((0, 36000));
            writer.numbers(Main::Output, 8 * width(self.direction_max) as i64, 2, (0, self.direction_max));
            writer.physical((0, 0));
        });
    }

    /// Writes Set Envelope, with the attack and fade levels and times. Without this report, the kernel's driver offers
    /// no constant force.
    fn write_envelope(&self, writer: &mut DescriptorWriter) {
        writer.logical(0x5A, |writer| {
            writer.report_id(self.envelope_id);
            self.write_block_index(writer, Main::Output);
            writer.usages(&[0x5B, 0x5D]);
            writer.numbers(Main::Output, 16, 2, (0, self.magnitude_max));
            write_times(writer, &[0x5C, 0x5E], 32);
        });
    }

    fn write_constant(&self, writer: &mut DescriptorWriter) {
        writer.logical(0x73, |writer| {
            writer.report_id(self.constant_id);
            self.write_block_index(writer, Main::Output);
            writer.usage(0x70);
            writer.numbers(Main::Output, 16, 1, (-self.magnitude_max, self.magnitude_max));
        });
    }

    fn write_operation(&self, writer: &mut DescriptorWriter) {
        writer.logical(0x77, |writer| {
            writer.report_id(self.operation_id);
            self.write_block_index(writer, Main::Output);
            writer.logical(0x78, |writer| {
                writer.usages(&[0x79, 0x7A, 0x7B]);
                writer.choice(Main::Output, 8, (1, 3));
            });
            write_number(writer, 0x7C, (0, 255));
        });
        writer.logical(0x90, |writer| {
            writer.report_id(self.free_id);
            self.write_block_index(writer, Main::Output);
        });
    }

    fn write_control(&self, writer: &mut DescriptorWriter) {
        let usages = self.commands.map(ControlCommand::usage);
        writer.logical(0x96, |writer| {
            writer.report_id(self.control_id);
            writer.usages(&usages);
            match self.control {
                Control::Bits => {
                    writer.numbers(Main::Output, 1, usages.len() as i64, (0, 1));
                    writer.padding(Main::Output, 8 - usages.len() as i64);
                }
                Control::Numbers => writer.choice(Main::Output, 8, (1, usages.len() as i64)),
            }
        });
        writer.logical(0x7D, |writer| {
            writer.report_id(self.gain_id);
            write_number(writer, 0x7E, (0, self.gain_max));
        });
    }

    fn write_features(&self, writer: &mut DescriptorWriter) {
        writer.logical(0xAB, |writer| {
            writer.report_id(self.create_id);
            self.write_effect_types(writer, Main::Feature);
            writer.page(GENERIC_DESKTOP);
            writer.usage(0x3B);
            writer.numbers(Main::Feature, 10, 1, (0, 511));
            writer.padding(Main::Feature, 6);
            writer.page(PHYSICAL_INTERFACE);
        });
        writer.logical(0x89, |writer| {
            writer.report_id(self.load_id);
            self.write_block_index(writer, Main::Feature);
            writer.logical(0x8B, |writer| {
                writer.usages(&[0x8C, 0x8D, 0x8E]);
                writer.choice(Main::Feature, 8, (1, 3));
            });
            writer.usage(0xAC);
            writer.numbers(Main::Feature, 16, 1, (0, 65535));
        });
        writer.logical(0x7F, |writer| {
            writer.report_id(self.pool_id);
            writer.usage(0x80);
            writer.numbers(Main::Feature, 16, 1, (0, 65535));
            writer.usage(0x83);
            writer.numbers(Main::Feature, 8, 1, (0, 255));
            writer.usages(&[0xA9, 0xAA]);
            writer.numbers(Main::Feature, 1, 2, (0, 1));
            writer.padding(Main::Feature, 6);
        });
    }
}

/// Instances 1 and 2 of the Ordinals page.
const INSTANCES: [i64; 2] = [0x000A_0001, 0x000A_0002];

/// Writes times in milliseconds: the unit is the second (English linear system), with exponent −3.
fn write_times(writer: &mut DescriptorWriter, usages: &[i64], bits: i64) {
    writer.usages(usages);
    writer.unit(0x1003, -3);
    writer.numbers(Main::Output, bits, usages.len() as i64, (0, 32767));
    writer.unit(0, 0);
}

fn write_number(writer: &mut DescriptorWriter, usage: i64, range: (i64, i64)) {
    writer.usage(usage);
    writer.numbers(Main::Output, 8 * width(range.1) as i64, 1, range);
}

fn write_enables(writer: &mut DescriptorWriter) {
    writer.logical(0x55, |writer| {
        writer.page(GENERIC_DESKTOP);
        writer.usages(&[0x30, 0x31]);
        writer.numbers(Main::Output, 1, 2, (0, 1));
    });
    writer.page(PHYSICAL_INTERFACE);
    writer.usage(0x56);
    writer.numbers(Main::Output, 1, 1, (0, 1));
    writer.padding(Main::Output, 5);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_effect_is_as_long_as_in_the_firmware_it_is_named_after() {
        assert_eq!(STYLES.map(|style| style.effect_bytes()), [22, 18, 17]);
    }
}

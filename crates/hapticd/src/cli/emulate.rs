//! Arguments of `emulate`.

use super::values::{above_zero, fraction, milliseconds, seconds, seed};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use haptic_backends::serial::HaplyVariant;
use haptic_device::config::ReversedAxes;
use haptic_emulator::emulators::{EMULATORS, Emulator};
use haptic_emulator::interval::Interval;
use haptic_emulator::planned_fault::PlannedFault;
use haptic_emulator::serial::OdriveFirmware;
use std::path::PathBuf;

/// Arguments of `emulate`.
#[derive(Args, Clone, Debug)]
pub struct EmulateArguments {
    /// Device to emulate.
    #[arg(value_parser = emulator())]
    pub kind: &'static Emulator,
    /// Path of the port to create; use it as `port` in a device file.
    #[arg(long, value_name = "PATH")]
    pub link: PathBuf,
    /// Model and hand: the file of a simulated device, or the name of a built-in device.
    #[arg(long, value_name = "FILE")]
    pub device: Option<String>,
    /// Send velocities as well as positions (native).
    #[arg(long)]
    pub velocity: bool,
    /// Variant of the board (haply-2diy).
    #[arg(long, value_parser = haply_variant(), default_value = HaplyVariant::ALL[0].variant)]
    pub variant: HaplyVariant,
    /// Metres of handle travel per radian of the motor (odrive).
    #[arg(
        long,
        default_value = "0.05",
        value_parser = above_zero("0.02"),
        allow_negative_numbers = true,
        value_name = "METRES"
    )]
    pub lever_m: f64,
    /// Firmware (odrive).
    #[arg(long, value_parser = odrive_firmware(), default_value = OdriveFirmware::ALL[0].version)]
    pub firmware: &'static OdriveFirmware,
    /// Report this major version of the protocol (native).
    #[arg(long, default_value = "1", value_name = "MAJOR", allow_negative_numbers = true)]
    pub protocol_version: u8,
    /// Fraction of exchanges to drop.
    #[arg(long, value_parser = fraction(), allow_negative_numbers = true, default_value = "0", value_name = "FRACTION")]
    pub drop: f64,
    /// Fraction of exchanges to corrupt.
    #[arg(long, value_parser = fraction(), allow_negative_numbers = true, default_value = "0", value_name = "FRACTION")]
    pub garbage: f64,
    /// Maximum random delay of a reply in milliseconds.
    #[arg(
        long,
        value_parser = milliseconds(),
        allow_negative_numbers = true,
        default_value = "0",
        value_name = "MILLISECONDS"
    )]
    pub delay_ms: f64,
    /// Unplug once, after this many seconds.
    #[arg(long, value_parser = seconds(), allow_negative_numbers = true, value_name = "SECONDS")]
    pub die_after: Option<f64>,
    /// With --die-after, stay unplugged for this many seconds.
    #[arg(long, value_parser = seconds(), allow_negative_numbers = true, default_value = "0.3", value_name = "SECONDS")]
    pub dead_for: f64,
    /// Press the emergency stop START seconds after the start of the emulation, for SECONDS seconds; may be repeated
    /// (native).
    #[arg(long, value_name = "START+SECONDS", allow_hyphen_values = true)]
    pub emergency_stop: Vec<Interval>,
    /// Inject the fault KIND START seconds after the start of the emulation, for SECONDS seconds; may be repeated.
    ///
    /// KIND is frozen (the encoders report their last value), jump (all readings are off by -1 mm), drift (all readings
    /// drift at -20 mm/s), reversed (displacements since the start of the fault are reported with the opposite sign),
    /// late (readings are 20 ms old, answers on time), doubled (answers are sent twice), cut-in (bytes from the host do
    /// not arrive), cut-out (answers do not arrive at the host) or garbage (one byte of each message is damaged).
    #[arg(long, value_name = "KIND@START+SECONDS", allow_hyphen_values = true)]
    pub fault: Vec<PlannedFault>,
    /// Reverse the motor of this axis, or of arm 1 (x) or 2 (y); may be repeated.
    #[arg(long, value_name = "AXIS", value_parser = axis())]
    pub reverse_motor: Vec<usize>,
    /// Reverse the encoder of this axis, or of arm 1 (x) or 2 (y); may be repeated.
    #[arg(long, value_name = "AXIS", value_parser = axis())]
    pub reverse_encoder: Vec<usize>,
    /// Write one row per millisecond: time, handle position and motor force.
    #[arg(long, value_name = "FILE.csv")]
    pub trace: Option<PathBuf>,
    /// Random seed.
    #[arg(long, default_value = "1", value_parser = seed(), allow_negative_numbers = true)]
    pub seed: u64,
    /// End the emulation after this many seconds.
    #[arg(long, value_parser = seconds(), allow_negative_numbers = true)]
    pub seconds: Option<f64>,
}

impl EmulateArguments {
    /// Axes whose motor or encoder is reversed.
    pub fn reversed_axes(&self) -> ReversedAxes {
        let flags = |axes: &[usize]| [0, 1].map(|axis| axes.contains(&axis));
        ReversedAxes { force: flags(&self.reverse_motor), position: flags(&self.reverse_encoder) }
    }
}

fn axis() -> impl TypedValueParser<Value = usize> {
    PossibleValuesParser::new(["x", "y"]).map(|name| usize::from(name == "y"))
}

fn emulator() -> impl TypedValueParser<Value = &'static Emulator> {
    let names = EMULATORS.iter().map(|emulator| PossibleValue::new(emulator.name).help(emulator.about));
    PossibleValuesParser::new(names)
        .try_map(|name| EMULATORS.iter().find(|emulator| emulator.name == name).ok_or("no such device"))
}

fn haply_variant() -> impl TypedValueParser<Value = HaplyVariant> {
    PossibleValuesParser::new(HaplyVariant::ALL.map(|known| known.variant))
        .try_map(|name| HaplyVariant::by_name(&name).ok_or("no such variant"))
}

fn odrive_firmware() -> impl TypedValueParser<Value = &'static OdriveFirmware> {
    PossibleValuesParser::new(OdriveFirmware::ALL.map(|known| known.version))
        .try_map(|version| OdriveFirmware::by_version(&version).ok_or("no such firmware"))
}

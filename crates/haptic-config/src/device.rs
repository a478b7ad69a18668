//! The device file: what is driven, how it behaves, and for a simulated one, the hand that holds it.

use crate::calibration::Calibration;
use crate::error::FileErrors;
use crate::kind::FileKind;
use crate::rule::{POSITIVE, ZERO_OR_MORE};
use crate::section::{Document, Section};
use crate::source::Source;
use haptic_device::{DeviceModel, HandModel};

/// A whole device file.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceFile {
    /// Which backend drives it.
    pub kind: DeviceKind,
    /// 1 or 2.
    pub axes: usize,
    /// The file says how many axes there are; a board that was asked for without tells its own number.
    pub axes_are_given: bool,
    /// How it is found on this machine.
    pub identity: Identity,
    /// Metres per radian of rotary axes.
    pub lever_m: f64,
    /// Silence after which the device itself cuts its force, s.
    pub watchdog_s: f64,
    /// How its counts become metres and its largest magnitudes newtons.
    pub calibration: Calibration,
    /// How it behaves.
    pub model: Model,
    /// The simulated hand that holds it, if any.
    pub hand: Option<SimulatedHand>,
    /// Keys that are there and change nothing, in words.
    pub ignored_keys: Vec<String>,
}

/// Which backend drives a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the file")]
pub enum DeviceKind {
    Simulated,
    Serial,
    Haply2Diy,
    HidPid,
    HidNative,
    Evdev,
    Odrive,
}

/// The kinds by their names in the file.
pub const DEVICE_KINDS: [(&str, DeviceKind); 7] = [
    ("simulated", DeviceKind::Simulated),
    ("serial", DeviceKind::Serial),
    ("haply-2diy", DeviceKind::Haply2Diy),
    ("hid-pid", DeviceKind::HidPid),
    ("hid-native", DeviceKind::HidNative),
    ("evdev", DeviceKind::Evdev),
    ("odrive", DeviceKind::Odrive),
];

impl DeviceKind {
    /// Its name in the file.
    pub fn name(self) -> &'static str {
        DEVICE_KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// How a device is found: by where it is plugged in, or by what it says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Serial port.
    pub port: Option<String>,
    /// Bits per second of the serial port.
    pub baud: u32,
    /// Which make of the Haply 2DIY.
    pub variant: HaplyVariant,
    /// Device node.
    pub path: Option<String>,
    /// USB vendor.
    pub vendor_id: Option<u16>,
    /// USB product.
    pub product_id: Option<u16>,
    /// Serial number.
    pub serial_number: Option<String>,
}

/// Makes of the Haply 2DIY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the file")]
pub enum HaplyVariant {
    #[default]
    V3,
    V2,
    Kit,
}

/// How a device behaves; one value per axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Moving mass, kg.
    pub mass_kg: [f64; 2],
    /// Viscous friction, N·s/m.
    pub damping_n_s_per_m: [f64; 2],
    /// The damping was not given and is a cautious guess.
    pub damping_is_assumed: bool,
    /// Dry friction, N.
    pub coulomb_n: [f64; 2],
    /// Step of the encoder, m; zero for none.
    pub encoder_step_m: [f64; 2],
    /// From the command to the force, s.
    pub delay_s: [f64; 2],
    /// Largest force, N.
    pub max_force_n: [f64; 2],
}

/// The hand that holds a simulated device.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedHand {
    /// Spring to the path, N/m.
    pub stiffness_n_per_m: f64,
    /// Damper to the path, N·s/m.
    pub damping_n_s_per_m: f64,
    /// Mass that rides on the device, kg.
    pub mass_kg: f64,
    /// Rows of t_s, x_m, y_m in the device's frame; at least one, times increasing.
    pub path: Vec<[f64; 3]>,
    /// Starts over after the last point.
    pub repeats: bool,
}

impl DeviceFile {
    /// The dynamics, as the simulated device obeys them. The force limit of the weaker axis holds for the whole vector.
    pub fn axes_model(&self) -> DeviceModel {
        let Model { mass_kg, damping_n_s_per_m, coulomb_n, encoder_step_m, delay_s, max_force_n, .. } = self.model;
        let max_force_n = max_force_n[..self.axes].iter().copied().fold(f64::INFINITY, f64::min);
        DeviceModel { mass_kg, damping_n_s_per_m, coulomb_n, encoder_step_m, delay_s, max_force_n }
    }
}

impl SimulatedHand {
    /// The hand, as the simulated device obeys it.
    pub fn model(&self) -> HandModel {
        let Self { stiffness_n_per_m, damping_n_s_per_m, mass_kg, path, repeats } = self.clone();
        HandModel { stiffness_n_per_m, damping_n_s_per_m, mass_kg, path, looped: repeats }
    }
}

/// Reads a device file.
///
/// # Errors
/// Everything that is wrong in the text.
pub fn load(source: &Source) -> Result<DeviceFile, FileErrors> {
    load_device(source).map_err(|errors| FileKind::Device.blame(source, errors))
}

fn load_device(source: &Source) -> Result<DeviceFile, FileErrors> {
    let document = Document::parse(source)?;
    let device = device(&document.root());
    document.conclude(Some(device))
}

fn device(root: &Section<'_>) -> DeviceFile {
    let kind = root.choice("kind", &DEVICE_KINDS, DeviceKind::Simulated);
    let axes = axes(root, kind);
    let device = DeviceFile {
        kind,
        axes,
        axes_are_given: root.has("axes"),
        identity: identity(root),
        lever_m: root.number("lever_m", 0.05, POSITIVE),
        watchdog_s: watchdog_s(root),
        calibration: Calibration::read(root, axes),
        model: model(&root.section("model"), kind, axes),
        hand: hand(root, kind),
        ignored_keys: ignored_keys(root, kind),
    };
    root.reject_unknown_keys();
    device
}

/// Every key that only some kinds of device obey, and which do.
const KEYS_OF_KINDS: [(&str, &[DeviceKind]); 13] = {
    use DeviceKind::{Evdev, Haply2Diy, HidNative, HidPid, Odrive, Serial};
    const LINE: &[DeviceKind] = &[Serial, Haply2Diy, Odrive];
    const NODE: &[DeviceKind] = &[HidPid, HidNative, Evdev];
    const JOYSTICK: &[DeviceKind] = &[HidPid, Evdev];
    [
        ("port", LINE),
        ("baud", LINE),
        ("variant", &[Haply2Diy]),
        ("path", NODE),
        ("vendor_id", NODE),
        ("product_id", NODE),
        ("serial_number", &[Serial, Haply2Diy, Odrive, HidPid, HidNative, Evdev]),
        ("lever_m", &[Serial, Odrive, HidPid, HidNative, Evdev]),
        ("watchdog_s", &[Serial, Haply2Diy, Odrive, HidNative]),
        ("travel_m", JOYSTICK),
        ("centre_counts", JOYSTICK),
        ("reverse_force_x", JOYSTICK),
        ("reverse_force_y", JOYSTICK),
    ]
};

/// A key that changes nothing was perhaps written for a reason; or the file is for several kinds, of which one is chosen.
fn ignored_keys(root: &Section<'_>, kind: DeviceKind) -> Vec<String> {
    let is_idle = |(key, kinds): &(&'static str, &[DeviceKind])| root.has(key) && !kinds.contains(&kind);
    let told = |(key, kinds): (&str, &[DeviceKind])| {
        let names: Vec<String> = kinds.iter().map(|kind| format!("\"{}\"", kind.name())).collect();
        format!("{key} has no effect on a device of kind \"{}\", only with kind = {}", kind.name(), names.join(" or "))
    };
    KEYS_OF_KINDS.into_iter().filter(is_idle).map(told).collect()
}

/// Where a serial device is looked for if nothing says where.
pub const DEFAULT_PORT: &str = "/dev/ttyACM0";

/// Some kinds have a number of axes of their own.
fn axes(root: &Section<'_>, kind: DeviceKind) -> usize {
    let own = match kind {
        DeviceKind::Odrive => Some(1),
        DeviceKind::Haply2Diy => Some(2),
        _ => None,
    };
    let axes = root.whole("axes", own.unwrap_or(2), 1..=2);
    if let Some(own) = own.filter(|own| *own != axes) {
        let problem = format!("is {axes}, but a device of kind {} has {own}", kind.name());
        root.complain("axes", problem, format!("write axes = {own}"));
    }
    axes as usize
}

fn identity(root: &Section<'_>) -> Identity {
    let variants = [("v3", HaplyVariant::V3), ("v2", HaplyVariant::V2), ("kit", HaplyVariant::Kit)];
    Identity {
        port: root.text("port", DEFAULT_PORT).map(str::to_owned),
        baud: root.whole("baud", 1_000_000, 1..=100_000_000) as u32,
        variant: root.choice("variant", &variants, HaplyVariant::V3),
        path: root.text("path", "/dev/hidraw0").map(str::to_owned),
        vendor_id: root.optional_whole("vendor_id", 0x2341, 0..=0xFFFF).map(|id| id as u16),
        product_id: root.optional_whole("product_id", 0x0043, 0..=0xFFFF).map(|id| id as u16),
        serial_number: root.text("serial_number", "A1B2C3").map(str::to_owned),
    }
}

/// No host that is well stays silent for longer, and no firmware waits longer, s.
const LONGEST_WATCHDOG_S: f64 = 0.1;

fn watchdog_s(root: &Section<'_>) -> f64 {
    let watchdog_s = root.number("watchdog_s", 0.02, POSITIVE);
    if watchdog_s > LONGEST_WATCHDOG_S {
        let problem = format!("is {watchdog_s}: a device whose host has died must let go sooner");
        root.complain("watchdog_s", problem, "write watchdog_s = 0.1 or less");
    }
    watchdog_s
}

/// Damping of hardware that nobody measured, N·s/m: low, so that the stability margins err on the safe side.
const ASSUMED_DAMPING_N_S_PER_M: f64 = 0.05;

fn model(section: &Section<'_>, kind: DeviceKind, axes: usize) -> Model {
    let damping_is_assumed = kind != DeviceKind::Simulated && !section.has("damping_n_s_per_m");
    let damping = if damping_is_assumed { ASSUMED_DAMPING_N_S_PER_M } else { 0.5 };
    let model = Model {
        mass_kg: section.per_axis("mass_kg", axes, 0.1, POSITIVE),
        damping_n_s_per_m: section.per_axis("damping_n_s_per_m", axes, damping, ZERO_OR_MORE),
        damping_is_assumed,
        coulomb_n: section.per_axis("coulomb_n", axes, 0.05, ZERO_OR_MORE),
        encoder_step_m: section.per_axis("encoder_step_m", axes, 1e-5, ZERO_OR_MORE),
        delay_s: section.per_axis("delay_s", axes, 0.0003, ZERO_OR_MORE),
        max_force_n: section.per_axis("max_force_n", axes, 4.0, POSITIVE),
    };
    section.reject_unknown_keys();
    model
}

fn hand(root: &Section<'_>, kind: DeviceKind) -> Option<SimulatedHand> {
    let section = root.section("hand");
    if !section.is_present() {
        return None;
    }
    if kind != DeviceKind::Simulated {
        let problem = format!("a {} device is held by a real hand", kind.name());
        root.complain("hand", problem, "remove [hand], or write kind = \"simulated\"");
    }
    let default_path = || vec![[0.0, 0.0, 0.03], [1.0, 0.0, -0.01], [2.0, 0.0, 0.03]];
    let hand = SimulatedHand {
        stiffness_n_per_m: section.number("stiffness_n_per_m", 300.0, ZERO_OR_MORE),
        damping_n_s_per_m: section.number("damping_n_s_per_m", 3.0, ZERO_OR_MORE),
        mass_kg: section.number("mass_kg", 0.2, ZERO_OR_MORE),
        path: section.triples("path").unwrap_or_else(default_path),
        repeats: section.flag("loop", true),
    };
    section.reject_unknown_keys();
    check_path(&section, &hand);
    Some(hand)
}

fn check_path(section: &Section<'_>, hand: &SimulatedHand) {
    let ([first, ..], [.., last]) = (&hand.path[..], &hand.path[..]) else {
        section.complain("path", "is empty", "write rows of t_s, x_m, y_m, e.g. path = [[0.0, 0.0, 0.03]]");
        return;
    };
    if first[0] < 0.0 {
        section.complain_of_row("path", 0, format!("starts before time zero, at {} s", first[0]), "start at 0.0");
    }
    for (row, pair) in hand.path.windows(2).enumerate().filter(|(_, pair)| pair[1][0] <= pair[0][0]) {
        let problem = format!("times must increase, but {} s follows {} s", pair[1][0], pair[0][0]);
        section.complain_of_row("path", row + 1, problem, "sort the rows by time");
    }
    if hand.repeats && first[1..] != last[1..] {
        let problem =
            format!("must end where it starts to repeat: ends at {:?}, starts at {:?}", &last[1..], &first[1..]);
        section.complain_of_row("path", hand.path.len() - 1, problem, "end at the first point, or write loop = false");
    }
}

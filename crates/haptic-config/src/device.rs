//! Device files: kind, identity, model, and the simulated hand of a simulated device.

use crate::calibration::Calibration;
use crate::error::FileErrors;
use crate::kind::FileKind;
use crate::rule::{POSITIVE, ZERO_OR_MORE};
use crate::section::{Document, Section};
use crate::source::Source;
use haptic_device::path::PathError;
use haptic_device::{DeviceModel, HandModel, Path};

/// A device file.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceFile {
    /// Backend that drives it.
    pub kind: DeviceKind,
    /// Number of axes, 1 or 2.
    pub axes: usize,
    /// Whether the file gives the number of axes; if not, the board reports its own.
    pub axes_are_given: bool,
    /// How the device is found.
    pub identity: Identity,
    /// Lever of rotary axes, m per rad.
    pub lever_m: f64,
    /// Time without commands after which the device switches its force off, s.
    pub watchdog_s: f64,
    /// Conversion from counts to metres.
    pub calibration: Calibration,
    /// Dynamics.
    pub model: Model,
    /// The simulated hand that holds it, if any.
    pub hand: Option<HandModel>,
    /// Warnings about keys without effect.
    pub ignored_keys: Vec<String>,
}

/// Backend that drives a device.
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

/// The kinds by their names in device files.
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
    /// Name in device files.
    pub fn name(self) -> &'static str {
        DEVICE_KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// How a device is found: by its port or node, or by the identity that it reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Serial port.
    pub port: Option<String>,
    /// Bits per second of the serial port.
    pub baud: u32,
    /// Variant of the Haply 2DIY.
    pub variant: HaplyVariant,
    /// Device node.
    pub path: Option<String>,
    /// USB vendor id.
    pub vendor_id: Option<u16>,
    /// USB product id.
    pub product_id: Option<u16>,
    /// Serial number.
    pub serial_number: Option<String>,
}

/// Variants of the Haply 2DIY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the file")]
pub enum HaplyVariant {
    #[default]
    V3,
    V2,
    Kit,
}

/// Dynamics of a device; one value per axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Moving mass, kg.
    pub mass_kg: [f64; 2],
    /// Viscous friction, N·s/m.
    pub damping_n_s_per_m: [f64; 2],
    /// Whether the damping is an assumed value, because the file gives none.
    pub damping_is_assumed: bool,
    /// Dry friction, N.
    pub coulomb_n: [f64; 2],
    /// Resolution of the encoder, m; zero for a perfect one.
    pub encoder_step_m: [f64; 2],
    /// Delay from command to force, s.
    pub delay_s: [f64; 2],
    /// Largest force, N.
    pub max_force_n: [f64; 2],
}

impl DeviceFile {
    /// Model of the simulated device. The force limit of the weaker axis applies to the force vector.
    pub fn axes_model(&self) -> DeviceModel {
        let Model { mass_kg, damping_n_s_per_m, coulomb_n, encoder_step_m, delay_s, max_force_n, .. } = self.model;
        let max_force_n = max_force_n[..self.axes].iter().copied().fold(f64::INFINITY, f64::min);
        DeviceModel { mass_kg, damping_n_s_per_m, coulomb_n, encoder_step_m, delay_s, max_force_n }
    }
}

/// Reads a device file.
///
/// # Errors
/// All problems in the text.
pub fn load(source: &Source) -> Result<DeviceFile, FileErrors> {
    load_device(source).map_err(|errors| FileKind::Device.explain(source, errors))
}

fn load_device(source: &Source) -> Result<DeviceFile, FileErrors> {
    let document = Document::parse(source)?;
    let device = device(&document.root());
    document.finish(Some(device))
}

/// Keys of the file itself, for the test that compares them with the table in [`crate::kind`].
#[cfg(test)]
pub(crate) fn keys(empty: &Document<'_>) -> Vec<&'static str> {
    let root = empty.root();
    device(&root);
    root.asked_keys()
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

/// Keys that only some kinds of device use, and those kinds.
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

/// Keys without effect are warnings, not errors: a file may serve several kinds, one of which is chosen.
fn ignored_keys(root: &Section<'_>, kind: DeviceKind) -> Vec<String> {
    let is_ignored = |(key, kinds): &(&'static str, &[DeviceKind])| root.has(key) && !kinds.contains(&kind);
    let warning = |(key, kinds): (&str, &[DeviceKind])| {
        let names: Vec<String> = kinds.iter().map(|kind| format!("\"{}\"", kind.name())).collect();
        format!("{key} has no effect on a device of kind \"{}\", only with kind = {}", kind.name(), names.join(" or "))
    };
    KEYS_OF_KINDS.into_iter().filter(is_ignored).map(warning).collect()
}

/// Serial port that is tried if the file gives none.
pub const DEFAULT_PORT: &str = "/dev/ttyACM0";

/// Some kinds have a fixed number of axes.
fn axes(root: &Section<'_>, kind: DeviceKind) -> usize {
    let own = match kind {
        DeviceKind::Odrive => Some(1),
        DeviceKind::Haply2Diy => Some(2),
        _ => None,
    };
    let axes = root.whole("axes", own.unwrap_or(2), 1..=2);
    if let Some(own) = own.filter(|own| *own != axes) {
        let problem = format!("is {axes}, but a device of kind {} has {own}", kind.name());
        root.error("axes", problem, format!("write axes = {own}"));
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

/// Longest permitted watchdog time, s. A working host is never silent for longer, and firmware must not wait longer.
const MAX_WATCHDOG_S: f64 = 0.1;

fn watchdog_s(root: &Section<'_>) -> f64 {
    let watchdog_s = root.number("watchdog_s", 0.02, POSITIVE);
    if watchdog_s > MAX_WATCHDOG_S {
        let problem = format!("{watchdog_s} s is too long: motors must switch off sooner when the host dies");
        root.error("watchdog_s", problem, "write watchdog_s = 0.1 or less");
    }
    watchdog_s
}

/// Assumed damping of hardware that was not measured, N·s/m: low, so that the stability margins are on the safe side.
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

fn hand(root: &Section<'_>, kind: DeviceKind) -> Option<HandModel> {
    let section = root.section("hand");
    if !section.is_present() {
        return None;
    }
    if kind != DeviceKind::Simulated {
        let problem = format!("a {} device is held by a real hand", kind.name());
        root.error("hand", problem, "remove [hand], or write kind = \"simulated\"");
    }
    let default = HandModel::default();
    let hand = HandModel {
        stiffness_n_per_m: section.number("stiffness_n_per_m", default.stiffness_n_per_m, ZERO_OR_MORE),
        damping_n_s_per_m: section.number("damping_n_s_per_m", default.damping_n_s_per_m, ZERO_OR_MORE),
        mass_kg: section.number("mass_kg", default.mass_kg, ZERO_OR_MORE),
        path: section.triples("path").unwrap_or(default.path),
        looped: section.flag("loop", default.looped),
    };
    section.reject_unknown_keys();
    check_path(&section, &hand);
    Some(hand)
}

/// Reports what [`Path`] rejects, at the row.
fn check_path(section: &Section<'_>, hand: &HandModel) {
    let rows = &hand.path;
    if let Some([start_s, ..]) = rows.first().filter(|[start_s, ..]| *start_s < 0.0) {
        section.row_error("path", 0, format!("starts before time zero, at {start_s} s"), "start at 0.0");
    }
    match Path::new(rows.clone(), hand.looped) {
        Ok(_) => {}
        Err(PathError::Time { row }) => {
            let problem = format!("times must increase, but {} s follows {} s", rows[row][0], rows[row - 1][0]);
            section.row_error("path", row, problem, "sort the rows by time");
        }
        Err(PathError::Open) => {
            let (first, last) = (&rows[0][1..], &rows[rows.len() - 1][1..]);
            let problem = format!("must end where it starts to repeat: ends at {last:?}, starts at {first:?}");
            section.row_error("path", rows.len() - 1, problem, "end at the first point, or write loop = false");
        }
        Err(PathError::TooShortToLoop) => {
            section.row_error("path", 0, "needs two rows or more to repeat", "add a row, or write loop = false");
        }
        Err(PathError::NotFinite { row }) => {
            section.row_error("path", row, "must be finite numbers", "write t_s, x_m, y_m");
        }
        Err(PathError::Empty) => {
            let remedy =
                "write rows of t_s, x_m, y_m, e.g. path = [[0.0, 0.0, 0.03], [1.0, 0.0, 0.0], [2.0, 0.0, 0.03]]";
            section.error("path", "is empty", remedy);
        }
    }
}

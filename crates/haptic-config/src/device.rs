//! Device files: kind, address, model, and the hand of a simulated device.

use crate::error::FileErrors;
use crate::hand_path;
use crate::kind::FileKind;
use crate::rule::{ANY, POSITIVE, ZERO_OR_MORE};
use crate::section::{Document, Section};
use crate::source::Source;
use haptic_device::config::{Address, Calibration, DeviceConfig};
use haptic_device::kind::{KindSpec, Kinds, SIMULATED};
use haptic_device::simulated::TICK_S;
use haptic_device::{DeviceModel, HandModel};

/// Reads a device file whose kind is one of `kinds`.
///
/// # Errors
/// If the text has problems; the error lists all of them.
pub fn load(source: &Source, kinds: Kinds) -> Result<DeviceConfig, FileErrors> {
    load_device(source, kinds).map_err(|errors| FileKind::Device.explain(source, errors))
}

fn load_device(source: &Source, kinds: Kinds) -> Result<DeviceConfig, FileErrors> {
    let document = Document::parse(source)?;
    let device = device(&document.root(), kinds);
    document.finish(Some(device))
}

/// Returns the permitted top-level keys of device files, for the test that compares them with the table in
/// [`crate::kind`].
#[cfg(test)]
pub(crate) fn keys(empty: &Document<'_>) -> Vec<&'static str> {
    static SIMULATED_ONLY: [&KindSpec; 1] = [&SIMULATED];
    let root = empty.root();
    device(&root, &SIMULATED_ONLY);
    root.asked_keys()
}

fn device(root: &Section<'_>, kinds: Kinds) -> DeviceConfig {
    let names: Vec<_> = kinds.iter().map(|kind| (kind.name, *kind)).collect();
    let kind = root.choice("kind", &names, &SIMULATED);
    let default = DeviceConfig::default();
    let axes = axes(root, kind, &default);
    let is_assumed = |key| kind.is_hardware && !root.section("model").has(key);
    let (damping_is_assumed, delay_is_assumed) = (is_assumed("damping_n_s_per_m"), is_assumed("delay_s"));
    let device = DeviceConfig {
        kind,
        axes,
        axes_are_given: root.has("axes"),
        address: address(root, default.address.baud),
        variant: variant(root, kind, kinds),
        lever_m: root.number("lever_m", default.lever_m, POSITIVE),
        watchdog_s: watchdog_s(root, default.watchdog_s),
        calibration: calibration(root, axes),
        model: model(&root.section("model"), axes, &defaults(kind.is_hardware)),
        damping_is_assumed,
        delay_is_assumed,
        hand: hand(root, kind),
        ignored_keys: ignored_keys(root, kind, kinds),
    };
    root.reject_unknown_keys();
    device
}

/// Returns a warning for each key without effect. Such a key is not an error, because a file may contain the keys of
/// several kinds.
fn ignored_keys(root: &Section<'_>, kind: &KindSpec, kinds: Kinds) -> Vec<String> {
    let mut keys: Vec<&'static str> = Vec::new();
    for key in kinds.iter().flat_map(|kind| kind.keys) {
        if root.has(key) && !kind.keys.contains(key) && !keys.contains(key) {
            keys.push(key);
        }
    }
    let text = |key: &'static str| {
        let users = kinds.iter().filter(|kind| kind.keys.contains(&key));
        let names: Vec<String> = users.map(|kind| format!("\"{}\"", kind.name)).collect();
        format!("{key} has no effect on a device of kind \"{}\", only with kind = {}", kind.name, names.join(" or "))
    };
    keys.into_iter().map(text).collect()
}

/// Reads the number of axes. Some kinds have a fixed number.
fn axes(root: &Section<'_>, kind: &KindSpec, default: &DeviceConfig) -> usize {
    let own = kind.axes.map(i64::from);
    let axes = root.whole("axes", own.unwrap_or(default.axes as i64), 1..=2);
    if let Some(own) = own.filter(|own| *own != axes) {
        let problem = format!("is {axes}, but a device of kind {} has {own}", kind.name);
        root.error("axes", problem, format!("write axes = {own}"));
    }
    axes as usize
}

fn address(root: &Section<'_>, default_baud: u32) -> Address {
    Address {
        port: root.text("port", "/dev/ttyACM0").map(str::to_owned),
        baud: root.whole("baud", i64::from(default_baud), 1..=100_000_000) as u32,
        path: root.text("path", "/dev/hidraw0").map(str::to_owned),
        vendor_id: root.optional_whole("vendor_id", 0x2341, 0..=0xFFFF).map(|id| id as u16),
        product_id: root.optional_whole("product_id", 0x0043, 0..=0xFFFF).map(|id| id as u16),
        serial_number: root.text("serial_number", "A1B2C3").map(str::to_owned),
    }
}

/// Reads the variant. For a kind without variants the key has no effect, but its value must still be a variant of some
/// kind.
fn variant(root: &Section<'_>, kind: &KindSpec, kinds: Kinds) -> Option<&'static str> {
    let choices = |names: &[&'static str]| names.iter().map(|name| (*name, Some(*name))).collect::<Vec<_>>();
    match kind.variants {
        [] => {
            let all: Vec<_> = kinds.iter().flat_map(|kind| choices(kind.variants)).collect();
            root.choice("variant", &all, None);
            None
        }
        variants => root.choice("variant", &choices(variants), variants.first().copied()),
    }
}

fn calibration(root: &Section<'_>, axes: usize) -> Calibration {
    let per_axis = |key, example, rule| {
        let values = root.per_axis(key, axes, example, rule);
        root.has(key).then_some(values)
    };
    Calibration {
        travel_m: per_axis("travel_m", 0.1, POSITIVE),
        centre_counts: per_axis("centre_counts", 0.0, ANY),
        reverse_force: [root.flag("reverse_force_x", false), root.flag("reverse_force_y", false)],
    }
}

/// Longest permitted watchdog time, s. A working host never pauses for longer, and firmware must not wait longer.
const MAX_WATCHDOG_S: f64 = 0.1;

fn watchdog_s(root: &Section<'_>, default: f64) -> f64 {
    let watchdog_s = root.number("watchdog_s", default, POSITIVE);
    if watchdog_s > MAX_WATCHDOG_S {
        let problem = format!("{watchdog_s} s is too long: motors must switch off sooner when the host dies");
        root.error("watchdog_s", problem, "write watchdog_s = 0.1 or less");
    }
    watchdog_s
}

/// Damping assumed for hardware whose damping was not measured, N·s/m. It is low, so that the stability margins are
/// conservative.
const ASSUMED_DAMPING_N_S_PER_M: f64 = 0.05;
/// Delay assumed for hardware whose delay was not measured, s: a service period at 1 kHz. [`crate::setup::Setup`] uses
/// the period of a slower device.
const ASSUMED_DELAY_S: f64 = TICK_S;

/// Returns the values of keys that a file does not contain. The energy tank relies on the model of hardware, so damping
/// and dry friction are low and the delay is long.
fn defaults(is_hardware: bool) -> DeviceModel {
    let simulated = DeviceModel::default();
    if !is_hardware {
        return simulated;
    }
    DeviceModel {
        damping_n_s_per_m: [ASSUMED_DAMPING_N_S_PER_M; 2],
        coulomb_n: [0.0; 2],
        delay_s: [ASSUMED_DELAY_S; 2],
        ..simulated
    }
}

fn model(section: &Section<'_>, axes: usize, default: &DeviceModel) -> DeviceModel {
    let per_axis = |key, default, rule| section.per_axis(key, axes, default, rule);
    let model = DeviceModel {
        mass_kg: per_axis("mass_kg", default.mass_kg[0], POSITIVE),
        damping_n_s_per_m: per_axis("damping_n_s_per_m", default.damping_n_s_per_m[0], ZERO_OR_MORE),
        coulomb_n: per_axis("coulomb_n", default.coulomb_n[0], ZERO_OR_MORE),
        encoder_step_m: per_axis("encoder_step_m", default.encoder_step_m[0], ZERO_OR_MORE),
        delay_s: per_axis("delay_s", default.delay_s[0], ZERO_OR_MORE),
        max_force_n: per_axis("max_force_n", default.max_force_n[0], POSITIVE),
    };
    section.reject_unknown_keys();
    model
}

fn hand(root: &Section<'_>, kind: &KindSpec) -> Option<HandModel> {
    let section = root.section("hand");
    if !section.is_present() {
        return None;
    }
    if kind.is_hardware {
        let problem = format!("a {} device is held by a real hand", kind.name);
        root.error("hand", problem, "remove [hand], or write kind = \"simulated\"");
    }
    let default = HandModel::default();
    let rows = section.triples("path");
    let hand = HandModel {
        stiffness_n_per_m: section.number("stiffness_n_per_m", default.stiffness_n_per_m, ZERO_OR_MORE),
        damping_n_s_per_m: section.number("damping_n_s_per_m", default.damping_n_s_per_m, ZERO_OR_MORE),
        mass_kg: section.number("mass_kg", default.mass_kg, ZERO_OR_MORE),
        path: rows.clone().unwrap_or_default(),
        looped: section.flag("loop", default.looped),
    };
    section.reject_unknown_keys();
    if let Some(rows) = rows {
        hand_path::check(&section, &rows, hand.looped);
    }
    Some(hand)
}

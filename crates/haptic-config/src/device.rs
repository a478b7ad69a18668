//! Device files: kind, address, model, and the hand of a simulated device.

use crate::builtin::DEVICES;
use crate::error::{FileErrors, Problem};
use crate::hand_path;
use crate::keys::{Key, device as keys};
use crate::kind::FileKind;
use crate::section::{Document, Section};
use crate::source::Source;
use haptic_device::config::{Address, ArmSettings, Calibration, DeviceConfig, ReversedAxes, Rotation};
use haptic_device::kind::{HARDWARE_KEYS, KindSpec, Kinds, SIMULATED};
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
    let document = Document::parse(source, &keys::DEVICE)?;
    let mut device = device(&document.root(), kinds);
    device.warnings.extend(document.warnings().iter().map(Problem::at_its_line));
    document.finish(Some(device))
}

fn device(root: &Section<'_>, kinds: Kinds) -> DeviceConfig {
    let kind = kind(root, kinds);
    let default = DeviceConfig::default();
    let axes = axes(root, kind, &default);
    let model_section = root.section(&keys::MODEL);
    let is_assumed = |key| kind.is_hardware && !model_section.has(key);
    let (damping_is_assumed, delay_is_assumed) = (is_assumed(&keys::MODEL_DAMPING), is_assumed(&keys::DELAY));
    let device = DeviceConfig {
        kind,
        axes,
        axes_are_given: root.has(&keys::AXES),
        address: address(root),
        variant: variant(root, kind, kinds),
        lever_m: root.number(&keys::LEVER),
        watchdog_s: root.number(&keys::WATCHDOG),
        calibration: calibration(root, axes),
        reversed: reversed(root),
        arms: arms(root),
        sign_check: root.flag(&keys::SIGN_CHECK),
        model: model(&model_section, axes, &defaults(kind.is_hardware)),
        damping_is_assumed,
        delay_is_assumed,
        hand: hand(root, kind),
        warnings: ignored_keys(root, kind, kinds),
    };
    root.reject_unknown_keys();
    device
}

/// Reads the kind. The name of a shipped device is answered with its kind and its file.
fn kind(root: &Section<'_>, kinds: Kinds) -> &'static KindSpec {
    let names: Vec<_> = kinds.iter().map(|kind| (kind.name, *kind)).collect();
    let shipped = DEVICES.entries.iter().map(|(name, _)| *name).find(|name| root.text_is(&keys::KIND, name));
    let Some(product) = shipped.filter(|product| names.iter().all(|(name, _)| name != product)) else {
        return root.choice(&keys::KIND, &names).unwrap_or(&SIMULATED);
    };
    let built_in = DEVICES.built_in(product).and_then(|source| load(&source, kinds).ok());
    let kind = built_in.map_or(&SIMULATED, |device| device.kind);
    let remedy = format!("write kind = \"{}\", or give --device {product} for the shipped file", kind.name);
    root.error(&keys::KIND, format!("\"{product}\" is a device, not a kind"), remedy);
    kind
}

/// Returns a warning for each key without effect. Such a key is not an error, because a file may contain the keys of
/// several kinds.
fn ignored_keys(root: &Section<'_>, kind: &KindSpec, kinds: Kinds) -> Vec<String> {
    let mut ignored: Vec<&'static str> = Vec::new();
    for name in kinds.iter().flat_map(|kind| kind.keys).chain(HARDWARE_KEYS) {
        let is_given = keys::DEVICE.key(name).is_some_and(|key| root.has(key));
        if is_given && !kind.has_key(name) && !ignored.contains(name) {
            ignored.push(name);
        }
    }
    let text = |key: &'static str| {
        let users = kinds.iter().filter(|kind| kind.has_key(key));
        let names: Vec<String> = users.map(|kind| format!("\"{}\"", kind.name)).collect();
        format!("{key} has no effect on a device of kind \"{}\", only with kind = {}", kind.name, names.join(" or "))
    };
    ignored.into_iter().map(text).collect()
}

/// Reads the number of axes. Some kinds have a fixed number.
fn axes(root: &Section<'_>, kind: &KindSpec, default: &DeviceConfig) -> usize {
    let own = kind.axes.map(usize::from);
    let axes = root.optional_whole(&keys::AXES).map_or(own.unwrap_or(default.axes), |axes| axes as usize);
    if let Some(own) = own.filter(|own| *own != axes) {
        let problem = format!("is {axes}, but a device of kind {} has {own}", kind.name);
        root.error(&keys::AXES, problem, format!("write axes = {own}"));
    }
    axes
}

fn address(root: &Section<'_>) -> Address {
    Address {
        port: root.text(&keys::PORT).map(str::to_owned),
        baud: root.whole(&keys::BAUD) as u32,
        path: root.text(&keys::PATH).map(str::to_owned),
        vendor_id: root.optional_whole(&keys::VENDOR_ID).map(|id| id as u16),
        product_id: root.optional_whole(&keys::PRODUCT_ID).map(|id| id as u16),
        serial_number: root.text(&keys::SERIAL_NUMBER).map(str::to_owned),
    }
}

/// Reads the variant. For a kind without variants the key has no effect, but its value must still be a variant of some
/// kind.
fn variant(root: &Section<'_>, kind: &KindSpec, kinds: Kinds) -> Option<&'static str> {
    let choices = |names: &[&'static str]| names.iter().map(|name| (*name, *name)).collect::<Vec<_>>();
    match kind.variants {
        [] => {
            let all: Vec<_> = kinds.iter().flat_map(|kind| choices(kind.variants)).collect();
            root.choice(&keys::VARIANT, &all);
            None
        }
        variants => root.choice(&keys::VARIANT, &choices(variants)).or(variants.first().copied()),
    }
}

fn calibration(root: &Section<'_>, axes: usize) -> Calibration {
    Calibration {
        travel_m: root.per_axis(&keys::TRAVEL, axes),
        centre_counts: root.per_axis(&keys::CENTRE_COUNTS, axes),
    }
}

fn reversed(root: &Section<'_>) -> ReversedAxes {
    ReversedAxes {
        force: [root.flag(&keys::REVERSE_FORCE_X), root.flag(&keys::REVERSE_FORCE_Y)],
        position: [root.flag(&keys::REVERSE_POSITION_X), root.flag(&keys::REVERSE_POSITION_Y)],
    }
}

fn arms(root: &Section<'_>) -> ArmSettings {
    ArmSettings {
        motor_directions: root.two_choices(&keys::MOTOR_DIRECTIONS, &Rotation::NAMED),
        encoder_directions: root.two_choices(&keys::ENCODER_DIRECTIONS, &Rotation::NAMED),
        home_rad: root.per_axis(&keys::HOME, 2),
        counts_per_turn: root.per_axis(&keys::COUNTS_PER_TURN, 2),
    }
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
    let per_axis = |key: &'static Key, default| section.per_axis(key, axes).unwrap_or(default);
    let model = DeviceModel {
        mass_kg: per_axis(&keys::MODEL_MASS, default.mass_kg),
        damping_n_s_per_m: per_axis(&keys::MODEL_DAMPING, default.damping_n_s_per_m),
        coulomb_n: per_axis(&keys::COULOMB, default.coulomb_n),
        encoder_step_m: per_axis(&keys::ENCODER_STEP, default.encoder_step_m),
        delay_s: per_axis(&keys::DELAY, default.delay_s),
        max_force_n: per_axis(&keys::MODEL_MAX_FORCE, default.max_force_n),
    };
    section.reject_unknown_keys();
    model
}

fn hand(root: &Section<'_>, kind: &KindSpec) -> Option<HandModel> {
    let section = root.section(&keys::HAND);
    if !section.is_present() {
        return None;
    }
    if kind.is_hardware {
        let problem = format!("a {} device is held by a real hand", kind.name);
        root.error(&keys::HAND, problem, "remove [hand], or write kind = \"simulated\"");
    }
    let rows = section.triples(&keys::HAND_PATH);
    let hand = HandModel {
        stiffness_n_per_m: section.number(&keys::HAND_STIFFNESS),
        damping_n_s_per_m: section.number(&keys::HAND_DAMPING),
        mass_kg: section.number(&keys::HAND_MASS),
        path: rows.clone().unwrap_or_default(),
        looped: section.flag(&keys::HAND_LOOP),
    };
    section.reject_unknown_keys();
    if let Some(rows) = rows {
        hand_path::check(&section, &keys::HAND_PATH, &rows, hand.looped);
    }
    Some(hand)
}

//! Keys of profile files.

use super::scene::POSITION;
use super::{Default, Key, Limits, Range, SectionSpec, Value, names};
use crate::builtin::{DEVICES, SCENES};
use haptic_coupling::coupling::{GAIN_KEYS, Gains};
use haptic_coupling::tank::Passivity;
use haptic_loop::settings::{MAPPING_KEYS, MappingSettings, SAFETY_KEYS, Safety};

static PASSIVITY_NAMES: [&str; 3] = names(&Passivity::NAMES);

/// Profile files.
pub static PROFILE: SectionSpec = SectionSpec {
    header: "",
    about: "A profile names a scene and a device, and says how the hand is coupled to the tool.",
    keys: &[&SCENE, &DEVICE, &COUPLING, &MAPPING, &SAFETY, &REALTIME, &VIEW],
    example: "scene = \"wall\"\ndevice = \"simulated-2dof\"\n\n[coupling]\nstiffness_n_per_m = 300.0\n\
              damping_n_s_per_m = 0.24\n\n[safety]\nmax_force_n = 3.0\n",
};

/// `scene`
pub static SCENE: Key =
    Key::new("scene", "Scene: a file, relative to the profile, or the name of a built-in scene", Value::Text)
        .or(Default::Text(SCENES.entries[0].0))
        .also(&["world"]);
/// `device`
pub static DEVICE: Key =
    Key::new("device", "Device: a file, relative to the profile, or the name of a built-in device", Value::Text)
        .or(Default::Text(DEVICES.entries[0].0))
        .also(&["hardware", "board"]);
/// `[coupling]`
pub static COUPLING: Key =
    Key::new("coupling", "Spring and damper between the hand and the tool", Value::Section(&COUPLING_SECTION)).also(&[
        "gains",
        "spring",
        "couplings",
        "virtual_coupling",
    ]);
/// `[mapping]`
pub static MAPPING: Key =
    Key::new("mapping", "Position and scale of the device in the world", Value::Section(&MAPPING_SECTION)).also(&[
        "map",
        "workspace",
        "frame",
    ]);
/// `[safety]`
pub static SAFETY: Key = Key::new("safety", "Limits that protect the hand", Value::Section(&SAFETY_SECTION)).also(&[
    "limits",
    "guard",
    "protection",
]);
/// `[realtime]`
pub static REALTIME: Key =
    Key::new("realtime", "Real-time thread and service rate of the device", Value::Section(&REALTIME_SECTION)).also(&[
        "real_time",
        "rt",
        "thread",
        "loop",
    ]);
/// `[view]`
pub static VIEW: Key =
    Key::new("view", "Page in the browser", Value::Section(&VIEW_SECTION)).also(&["viewer", "server", "web", "http"]);

/// The section `[coupling]`.
pub static COUPLING_SECTION: SectionSpec = SectionSpec {
    header: "[coupling]",
    about: "Spring and damper between the hand and the tool. A change takes effect while the daemon runs.",
    keys: &[&STIFFNESS, &DAMPING, &ANGULAR_STIFFNESS, &ANGULAR_DAMPING],
    example: "[coupling]\nstiffness_n_per_m = 300.0\ndamping_n_s_per_m = 0.2\n",
};

/// `stiffness_n_per_m`
pub static STIFFNESS: Key =
    Key::setting(&GAIN_KEYS[0], || Gains::default().stiffness_n_per_m).also(&["k", "spring", "spring_constant"]);
/// `damping_n_s_per_m`
pub static DAMPING: Key =
    Key::setting(&GAIN_KEYS[1], || Gains::default().damping_n_s_per_m).also(&["b", "damper", "d"]);
/// `angular_stiffness_n_m_per_rad`
pub static ANGULAR_STIFFNESS: Key = Key::setting(&GAIN_KEYS[2], || Gains::default().angular_stiffness_n_m_per_rad)
    .also(&["torsional_stiffness", "rotational_stiffness"]);
/// `angular_damping_n_m_s_per_rad`
pub static ANGULAR_DAMPING: Key = Key::setting(&GAIN_KEYS[3], || Gains::default().angular_damping_n_m_s_per_rad)
    .also(&["torsional_damping", "rotational_damping"]);

/// The section `[mapping]`.
pub static MAPPING_SECTION: SectionSpec = SectionSpec {
    header: "[mapping]",
    about: "Where the device is in the world: x_world = offset + scale · R · x_device, f_device = scale · Rᵀ · f_world. \
            A device with one axis moves along `axis` instead: x_world = offset + scale · x · axis.",
    keys: &[&SCALE, &ROTATION, &OFFSET, &AXIS, &RAIL],
    example: "[mapping]\nscale = 2.0\noffset_m = [0.0, 0.02]\n",
};

/// `scale`
pub static SCALE: Key = Key::setting(&MAPPING_KEYS[0], || MappingSettings::default().scale).also(&["gain", "factor"]);
/// `rotation_rad`
pub static ROTATION: Key = Key::setting(&MAPPING_KEYS[1], || MappingSettings::default().rotation_rad).also(&["angle"]);
/// `offset_m`
pub static OFFSET: Key = Key::new("offset_m", "World position of the origin of the device", Value::Vector(POSITION))
    .or(Default::Vector(|| MappingSettings::default().offset_m))
    .also(&["origin", "position", "translation"]);
/// `axis`
pub static AXIS: Key = Key::new(
    "axis",
    "Direction of a device with one axis, in the world; any length but zero",
    Value::Vector(Limits::new(Range::within(1e6), Range::within(1e6))),
)
.or(Default::Vector(|| MappingSettings::default().axis))
.also(&["direction"]);
/// `rail`
pub static RAIL: Key = Key::new(
    "rail",
    "Whether the handle of the tool stays on the line of a device with one axis; the tool may rotate",
    Value::Flag,
)
.or(Default::Flag(true));

/// The section `[safety]`.
pub static SAFETY_SECTION: SectionSpec = SectionSpec {
    header: "[safety]",
    about: "Limits that protect the hand. A change takes effect while the daemon runs.",
    keys: &[&MAX_FORCE, &SLEW, &ENGAGE_RAMP, &STALE_AFTER, &LOST_AFTER, &MAX_SPEED, &PASSIVITY],
    example: "[safety]\nmax_force_n = 3.0\nengage_ramp_s = 1.0\n",
};

/// `max_force_n`
pub static MAX_FORCE: Key =
    Key::setting(&SAFETY_KEYS[0], || Safety::default().max_force_n).also(&["force_limit", "force", "limit"]);
/// `slew_n_per_s`
pub static SLEW: Key =
    Key::setting(&SAFETY_KEYS[1], || Safety::default().slew_n_per_s).also(&["slew_rate", "rate_limit"]);
/// `engage_ramp_s`
pub static ENGAGE_RAMP: Key =
    Key::setting(&SAFETY_KEYS[2], || Safety::default().engage_ramp_s).also(&["ramp", "ramp_s", "engagement_ramp"]);
/// `stale_after_s`
pub static STALE_AFTER: Key =
    Key::setting(&SAFETY_KEYS[3], || Safety::default().stale_after_s).also(&["stale", "timeout"]);
/// `lost_after_s`
pub static LOST_AFTER: Key = Key::setting(&SAFETY_KEYS[4], || Safety::default().lost_after_s).also(&["lost"]);
/// `max_speed_m_per_s`
pub static MAX_SPEED: Key =
    Key::setting(&SAFETY_KEYS[5], || Safety::default().max_speed_m_per_s).also(&["speed_limit", "max_velocity"]);
/// `passivity`
pub static PASSIVITY: Key = Key::new(
    "passivity",
    "What the energy tank does: `tank` limits the force, `observer` only computes, `off` does neither",
    Value::Choice(&PASSIVITY_NAMES),
)
.or(Default::Text("tank"))
.also(&["energy_tank", "passive"]);

/// The section `[realtime]`.
pub static REALTIME_SECTION: SectionSpec = SectionSpec {
    header: "[realtime]",
    about: "Real-time thread and service rate of the device. A change needs a restart.",
    keys: &[&RATE, &CPU, &PRIORITY, &LOCK_MEMORY, &WAKE_EARLY],
    example: "[realtime]\ncpu = 1\npriority = 80\n",
};

/// `rate_hz`
pub static RATE: Key = Key::new(
    "rate_hz",
    "Service rate of the device, a divisor of 1000; the world always advances at 1 kHz",
    Value::Whole(1, 1000),
)
.or(Default::Whole(1000))
.also(&["frequency", "rate", "hz"]);
/// `cpu`
pub static CPU: Key = Key::new("cpu", "Core of the real-time thread, or `auto`", Value::Cpu)
    .or(Default::Text("auto"))
    .also(&["core", "affinity"]);
/// `priority`
pub static PRIORITY: Key = Key::new("priority", "Real-time priority of the thread", Value::Whole(1, 99))
    .or(Default::Whole(80))
    .also(&["prio"]);
/// `lock_memory`
pub static LOCK_MEMORY: Key = Key::new("lock_memory", "Whether the memory of the process is locked", Value::Flag)
    .or(Default::Flag(true))
    .also(&["mlock"]);
/// `wake_early_s`
pub static WAKE_EARLY: Key = Key::number(
    "wake_early_s",
    "Time by which the thread wakes up before each tick and waits busily, at most a fifth of a tick",
    Limits::new(Range::up_to(2e-4), Range::up_to(2e-4)),
)
.or(Default::Number(|| 0.0))
.also(&["busy_wait"]);

/// The section `[view]`.
pub static VIEW_SECTION: SectionSpec = SectionSpec {
    header: "[view]",
    about: "Page in the browser. A change needs a restart.",
    keys: &[&LISTEN],
    example: "[view]\nlisten = \"127.0.0.1:8520\"\n",
};

/// `listen`
pub static LISTEN: Key = Key::new("listen", "Address and port of the page", Value::Text)
    .or(Default::Text("127.0.0.1:8520"))
    .also(&["address", "port", "addr", "host", "bind"]);

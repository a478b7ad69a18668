//! Keys of device files.

pub use super::scene::HAND_LOOP;
use super::scene::POSITION;
use super::{Default, Key, Limits, Range, SectionSpec, Value};
use haptic_device::config::{Address, DeviceConfig, Rotation};
use haptic_device::kind::SIMULATED;
use haptic_device::{DeviceModel, HandModel};

/// Limits of the masses of a device and of a hand, kg.
const MASS: Limits = Limits::new(Range::new(1e-6, 1e3), Range::new(1e-3, 10.0));
/// Limits of damping, N·s/m.
const DAMPING: Limits = Limits::new(Range::up_to(1e4), Range::up_to(100.0));

/// Device files.
pub static DEVICE: SectionSpec = SectionSpec {
    header: "",
    about: "A device file says how a device is connected and how it behaves. `hapticd identify` measures the latter.",
    keys: &[
        &KIND,
        &AXES,
        &PORT,
        &BAUD,
        &VARIANT,
        &PATH,
        &VENDOR_ID,
        &PRODUCT_ID,
        &SERIAL_NUMBER,
        &LEVER,
        &WATCHDOG,
        &TRAVEL,
        &CENTRE_COUNTS,
        &REVERSE_FORCE_X,
        &REVERSE_FORCE_Y,
        &REVERSE_POSITION_X,
        &REVERSE_POSITION_Y,
        &MOTOR_DIRECTIONS,
        &ENCODER_DIRECTIONS,
        &HOME,
        &COUNTS_PER_TURN,
        &SIGN_CHECK,
        &MODEL,
        &HAND,
    ],
    example: "kind = \"serial\"\naxes = 1\nport = \"/dev/ttyACM0\"\nlever_m = 0.075\n",
};

/// `kind`
pub static KIND: Key = Key::new("kind", "Kind of the device, which is the protocol that it speaks", Value::DeviceKind)
    .or(Default::Text(SIMULATED.name))
    .also(&["type", "protocol", "driver", "backend"]);
/// `axes`
pub static AXES: Key = Key::new("axes", "Number of axes", Value::Whole(1, 2)).or(Default::Whole(2)).also(&[
    "dof",
    "dofs",
    "axis",
    "degrees_of_freedom",
]);
/// `port`
pub static PORT: Key = Key::new("port", "Path of the serial port", Value::Text).such_as("\"/dev/ttyACM0\"").also(&[
    "serial_port",
    "tty",
    "com",
    "device",
]);
/// `baud`
pub static BAUD: Key = Key::new("baud", "Bits per second of the serial port", Value::Whole(1, 100_000_000))
    .or(Default::Whole(Address::DEFAULT_BAUD as i64))
    .also(&["baudrate", "baud_rate", "speed"]);
/// `variant`
pub static VARIANT: Key = Key::new("variant", "Variant of the device, for kinds that have several", Value::Variant)
    .such_as("\"v3\"")
    .also(&["version", "model_name"]);
/// `path`
pub static PATH: Key =
    Key::new("path", "Path of the device node", Value::Text).such_as("\"/dev/hidraw0\"").also(&["node", "hidraw"]);
/// `vendor_id`
pub static VENDOR_ID: Key = Key::new("vendor_id", "USB vendor id of the device", Value::Whole(0, 0xFFFF))
    .such_as("0x2341")
    .also(&["vid", "vendor"]);
/// `product_id`
pub static PRODUCT_ID: Key = Key::new("product_id", "USB product id of the device", Value::Whole(0, 0xFFFF))
    .such_as("0x0043")
    .also(&["pid", "product"]);
/// `serial_number`
pub static SERIAL_NUMBER: Key = Key::new("serial_number", "Serial number that the device reports", Value::Text)
    .such_as("\"A1B2C3\"")
    .also(&["serial"]);
/// `lever_m`
pub static LEVER: Key = Key::number(
    "lever_m",
    "Displacement of the handle per radian of a rotary axis",
    Limits::new(Range::new(1e-4, 10.0), Range::new(1e-3, 1.0)),
)
.or(Default::Number(|| DeviceConfig::default().lever_m))
.also(&["radius", "arm", "handle_radius"]);
/// `watchdog_s`
pub static WATCHDOG: Key = Key::number(
    "watchdog_s",
    "Time without a command after which the device switches its motors off by itself",
    Limits::new(Range::new(1e-3, 0.1), Range::new(2e-3, 0.1)),
)
.or(Default::Number(|| DeviceConfig::default().watchdog_s))
.also(&["timeout"]);
/// `travel_m`
pub static TRAVEL: Key = Key::new(
    "travel_m",
    "Travel of the handle from end to end; without it, what the device reports",
    Value::PerAxis(Limits::new(Range::new(1e-4, 10.0), Range::new(5e-3, 2.0))),
)
.such_as("0.1")
.also(&["range", "stroke"]);
/// `centre_counts`
pub static CENTRE_COUNTS: Key = Key::new(
    "centre_counts",
    "Count that the device reports at the centre; without it, the middle of its range",
    Value::PerAxis(Limits::new(Range::within(1e10), Range::within(1e10))),
)
.such_as("512.0")
.also(&["center_counts", "centre", "center", "zero"]);
/// `reverse_force_x`
pub static REVERSE_FORCE_X: Key =
    Key::new("reverse_force_x", "Whether the motor of the x axis pushes the wrong way", Value::Flag)
        .or(Default::Flag(false))
        .also(&["invert_x", "invert_force_x", "reverse_x", "reverse"]);
/// `reverse_force_y`
pub static REVERSE_FORCE_Y: Key =
    Key::new("reverse_force_y", "Whether the motor of the y axis pushes the wrong way", Value::Flag)
        .or(Default::Flag(false))
        .also(&["invert_y", "invert_force_y", "reverse_y"]);
/// `reverse_position_x`
pub static REVERSE_POSITION_X: Key =
    Key::new("reverse_position_x", "Whether the encoder of the x axis counts the wrong way", Value::Flag)
        .or(Default::Flag(false))
        .also(&["invert_position_x", "reverse_encoder_x", "invert_encoder_x"]);
/// `reverse_position_y`
pub static REVERSE_POSITION_Y: Key =
    Key::new("reverse_position_y", "Whether the encoder of the y axis counts the wrong way", Value::Flag)
        .or(Default::Flag(false))
        .also(&["invert_position_y", "reverse_encoder_y", "invert_encoder_y"]);
/// `motor_directions`
pub static MOTOR_DIRECTIONS: Key = Key::new(
    "motor_directions",
    "Directions in which the motors of arms 1 and 2 turn at a positive torque; without it, those of the variant",
    Value::TwoChoices(&Rotation::NAMES),
)
.such_as("[\"ccw\", \"ccw\"]")
.also(&["motor_direction", "actuator_directions", "actuator_rotation"]);
/// `encoder_directions`
pub static ENCODER_DIRECTIONS: Key = Key::new(
    "encoder_directions",
    "Directions in which the encoders of arms 1 and 2 count up; without it, those of the variant",
    Value::TwoChoices(&Rotation::NAMES),
)
.such_as("[\"ccw\", \"ccw\"]")
.also(&["encoder_direction", "encoder_rotation"]);
/// `home_rad`
pub static HOME: Key = Key::new(
    "home_rad",
    "Angles of arms 1 and 2 at the home stop, anticlockwise from the x axis; without it, those of the variant",
    Value::PerAxis(Limits::new(Range::within(12.0), Range::within(6.5))),
)
.such_as("[2.932, 0.209]")
.also(&["home", "encoder_offset", "home_angles"]);
/// `counts_per_turn`
pub static COUNTS_PER_TURN: Key = Key::new(
    "counts_per_turn",
    "Encoder counts per turn of each arm, as the setup message states them; without it, those of the variant",
    Value::PerAxis(Limits::new(Range::new(1.0, 1e8), Range::new(100.0, 1e6))),
)
.such_as("4880.0")
.also(&["cpr", "encoder_resolution", "counts_per_revolution"]);
/// `sign_check`
pub static SIGN_CHECK: Key = Key::new(
    "sign_check",
    "Whether a nudge of at most 0.3 N checks the signs of motors and encoders before the first force",
    Value::Flag,
)
.or(Default::Flag(true))
.also(&["check_signs", "nudge"]);
/// `[model]`
pub static MODEL: Key =
    Key::new("model", "Dynamics of the device, as measured by `hapticd identify`", Value::Section(&MODEL_SECTION))
        .also(&["dynamics", "models"]);
/// `[hand]`
pub static HAND: Key =
    Key::new("hand", "Hand that holds a simulated device", Value::Section(&HAND_SECTION)).also(&["hands", "user"]);

/// The section `[model]`.
pub static MODEL_SECTION: SectionSpec = SectionSpec {
    header: "[model]",
    about: "Dynamics of the device. A simulated device obeys them; on hardware, the energy tank and the stability \
            margins rely on them. Each key has one value for all axes, or a list with a value for each axis.",
    keys: &[&MODEL_MASS, &MODEL_DAMPING, &COULOMB, &ENCODER_STEP, &DELAY, &MODEL_MAX_FORCE],
    example: "[model]\nmass_kg = 0.08\ndamping_n_s_per_m = [0.3, 0.4]\ncoulomb_n = 0.05\nencoder_step_m = 1e-5\n\
              delay_s = 0.001\nmax_force_n = 3.0\n",
};

/// `mass_kg` of the model
pub static MODEL_MASS: Key = Key::new("mass_kg", "Moving mass at the handle", Value::PerAxis(MASS))
    .or(Default::Number(|| DeviceModel::default().mass_kg[0]))
    .also(&["m", "inertia"]);
/// `damping_n_s_per_m` of the model
pub static MODEL_DAMPING: Key = Key::new(
    "damping_n_s_per_m",
    "Viscous damping of the device; on hardware, 0.05 is assumed",
    Value::PerAxis(DAMPING),
)
.or(Default::Number(|| DeviceModel::default().damping_n_s_per_m[0]))
.also(&["b", "viscous"]);
/// `coulomb_n`
pub static COULOMB: Key = Key::new(
    "coulomb_n",
    "Dry friction of the device; on hardware, none is assumed",
    Value::PerAxis(Limits::new(Range::up_to(1e3), Range::up_to(10.0))),
)
.or(Default::Number(|| DeviceModel::default().coulomb_n[0]))
.also(&["friction", "dry_friction"]);
/// `encoder_step_m`
pub static ENCODER_STEP: Key = Key::new(
    "encoder_step_m",
    "Smallest displacement that the encoder resolves; 0 for a perfect one",
    Value::PerAxis(Limits::new(Range::up_to(0.1), Range::up_to(1e-3))),
)
.or(Default::Number(|| DeviceModel::default().encoder_step_m[0]))
.also(&["resolution", "quantisation", "quantization"]);
/// `delay_s`
pub static DELAY: Key = Key::new(
    "delay_s",
    "Time from a command to its effect; on hardware, a full service period is assumed",
    Value::PerAxis(Limits::new(Range::up_to(0.1), Range::up_to(0.02))),
)
.or(Default::Number(|| DeviceModel::default().delay_s[0]))
.also(&["latency"]);
/// `max_force_n` of the model
pub static MODEL_MAX_FORCE: Key = Key::new(
    "max_force_n",
    "Largest force that the motors can produce",
    Value::PerAxis(Limits::new(Range::new(1e-3, 1e6), Range::new(0.05, 50.0))),
)
.or(Default::Number(|| DeviceModel::default().max_force_n[0]))
.also(&["force_limit", "max_force"]);

/// The section `[hand]` of a device file.
pub static HAND_SECTION: SectionSpec = SectionSpec {
    header: "[hand]",
    about: "Hand that holds a simulated device: a mass on the handle, and a spring and a damper to the path. Positions \
            are in the frame of the device.",
    keys: &[&HAND_STIFFNESS, &HAND_DAMPING, &HAND_MASS, &HAND_PATH, &HAND_LOOP],
    example: "[hand]\nstiffness_n_per_m = 300.0\ndamping_n_s_per_m = 3.0\nmass_kg = 0.2\n",
};

/// `stiffness_n_per_m` of the hand
pub static HAND_STIFFNESS: Key = Key::number(
    "stiffness_n_per_m",
    "Stiffness of the spring between the path and the handle",
    Limits::new(Range::up_to(1e6), Range::up_to(1e4)),
)
.or(Default::Number(|| HandModel::default().stiffness_n_per_m))
.also(&["k"]);
/// `damping_n_s_per_m` of the hand
pub static HAND_DAMPING: Key = Key::number("damping_n_s_per_m", "Damping between the path and the handle", DAMPING)
    .or(Default::Number(|| HandModel::default().damping_n_s_per_m))
    .also(&["b"]);
/// `mass_kg` of the hand
pub static HAND_MASS: Key = Key::number(
    "mass_kg",
    "Mass of the hand, rigidly attached to the handle",
    Limits::new(Range::up_to(1e3), Range::up_to(10.0)),
)
.or(Default::Number(|| HandModel::default().mass_kg))
.also(&["m"]);
/// `path` of the hand of a device
pub static HAND_PATH: Key = Key::new(
    "path",
    "Rows of t_s, x_m, y_m that the hand follows, linear in between; without it, the hand follows the path of the scene",
    Value::Rows(POSITION),
)
.such_as("[[0.0, 0.0, 0.03], [1.0, 0.0, -0.01], [2.0, 0.0, 0.03]]")
.also(&["trajectory", "waypoints"]);

//! Keys of scene files.

mod repeat;
mod shape;

pub use repeat::*;
pub use shape::*;

use super::{Default, Key, Limits, Range, SectionSpec, Value, names};
use haptic_loop::scene_hand::SceneHand;
use haptic_planar::scene::description::{
    BodyDescription, ImpactState, Leave, RestitutionLaw, SceneDescription, ShapeDescription,
};
use nalgebra::Vector2;

pub use haptic_planar::scene::MAX_BODIES;

/// Limits of positions, m.
pub const POSITION: Limits = Limits::new(Range::within(1e3), Range::within(10.0));
/// Limits of lengths, m.
const LENGTH: Limits = Limits::new(Range::new(1e-6, 1e3), Range::new(1e-4, 10.0));
/// Limits of angles, rad.
const ANGLE: Limits = Limits::new(Range::within(1e4), Range::within(10.0));
/// Limits of the components of a velocity, m/s.
const VELOCITY: Limits = Limits::new(Range::within(1e3), Range::within(100.0));
/// Limits of coefficients of friction.
const FRICTION_LIMITS: Limits = Limits::new(Range::up_to(100.0), Range::up_to(2.0));
/// Limits of coefficients of restitution.
const RESTITUTION_LIMITS: Limits = Limits::new(Range::up_to(1.0), Range::up_to(1.0));
/// Limits of the radius of a rounding, m.
const ROUNDING_LIMITS: Limits = Limits::new(Range::up_to(10.0), Range::up_to(0.1));
/// Limits of times, s.
pub const TIME: Limits = Limits::new(Range::up_to(1e6), Range::up_to(3600.0));

/// Values of `restitution_law`.
pub const RESTITUTION_LAWS: [(&str, RestitutionLaw); 2] =
    [("stronge", RestitutionLaw::Stronge), ("poisson", RestitutionLaw::Poisson)];

/// Values of `impact_state`.
pub const IMPACT_STATES: [(&str, ImpactState); 7] = [
    ("inter-state", ImpactState::InterState),
    ("inter-state-as-printed", ImpactState::InterStateAsPrinted),
    ("exact", ImpactState::Exact),
    ("previous", ImpactState::Previous),
    ("previous-position", ImpactState::PreviousPosition),
    ("limited-search", ImpactState::LimitedSearch),
    ("force-impulse", ImpactState::ForceImpulse),
];

/// Values of `leave`.
pub const LEAVES: [(&str, Leave); 3] = [("respawn", Leave::Respawn), ("remove", Leave::Remove), ("stop", Leave::Stop)];

static RESTITUTION_LAW_NAMES: [&str; 2] = names(&RESTITUTION_LAWS);
static IMPACT_STATE_NAMES: [&str; 7] = names(&IMPACT_STATES);
static LEAVE_NAMES: [&str; 3] = names(&LEAVES);

fn body() -> BodyDescription {
    BodyDescription::new("", ShapeDescription::Disc { radius_m: 0.0 })
}

/// Scene files.
pub static SCENE: SectionSpec = SectionSpec {
    header: "",
    about: "A scene file describes a flat world: its bodies, the tool that the hand holds, and the surroundings.",
    keys: &[&TITLE, &DESCRIPTION, &INCLUDE, &WORLD, &BODY, &TEMPLATE, &REPEAT, &PAIR, &JOINT, &TOOL, &HAND],
    example: "title = \"A ball on a table\"\ndescription = \"Press on the table, and push the ball.\"\n\n\
              [[body]]\nname = \"table\"\nfixed = true\nposition_m = [0.0, -0.01]\nshape = { box_m = [0.24, 0.02] }\n\n\
              [[body]]\nname = \"ball\"\nposition_m = [0.05, 0.012]\nshape = { disc_radius_m = 0.012 }\nmass_kg = 0.03\n\
              restitution = 0.5\n\n[[body]]\nname = \"probe\"\nposition_m = [0.0, 0.04]\n\
              shape = { disc_radius_m = 0.006 }\nmass_kg = 0.004\n\n[tool]\nbody = \"probe\"\nweightless = true\n\n\
              [hand]\npath = [[0.0, 0.0, 0.04], [1.0, 0.0, 0.004], [2.0, 0.02, 0.004], [3.0, 0.0, 0.04]]\n",
};

/// `title`
pub static TITLE: Key = Key::new("title", "Short name of the scene, for lists and pictures", Value::Text)
    .or(Default::Text(""))
    .such_as("\"A disc above a floor\"")
    .also(&["name", "caption", "heading"]);

/// `description`
pub static DESCRIPTION: Key = Key::new("description", "What there is to feel in the scene", Value::Text)
    .or(Default::Text(""))
    .such_as("\"Press the disc on the floor and feel how stiff it is.\"")
    .also(&["about", "comment", "text", "info", "summary", "subtitle"]);

/// `include`
pub static INCLUDE: Key = Key::new(
    "include",
    "Files whose bodies, templates, repeats and pairs are added to this scene; the paths are relative to this file",
    Value::Texts,
)
.such_as("[\"walls.toml\"]")
.also(&["includes", "import", "imports", "require", "source", "file", "files"]);

/// `[world]`
pub static WORLD: Key = Key::new("world", "What applies to all bodies", Value::Section(&WORLD_SECTION)).also(&[
    "scene",
    "environment",
    "physics",
    "settings",
    "simulation",
]);

/// `[[body]]`
pub static BODY: Key = Key::new("body", "One body; write it once for each body", Value::Sections(&BODY_SECTION))
    .also(&["bodies", "object", "objects", "rigid_body", "obstacle", "wall", "walls"]);

/// `[[template]]`
pub static TEMPLATE: Key =
    Key::new("template", "Pattern of a body for `[[repeat]]`; not a body itself", Value::Sections(&TEMPLATE_SECTION))
        .also(&["templates", "prototype", "pattern", "class", "prefab"]);

/// `[[repeat]]`
pub static REPEAT: Key =
    Key::new("repeat", "A row of bodies, copied from a template", Value::Sections(&REPEAT_SECTION)).also(&[
        "repeats",
        "copies",
        "copy",
        "array",
        "row",
        "instances",
        "clone",
    ]);

/// `[[pair]]`
pub static PAIR: Key = Key::new("pair", "Exceptions for one pair of bodies", Value::Sections(&PAIR_SECTION))
    .also(&["pairs", "contact", "contacts"]);

/// `[[joint]]`
pub static JOINT: Key =
    Key::new("joint", "Reserved for joints, which are not yet supported", Value::Sections(&JOINT_SECTION))
        .also(&["joints"]);

/// `[tool]`
pub static TOOL: Key = Key::new("tool", "The body that the hand holds", Value::Section(&TOOL_SECTION))
    .also(&["tools", "probe", "proxy", "handle"]);

/// `[hand]`
pub static HAND: Key =
    Key::new("hand", "The simulated hand that demonstrates the scene", Value::Section(&HAND_SECTION))
        .also(&["hands", "demo"]);

/// The section `[world]`.
pub static WORLD_SECTION: SectionSpec = SectionSpec {
    header: "[world]",
    about: "What applies to all bodies.",
    keys: &[&GRAVITY, &ORDER, &RESTITUTION_LAW, &IMPACT_STATE, &ROLLING_FRICTION, &AIR_DRAG, &BOUNDS, &LEAVE],
    example: "[world]\ngravity_m_per_s2 = [0.0, -1.62]      # as on the moon\n\n[[body]]\nname = \"stone\"\n\
              shape = { disc_radius_m = 0.01 }\n",
};

/// `gravity_m_per_s2`
pub static GRAVITY: Key = Key::new(
    "gravity_m_per_s2",
    "Acceleration due to gravity",
    Value::Vector(Limits::new(Range::within(1e3), Range::within(30.0))),
)
.or(Default::Vector(|| SceneDescription::default().gravity_m_per_s2))
.also(&["g"]);
/// `order`
pub static ORDER: Key =
    Key::new("order", "Order of the equations of motion; there is only one so far", Value::Choice(&["second"]))
        .or(Default::Text("second"));
/// `restitution_law`
pub static RESTITUTION_LAW: Key =
    Key::new("restitution_law", "Meaning of the coefficient of restitution", Value::Choice(&RESTITUTION_LAW_NAMES))
        .or(Default::Text("stronge"));
/// `impact_state`
pub static IMPACT_STATE: Key = Key::new(
    "impact_state",
    "State in which impacts are resolved; all but the default are there for comparison",
    Value::Choice(&IMPACT_STATE_NAMES),
)
.or(Default::Text("inter-state"));
/// `rolling_friction`
pub static ROLLING_FRICTION: Key = Key::number(
    "rolling_friction",
    "Length in metres: the torque against rolling is at most this length times the normal force",
    Limits::new(Range::up_to(1.0), Range::up_to(0.01)),
)
.or(Default::Number(|| SceneDescription::default().rolling_friction));
/// `air_drag_n_m_s_per_rad`
pub static AIR_DRAG: Key = Key::number(
    "air_drag_n_m_s_per_rad",
    "Torque against the rotation of every body per angular velocity",
    Limits::new(Range::up_to(1e3), Range::up_to(1.0)),
)
.or(Default::Number(|| SceneDescription::default().air_drag_n_m_s_per_rad))
.also(&["drag", "angular_damping"]);
/// `bounds_m`
pub static BOUNDS: Key = Key::new(
    "bounds_m",
    "Two opposite corners of the rectangle in which the centres of mass of all dynamic bodies start; `leave` says what \
     happens to a body whose centre of mass leaves it; the tool is never affected",
    Value::Corners(POSITION),
)
.such_as("[[-0.2, -0.1], [0.2, 0.2]]")
.also(&["bounds", "limits", "extent", "world_bounds", "kill_zone", "arena"]);
/// `leave`
pub static LEAVE: Key = Key::new(
    "leave",
    "What happens to a body that leaves `bounds_m`: `respawn` puts it back to its start at rest as soon as that place is \
     free, `remove` takes it out of the world, `stop` makes it stand still like a fixed body; the tool is never affected",
    Value::Choice(&LEAVE_NAMES),
)
.or(Default::Text("respawn"))
.also(&["on_leave", "leaves", "out_of_bounds", "outside"]);

/// Keys that a body and a template have in common.
static BODY_KEYS: [&Key; 14] = [
    &ANGLE_RAD,
    &SHAPE,
    &SHAPES,
    &ROUNDING,
    &FIXED,
    &DENSITY,
    &MASS,
    &INERTIA,
    &FRICTION,
    &RESTITUTION,
    &VELOCITY_M_PER_S,
    &SPIN,
    &LAYER,
    &COLOUR,
];

/// Returns the keys of a body or a template, `first` before those that they have in common.
const fn body_keys<const N: usize>(first: &[&'static Key]) -> [&'static Key; N] {
    let mut keys = [&SHAPE; N];
    let mut index = 0;
    while index < N {
        keys[index] = if index < first.len() { first[index] } else { BODY_KEYS[index - first.len()] };
        index += 1;
    }
    keys
}

/// The section `[[body]]`.
pub static BODY_SECTION: SectionSpec = SectionSpec {
    header: "[[body]]",
    about: "One body. Every body has its own `[[body]]`.",
    keys: &body_keys::<16>(&[&NAME, &POSITION_M]),
    example: "[[body]]\nname = \"floor\"\nfixed = true\nposition_m = [0.0, -0.01]\nshape = { box_m = [0.2, 0.02] }\n\n\
              [[body]]\nname = \"ball\"\nposition_m = [0.0, 0.03]\nshape = { disc_radius_m = 0.01 }\nmass_kg = 0.05\n\
              restitution = 0.8\ncolour = \"firebrick\"\n",
};

/// `name`
pub static NAME: Key = Key::new("name", "Name of the body, different from that of every other body", Value::Text)
    .or(Default::Required)
    .such_as("\"probe\"")
    .also(&["id", "title"]);
/// `fixed`
pub static FIXED: Key = Key::new("fixed", "Whether the body never moves", Value::Flag)
    .or(Default::Flag(false))
    .also(&["static", "immovable", "dynamic", "kinematic"]);
/// `position_m`
pub static POSITION_M: Key =
    Key::new("position_m", "Position of the origin of the body's frame at the start", Value::Vector(POSITION))
        .or(Default::Vector(|| body().position_m))
        .also(&["pos", "x", "y", "origin", "location", "at", "centre", "center"]);
/// `angle_rad`
pub static ANGLE_RAD: Key = Key::number("angle_rad", "Angle of the body's frame at the start, anticlockwise", ANGLE)
    .or(Default::Number(|| body().angle_rad))
    .also(&["rotation", "orientation", "theta"]);
/// `shape`
pub static SHAPE: Key = Key::new(
    "shape",
    "Outline of the body, in the body's frame: one of the keys below",
    Value::Section(&SHAPE_SECTION),
)
.alternative()
.such_as("{ box_m = [0.02, 0.01] }")
.also(&["geometry", "outline", "form"]);
/// `shapes`
pub static SHAPES: Key =
    Key::new("shapes", "Several shapes in place of `shape`, at most 64", Value::Sections(&SHAPES_SECTION))
        .alternative()
        .such_as("[{ box_m = [0.02, 0.01] }, { disc_radius_m = 0.01, position_m = [0.01, 0.0] }]")
        .also(&["parts", "outlines", "fixtures", "geometries", "compound"]);
/// `rounding_m`
pub static ROUNDING: Key =
    Key::number("rounding_m", "Radius by which the outline is grown, so that its corners are round", ROUNDING_LIMITS)
        .or(Default::Number(|| body().rounding_m))
        .also(&["corner_radius", "rounded"]);
/// `density_kg_per_m2`
pub static DENSITY: Key = Key::number(
    "density_kg_per_m2",
    "Mass per area, from which the mass is computed if `mass_kg` is not given",
    Limits::new(Range::new(1e-6, 1e9), Range::new(0.01, 1e5)),
)
.or(Default::Number(|| body().density_kg_per_m2));
/// `mass_kg`
pub static MASS: Key = Key::number(
    "mass_kg",
    "Mass; without it, it follows from the density and the area",
    Limits::new(Range::new(1e-6, 1e4), Range::new(1e-3, 10.0)),
)
.such_as("0.1")
.also(&["weight", "m"]);
/// `inertia_kg_m2`
pub static INERTIA: Key = Key::number(
    "inertia_kg_m2",
    "Moment of inertia about the centre of mass; without it, it follows from the mass and the shape",
    Limits::new(Range::new(1e-15, 1e6), Range::new(1e-10, 10.0)),
)
.such_as("1e-5")
.also(&["moment_of_inertia"]);
/// `friction` of a body
pub static FRICTION: Key =
    Key::number("friction", "Coulomb coefficient; a pair of bodies has the geometric mean of both", FRICTION_LIMITS)
        .or(Default::Number(|| body().friction))
        .also(&["mu", "friction_coefficient", "coefficient_of_friction"]);
/// `restitution` of a body
pub static RESTITUTION: Key =
    Key::number("restitution", "Coefficient of restitution; a pair of bodies has the larger one", RESTITUTION_LIMITS)
        .or(Default::Number(|| body().restitution))
        .also(&["bounce", "bounciness", "elasticity", "e", "coefficient_of_restitution"]);
/// `velocity_m_per_s`
pub static VELOCITY_M_PER_S: Key =
    Key::new("velocity_m_per_s", "Velocity of the centre of mass at the start", Value::Vector(VELOCITY))
        .or(Default::Vector(|| body().velocity_m_per_s))
        .also(&["speed", "v"]);
/// `spin_rad_per_s`
pub static SPIN: Key = Key::number(
    "spin_rad_per_s",
    "Angular velocity at the start, anticlockwise",
    Limits::new(Range::within(1e5), Range::within(1e3)),
)
.or(Default::Number(|| body().angular_velocity_rad_per_s))
.also(&["angular_velocity", "omega", "angular_velocity_rad_per_s"]);
/// `layer`
pub static LAYER: Key = Key::new(
    "layer",
    "Number of the layer; bodies of different layers do not touch",
    Value::Whole(i32::MIN as i64, i32::MAX as i64),
)
.or(Default::Whole(0))
.also(&["group", "collision_group", "mask", "category"]);
/// `colour`
pub static COLOUR: Key =
    Key::new("colour", "Colour in pictures: `#rrggbb` or a CSS name such as `gold`", Value::Colour)
        .or(Default::Text("#8899aa"))
        .also(&["color", "fill"]);

/// The section `[[pair]]`.
pub static PAIR_SECTION: SectionSpec = SectionSpec {
    header: "[[pair]]",
    about: "Friction and restitution of one pair of bodies, instead of what follows from the two bodies.",
    keys: &[&PAIR_BODIES, &PAIR_FRICTION, &PAIR_RESTITUTION],
    example: "[[body]]\nname = \"table\"\nfixed = true\nshape = { box_m = [0.2, 0.02] }\n\n[[body]]\nname = \"probe\"\n\
              position_m = [0.0, 0.02]\nshape = { disc_radius_m = 0.01 }\n\n[[pair]]\nbodies = [\"table\", \"probe\"]\n\
              friction = 0.02\n",
};

/// `bodies` of a pair
pub static PAIR_BODIES: Key = Key::new("bodies", "Names of the two bodies", Value::TwoTexts)
    .or(Default::Required)
    .such_as("[\"table\", \"probe\"]")
    .also(&["body", "names", "pair"]);
/// `friction` of a pair
pub static PAIR_FRICTION: Key =
    Key::number("friction", "Coulomb coefficient of the pair", FRICTION_LIMITS).such_as("0.5").also(&["mu"]);
/// `restitution` of a pair
pub static PAIR_RESTITUTION: Key =
    Key::number("restitution", "Coefficient of restitution of the pair", RESTITUTION_LIMITS)
        .such_as("0.2")
        .also(&["e"]);

/// The section `[[joint]]`.
pub static JOINT_SECTION: SectionSpec = SectionSpec {
    header: "[[joint]]",
    about: "Reserved for joints, which are not yet supported.",
    keys: &[],
    example: "",
};

/// The section `[tool]`.
pub static TOOL_SECTION: SectionSpec = SectionSpec {
    header: "[tool]",
    about: "The body that the hand holds, by a spring and a damper (`[coupling]` of the profile). Without it, the hand \
            touches nothing.",
    keys: &[&TOOL_BODY, &HANDLE, &WEIGHTLESS],
    example: "[[body]]\nname = \"probe\"\nshape = { disc_radius_m = 0.01 }\nmass_kg = 0.004\n\n[tool]\n\
              body = \"probe\"\nweightless = true\n",
};

/// `body` of the tool
pub static TOOL_BODY: Key = Key::new("body", "Name of the body", Value::Text)
    .or(Default::Required)
    .such_as("\"probe\"")
    .also(&["name", "tool"]);
/// `handle_m`
pub static HANDLE: Key =
    Key::new("handle_m", "Point at which the hand holds the body, in the body's frame", Value::Vector(POSITION))
        .or(Default::Vector(Vector2::zeros))
        .also(&["anchor", "grip", "offset"]);
/// `weightless`
pub static WEIGHTLESS: Key =
    Key::new("weightless", "Whether gravity does not act on the tool, so that the hand does not carry it", Value::Flag)
        .or(Default::Flag(false));

/// The section `[hand]`.
pub static HAND_SECTION: SectionSpec = SectionSpec {
    header: "[hand]",
    about: "The hand of a simulated device. Positions are in the world.",
    keys: &[&HAND_START, &HAND_PATH, &HAND_LOOP, &HAND_IDLE],
    example: "[[body]]\nname = \"probe\"\nshape = { disc_radius_m = 0.01 }\n\n[tool]\nbody = \"probe\"\n\n[hand]\n\
              path = [[0.0, 0.0, 0.03], [1.0, 0.0, -0.01], [2.0, 0.0, 0.03]]\n",
};

/// `start_m` of the hand
pub static HAND_START: Key =
    Key::new("start_m", "Where the hand starts; without it, at the handle of the tool", Value::Vector(POSITION))
        .such_as("[0.0, 0.03]")
        .also(&["position"]);
/// `path` of the hand of a scene
pub static HAND_PATH: Key = Key::new(
    "path",
    "Rows of t_s, x_m, y_m on which the hand demonstrates the scene, linear in between; without it, the hand rests",
    Value::Rows(POSITION),
)
.such_as("[[0.0, 0.0, 0.03], [1.0, 0.0, -0.01], [2.0, 0.0, 0.03]]")
.also(&["trajectory", "waypoints", "motion"]);
/// `loop` of a hand
pub static HAND_LOOP: Key =
    Key::new("loop", "Whether the path repeats; its first and last points must then agree", Value::Flag)
        .or(Default::Flag(true))
        .also(&["looped", "repeat"]);
/// `idle_s`
pub static HAND_IDLE: Key = Key::number("idle_s", "Time without a guided hand after which the path begins", TIME)
    .or(Default::Number(|| SceneHand::default().idle_s))
    .also(&["wait", "delay"]);

//! Keys of `[[template]]` and `[[repeat]]` in scene files.

use super::{ANGLE, MAX_BODIES, POSITION, body, body_keys};
use crate::keys::{Default, Key, SectionSpec, Value};
use nalgebra::Vector2;

/// The section `[[template]]`.
pub static TEMPLATE_SECTION: SectionSpec = SectionSpec {
    header: "[[template]]",
    about: "Pattern of a body, which `[[repeat]]` copies: the keys of a body without a position.",
    keys: &body_keys::<15>(&[&TEMPLATE_NAME]),
    example: "[[template]]\nname = \"domino\"\nfixed = true\nshape = { disc_radius_m = 0.004 }\ncolour = \"slategray\"\n\n\
              [[repeat]]\ntemplate = \"domino\"\ncount = 5\nposition_m = [-0.04, 0.0]\nstep_m = [0.02, 0.0]\n",
};

/// `name` of a template
pub static TEMPLATE_NAME: Key =
    Key::new("name", "Name of the template, different from that of every other template", Value::Text)
        .or(Default::Required)
        .such_as("\"domino\"")
        .also(&["id"]);

/// The section `[[repeat]]`.
pub static REPEAT_SECTION: SectionSpec = SectionSpec {
    header: "[[repeat]]",
    about: "A row of bodies. The first copy of the template is at `position_m`; each of the others is `step_m` further \
            on and turned by `step_rad` more than the one before. The copies take the place of `[[repeat]]` in the \
            order of the bodies.",
    keys: &[&REPEAT_TEMPLATE, &COUNT, &REPEAT_POSITION, &STEP_M, &STEP_RAD, &REPEAT_NAME],
    example: "[[template]]\nname = \"domino\"\nshape = { box_m = [0.005, 0.03] }\nmass_kg = 0.01\n\n\
              [[repeat]]\ntemplate = \"domino\"\ncount = 8\nposition_m = [-0.06, 0.015]\nstep_m = [0.016, 0.0]\n\
              name = \"domino{}\"\n",
};

/// `template` of a repeat
pub static REPEAT_TEMPLATE: Key = Key::new("template", "Name of the template that is copied", Value::Text)
    .or(Default::Required)
    .such_as("\"domino\"")
    .also(&["body", "of", "what"]);
/// `count`
pub static COUNT: Key = Key::new("count", "Number of copies", Value::Whole(1, MAX_BODIES as i64))
    .or(Default::Required)
    .such_as("8")
    .also(&["number", "n", "times", "copies", "repeat"]);
/// `position_m` of a repeat
pub static REPEAT_POSITION: Key =
    Key::new("position_m", "Position of the origin of the frame of the first copy", Value::Vector(POSITION))
        .or(Default::Vector(|| body().position_m))
        .also(&["pos", "x", "y", "origin", "start", "start_m", "at"]);
/// `step_m`
pub static STEP_M: Key = Key::new("step_m", "Displacement from each copy to the next", Value::Vector(POSITION))
    .or(Default::Vector(Vector2::zeros))
    .such_as("[0.016, 0.0]")
    .also(&["spacing", "pitch", "offset", "distance", "dx", "delta"]);
/// `step_rad`
pub static STEP_RAD: Key = Key::number(
    "step_rad",
    "Angle by which each copy is turned further than the one before, anticlockwise, about the origin of its frame",
    ANGLE,
)
.or(Default::Number(|| 0.0))
.also(&["step_angle", "angle_step", "rotation", "turn", "angle_rad"]);
/// `name` of a repeat
pub static REPEAT_NAME: Key = Key::new(
    "name",
    "Names of the copies: `{}` stands for the number of the copy, from 1, and is appended if it is missing; without \
     this key, the name of the template",
    Value::Text,
)
.such_as("\"domino{}\"")
.also(&["names", "id"]);

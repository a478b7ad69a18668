//! Keys of shapes in scene files.

use super::{ANGLE, LENGTH, POSITION, ROUNDING_LIMITS};
use crate::keys::{Default, Key, SectionSpec, Value};
use nalgebra::Vector2;

/// The table `shape`.
pub static SHAPE_SECTION: SectionSpec = SectionSpec {
    header: "shape = { … }",
    about: "Outline of a body, in the body's frame, which `position_m` and `angle_rad` place in the world. \
            `thickness_m` and `closed` belong to `walls_m`.",
    keys: &[&BOX, &DISC_RADIUS, &POLYGON, &CAPSULE, &WALLS, &THICKNESS, &CLOSED],
    example: "[[body]]\nname = \"wedge\"\nshape = { polygon_m = [[0.0, 0.0], [0.03, 0.0], [0.0, 0.02]] }\n\n\
              [[body]]\nname = \"room\"\nfixed = true\n\
              shape = { walls_m = [[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [-0.1, 0.1]], thickness_m = 0.005, closed = true }\n",
};

/// `box_m`
pub static BOX: Key = Key::new("box_m", "Full width and height of a box, centred on the origin", Value::Vector(LENGTH))
    .alternative()
    .such_as("[0.02, 0.01]")
    .also(&["size", "size_m", "rectangle", "rect", "width", "height"]);
/// `disc_radius_m`
pub static DISC_RADIUS: Key = Key::number("disc_radius_m", "Radius of a disc, centred on the origin", LENGTH)
    .alternative()
    .such_as("0.01")
    .also(&["radius", "radius_m", "circle", "circle_radius_m", "disc", "disc_m", "disk", "ball", "diameter"]);
/// `polygon_m`
pub static POLYGON: Key =
    Key::new("polygon_m", "Corners of a polygon, convex or concave, in either direction", Value::Points(POSITION))
        .alternative()
        .such_as("[[0.0, 0.0], [0.02, 0.0], [0.0, 0.02]]")
        .also(&["vertices", "points", "corners", "poly", "triangle"]);
/// `capsule_m`
pub static CAPSULE: Key =
    Key::new("capsule_m", "A capsule along x, centred on the origin", Value::Section(&CAPSULE_SECTION))
        .alternative()
        .such_as("{ length_m = 0.02, radius_m = 0.005 }")
        .also(&["pill", "stadium"]);

/// `walls_m`
pub static WALLS: Key = Key::new(
    "walls_m",
    "Points of a line with a thickness, for rooms and mazes: each point is joined to the next by a straight wall",
    Value::Points(POSITION),
)
.alternative()
.such_as("[[0.0, 0.0], [0.1, 0.0], [0.1, 0.06]]")
.also(&["wall", "polyline", "line", "lines", "path", "maze", "room", "segments", "chain"]);
/// `thickness_m`
pub static THICKNESS: Key =
    Key::number("thickness_m", "Thickness of the walls of `walls_m`, half of it on each side of the line", LENGTH)
        .such_as("0.005")
        .also(&["wall_thickness", "line_width", "stroke_width"]);
/// `closed`
pub static CLOSED: Key =
    Key::new("closed", "Whether a wall joins the last point of `walls_m` to the first", Value::Flag)
        .or(Default::Flag(false))
        .also(&["close", "is_closed", "ring"]);

/// The list of tables `shapes`.
pub static SHAPES_SECTION: SectionSpec = SectionSpec {
    header: "shapes = [{ … }]",
    about: "Shapes of a body that consists of several, each with an outline as in `shape` and a place in the body's \
            frame. They may touch and overlap; what slides over them does not catch where they are flush. Mass, centre \
            of mass and inertia are computed from all of them, and where they overlap, the area counts more than once.",
    keys: &[
        &BOX,
        &DISC_RADIUS,
        &POLYGON,
        &CAPSULE,
        &WALLS,
        &THICKNESS,
        &CLOSED,
        &PLACED_POSITION,
        &PLACED_ANGLE,
        &PLACED_ROUNDING,
    ],
    example: "[[body]]\nname = \"dumb-bell\"\nshapes = [\n    { box_m = [0.03, 0.004] },\n    \
              { disc_radius_m = 0.006, position_m = [-0.015, 0.0] },\n    \
              { disc_radius_m = 0.006, position_m = [0.015, 0.0] },\n]\nmass_kg = 0.02\n",
};

/// `position_m` of a shape
pub static PLACED_POSITION: Key =
    Key::new("position_m", "Position of the origin of the shape in the body's frame", Value::Vector(POSITION))
        .or(Default::Vector(Vector2::zeros))
        .also(&["pos", "x", "y", "origin", "offset", "at", "centre", "center"]);
/// `angle_rad` of a shape
pub static PLACED_ANGLE: Key = Key::number("angle_rad", "Angle of the shape in the body's frame, anticlockwise", ANGLE)
    .or(Default::Number(|| 0.0))
    .also(&["rotation", "orientation", "theta"]);
/// `rounding_m` of a shape
pub static PLACED_ROUNDING: Key = Key::number(
    "rounding_m",
    "Radius by which the outline of the shape is grown; without it, `rounding_m` of the body",
    ROUNDING_LIMITS,
)
.such_as("0.001")
.also(&["corner_radius", "rounded"]);

/// The table `capsule_m`.
pub static CAPSULE_SECTION: SectionSpec = SectionSpec {
    header: "capsule_m = { … }",
    about: "A capsule along x, centred on the origin of the shape's frame.",
    keys: &[&CAPSULE_LENGTH, &CAPSULE_RADIUS],
    example: "[[body]]\nname = \"pill\"\nshape = { capsule_m = { length_m = 0.02, radius_m = 0.005 } }\n",
};

/// `length_m` of a capsule
pub static CAPSULE_LENGTH: Key = Key::number("length_m", "Distance between the centres of the two round ends", LENGTH)
    .or(Default::Required)
    .such_as("0.02");
/// `radius_m` of a capsule
pub static CAPSULE_RADIUS: Key =
    Key::number("radius_m", "Radius of the round ends", LENGTH).or(Default::Required).such_as("0.005");

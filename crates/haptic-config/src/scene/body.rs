//! Bodies of scene files: the keys that `[[body]]` and `[[template]]` have in common.

use crate::colour;
use crate::keys::Key;
use crate::keys::scene as keys;
use crate::section::Section;
use haptic_planar::scene::description::{BodyDescription, PlacedShape, ShapeDescription};
use haptic_planar::scene::walls::Walls;

/// Reads a `[[body]]`.
pub fn body(section: &Section<'_>) -> Option<BodyDescription> {
    if !section.is_present() {
        return None;
    }
    let position_m = section.vector(&keys::POSITION_M);
    let (name, body) = pattern(section, &keys::NAME);
    Some(BodyDescription { name: name?.to_owned(), position_m, ..body? })
}

/// Reads a name, from the given key, and a body without its name and position.
pub fn pattern<'d>(section: &Section<'d>, name: &'static Key) -> (Option<&'d str>, Option<BodyDescription>) {
    section.is_incomplete();
    let (name, shapes) = (section.text(name), shapes(section));
    let body = BodyDescription {
        fixed: section.flag(&keys::FIXED),
        angle_rad: section.number(&keys::ANGLE_RAD),
        rounding_m: section.number(&keys::ROUNDING),
        density_kg_per_m2: section.number(&keys::DENSITY),
        mass_kg: section.optional_number(&keys::MASS),
        inertia_kg_m2: section.optional_number(&keys::INERTIA),
        friction: section.number(&keys::FRICTION),
        restitution: section.number(&keys::RESTITUTION),
        velocity_m_per_s: section.vector(&keys::VELOCITY_M_PER_S),
        angular_velocity_rad_per_s: section.number(&keys::SPIN),
        layer: section.whole(&keys::LAYER) as i32,
        colour: colour(section),
        ..BodyDescription::new("", ShapeDescription::Disc { radius_m: 0.0 })
    };
    section.reject_unknown_keys();
    if section.has(&keys::MASS) && section.has(&keys::DENSITY) {
        let problem = "is given besides mass_kg, which overrides it";
        section.error(&keys::DENSITY, problem, "remove mass_kg or density_kg_per_m2");
    }
    (name, shapes.map(|shapes| BodyDescription { shapes, ..body }))
}

fn colour(section: &Section<'_>) -> String {
    let default = keys::COLOUR.default_text().unwrap_or_default().trim_matches('"').to_owned();
    let Some(text) = section.text(&keys::COLOUR) else { return default };
    colour::rgb(text).unwrap_or_else(|| {
        let remedy = format!("write colour = \"{}\"", colour::meant_by(text));
        section.error(&keys::COLOUR, format!("is neither #rrggbb nor the CSS name of a colour: {text:?}"), remedy);
        default
    })
}

/// Reads `shape` or `shapes`, of which a body has one.
fn shapes(body: &Section<'_>) -> Option<Vec<PlacedShape>> {
    match (body.has(&keys::SHAPE), body.has(&keys::SHAPES)) {
        (true, false) => shape(body).map(|shape| vec![PlacedShape::at_origin(shape)]),
        (false, true) => {
            let sections = body.sections(&keys::SHAPES);
            let shapes = sections.iter().enumerate().map(|(index, section)| placed_shape(body, index, section));
            // Collected first, so that the problems of all shapes are reported.
            shapes.collect::<Vec<_>>().into_iter().collect()
        }
        (true, true) => {
            body.error(&keys::SHAPES, "is given besides shape", "remove shape, or remove shapes");
            None
        }
        (false, false) => {
            body.error(&keys::SHAPE, "is missing", format!("write {}", keys::SHAPE.example_line()));
            None
        }
    }
}

fn shape(body: &Section<'_>) -> Option<ShapeDescription> {
    let section = body.section(&keys::SHAPE);
    if !section.is_present() {
        return None;
    }
    let (outline, has_unknown) = (outline(&section), section.reject_unknown_keys());
    if let Some(problem) = number_of_outlines(&section, has_unknown) {
        body.error(&keys::SHAPE, problem, one_outline(&keys::SHAPE.example_line()));
    }
    outline
}

fn placed_shape(body: &Section<'_>, index: usize, section: &Section<'_>) -> Option<PlacedShape> {
    if !section.is_present() {
        return None;
    }
    let shape = outline(section);
    let (position_m, angle_rad) = (section.vector(&keys::PLACED_POSITION), section.number(&keys::PLACED_ANGLE));
    let rounding_m = section.optional_number(&keys::PLACED_ROUNDING);
    let has_unknown = section.reject_unknown_keys();
    if let Some(problem) = number_of_outlines(section, has_unknown) {
        body.row_error(&keys::SHAPES, index, problem, one_outline(&keys::BOX.example_line()));
    }
    Some(PlacedShape { shape: shape?, position_m, angle_rad, rounding_m })
}

fn outline(section: &Section<'_>) -> Option<ShapeDescription> {
    let outlines = [disc(section), box_shape(section), polygon(section), capsule(section), walls(section)];
    outlines.into_iter().flatten().next()
}

/// Returns what is wrong with the number of outlines in a table, unless it is one. `has_unknown` tells whether an unknown
/// key, which may be a misspelt outline, has been reported.
fn number_of_outlines(section: &Section<'_>, has_unknown: bool) -> Option<&'static str> {
    match keys::SHAPE_SECTION.alternatives().filter(|key| section.has(key)).count() {
        1 => None,
        0 if has_unknown => None,
        0 => Some("has no outline"),
        _ => Some("has more than one outline"),
    }
}

fn one_outline(line: &str) -> String {
    let names: Vec<&str> = keys::SHAPE_SECTION.alternatives().map(|key| key.name).collect();
    format!("write {line}; a shape has one of {}", names.join(", "))
}

fn disc(section: &Section<'_>) -> Option<ShapeDescription> {
    section.optional_number(&keys::DISC_RADIUS).map(|radius_m| ShapeDescription::Disc { radius_m })
}

fn box_shape(section: &Section<'_>) -> Option<ShapeDescription> {
    section.optional_vector(&keys::BOX).map(|size_m| ShapeDescription::Box { size_m })
}

fn polygon(section: &Section<'_>) -> Option<ShapeDescription> {
    section.points(&keys::POLYGON).map(|corners_m| ShapeDescription::Polygon { corners_m })
}

fn capsule(section: &Section<'_>) -> Option<ShapeDescription> {
    let capsule = section.section(&keys::CAPSULE);
    if !capsule.is_present() {
        return None;
    }
    capsule.is_incomplete();
    let length_m = capsule.number(&keys::CAPSULE_LENGTH);
    let radius_m = capsule.number(&keys::CAPSULE_RADIUS);
    capsule.reject_unknown_keys();
    Some(ShapeDescription::Capsule { length_m, radius_m })
}

fn walls(section: &Section<'_>) -> Option<ShapeDescription> {
    let (points_m, thickness_m) = (section.points(&keys::WALLS), section.optional_number(&keys::THICKNESS));
    let closed = section.flag(&keys::CLOSED);
    if section.has(&keys::WALLS) {
        if !section.has(&keys::THICKNESS) {
            section.error(&keys::THICKNESS, "is missing", format!("write {}", keys::THICKNESS.example_line()));
        }
        let (points_m, thickness_m) = (points_m?, thickness_m?);
        if let Err(error) = Walls::new(&points_m, thickness_m, closed) {
            match error.point() {
                Some(point) => section.row_error(&keys::WALLS, point, error, error.remedy()),
                None => section.error(&keys::WALLS, error, error.remedy()),
            }
        }
        return Some(ShapeDescription::Walls { points_m, thickness_m, closed });
    }
    for key in [&keys::THICKNESS, &keys::CLOSED].into_iter().filter(|key| section.has(key)) {
        let remedy = format!("remove it, or write {}", keys::WALLS.example_line());
        section.error(key, "belongs to walls_m, which is missing", remedy);
    }
    None
}

//! Validation of the numbers of a description.

use super::{Place, SceneError};
use crate::scene::description::{
    BodyDescription, Bounds, PairDescription, PlacedShape, SceneDescription, ShapeDescription,
};
use crate::scene::polygon::CLEARANCE_M;
use nalgebra::Vector2;

/// Largest permitted coordinate, m. It is far larger than any haptic scene; a limit is needed because precision falls
/// with the distance from the origin.
const MAX_COORDINATE_M: f64 = 1000.0;

/// Largest number of shapes of a body.
const MAX_SHAPES: usize = 64;

/// Margin of the bounds that an error message suggests, m.
const BOUNDS_MARGIN_M: f64 = 0.1;

/// A part of the description that is being validated. Creates errors that carry the location of this part.
pub(super) struct At {
    place: Box<dyn Fn(&'static str) -> Place>,
    whose: String,
}

impl At {
    pub(super) fn world() -> Self {
        Self { place: Box::new(Place::World), whose: "the world".to_owned() }
    }

    pub(super) fn body(index: usize, name: &str) -> Self {
        Self { place: Box::new(move |key| Place::Body(index, key)), whose: format!("body `{name}`") }
    }

    /// Returns the place of a shape of a body. That of a body with a single shape at its origin is the body.
    pub(super) fn shape(index: usize, body: &BodyDescription, shape: usize) -> Self {
        if body.shapes.len() == 1 && body.shapes[0].is_at_origin() {
            return Self::body(index, &body.name);
        }
        let whose = format!("shape {} of body `{}`", shape + 1, body.name);
        Self { place: Box::new(move |key| Place::Shape(index, shape, key)), whose }
    }

    pub(super) fn pair(index: usize, one: &str, other: &str) -> Self {
        Self { place: Box::new(move |key| Place::Pair(index, key)), whose: format!("the pair `{one}`, `{other}`") }
    }

    pub(super) fn tool() -> Self {
        Self { place: Box::new(Place::Tool), whose: "the tool".to_owned() }
    }

    pub(super) fn error(&self, key: &'static str, problem: String, remedy: &str) -> SceneError {
        SceneError { place: (self.place)(key), problem, remedy: remedy.to_owned(), unknown_name: None }
    }

    pub(super) fn fail<T>(&self, key: &'static str, problem: String, remedy: &str) -> Result<T, SceneError> {
        Err(self.error(key, problem, remedy))
    }

    /// Returns an error unless `value` is finite and `good` is true. `name` is the name of the value in messages, which
    /// differs from the key for shapes.
    fn check(&self, key: &'static str, name: &str, value: f64, good: bool, remedy: &str) -> Result<(), SceneError> {
        if good && value.is_finite() {
            return Ok(());
        }
        self.fail(key, format!("{name} of {} is {value:?}", self.whose), remedy)
    }

    fn finite(&self, key: &'static str, value: f64) -> Result<(), SceneError> {
        self.check(key, key, value, true, "it must be a finite number")
    }

    fn positive(&self, key: &'static str, value: f64) -> Result<(), SceneError> {
        self.check(key, key, value, value > 0.0, "it must be a finite number above 0")
    }

    fn not_negative(&self, key: &'static str, value: f64) -> Result<(), SceneError> {
        self.check(key, key, value, value >= 0.0, "it must be a finite number, 0 or more")
    }

    fn restitution(&self, value: f64) -> Result<(), SceneError> {
        let remedy = "it must lie between 0 (no bounce) and 1 (nothing lost)";
        self.check("restitution", "restitution", value, (0.0..=1.0).contains(&value), remedy)
    }

    fn finite_vector(&self, key: &'static str, value: Vector2<f64>) -> Result<(), SceneError> {
        self.finite(key, value.x)?;
        self.finite(key, value.y)
    }

    pub(super) fn position(&self, key: &'static str, value: Vector2<f64>) -> Result<(), SceneError> {
        self.coordinate(key, key, value.x)?;
        self.coordinate(key, key, value.y)
    }

    fn coordinate(&self, key: &'static str, name: &str, value: f64) -> Result<(), SceneError> {
        let remedy = "each coordinate must lie between -1000 and 1000 m";
        self.check(key, name, value, value.abs() <= MAX_COORDINATE_M, remedy)
    }

    fn size(&self, name: &str, value: f64) -> Result<(), SceneError> {
        let good = (CLEARANCE_M..=MAX_COORDINATE_M).contains(&value);
        self.check("shape", name, value, good, "it must be above 0: between 0.000001 and 1000 m")
    }
}

pub(super) fn world(description: &SceneDescription) -> Result<(), SceneError> {
    let at = At::world();
    at.finite_vector("gravity_m_per_s2", description.gravity_m_per_s2)?;
    at.not_negative("rolling_friction", description.rolling_friction)?;
    at.not_negative("air_drag_n_m_s_per_rad", description.air_drag_n_m_s_per_rad)?;
    description.bounds.map_or(Ok(()), |bounds| self::bounds(&at, &bounds))
}

fn bounds(at: &At, bounds: &Bounds) -> Result<(), SceneError> {
    bounds.corners_m.iter().try_for_each(|&corner| at.position("bounds_m", corner))?;
    let [low, high] = bounds.sorted().corners_m;
    if low.x < high.x && low.y < high.y {
        return Ok(());
    }
    let side = if low.x < high.x { "height" } else { "width" };
    let remedy = format!("give two opposite corners: write {}", written_bounds(low, high));
    at.fail("bounds_m", format!("the rectangle has no {side}"), &remedy)
}

/// Returns the line of the bounds that contain a rectangle with a margin of about 0.1 m, as far as coordinates go.
pub(super) fn written_bounds(low: Vector2<f64>, high: Vector2<f64>) -> String {
    let down = |value: f64| (((value - BOUNDS_MARGIN_M) * 100.0).round() / 100.0).max(-MAX_COORDINATE_M);
    let up = |value: f64| (((value + BOUNDS_MARGIN_M) * 100.0).round() / 100.0).min(MAX_COORDINATE_M);
    format!("bounds_m = [[{:?}, {:?}], [{:?}, {:?}]]", down(low.x), down(low.y), up(high.x), up(high.y))
}

pub(super) fn pair(at: &At, pair: &PairDescription) -> Result<(), SceneError> {
    pair.friction.map_or(Ok(()), |friction| at.not_negative("friction", friction))?;
    pair.restitution.map_or(Ok(()), |restitution| at.restitution(restitution))
}

pub(super) fn body(at: &At, body: &BodyDescription) -> Result<(), SceneError> {
    at.position("position_m", body.position_m)?;
    at.finite("angle_rad", body.angle_rad)?;
    number_of_shapes(at, body)?;
    rounding(at, body.rounding_m)?;
    inertia(at, body)?;
    at.not_negative("friction", body.friction)?;
    at.restitution(body.restitution)?;
    velocity(at, body)?;
    colour(at, body)
}

fn number_of_shapes(at: &At, body: &BodyDescription) -> Result<(), SceneError> {
    let count = body.shapes.len();
    if (1..=MAX_SHAPES).contains(&count) {
        return Ok(());
    }
    let problem = format!("{} has {count} shapes, not 1 to {MAX_SHAPES}", at.whose);
    let remedy = if count == 0 {
        "write shapes = [{ box_m = [0.02, 0.01] }]"
    } else {
        "join some of them: give shapes = [{ polygon_m = [[x, y], …] }] their common outline"
    };
    at.fail("shapes", problem, remedy)
}

fn rounding(at: &At, rounding_m: f64) -> Result<(), SceneError> {
    let good = (0.0..=MAX_COORDINATE_M).contains(&rounding_m);
    at.check("rounding_m", "rounding_m", rounding_m, good, "it must be 0 (sharp) or more, at most 1000 m")
}

pub(super) fn shape(at: &At, placed: &PlacedShape) -> Result<(), SceneError> {
    at.position("position_m", placed.position_m)?;
    at.finite("angle_rad", placed.angle_rad)?;
    placed.rounding_m.map_or(Ok(()), |rounding_m| rounding(at, rounding_m))?;
    outline(at, &placed.shape)
}

fn outline(at: &At, shape: &ShapeDescription) -> Result<(), SceneError> {
    match shape {
        ShapeDescription::Disc { radius_m } => at.size("disc_radius_m", *radius_m),
        ShapeDescription::Box { size_m } => at.size("box_m", size_m.x).and(at.size("box_m", size_m.y)),
        ShapeDescription::Capsule { length_m, radius_m } => {
            at.size("capsule_m.length_m", *length_m).and(at.size("capsule_m.radius_m", *radius_m))
        }
        ShapeDescription::Polygon { corners_m } => coordinates(at, "polygon_m, corner", corners_m),
        ShapeDescription::Walls { points_m, thickness_m, .. } => {
            at.size("thickness_m", *thickness_m)?;
            coordinates(at, "walls_m, point", points_m)
        }
    }
}

fn coordinates(at: &At, what: &str, points_m: &[Vector2<f64>]) -> Result<(), SceneError> {
    points_m.iter().enumerate().try_for_each(|(i, point)| {
        let name = format!("{what} {},", i + 1);
        at.coordinate("shape", &name, point.x).and(at.coordinate("shape", &name, point.y))
    })
}

/// Validates density, mass and inertia. A fixed body does not use them, but they must still be finite.
fn inertia(at: &At, body: &BodyDescription) -> Result<(), SceneError> {
    at.finite("density_kg_per_m2", body.density_kg_per_m2)?;
    let given = [("mass_kg", body.mass_kg), ("inertia_kg_m2", body.inertia_kg_m2)];
    for (key, value) in given.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        if body.fixed { at.finite(key, value)? } else { at.positive(key, value)? }
    }
    if body.fixed || body.mass_kg.is_some() { Ok(()) } else { at.positive("density_kg_per_m2", body.density_kg_per_m2) }
}

fn velocity(at: &At, body: &BodyDescription) -> Result<(), SceneError> {
    at.finite_vector("velocity_m_per_s", body.velocity_m_per_s)?;
    at.finite("spin_rad_per_s", body.angular_velocity_rad_per_s)?;
    let remedy = "remove it, or write fixed = false";
    if body.fixed && body.velocity_m_per_s != Vector2::zeros() {
        return at.fail("velocity_m_per_s", format!("{} is fixed but has a velocity", at.whose), remedy);
    }
    if body.fixed && body.angular_velocity_rad_per_s != 0.0 {
        return at.fail("spin_rad_per_s", format!("{} is fixed but has a spin", at.whose), remedy);
    }
    Ok(())
}

fn colour(at: &At, body: &BodyDescription) -> Result<(), SceneError> {
    let digits = body.colour.strip_prefix('#');
    if digits.is_some_and(|digits| digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())) {
        return Ok(());
    }
    let problem = format!("colour of {} is `{}`", at.whose, body.colour);
    at.fail("colour", problem, "write it as # and six hexadecimal digits, such as `#8899aa`")
}

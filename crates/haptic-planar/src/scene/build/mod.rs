//! Construction of a scene from its description.

mod limits;

pub use limits::MAX_BODIES;

#[cfg(test)]
mod tests;

use crate::math::rotate;
use crate::scene::capacity;
use crate::scene::decompose::{DecomposeError, convex_parts};
use crate::scene::description::{
    BodyDescription, PairDescription, PlacedShape, SceneDescription, ShapeDescription, ToolDescription,
};
use crate::scene::grid::Grid;
use crate::scene::mass::{AreaProperties, Growth, box_corners};
use crate::scene::polygon::{OutlineError, tidy};
use crate::scene::seams::fill_seams;
use crate::scene::validate::{self, At};
use crate::scene::walls::{Walls, WallsError};
use crate::scene::{Body, PairOverride, Scene, SceneError, Tool, UnknownName};
use crate::shape::aabb::Aabb;
use crate::shape::piece::{MAX_CORNERS, Piece};
use nalgebra::Vector2;
use std::collections::{BTreeMap, BTreeSet};

/// Distance between handle and centre of mass below which the difference counts as a rounding error, m.
const AT_CENTRE_M: f64 = 1e-12;
/// Maximum number of body names that an error message lists.
const MAX_NAMES_LISTED: usize = 8;

impl Scene {
    /// Validates a description and builds its scene, with everything that is constant: pieces, masses, seams and
    /// capacities.
    ///
    /// # Errors
    /// Returns the first problem, with its location and the remedy.
    pub fn build(description: &SceneDescription) -> Result<Self, SceneError> {
        validate::world(description)?;
        limits::bodies(description)?;
        let names = names(&description.bodies)?;
        let mut scene = Scene {
            gravity_m_per_s2: description.gravity_m_per_s2,
            restitution_law: description.restitution_law,
            impact_state: description.impact_state,
            rolling_friction_m: description.rolling_friction,
            air_drag_n_m_s_per_rad: description.air_drag_n_m_s_per_rad,
            bodies: Vec::with_capacity(description.bodies.len()),
            pieces: Vec::new(),
            pairs: pairs(&description.pairs, &names)?,
            tool: None,
            bounds: description.bounds.map(|bounds| bounds.sorted()),
            pair_capacity: 0,
            max_corners: 0,
            look_up_work: 0,
            dynamic_bodies: (0..description.bodies.len()).filter(|&body| !description.bodies[body].fixed).collect(),
            dynamic_pieces: Vec::new(),
            grid: Grid::default(),
        };
        for (index, body) in description.bodies.iter().enumerate() {
            add_body(&mut scene, index, body)?;
        }
        scene.tool = description.tool.as_ref().map(|held| tool(held, &names, &scene.bodies)).transpose()?;
        if let Some(tool) = scene.tool {
            let pieces = scene.bodies[tool.body].pieces.clone();
            scene.pieces[pieces].iter_mut().for_each(|piece| piece.gyration_m = f64::INFINITY);
        }
        if let Some(tool) = scene.tool.filter(|_| description.tool.as_ref().is_some_and(|held| held.weightless)) {
            scene.bodies[tool.body].gravity_m_per_s2 = Vector2::zeros();
        }
        limits::starts_in_bounds(&scene)?;
        limits::touching_fixed(&scene)?;
        fill_seams(&scene.bodies, &mut scene.pieces);
        index_pieces(&mut scene);
        limits::near_pairs(&scene)?;
        Ok(scene)
    }
}

/// Computes the data about the pieces that the broad phase needs.
fn index_pieces(scene: &mut Scene) {
    let placed = scene.placed_at_start();
    let (fixed, dynamic): (Vec<usize>, Vec<usize>) =
        (0..scene.pieces.len()).partition(|&piece| scene.is_fixed_piece(piece));
    let around = |&piece: &usize| (piece as u32, Aabb::around(&placed[piece], scene.pieces[piece].radius_m));
    scene.grid = Grid::over(&fixed.iter().map(around).collect::<Vec<_>>());
    scene.dynamic_pieces = dynamic.iter().map(|&piece| piece as u32).collect();
    scene.max_corners = scene.pieces.iter().map(|piece| usize::from(piece.count)).max().unwrap_or(0);
    scene.pair_capacity = capacity::near_pairs(scene, &placed);
    scene.look_up_work = capacity::look_up_work(scene);
}

type Names<'a> = BTreeMap<&'a str, usize>;

fn names(bodies: &[BodyDescription]) -> Result<Names<'_>, SceneError> {
    let mut names = Names::new();
    for (index, body) in bodies.iter().enumerate() {
        let at = At::body(index, &body.name);
        if body.name.trim().is_empty() {
            let remedy = format!("write name = \"body {}\"", index + 1);
            return at.fail("name", format!("body {} has no name", index + 1), &remedy);
        }
        if let Some(first) = names.insert(&body.name, index) {
            let problem = format!("bodies {} and {} are both named `{}`", first + 1, index + 1, body.name);
            return at.fail("name", problem, &format!("write name = \"{} {}\"", body.name, index + 1));
        }
    }
    Ok(names)
}

/// Returns the index of the body with this name; `key` is the key of the description that refers to it.
fn find(at: &At, key: &'static str, name: &str, names: &Names) -> Result<usize, SceneError> {
    names.get(name).copied().ok_or_else(|| SceneError {
        unknown_name: Some(Box::new(UnknownName {
            name: name.to_owned(),
            candidates: names.keys().map(|&candidate| candidate.to_owned()).collect(),
        })),
        ..at.error(key, format!("there is no body named `{name}`"), &listed(names))
    })
}

fn listed(names: &Names) -> String {
    if names.is_empty() {
        return "the scene has no bodies".to_owned();
    }
    let quoted: Vec<_> = names.keys().take(MAX_NAMES_LISTED).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > MAX_NAMES_LISTED { ", …" } else { "" };
    format!("the scene's bodies are {}{more}", quoted.join(", "))
}

fn pairs(pairs: &[PairDescription], names: &Names) -> Result<Vec<PairOverride>, SceneError> {
    let mut found = BTreeSet::new();
    let mut overrides = Vec::with_capacity(pairs.len());
    for (index, pair) in pairs.iter().enumerate() {
        let [one, other] = [&pair.bodies[0], &pair.bodies[1]];
        let at = At::pair(index, one, other);
        let (a, b) = (find(&at, "bodies", one, names)?, find(&at, "bodies", other, names)?);
        if a == b {
            return at.fail(
                "bodies",
                format!("a pair names `{one}` twice"),
                "name two different bodies: write bodies = [\"one\", \"other\"]",
            );
        }
        if !found.insert((a.min(b), a.max(b))) {
            let problem = format!("the pair of `{one}` and `{other}` is there twice");
            return at.fail("bodies", problem, "write [[pair]] once, with both values");
        }
        validate::pair(&at, pair)?;
        let bodies = [a.min(b), a.max(b)];
        overrides.push(PairOverride { bodies, friction: pair.friction, restitution: pair.restitution });
    }
    overrides.sort_by_key(|pair| pair.bodies);
    Ok(overrides)
}

fn tool(held: &ToolDescription, names: &Names, bodies: &[Body]) -> Result<Tool, SceneError> {
    let at = At::tool();
    let body = find(&at, "body", &held.body, names)?;
    if bodies[body].fixed {
        let problem = format!("the tool `{}` is a fixed body", held.body);
        return at.fail("body", problem, "write fixed = false in that body, or name a body that can move");
    }
    at.position("handle_m", held.handle_m)?;
    let handle_m = held.handle_m - bodies[body].centre_m;
    // A handle that differs from the centre of mass only by rounding is moved there, so that the mass matrix is
    // diagonal.
    let at_centre = handle_m.norm() < AT_CENTRE_M;
    Ok(Tool { body, handle_m: if at_centre { Vector2::zeros() } else { handle_m } })
}

fn add_body(scene: &mut Scene, index: usize, body: &BodyDescription) -> Result<(), SceneError> {
    let at = At::body(index, &body.name);
    validate::body(&at, body)?;
    let shapes = (0..body.shapes.len()).map(|shape| placed_shape(index, body, shape));
    let shapes = shapes.collect::<Result<Vec<Shape>, _>>()?;
    let properties = AreaProperties::of_all(&shapes.iter().map(|shape| shape.properties).collect::<Vec<_>>());
    let (mass_kg, inertia_kg_m2) = mass(&at, body, &properties)?;
    let first = scene.pieces.len();
    let gyration_m = if body.fixed { f64::INFINITY } else { (inertia_kg_m2 / mass_kg).sqrt() };
    let mut ranges = Vec::with_capacity(shapes.len());
    for Shape { mut cores, radius_m, .. } in shapes {
        let start = scene.pieces.len();
        cores.iter_mut().flatten().for_each(|corner| *corner -= properties.centroid_m);
        let piece = |core: &Vec<_>| Piece { gyration_m, ..Piece::new(index as u32, core, radius_m) };
        scene.pieces.extend(cores.iter().map(piece));
        ranges.push(start..scene.pieces.len());
    }
    scene.bodies.push(Body {
        name: body.name.clone(),
        fixed: body.fixed,
        pieces: first..scene.pieces.len(),
        shapes: ranges,
        mass_kg,
        inertia_kg_m2,
        gravity_m_per_s2: scene.gravity_m_per_s2,
        centre_m: properties.centroid_m,
        reach_m: scene.pieces[first..].iter().map(|piece| piece.reach_m).fold(0.0, f64::max),
        position_m: body.position_m,
        angle_rad: body.angle_rad,
        velocity_m_per_s: body.velocity_m_per_s,
        angular_velocity_rad_per_s: body.angular_velocity_rad_per_s,
        friction: body.friction,
        restitution: body.restitution,
        layer: body.layer,
        colour: body.colour.clone(),
    });
    Ok(())
}

fn mass(at: &At, body: &BodyDescription, properties: &AreaProperties) -> Result<(f64, f64), SceneError> {
    if body.fixed {
        return Ok((f64::INFINITY, f64::INFINITY));
    }
    let mass_kg = body.mass_kg.unwrap_or(body.density_kg_per_m2 * properties.area_m2);
    let inertia_kg_m2 = body.inertia_kg_m2.unwrap_or_else(|| properties.inertia_kg_m2(mass_kg));
    // Positive inputs can still underflow to zero or overflow.
    if !(mass_kg.is_normal() && inertia_kg_m2.is_normal()) {
        let key = if body.mass_kg.is_some() { "mass_kg" } else { "density_kg_per_m2" };
        let problem = format!("body `{}` comes to {mass_kg:?} kg and {inertia_kg_m2:?} kg·m²", body.name);
        return at.fail(key, problem, "write mass_kg = 0.1");
    }
    Ok((mass_kg, inertia_kg_m2))
}

/// A shape that has been built.
struct Shape {
    properties: AreaProperties,
    /// Corners of the convex cores, m.
    cores: Vec<Vec<Vector2<f64>>>,
    /// Radius by which the cores are grown, m.
    radius_m: f64,
}

/// Returns a shape of a body, in the body's frame.
fn placed_shape(index: usize, body: &BodyDescription, shape: usize) -> Result<Shape, SceneError> {
    let (at, placed) = (At::shape(index, body, shape), &body.shapes[shape]);
    validate::shape(&at, placed)?;
    let mut built = build_shape(&at, placed, placed.rounding_m.unwrap_or(body.rounding_m), body.fixed)?;
    if !placed.is_at_origin() {
        let (sine, cosine) = libm::sincos(placed.angle_rad);
        let rotation = Vector2::new(cosine, sine);
        built.properties = built.properties.placed(placed.position_m, rotation);
        let corners = built.cores.iter_mut().flatten();
        corners.for_each(|corner| *corner = placed.position_m + rotate(rotation, *corner));
    }
    Ok(built)
}

/// Returns a shape in its own frame.
fn build_shape(at: &At, placed: &PlacedShape, rounding_m: f64, fixed: bool) -> Result<Shape, SceneError> {
    let shape = |properties, cores, radius_m| Ok(Shape { properties, cores, radius_m });
    match &placed.shape {
        ShapeDescription::Disc { radius_m } => {
            let radius_m = radius_m + rounding_m;
            shape(AreaProperties::of_disc(radius_m), vec![vec![Vector2::zeros()]], radius_m)
        }
        ShapeDescription::Box { size_m } => {
            shape(AreaProperties::of_box(*size_m, rounding_m), vec![box_corners(*size_m).to_vec()], rounding_m)
        }
        ShapeDescription::Capsule { length_m, radius_m } => {
            let (radius_m, end) = (radius_m + rounding_m, Vector2::new(0.5 * length_m, 0.0));
            shape(AreaProperties::of_capsule(*length_m, radius_m), vec![vec![-end, end]], radius_m)
        }
        ShapeDescription::Polygon { corners_m } => polygon(at, corners_m, rounding_m),
        ShapeDescription::Walls { points_m, thickness_m, closed } => {
            let walls = Walls::new(points_m, *thickness_m, *closed);
            walls_of(at, walls.and_then(|walls| if fixed { Ok(walls) } else { walls.checked_apart() }), rounding_m)
        }
    }
}

fn polygon(at: &At, corners_m: &[Vector2<f64>], rounding_m: f64) -> Result<Shape, SceneError> {
    let outline = tidy(corners_m).or_else(|error| at.fail("shape", error.to_string(), remedy_of_outline(error)))?;
    let parts = convex_parts(&outline).or_else(|error| at.fail("shape", error.to_string(), remedy_of_parts(error)))?;
    check_growth(at, &outline, rounding_m)?;
    Ok(Shape { properties: AreaProperties::of_polygon(&outline, rounding_m), cores: parts, radius_m: rounding_m })
}

fn walls_of(at: &At, walls: Result<Walls, WallsError>, rounding_m: f64) -> Result<Shape, SceneError> {
    let walls = walls.or_else(|error| at.fail("shape", error.to_string(), &error.remedy()))?;
    walls.outlines.iter().try_for_each(|outline| check_growth(at, outline, rounding_m))?;
    let outlines: Vec<&[Vector2<f64>]> = walls.outlines.iter().map(Vec::as_slice).collect();
    let properties = AreaProperties::of_outlines(&outlines, rounding_m);
    Ok(Shape { properties, cores: walls.pieces, radius_m: rounding_m })
}

fn check_growth(at: &At, outline: &[Vector2<f64>], rounding_m: f64) -> Result<(), SceneError> {
    let growth = Growth::limit_of(outline);
    if growth.fits(rounding_m) {
        return Ok(());
    }
    let near = outline[growth.edge];
    let problem = format!("rounding by {rounding_m:?} m fills up the outline near ({:?}, {:?})", near.x, near.y);
    let remedy =
        format!("write rounding_m = {:?}; the limit of this outline is {:?} m", 0.5 * growth.max_m, growth.max_m);
    at.fail("rounding_m", problem, &remedy)
}

fn remedy_of_outline(error: OutlineError) -> &'static str {
    match error {
        OutlineError::TooFewCorners { .. } => {
            "give 3 corners or more that are not on one line: write polygon_m = [[0.0, 0.0], [0.02, 0.0], [0.0, 0.02]]"
        }
        OutlineError::NotFinite { .. } => "give each corner two plain numbers, in metres",
        OutlineError::CornersTooClose { .. } => "take one of them away; corners must be at least 0.000001 m apart",
        OutlineError::Flat => "move a corner off that line: write polygon_m = [[0.0, 0.0], [0.02, 0.0], [0.0, 0.02]]",
        OutlineError::EdgesCross { .. } => {
            "list the corners in order round the outline: write polygon_m = [[0.0, 0.0], [0.02, 0.0], [0.0, 0.02]]"
        }
        OutlineError::CornerOnEdge { .. } => {
            "move them at least 0.000001 m apart, or make two polygons where the outline is pinched"
        }
    }
}

fn remedy_of_parts(error: DecomposeError) -> &'static str {
    const { assert!(MAX_CORNERS == 16, "the text below says 16") };
    match error {
        DecomposeError::TooManyCorners { .. } => {
            "use at most 16 corners; for something round use a disc, a capsule or `rounding_m`"
        }
        DecomposeError::NoCut { .. } => "leave out corners that hardly change the outline",
    }
}

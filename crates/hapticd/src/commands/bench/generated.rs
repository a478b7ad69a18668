//! Generated worlds of any size, for measuring how the cost of a tick grows with the number of bodies.

use haptic_device::Path;
use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription, ToolDescription};
use nalgebra::Vector2;

/// A generated world, and the path of a hand that moves the tool against the other bodies.
#[derive(Clone, Debug)]
pub struct Generated {
    /// Description of the world.
    pub scene: SceneDescription,
    /// Path of the hand, world frame.
    pub hand: Path,
}

const FRICTION: f64 = 0.4;
const RESTITUTION: f64 = 0.3;

/// Creates a world without gravity. Fixed octagons of radius 12 mm form a grid with a 40 mm pitch and about as many
/// rows as columns. The hand moves a 10 mm square tool through the grid.
pub fn octagons(count: usize) -> Generated {
    let columns = ceil_sqrt(count);
    let place = |index: usize| Vector2::new((index % columns) as f64, (index / columns) as f64) * 0.04;
    let mut bodies: Vec<_> = (0..count).map(|index| fixed(index, place(index), octagon(0.012))).collect();
    let start_m = Vector2::new(-0.03, 0.02);
    bodies.push(dynamic("tool", start_m, 0.010, 0.1));
    let scene = SceneDescription { gravity_m_per_s2: Vector2::zeros(), bodies, tool: tool(), ..Default::default() };
    let span_m = (columns as f64 * 0.04).min(1.6);
    Generated { scene, hand: sweep(start_m, Vector2::new(span_m, 0.05)) }
}

/// Creates a world in which 10 mm square boxes of 10 g fall onto each other in a bin. The hand stirs them with a 20 mm
/// square tool.
pub fn pile(count: usize) -> Generated {
    let columns = ((2.0 * count as f64).sqrt() as usize).max(6);
    let rows = count.div_ceil(columns);
    let width_m = 0.03 + 0.0135 * (columns - 1) as f64;
    let mut bodies = bin(width_m, 0.15 + 0.012 * rows as f64);
    bodies.extend((0..count).map(|index| {
        let (row, column) = (index / columns, index % columns);
        let shift_m = if row % 2 == 1 { 0.004 } else { 0.0 };
        let place = Vector2::new(0.012 + shift_m + 0.0135 * column as f64, 0.006 + 0.012 * row as f64);
        dynamic(&format!("box {index}"), place, 0.010, 0.01)
    }));
    let start_m = Vector2::new(width_m / 2.0, 0.03 + 0.012 * rows as f64);
    bodies.push(dynamic("tool", start_m, 0.020, 0.1));
    let scene = SceneDescription { bodies, tool: tool(), ..Default::default() };
    Generated { scene, hand: sweep(start_m, Vector2::new(width_m / 3.0, -start_m.y / 2.0)) }
}

/// Creates the path of a hand on a circle of radius 10 mm, with its top at `start_m`, at two turns per second.
pub fn circling(start_m: Vector2<f64>) -> Path {
    let at = |t_s: f64| {
        let (sin, cos) = libm::sincos(t_s * 2.0 * std::f64::consts::TAU);
        start_m + Vector2::new(sin, cos - 1.0) * 0.01
    };
    hand(at)
}

/// Creates the path of a hand that moves back and forth between `start_m` and `start_m + span_m`, with a period of 4 s
/// along x and 1.5 s along y.
fn sweep(start_m: Vector2<f64>, span_m: Vector2<f64>) -> Path {
    let swing = |t_s: f64, period_s: f64| 0.5 - 0.5 * libm::cos(t_s * std::f64::consts::TAU / period_s);
    hand(|t_s| start_m + Vector2::new(span_m.x * swing(t_s, 4.0), span_m.y * swing(t_s, 1.5)))
}

/// Creates a path by sampling `at` every 5 ms for 60 s.
fn hand(at: impl Fn(f64) -> Vector2<f64>) -> Path {
    let row = |index: u32| {
        let t_s = f64::from(index) / 200.0;
        let position_m = at(t_s);
        [t_s, position_m.x, position_m.y]
    };
    Path::new((0..12_000).map(row).collect(), false).expect("the times increase")
}

fn tool() -> Option<ToolDescription> {
    Some(ToolDescription { body: "tool".to_owned(), handle_m: Vector2::zeros(), weightless: false })
}

fn fixed(index: usize, position_m: Vector2<f64>, shape: ShapeDescription) -> BodyDescription {
    let body = BodyDescription::new(&format!("fixed {index}"), shape);
    BodyDescription { fixed: true, position_m, friction: FRICTION, restitution: RESTITUTION, ..body }
}

fn dynamic(name: &str, position_m: Vector2<f64>, side_m: f64, mass_kg: f64) -> BodyDescription {
    let body = BodyDescription::new(name, ShapeDescription::Box { size_m: Vector2::repeat(side_m) });
    BodyDescription { position_m, mass_kg: Some(mass_kg), friction: FRICTION, restitution: RESTITUTION, ..body }
}

/// Creates a floor and two walls. The top of the floor is at y = 0; the inner faces of the walls are at x = 0 and x =
/// `width_m`.
fn bin(width_m: f64, height_m: f64) -> Vec<BodyDescription> {
    let part = |index, x, y, width, height| {
        fixed(index, Vector2::new(x, y), ShapeDescription::Box { size_m: Vector2::new(width, height) })
    };
    vec![
        part(0, width_m / 2.0, -0.02, width_m + 0.08, 0.04),
        part(1, -0.02, height_m / 2.0, 0.04, height_m),
        part(2, width_m + 0.02, height_m / 2.0, 0.04, height_m),
    ]
}

fn octagon(radius_m: f64) -> ShapeDescription {
    let corner = |index: u32| {
        let (sin, cos) = libm::sincos((f64::from(index) + 0.5) * std::f64::consts::FRAC_PI_4);
        Vector2::new(cos, sin) * radius_m
    };
    ShapeDescription::Polygon { corners_m: (0..8).map(corner).collect() }
}

fn ceil_sqrt(count: usize) -> usize {
    let root = count.isqrt();
    if root * root < count { root + 1 } else { root.max(1) }
}

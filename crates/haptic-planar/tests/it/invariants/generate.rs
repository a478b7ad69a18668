//! Random worlds: a room with bodies of all shapes, a tool and the path of a hand. A seed determines every number.

use haptic_planar::input::CouplingInput;
use haptic_planar::scene::description::{
    BodyDescription, RestitutionLaw, SceneDescription, ShapeDescription, ToolDescription,
};
use haptic_planar::scene::envelope::MAX_STIFFNESS_N_PER_M;
use haptic_planar::tick::TICK_S;
use haptic_testing::Random;
use nalgebra::{Vector2, vector};
use std::f64::consts::TAU;

/// Duration of a run, ticks.
pub const TICKS: usize = 2000;
/// Highest speed of the hand between its jumps, m/s.
const MAX_HAND_SPEED_M_PER_S: f64 = 3.0;
/// Longest jump of the hand within one tick, m.
const MAX_JUMP_M: f64 = 0.02;
/// Largest number of decades between the lightest and the heaviest body.
const MAX_MASS_DECADES: f64 = 4.0;
/// Attempts to find a free place for a body before it is left out.
const PLACE_ATTEMPTS: usize = 200;
/// Smallest distance between the bounding circles of two bodies at the start, m.
const CLEARANCE_M: f64 = 2e-4;

/// A generated world with the input of every tick.
pub struct World {
    pub description: SceneDescription,
    /// Coupling of every tick except for the positions of the hand.
    pub coupling: CouplingInput,
    /// Position of the hand at the end of each tick, relative to the position of the handle at the start, world, m.
    pub hand_m: Vec<Vector2<f64>>,
    /// Half of the room's inner size, m. The room is centred on the origin.
    pub half_m: Vector2<f64>,
    /// Thickness of the walls of the room, m.
    pub wall_m: f64,
    /// Mass of the heaviest dynamic body divided by that of the lightest.
    pub mass_ratio: f64,
}

impl World {
    pub fn generate(seed: u64) -> Self {
        let mut random = scrambled(seed);
        let half_m = vector![random.between(0.05, 0.15), random.between(0.05, 0.15)];
        let wall_m = random.between(0.002, 0.02);
        let mut bodies = walls(&mut random, half_m, wall_m);
        let mass_ratio = add_bodies(&mut random, half_m, &mut bodies);
        let tool = tool(&mut random, &bodies);
        let has_gravity = chance(&mut random, 0.7);
        let is_stronge = chance(&mut random, 0.5);
        let description = SceneDescription {
            gravity_m_per_s2: vector![0.0, if has_gravity { -9.81 } else { 0.0 }],
            restitution_law: if is_stronge { RestitutionLaw::Stronge } else { RestitutionLaw::Poisson },
            bodies,
            tool: Some(tool),
            ..SceneDescription::default()
        };
        let coupling = coupling(&mut random);
        let hand_m = hand(&mut random, half_m);
        Self { description, coupling, hand_m, half_m, wall_m, mass_ratio }
    }
}

/// Returns the random numbers of a seed. Spreads consecutive seeds over all 64 bits (the finaliser of splitmix64),
/// because [`Random`] starts badly from small ones.
pub fn scrambled(seed: u64) -> Random {
    let mut bits = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    Random((bits ^ (bits >> 31)) | 1)
}

pub fn chance(random: &mut Random, probability: f64) -> bool {
    random.between(0.0, 1.0) < probability
}

pub fn pick(random: &mut Random, values: &[f64]) -> f64 {
    values[random.index(values.len())]
}

/// Returns a number whose logarithm is uniformly distributed.
pub fn log_between(random: &mut Random, low: f64, high: f64) -> f64 {
    libm::exp(random.between(libm::log(low), libm::log(high)))
}

fn direction(random: &mut Random) -> Vector2<f64> {
    let (sine, cosine) = libm::sincos(random.between(0.0, TAU));
    vector![cosine, sine]
}

fn give_surface(random: &mut Random, body: &mut BodyDescription) {
    body.friction = pick(random, &[0.0, 0.1, 0.3, 0.5, 0.8, 1.2, 2.0]);
    body.restitution = pick(random, &[0.0, 0.0, 0.3, 0.5, 0.8, 0.95, 1.0]);
}

fn walls(random: &mut Random, half: Vector2<f64>, thick: f64) -> Vec<BodyDescription> {
    let out = half + vector![thick, thick] / 2.0;
    let wall = |name: &str, size_m, position_m| BodyDescription {
        fixed: true,
        position_m,
        ..BodyDescription::new(name, ShapeDescription::Box { size_m })
    };
    let (across, along) = (2.0 * half.x + 2.0 * thick, 2.0 * half.y + 2.0 * thick);
    let mut all = vec![
        wall("left", vector![thick, along], vector![-out.x, 0.0]),
        wall("right", vector![thick, along], vector![out.x, 0.0]),
        wall("bottom", vector![across, thick], vector![0.0, -out.y]),
        wall("top", vector![across, thick], vector![0.0, out.y]),
    ];
    all.iter_mut().for_each(|body| give_surface(random, body));
    all
}

/// Adds 2 to 25 bodies without overlap. Returns the mass of the heaviest dynamic one divided by that of the lightest.
fn add_bodies(random: &mut Random, half: Vector2<f64>, bodies: &mut Vec<BodyDescription>) -> f64 {
    let count = 2 + random.index(24);
    let middle_kg = log_between(random, 0.003, 0.1);
    let decades = random.between(0.0, MAX_MASS_DECADES);
    let moves = chance(random, 0.3);
    let (mut lightest, mut heaviest) = (f64::INFINITY, 0.0_f64);
    let mut circles: Vec<(Vector2<f64>, f64)> = Vec::new();
    for index in 0..count {
        let (shape, rounding_m, radius) = shape(random);
        let mut body = BodyDescription::new(&format!("b{index}"), shape);
        body.rounding_m = rounding_m;
        body.angle_rad = random.between(-3.0, 3.0);
        give_surface(random, &mut body);
        let mass = middle_kg * libm::exp10(decades * random.between(-0.5, 0.5));
        let is_fixed = index >= 2 && chance(random, 0.12);
        let (velocity, spin) = (direction(random) * random.between(0.0, 1.0), random.between(-20.0, 20.0));
        let Some(place) = free_place(random, half, radius, &circles) else { continue };
        circles.push((place, radius));
        body.position_m = place;
        if is_fixed {
            body.fixed = true;
        } else {
            body.mass_kg = Some(mass);
            (lightest, heaviest) = (lightest.min(mass), heaviest.max(mass));
            if moves {
                (body.velocity_m_per_s, body.angular_velocity_rad_per_s) = (velocity, spin);
            }
        }
        bodies.push(body);
    }
    heaviest / lightest
}

fn free_place(
    random: &mut Random,
    half: Vector2<f64>,
    radius: f64,
    circles: &[(Vector2<f64>, f64)],
) -> Option<Vector2<f64>> {
    let room = half.map(|half| half - radius - CLEARANCE_M);
    (0..PLACE_ATTEMPTS).find_map(|_| {
        let place = vector![random.between(-room.x, room.x), random.between(-room.y, room.y)];
        let is_free = |(other, size): &(Vector2<f64>, f64)| (place - other).norm() > radius + size + CLEARANCE_M;
        circles.iter().all(is_free).then_some(place)
    })
}

/// Returns a shape, its rounding and the radius of its bounding circle, m.
fn shape(random: &mut Random) -> (ShapeDescription, f64, f64) {
    let size = log_between(random, 0.003, 0.02);
    match random.index(8) {
        0 => (ShapeDescription::Disc { radius_m: size }, 0.0, size),
        1 => {
            let (length_m, radius_m) = (size, size * random.between(0.15, 0.5));
            (ShapeDescription::Capsule { length_m, radius_m }, 0.0, length_m / 2.0 + radius_m)
        }
        2 => rectangle(size, random.between(0.3, 1.0) * size, 0.0),
        3 => rectangle(size, (random.between(0.03, 0.2) * size).max(8e-4), 0.0),
        4 => rectangle(size, random.between(0.3, 1.0) * size, random.between(0.05, 0.3) * size),
        5 => {
            let count = 3 + random.index(7);
            polygon(random, count, size, 1.0)
        }
        6 => {
            let (count, inner) = (2 * (5 + random.index(3)), random.between(0.35, 0.6));
            polygon(random, count, size, inner)
        }
        _ => horseshoe(size),
    }
}

/// Returns a box with these half-widths, m.
fn rectangle(x: f64, y: f64, rounding: f64) -> (ShapeDescription, f64, f64) {
    (ShapeDescription::Box { size_m: vector![2.0 * x, 2.0 * y] }, rounding, vector![x, y].norm() + rounding)
}

/// Returns a polygon whose corners lie at irregular angles on a circle; every second corner is drawn in to `inner` of
/// the radius, which makes a star.
fn polygon(random: &mut Random, count: usize, radius: f64, inner: f64) -> (ShapeDescription, f64, f64) {
    let irregular = if inner < 1.0 { 0.2 } else { 0.4 };
    let corner = |i: usize| {
        let (sine, cosine) = libm::sincos((i as f64 + random.between(0.0, irregular)) / count as f64 * TAU);
        vector![cosine, sine] * if i % 2 == 1 { radius * inner } else { radius }
    };
    (ShapeDescription::Polygon { corners_m: (0..count).map(corner).collect() }, 0.0, radius)
}

/// Returns a square with a notch in its upper side.
fn horseshoe(half: f64) -> (ShapeDescription, f64, f64) {
    let corners =
        [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [0.5, 1.0], [0.5, -0.4], [-0.5, -0.4], [-0.5, 1.0], [-1.0, 1.0]];
    let corners_m = corners.iter().map(|&[x, y]| vector![x * half, y * half]).collect();
    (ShapeDescription::Polygon { corners_m }, 0.0, half * std::f64::consts::SQRT_2)
}

/// Makes one of the first two bodies, which are never fixed, the tool; the handle is off its centre half of the time.
fn tool(random: &mut Random, bodies: &[BodyDescription]) -> ToolDescription {
    let dynamic: Vec<&BodyDescription> = bodies.iter().filter(|body| !body.fixed).collect();
    let body = dynamic[random.index(dynamic.len())];
    let size = match &body.shapes[0].shape {
        ShapeDescription::Disc { radius_m } => *radius_m,
        ShapeDescription::Box { size_m } => size_m.amin() / 2.0,
        ShapeDescription::Polygon { corners_m } => corners_m.iter().map(|c| c.norm()).fold(f64::INFINITY, f64::min),
        ShapeDescription::Capsule { length_m, .. } => *length_m / 2.0,
        ShapeDescription::Walls { thickness_m, .. } => thickness_m / 2.0,
    };
    let off = direction(random) * random.between(0.0, size);
    let is_off = chance(random, 0.5);
    ToolDescription {
        body: body.name.clone(),
        handle_m: if is_off { off } else { Vector2::zeros() },
        weightless: false,
    }
}

fn coupling(random: &mut Random) -> CouplingInput {
    let is_upright = chance(random, 0.5);
    let (angular_stiffness, angular_damping) = (log_between(random, 0.01, 2.0), pick(random, &[0.0, 0.001, 0.01]));
    let limit = log_between(random, 3.0, 50.0);
    let is_limited = chance(random, 0.5);
    CouplingInput {
        hand_m: Vector2::zeros(),
        hand_before_m: Vector2::zeros(),
        stiffness_n_per_m: log_between(random, 50.0, MAX_STIFFNESS_N_PER_M),
        damping_n_s_per_m: pick(random, &[0.0, 0.1, 0.5, 1.0, 3.0, 10.0]),
        angular_stiffness_n_m_per_rad: if is_upright { angular_stiffness } else { 0.0 },
        angular_damping_n_m_s_per_rad: if is_upright { angular_damping } else { 0.0 },
        max_force_n: if is_limited { limit } else { f64::INFINITY },
        rail: None,
    }
}

/// Returns the path of the hand, in half of the worlds with jumps. It leads past the walls of the room.
fn hand(random: &mut Random, half: Vector2<f64>) -> Vec<Vector2<f64>> {
    let mut path = if chance(random, 0.5) { swaying(random, half) } else { from_point_to_point(random, half) };
    if chance(random, 0.5) {
        add_jumps(random, &mut path);
    }
    path
}

/// Returns a sum of two sines on each axis, not faster than the limit.
fn swaying(random: &mut Random, half: Vector2<f64>) -> Vec<Vector2<f64>> {
    let speed = log_between(random, 0.05, MAX_HAND_SPEED_M_PER_S);
    let mut axis = |reach: f64| {
        let mut wave = || {
            let amplitude = random.between(0.1, 0.6) * reach;
            // Two waves on each of two axes, all at their fastest at once, add up to the speed.
            (amplitude, speed / (2.0 * std::f64::consts::SQRT_2 * amplitude), random.between(0.0, TAU))
        };
        let waves = [wave(), wave()];
        move |time_s: f64| -> f64 {
            let one = |(a, rate, phase): (f64, f64, f64)| a * (libm::sin(rate * time_s + phase) - libm::sin(phase));
            waves.into_iter().map(one).sum()
        }
    };
    let (x, y) = (axis(half.x), axis(half.y));
    (1..=TICKS).map(|tick| vector![x(tick as f64 * TICK_S), y(tick as f64 * TICK_S)]).collect()
}

/// Returns straight moves between random points, with pauses.
fn from_point_to_point(random: &mut Random, half: Vector2<f64>) -> Vec<Vector2<f64>> {
    let (mut path, mut at) = (Vec::with_capacity(TICKS), Vector2::zeros());
    while path.len() < TICKS {
        for _ in 0..random.index(300) {
            path.push(at);
        }
        let to = vector![random.between(-1.2, 1.2) * half.x, random.between(-1.2, 1.2) * half.y];
        let step = log_between(random, 0.2, MAX_HAND_SPEED_M_PER_S) * TICK_S;
        let count = ((to - at).norm() / step).ceil() as usize;
        path.extend((1..=count).map(|i| at + (to - at) * (i as f64 / count as f64)));
        at = to;
    }
    path.truncate(TICKS);
    path
}

/// Moves the path aside by an offset that changes abruptly a few times per second.
fn add_jumps(random: &mut Random, path: &mut [Vector2<f64>]) {
    let longest = log_between(random, 0.002, MAX_JUMP_M);
    let mut offset = Vector2::zeros();
    for at in path.iter_mut().skip(1) {
        if chance(random, 0.006) {
            offset = direction(random) * random.between(0.0, longest / 2.0);
        }
        *at += offset;
    }
}

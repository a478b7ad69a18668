//! Impacts in a whole step, compared with the closed form and with known results.

use crate::common::measure::{assert_below, assert_near, worst_overlap_m};
use crate::common::*;
use haptic_planar::scene::description::{PairDescription, RestitutionLaw};
use haptic_planar::solve::impact::{PointInverseMass, resolve};
use haptic_testing::Random;
use nalgebra::{Vector2, vector};

/// A rod of 1 kg and 1 m whose lower left end falls on the floor at 1 m/s.
struct Rod {
    degrees: f64,
    sideways: f64,
    friction: f64,
    restitution: f64,
    law: RestitutionLaw,
}

/// Thickness of the rod, m; large enough that the two corners of its end never hit at once.
const THICK_M: f64 = 4e-4;
/// Height of the rod above the floor at the start, m.
const GAP_M: f64 = 3e-4;
const INERTIA: f64 = 1.0 / 12.0;

impl Rod {
    /// Returns the vector from the rod's centre to its lowest corner, m.
    fn arm(&self) -> Vector2<f64> {
        let (sine, cosine) = libm::sincos(self.degrees.to_radians());
        vector![-0.5 * cosine + THICK_M / 2.0 * sine, -0.5 * sine - THICK_M / 2.0 * cosine]
    }

    /// Returns the impulse on the rod over one tick of a scene, N·s.
    fn impulse_of_a_tick(&self) -> Vector2<f64> {
        let arm = self.arm();
        let mut rod =
            with(body("rod", box_shape(1.0, THICK_M), -arm.x, GAP_M - arm.y), 1.0, self.friction, self.restitution);
        rod.inertia_kg_m2 = Some(INERTIA);
        rod.angle_rad = self.degrees.to_radians();
        rod.velocity_m_per_s = vector![self.sideways, -1.0];
        let mut world = scene(0.0, vec![floor(self.friction, self.restitution), rod], None);
        world.restitution_law = self.law;
        let mut lab = Lab::new(&world);
        let output = lab.free();
        assert_eq!(output.impacts, 1, "one impact in this tick");
        let after = lab.body("rod");
        let impulse = after.velocity_m_per_s - vector![self.sideways, -1.0];
        let turning = arm.x * impulse.y - arm.y * impulse.x;
        assert_below("spin off by, rad/s", (after.angular_velocity_rad_per_s - turning / INERTIA).abs(), 1e-9);
        impulse
    }

    /// Returns the impulse of the closed form, N·s.
    fn closed_form(&self) -> Vector2<f64> {
        let arm = self.arm();
        let mass = PointInverseMass {
            tangent: 1.0 + arm.y * arm.y / INERTIA,
            cross: -arm.x * arm.y / INERTIA,
            normal: 1.0 + arm.x * arm.x / INERTIA,
        };
        let p = resolve(&mass, self.sideways, -1.0, self.friction, self.restitution, self.law);
        vector![p.tangent, p.normal]
    }
}

fn rod(degrees: f64, sideways: f64, friction: f64, restitution: f64, law: RestitutionLaw) -> Rod {
    Rod { degrees, sideways, friction, restitution, law }
}

#[test]
fn a_falling_rod_gets_the_impulse_of_the_textbook() {
    use RestitutionLaw::{Poisson, Stronge};
    let cases = [
        (rod(45.0, 0.0, 0.3, 0.5, Stronge), [0.219512, 0.731707]),
        (rod(45.0, 0.0, 0.8, 0.5, Stronge), [0.5625, 0.9375]),
        (rod(60.0, 0.5, 0.4, 0.5, Poisson), [0.235937, 0.975180]),
        (rod(60.0, 0.5, 0.4, 0.5, Stronge), [0.240653, 0.986979]),
        (rod(30.0, -1.0, 1.5, 1.0, Poisson), [1.703090, 1.524519]),
        (rod(30.0, -1.0, 1.5, 1.0, Stronge), [1.567616, 1.342015]),
        (rod(50.0, 0.6, 0.4, 0.9, Stronge), [0.163538, 0.873709]),
    ];
    for (rod, [tangent, normal]) in cases {
        let impulse = rod.impulse_of_a_tick();
        // The tolerance covers the thickness, which the rod of the textbook does not have.
        assert_near("tangential impulse, N s", impulse.x, tangent, 2e-3);
        assert_near("normal impulse, N s", impulse.y, normal, 2e-3);
    }
}

#[test]
fn random_falling_rods_get_the_impulse_of_the_closed_form() {
    let mut random = Random(3);
    for i in 0..300 {
        let law = if i % 2 == 0 { RestitutionLaw::Stronge } else { RestitutionLaw::Poisson };
        let case = rod(
            random.between(10.0, 80.0),
            random.between(-1.5, 1.5),
            random.between(0.0, 2.0),
            random.between(0.0, 1.0),
            law,
        );
        let off = (case.impulse_of_a_tick() - case.closed_form()).norm();
        assert_below(&format!("case {i}: impulse off by"), off, 1e-9);
    }
}

/// Returns two free bodies on a collision course.
fn course(random: &mut Random, shapes: [usize; 2]) -> Lab {
    let shape = |which: usize| match which {
        0 => disc(0.01),
        1 => box_shape(0.02, 0.015),
        2 => capsule(0.01, 0.006),
        _ => hexagon(0.01),
    };
    let mut flying = |name: &str, side: f64, which: usize| {
        let place = side * 0.03;
        let mut one =
            with(body(name, shape(which), place, random.between(-0.005, 0.005)), random.between(0.01, 1.0), 0.4, 0.6);
        one.velocity_m_per_s = vector![-side * random.between(0.2, 1.0), random.between(-0.1, 0.1)];
        one.angular_velocity_rad_per_s = random.between(-5.0, 5.0);
        one.angle_rad = random.between(0.0, 6.0);
        one
    };
    let bodies = vec![flying("one", -1.0, shapes[0]), flying("other", 1.0, shapes[1])];
    Lab::new(&scene(0.0, bodies, None))
}

fn momentum(lab: &Lab) -> Vector2<f64> {
    lab.scene.bodies.iter().zip(&lab.state.bodies).map(|(body, state)| state.velocity_m_per_s * body.mass_kg).sum()
}

#[test]
fn bodies_that_collide_keep_their_momentum_and_gain_no_energy() {
    let mut random = Random(5);
    let mut impacts = 0;
    for i in 0..400 {
        let mut lab = course(&mut random, [i % 4, (i / 4) % 4]);
        let before = momentum(&lab);
        lab.free();
        let energy = lab.energy_j();
        for _ in 0..150 {
            impacts += lab.free().impacts;
        }
        assert_below("momentum off by, N s", (momentum(&lab) - before).norm(), 1e-12);
        assert_below("relative energy gain", lab.energy_j() / energy - 1.0, 1e-12);
        assert_below("overlap, m", worst_overlap_m(&lab), 1e-5);
    }
    assert!(impacts > 300, "only {impacts} impacts");
}

#[test]
fn bodies_of_different_layers_pass_each_other() {
    let flying = |name: &str, side: f64, layer: i32| {
        let mut one = with(body(name, disc(0.01), side * 0.05, 0.0), 0.1, 0.4, 1.0);
        one.velocity_m_per_s.x = -side;
        one.layer = layer;
        one
    };
    for (layer, after) in [(0, 1.0), (1, -1.0)] {
        let mut lab = Lab::new(&scene(0.0, vec![flying("one", -1.0, 0), flying("other", 1.0, layer)], None));
        lab.run_s(0.2);
        let speed = lab.body("other").velocity_m_per_s.x;
        assert_near("speed of the other, m/s", speed, after, 1e-12);
    }
}

#[test]
fn the_restitution_of_a_pair_applies_to_that_pair_only() {
    let ball = |name: &str, x: f64| with(body(name, disc(0.01), x, 0.02), 0.1, 0.4, 0.0);
    let mut world = scene(GRAVITY, vec![floor(0.4, 0.0), ball("hard", -0.1), ball("soft", 0.1)], None);
    let bodies = ["hard".to_owned(), "floor".to_owned()];
    world.pairs = vec![PairDescription { bodies, friction: None, restitution: Some(1.0) }];
    let mut lab = Lab::new(&world);
    let mut highest = [0.0_f64; 2];
    for tick in 0..500 {
        lab.free();
        if tick > 60 {
            highest[0] = highest[0].max(lab.body("hard").centre_m.y);
            highest[1] = highest[1].max(lab.body("soft").centre_m.y);
        }
    }
    assert_near("height of the hard one, m", highest[0], 0.02, 1e-3);
    assert_near("height of the soft one, m", highest[1], 0.01, 1e-3);
}

#[test]
fn the_friction_of_a_pair_applies_to_that_pair_only() {
    let rider = |name: &str, x: f64| {
        let mut one = with(body(name, box_shape(0.04, 0.01), x, 0.005), 0.1, 0.5, 0.0);
        one.velocity_m_per_s.x = 0.5;
        one
    };
    let mut world = scene(GRAVITY, vec![floor(0.5, 0.0), rider("slick", -0.5), rider("plain", 0.5)], None);
    let bodies = ["floor".to_owned(), "slick".to_owned()];
    world.pairs = vec![PairDescription { bodies, friction: Some(0.0), restitution: None }];
    let mut lab = Lab::new(&world);
    lab.run_s(0.3);
    assert_near("speed of the slick one, m/s", lab.body("slick").velocity_m_per_s.x, 0.5, 1e-12);
    assert_below("speed of the plain one, m/s", lab.body("plain").velocity_m_per_s.x.abs(), 1e-12);
}

#[test]
fn a_pair_uses_the_mean_friction_and_the_larger_restitution() {
    let mut rider = with(body("rider", box_shape(0.04, 0.01), -0.5, 0.005), 0.1, 0.9, 0.0);
    rider.velocity_m_per_s.x = 1.0;
    let mut lab = Lab::new(&scene(GRAVITY, vec![floor(0.1, 0.0), rider], None));
    lab.run_s(0.1);
    let expected = 1.0 - 0.3 * GRAVITY * 0.1;
    assert_near("speed, m/s", lab.body("rider").velocity_m_per_s.x, expected, 1e-9);
    let falling = with(body("ball", disc(0.01), 0.0, 0.0102), 0.1, 0.0, 0.2);
    let mut world = scene(0.0, vec![floor(0.0, 0.7), falling], None);
    world.bodies[1].velocity_m_per_s.y = -1.0;
    let mut lab = Lab::new(&world);
    lab.run_s(0.01);
    assert_near("speed after the bounce, m/s", lab.body("ball").velocity_m_per_s.y, 0.7, 1e-12);
}

#[test]
fn a_disc_thrown_down_obliquely_sticks_the_same_at_any_phase_of_the_tick() {
    for speed in [1.0, 4.0, 6.0] {
        for phase in 0..10 {
            let gap = speed * 1e-4 * (f64::from(phase) + 0.5);
            let mut ball = with(body("ball", disc(0.005), 0.0, 0.005 + gap), 0.1, 1.0, 0.0);
            ball.velocity_m_per_s = vector![1.0, -speed];
            let mut lab = Lab::new(&scene(0.0, vec![floor(1.0, 0.0), ball], None));
            lab.run_s(0.003);
            assert_near("speed, m/s", lab.body("ball").velocity_m_per_s.x, 2.0 / 3.0, 1e-6);
        }
    }
}

/// A box of 40 × 20 mm and 0.1 kg that rotates while it falls on the floor without gravity.
struct Tumbler {
    angle: f64,
    spin: f64,
    sideways: f64,
    friction: f64,
    restitution: f64,
    gap: f64,
}

impl Tumbler {
    const MASS: f64 = 0.1;
    const INERTIA: f64 = 0.1 * (0.04 * 0.04 + 0.02 * 0.02) / 12.0;

    /// Returns the vector from the centre to the lowest corner at an angle, m.
    fn arm(angle: f64) -> Vector2<f64> {
        let (sine, cosine) = libm::sincos(angle);
        let corner = |x: f64, y: f64| vector![cosine * x - sine * y, sine * x + cosine * y];
        let (x, y) = (0.02, 0.01);
        [corner(x, y), corner(x, -y), corner(-x, y), corner(-x, -y)]
            .into_iter()
            .min_by(|a, b| a.y.total_cmp(&b.y))
            .unwrap()
    }

    /// Returns the velocity change over the tick of the impact, m/s.
    fn change_of_a_tick(&self) -> Vector2<f64> {
        let start = -Self::arm(self.angle).y + self.gap;
        let mut tumbler = with(body("box", box_shape(0.04, 0.02), 0.0, start), 0.1, self.friction, self.restitution);
        tumbler.angle_rad = self.angle;
        tumbler.velocity_m_per_s = vector![self.sideways, -1.0];
        tumbler.angular_velocity_rad_per_s = self.spin;
        let mut lab = Lab::new(&scene(0.0, vec![floor(self.friction, self.restitution), tumbler], None));
        let output = lab.free();
        assert_eq!(output.impacts, 1, "one impact in this tick");
        lab.body("box").velocity_m_per_s - vector![self.sideways, -1.0]
    }

    /// Returns the velocity change of the closed form in the pose at the true time of the impact, m/s, and the angle by
    /// which the box has rotated until then.
    fn closed_form(&self) -> (Vector2<f64>, f64) {
        let start = -Self::arm(self.angle).y + self.gap;
        let (mut before, mut after) = (0.0, 1e-3);
        for _ in 0..60 {
            let middle = 0.5 * (before + after);
            let height = start - middle + Self::arm(self.angle + self.spin * middle).y;
            if height > 0.0 { before = middle } else { after = middle }
        }
        let arm = Self::arm(self.angle + self.spin * before);
        let mass = PointInverseMass {
            tangent: 1.0 / Self::MASS + arm.y * arm.y / Self::INERTIA,
            cross: -arm.x * arm.y / Self::INERTIA,
            normal: 1.0 / Self::MASS + arm.x * arm.x / Self::INERTIA,
        };
        let (slip, closing) = (self.sideways - self.spin * arm.y, -1.0 + self.spin * arm.x);
        let law = RestitutionLaw::default();
        let p = resolve(&mass, slip, closing, self.friction, self.restitution, law);
        (vector![p.tangent, p.normal] / Self::MASS, self.spin * before)
    }
}

#[test]
fn an_impact_after_a_rotation_within_the_tick_has_the_arms_of_its_own_time() {
    let mut largest: f64 = 0.0;
    for angle in [0.1, 0.4, 0.9, 1.3] {
        for spin in [-30.0, -10.0, 10.0, 30.0] {
            for (sideways, friction) in [(0.0, 0.0), (0.3, 0.2), (-0.3, 0.5)] {
                for (gap, restitution) in [(1e-4, 0.0), (3e-4, 0.5), (6e-4, 0.9)] {
                    let tumbler = Tumbler { angle, spin, sideways, friction, restitution, gap };
                    let (expected, rotation) = tumbler.closed_form();
                    if rotation.abs() > 0.99e-3 * spin.abs() {
                        continue;
                    }
                    largest = largest.max(rotation.abs());
                    let off = (tumbler.change_of_a_tick() - expected).norm() / expected.norm();
                    let what = format!("{angle} rad, {spin} rad/s, friction {friction}, gap {gap}");
                    assert_below(&format!("{what}: impulse off by"), off, 5e-3);
                }
            }
        }
    }
    assert!(largest > 0.01, "the boxes rotate by only {largest} rad before the impact");
}

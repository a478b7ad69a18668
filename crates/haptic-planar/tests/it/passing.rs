//! Round bodies that meet off centre hit each other along the line of centres at that moment, however far the tick has
//! got.

use crate::common::measure::assert_below;
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, ShapeDescription};
use haptic_testing::Random;
use nalgebra::{Vector2, vector};

/// A disc that flies along x and meets the round end of another body off centre.
struct Meeting {
    /// Radii of the flying disc and of the round end, m.
    radii_m: [f64; 2],
    masses_kg: [f64; 2],
    speed_m_per_s: f64,
    /// Offset, as a fraction of the sum of the radii.
    offset: f64,
    restitution: f64,
    /// Distance along x that the disc flies before it meets the other body, m.
    flight_m: f64,
}

impl Meeting {
    fn random(random: &mut Random) -> Self {
        let mut log = |low: f64, high: f64| low * (high / low).powf(random.between(0.0, 1.0));
        let radii_m = [log(1e-3, 2e-2), log(1e-3, 2e-2)];
        let masses_kg = [log(0.01, 0.3), log(0.01, 0.3)];
        let speed_m_per_s = log(0.3, 20.0);
        let (offset, restitution) = (random.between(0.0, 0.95), random.between(0.0, 1.0));
        let flight_m = speed_m_per_s * 1e-3 * random.between(1.0, 4.0);
        Self { radii_m, masses_kg, speed_m_per_s, offset, restitution, flight_m }
    }

    /// Unit vector from the disc to the centre of the round end when they meet.
    fn normal(&self) -> Vector2<f64> {
        vector![(1.0 - self.offset * self.offset).sqrt(), self.offset]
    }

    fn flying(&self) -> BodyDescription {
        let start = -self.normal() * (self.radii_m[0] + self.radii_m[1]) - vector![self.flight_m, 0.0];
        let one = body("flying", disc(self.radii_m[0]), start.x, start.y);
        let one = with(one, self.masses_kg[0], 0.0, self.restitution);
        BodyDescription { velocity_m_per_s: vector![self.speed_m_per_s, 0.0], ..one }
    }

    fn struck(&self, shape: ShapeDescription, at: Vector2<f64>) -> BodyDescription {
        with(body("struck", shape, at.x, at.y), self.masses_kg[1], 0.0, self.restitution)
    }

    /// Returns the error of the velocity of the struck body, as a fraction of the speed before the meeting. `centre_m`
    /// is the centre of mass of the struck body relative to the centre of its round end.
    fn error(&self, struck: BodyDescription, centre_m: Vector2<f64>, held: bool) -> f64 {
        let description = scene(0.0, vec![self.flying(), struck], held.then_some("flying"));
        let mut lab = Lab::new(&description).gains(1e-3, 0.0);
        let body = lab.scene.bodies.iter().find(|body| body.name == "struck").unwrap();
        let arm = -centre_m.x * self.normal().y + centre_m.y * self.normal().x;
        let inverse_mass = 1.0 / self.masses_kg[0] + 1.0 / self.masses_kg[1] + arm * arm / body.inertia_kg_m2;
        let impulse = (1.0 + self.restitution) * self.speed_m_per_s * self.normal().x / inverse_mass;
        let exact = self.normal() * (impulse / self.masses_kg[1]);
        for _ in 0..(self.flight_m / self.speed_m_per_s / 1e-3) as usize + 2 {
            if held {
                lab.hand(lab.input.hand_m)
            } else {
                lab.free()
            };
            if lab.body("struck").velocity_m_per_s != Vector2::zeros() {
                break;
            }
        }
        (lab.body("struck").velocity_m_per_s - exact).norm() / self.speed_m_per_s
    }
}

/// Compares the struck body of random meetings with the closed form. `place` returns it, and its centre of mass
/// relative to the centre of the round end.
fn assert_exact(seed: u64, place: impl Fn(&Meeting, &mut Random) -> (BodyDescription, Vector2<f64>)) {
    let mut random = Random(seed);
    let (mut worst, mut beyond) = (0.0f64, 0);
    for run in 0..2000 {
        let meeting = Meeting::random(&mut random);
        let (struck, centre_m) = place(&meeting, &mut random);
        let error = meeting.error(struck, centre_m, run % 2 == 1);
        worst = worst.max(error);
        beyond += i32::from(error > 5e-3);
    }
    assert_below("errors beyond 0.5 %", f64::from(beyond), 0.5);
    assert_below("largest error of the velocity, as a fraction of the speed", worst, 5e-3);
}

#[test]
fn discs_that_meet_off_centre_hit_along_the_line_of_centres() {
    assert_exact(31, |meeting, _| (meeting.struck(disc(meeting.radii_m[1]), Vector2::zeros()), Vector2::zeros()));
}

#[test]
fn a_disc_that_meets_the_end_of_a_capsule_hits_along_the_line_of_centres() {
    assert_exact(32, |meeting, random| {
        // The capsule extends away from the disc, by at least the angle at which its side would be met.
        let length = random.between(0.2, 4.0) * meeting.radii_m[1];
        let normal_rad = libm::atan2(meeting.normal().y, meeting.normal().x);
        let angle_rad = normal_rad + random.between(-0.6, 0.6);
        let (sine, cosine) = libm::sincos(angle_rad);
        let half = 0.5 * length;
        let centre_m = vector![cosine, sine] * half;
        let struck = meeting.struck(capsule(length, meeting.radii_m[1]), centre_m);
        (BodyDescription { angle_rad, ..struck }, centre_m)
    });
}

#[test]
fn a_disc_that_meets_the_corner_of_a_rounded_box_hits_along_the_line_of_centres() {
    assert_exact(33, |meeting, random| {
        let side = random.between(0.5, 4.0) * meeting.radii_m[1];
        let normal_rad = libm::atan2(meeting.normal().y, meeting.normal().x);
        let diagonal_rad = normal_rad + random.between(-0.5, 0.5);
        let (sine, cosine) = libm::sincos(diagonal_rad);
        let half = 0.5 * side * std::f64::consts::SQRT_2;
        let centre_m = vector![cosine, sine] * half;
        let struck = meeting.struck(box_shape(side, side), centre_m);
        let angle_rad = diagonal_rad - std::f64::consts::FRAC_PI_4;
        (BodyDescription { angle_rad, rounding_m: meeting.radii_m[1], ..struck }, centre_m)
    });
}

/// A corner that slides along a face by several millimetres before it hits does so where it is at that moment.
#[test]
fn a_sharp_corner_that_slides_along_a_face_hits_with_the_arm_of_that_moment() {
    let mut random = Random(34);
    for run in 0..500 {
        let [one_kg, other_kg] = [random.between(0.01, 0.3), random.between(0.01, 0.3)];
        let (speed, slide) = (random.between(0.2, 3.0), random.between(-3.0, 3.0));
        let (flight_s, along_m) = (random.between(2e-4, 2.8e-3), random.between(-0.02, 0.02));
        let restitution = random.between(0.0, 1.0);
        // The corner that flies ahead, relative to its centre of mass.
        let (size_m, angle_rad) = (0.02, random.between(0.3, 1.2));
        let (sine, cosine) = libm::sincos(angle_rad);
        let corner = vector![cosine + sine, sine - cosine] * (0.5 * size_m);
        let start = vector![-0.03, along_m] - vector![speed, slide] * flight_s - corner;
        let flying = with(body("flying", box_shape(size_m, size_m), start.x, start.y), one_kg, 0.0, restitution);
        let flying = BodyDescription { angle_rad, velocity_m_per_s: vector![speed, slide], ..flying };
        let struck = with(body("struck", box_shape(0.06, 0.06), 0.0, 0.0), other_kg, 0.0, restitution);
        let mut lab = Lab::new(&scene(0.0, vec![flying, struck], None));
        let (one_inertia, inertia) = (one_kg * size_m * size_m / 6.0, other_kg * 0.06 * 0.06 / 6.0);
        let inverse_mass =
            1.0 / one_kg + 1.0 / other_kg + corner.y * corner.y / one_inertia + along_m * along_m / inertia;
        let impulse = (1.0 + restitution) * speed / inverse_mass;
        while lab.body("struck").velocity_m_per_s == Vector2::zeros() && lab.tick < 5 {
            lab.free();
        }
        let struck = lab.body("struck");
        let off = vector![struck.velocity_m_per_s.x - impulse / other_kg, struck.velocity_m_per_s.y];
        let off_rad_per_s = struck.angular_velocity_rad_per_s + along_m * impulse / inertia;
        let error = off.norm().max(off_rad_per_s.abs() * 0.06 / 6.0_f64.sqrt()) / speed;
        assert_below(&format!("run {run}: error of the velocity, as a fraction of the speed"), error, 5e-3);
    }
}

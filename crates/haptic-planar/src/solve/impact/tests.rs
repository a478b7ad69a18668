//! Compares the closed form with known results for rods and with impacts integrated in small steps.

use super::*;
use RestitutionLaw::{Poisson, Stronge};
use haptic_testing::Random;
use proptest::prelude::*;

/// Returns the contribution of a random free body to the inverse mass at a contact. Its mass is 1 g to 10 kg, and its
/// arms are up to three radii of gyration along each axis.
fn random_body(random: &mut Random) -> PointInverseMass {
    let mobility = libm::pow(10.0, random.between(-1.0, 3.0));
    let (x, y) = (random.between(-3.0, 3.0), random.between(-3.0, 3.0));
    let unit = PointInverseMass { tangent: 1.0 + y * y, cross: -x * y, normal: 1.0 + x * x };
    PointInverseMass { tangent: mobility * unit.tangent, cross: mobility * unit.cross, normal: mobility * unit.normal }
}

fn random_impact(random: &mut Random) -> Case {
    let (one, other) = (random_body(random), random_body(random));
    let other_moves = if random.between(0.0, 1.0) < 0.5 { 1.0 } else { 0.0 };
    let mass = PointInverseMass {
        tangent: one.tangent + other_moves * other.tangent,
        cross: one.cross + other_moves * other.cross,
        normal: one.normal + other_moves * other.normal,
    };
    let (tangent_speed, normal_speed) = (random.between(-3.0, 3.0), -random.between(1e-4, 3.0));
    let (friction, restitution) = (random.between(0.0, 3.0), random.between(0.0, 1.0));
    Case { mass, tangent_speed, normal_speed, friction, restitution }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    mass: PointInverseMass,
    tangent_speed: f64,
    normal_speed: f64,
    friction: f64,
    restitution: f64,
}

impl Case {
    /// Returns the impact of a rod of 1 kg and 1 m at this angle above the ground. Its lower left end falls on the
    /// ground at 1 m/s without rotation.
    fn rod(degrees: f64, tangent_speed: f64, friction: f64, restitution: f64) -> Self {
        let (sine, cosine) = (libm::sin(degrees.to_radians()), libm::cos(degrees.to_radians()));
        let mass = PointInverseMass {
            tangent: 1.0 + 3.0 * sine * sine,
            cross: -3.0 * sine * cosine,
            normal: 1.0 + 3.0 * cosine * cosine,
        };
        Self { mass, tangent_speed, normal_speed: -1.0, friction, restitution }
    }

    fn resolve(&self, law: RestitutionLaw) -> Impulse {
        resolve(&self.mass, self.tangent_speed, self.normal_speed, self.friction, self.restitution, law)
    }

    /// Returns the velocity after an impulse, (tangent, normal).
    fn after(&self, p: Impulse) -> (f64, f64) {
        let k = &self.mass;
        (
            self.tangent_speed + k.tangent * p.tangent + k.cross * p.normal,
            self.normal_speed + k.cross * p.tangent + k.normal * p.normal,
        )
    }

    /// Returns the change of kinetic energy by an impulse: the impulse times the mean of the velocities before and
    /// after it.
    fn energy_gain(&self, p: Impulse) -> f64 {
        let (tangent, normal) = self.after(p);
        0.5 * (p.tangent * (self.tangent_speed + tangent) + p.normal * (self.normal_speed + normal))
    }

    /// Returns the largest kinetic energy that an impulse at this contact can remove, ½ uᵀ K⁻¹ u.
    fn energy(&self) -> f64 {
        let (k, t, n) = (&self.mass, self.tangent_speed, self.normal_speed);
        let determinant = k.tangent * k.normal - k.cross * k.cross;
        0.5 * (k.normal * t * t - 2.0 * k.cross * t * n + k.tangent * n * n) / determinant
    }

    fn first_slope(&self) -> f64 {
        self.mass.normal - self.friction * self.tangent_speed.signum() * self.mass.cross
    }

    /// Integrates the impact in steps of normal impulse. The tangential impulse of each step is the one that would stop
    /// the slip, clamped to the friction cone, so slip, stick and reversal need no separate cases.
    fn integrate(&self, law: RestitutionLaw, step: f64) -> Impulse {
        let (mut p, mut compressed, mut work) = (Impulse::default(), f64::INFINITY, 0.0);
        for _ in 0..2_000_000 {
            let (slip, closing) = self.after(p);
            let to_rest = -(slip + step * self.mass.cross) / self.mass.tangent;
            p.tangent += to_rest.clamp(-self.friction * step, self.friction * step);
            p.normal += step;
            let opening = self.after(p).1;
            if compressed.is_infinite() && opening >= 0.0 {
                (compressed, work) = (p.normal, self.restitution * self.restitution * work);
            }
            let exchanged = 0.5 * (closing + opening).abs() * step;
            work += if compressed.is_infinite() { exchanged } else { -exchanged };
            let ended = match law {
                Poisson => p.normal >= (1.0 + self.restitution) * compressed,
                Stronge => compressed.is_finite() && work <= 0.0,
            };
            if ended {
                break;
            }
        }
        p
    }

    /// Returns the difference between the integration in this many steps and the closed form, as a fraction of the
    /// normal impulse.
    fn disagreement(&self, law: RestitutionLaw, steps: f64) -> f64 {
        let closed = self.resolve(law);
        let stepped = self.integrate(law, closed.normal / steps);
        (closed.tangent - stepped.tangent).hypot(closed.normal - stepped.normal) / closed.normal
    }
}

fn assert_impulse(p: Impulse, tangent: f64, normal: f64) {
    assert!((p.tangent - tangent).abs() < 1e-6 && (p.normal - normal).abs() < 1e-6, "{p:?}, not ({tangent}, {normal})");
}

#[test]
fn a_falling_rod_slips_away_under_little_friction() {
    let case = Case::rod(45.0, 0.0, 0.3, 0.5);
    for law in [Stronge, Poisson] {
        assert_impulse(case.resolve(law), 0.219512, 0.731707);
        let (tangent, normal) = case.after(case.resolve(law));
        assert!((tangent + 0.548780).abs() < 1e-6 && (normal - 0.5).abs() < 1e-6);
    }
}

#[test]
fn a_falling_rod_sticks_under_much_friction() {
    let case = Case::rod(45.0, 0.0, 0.8, 0.5);
    for law in [Stronge, Poisson] {
        assert_impulse(case.resolve(law), 0.5625, 0.9375);
        assert!(case.after(case.resolve(law)).0.abs() < 1e-15);
    }
}

#[test]
fn the_laws_part_when_slip_reverses() {
    let case = Case::rod(60.0, 0.5, 0.4, 0.5);
    assert_impulse(case.resolve(Poisson), 0.235937, 0.975180);
    assert_impulse(case.resolve(Stronge), 0.240653, 0.986979);
}

#[test]
fn the_laws_part_when_slip_ends_in_sticking() {
    let case = Case::rod(30.0, -1.0, 1.5, 1.0);
    assert_impulse(case.resolve(Poisson), 1.703090, 1.524519);
    assert_impulse(case.resolve(Stronge), 1.567616, 1.342015);
}

#[test]
fn a_jam_agrees_with_the_impact_integrated_ever_finer() {
    for restitution in [0.0, 0.5, 1.0] {
        let case = Case::rod(60.0, -1.0, 2.0, restitution);
        assert!(case.first_slope() < -0.5, "a jam speeds up its own approach");
        for law in [Stronge, Poisson] {
            let (coarse, fine) = (case.disagreement(law, 1e3), case.disagreement(law, 1e5));
            assert!(coarse < 5e-3 && fine < 5e-5, "{law:?} {restitution}: {coarse} then {fine}");
        }
    }
}

#[test]
fn the_rod_to_which_newtons_law_gives_energy_loses_some() {
    let case = Case::rod(50.0, 0.6, 0.4, 0.9);
    let energy = 0.5 * (0.6 * 0.6 + 1.0);
    let newton = Impulse { tangent: 0.365746, normal: 1.089643 };
    assert!((case.after(newton).1 - 0.9).abs() < 1e-5, "Newton's law holds for it");
    assert!((case.energy_gain(newton) / energy - 0.0812).abs() < 1e-4);
    assert_impulse(case.resolve(Stronge), 0.163538, 0.873709);
    assert!(case.energy_gain(case.resolve(Stronge)) < -0.01 * energy);
}

#[test]
fn a_million_impacts_add_no_energy_keep_the_cone_and_open() {
    let (mut random, mut jams) = (Random(0x2545_f491_4f6c_dd1d), 0);
    for _ in 0..1_000_000 {
        let case = random_impact(&mut random);
        jams += u32::from(case.first_slope() < 0.0);
        for law in [Stronge, Poisson] {
            assert_lawful(&case, case.resolve(law));
        }
    }
    assert!(jams > 50_000, "only {jams} jams among them");
}

fn assert_lawful(case: &Case, p: Impulse) {
    let opening = case.after(p).1;
    let speed = case.tangent_speed.abs() + case.normal_speed.abs();
    assert!(p.normal > 0.0 && p.normal.is_finite(), "{p:?} {case:?}");
    assert!(
        case.energy_gain(p) <= 1e-12 * case.energy(),
        "gains {} of {}: {case:?}",
        case.energy_gain(p),
        case.energy()
    );
    assert!(p.tangent.abs() <= case.friction * p.normal * (1.0 + 1e-12), "leaves the cone: {p:?} {case:?}");
    assert!(opening >= -1e-12 * speed, "still closes at {opening}: {case:?}");
}

#[test]
fn random_impacts_agree_with_the_impact_integrated() {
    let mut random = Random(4711);
    for _ in 0..300 {
        let case = random_impact(&mut random);
        for law in [Stronge, Poisson] {
            let apart = case.disagreement(law, 2e4);
            assert!(apart < 5e-3, "{law:?}: {apart} {case:?}");
        }
    }
}

#[test]
fn without_friction_there_is_only_the_normal_and_both_laws_agree_with_newton() {
    let mut random = Random(9);
    for _ in 0..1000 {
        let case = Case { friction: 0.0, ..random_impact(&mut random) };
        for law in [Stronge, Poisson] {
            let p = case.resolve(law);
            assert_eq!(p.tangent, 0.0);
            let expected = -(1.0 + case.restitution) * case.normal_speed / case.mass.normal;
            assert!((p.normal - expected).abs() <= 1e-14 * expected);
        }
    }
}

#[test]
fn a_plastic_impact_just_stops_and_a_frictionless_elastic_one_keeps_all_energy() {
    let mut random = Random(31);
    for _ in 0..1000 {
        let plastic = Case { restitution: 0.0, ..random_impact(&mut random) };
        let elastic = Case { restitution: 1.0, friction: 0.0, ..plastic };
        for law in [Stronge, Poisson] {
            assert!(plastic.after(plastic.resolve(law)).1.abs() < 1e-11);
            assert!(elastic.energy_gain(elastic.resolve(law)).abs() <= 1e-12 * elastic.energy());
        }
    }
}

#[test]
fn a_body_that_cannot_turn_takes_friction_like_a_block() {
    let mass = PointInverseMass { tangent: 0.5, cross: 0.0, normal: 0.5 };
    for law in [Stronge, Poisson] {
        let slides = resolve(&mass, 3.0, -1.0, 0.5, 0.0, law);
        assert_eq!(slides, Impulse { tangent: -1.0, normal: 2.0 });
        let stops = resolve(&mass, -0.25, -1.0, 0.5, 0.0, law);
        assert_eq!(stops, Impulse { tangent: 0.5, normal: 2.0 });
    }
}

#[test]
fn nothing_happens_to_what_opens_or_cannot_move() {
    let mass = Case::rod(45.0, 0.0, 0.3, 0.5).mass;
    let immovable = PointInverseMass { tangent: 0.0, cross: 0.0, normal: 0.0 };
    for law in [Stronge, Poisson] {
        assert_eq!(resolve(&mass, 1.0, 0.0, 0.5, 0.5, law), Impulse::default());
        assert_eq!(resolve(&mass, 1.0, 2.0, 0.5, 0.5, law), Impulse::default());
        assert_eq!(resolve(&mass, 1.0, f64::NAN, 0.5, 0.5, law), Impulse::default());
        assert_eq!(resolve(&immovable, 1.0, -1.0, 0.5, 0.5, law), Impulse::default());
    }
}

#[test]
fn a_singular_contact_mass_still_gives_a_finite_impulse() {
    for cross in [-1.0, 1.0] {
        let mass = PointInverseMass { tangent: 1.0, cross, normal: 1.0 };
        for (slip, friction) in [(0.0, 2.0), (1.0, 1.0), (-1.0, 1.0), (1.0, 2.0), (-1.0, 2.0)] {
            for law in [Stronge, Poisson] {
                let p = resolve(&mass, slip, -1.0, friction, 0.5, law);
                assert!(p.normal.is_finite() && p.tangent.is_finite(), "{p:?}");
            }
        }
    }
    let railed = PointInverseMass { tangent: 0.0, cross: 0.0, normal: 1.0 };
    assert_eq!(resolve(&railed, 1.0, -1.0, 0.0, 1.0, Stronge), Impulse { tangent: 0.0, normal: 2.0 });
}

proptest! {
    #[test]
    fn the_mirror_image_of_an_impact_has_the_mirrored_impulse(bits in 1u64..) {
        let case = random_impact(&mut Random(bits));
        let mass = PointInverseMass { cross: -case.mass.cross, ..case.mass };
        let mirrored = Case { mass, tangent_speed: -case.tangent_speed, ..case };
        for law in [Stronge, Poisson] {
            let (p, q) = (case.resolve(law), mirrored.resolve(law));
            prop_assert_eq!((p.tangent, p.normal), (-q.tangent, q.normal));
        }
    }

    #[test]
    fn more_restitution_never_means_less_impulse(bits in 1u64.., more in 0.0f64..1.0) {
        let case = random_impact(&mut Random(bits));
        let livelier = Case { restitution: case.restitution + more * (1.0 - case.restitution), ..case };
        for law in [Stronge, Poisson] {
            prop_assert!(livelier.resolve(law).normal >= case.resolve(law).normal * (1.0 - 1e-15));
        }
    }

    #[test]
    fn impulses_scale_with_the_speed(bits in 1u64.., scale in 0.01f64..100.0) {
        let case = random_impact(&mut Random(bits));
        let (tangent_speed, normal_speed) = (scale * case.tangent_speed, scale * case.normal_speed);
        let faster = Case { tangent_speed, normal_speed, ..case };
        for law in [Stronge, Poisson] {
            let (p, q) = (case.resolve(law), faster.resolve(law));
            prop_assert!((q.normal - scale * p.normal).abs() <= 1e-11 * q.normal);
            prop_assert!((q.tangent - scale * p.tangent).abs() <= 1e-11 * q.normal);
        }
    }
}

//! The same inputs give the same bits.

use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, SceneDescription};
use haptic_planar::workspace::Workspace;
use nalgebra::{Vector2, vector};

/// Returns boxes, discs and capsules, with a tool among them.
fn jumble() -> Lab {
    Lab::new(&jumble_description()).gains(800.0, 4.0).upright(0.5, 0.002)
}

fn jumble_description() -> SceneDescription {
    let mut bodies = room(0.1, 0.4, 0.3);
    for i in 0..12 {
        let shape = match i % 3 {
            0 => box_shape(0.02, 0.015),
            1 => disc(0.008),
            _ => capsule(0.01, 0.006),
        };
        let (x, y) = (-0.06 + 0.04 * f64::from(i % 4), -0.07 + 0.03 * f64::from(i / 4));
        let one = with(body(&format!("{i}"), shape, x, y), 0.01 + 0.005 * f64::from(i), 0.4, 0.3);
        bodies.push(BodyDescription { angle_rad: 0.3 * f64::from(i), ..one });
    }
    bodies.push(with(body("tool", box_shape(0.02, 0.02), 0.0, 0.07), 0.1, 0.4, 0.3));
    scene(GRAVITY, bodies, Some("tool"))
}

/// Returns the position of a stirring hand.
fn stirring(tick: u64) -> Vector2<f64> {
    let (sine, cosine) = libm::sincos(tick as f64 * 0.006);
    vector![0.07 * sine, 0.01 + 0.06 * cosine]
}

fn stir(lab: &mut Lab, ticks: u64) -> Vec<u64> {
    let mut hashes = Vec::new();
    for _ in 0..ticks {
        let at = stirring(lab.tick);
        lab.hand(at);
        hashes.push(lab.state.hash());
    }
    hashes
}

#[test]
fn the_same_run_twice_gives_the_same_hash_at_every_tick() {
    assert_eq!(stir(&mut jumble(), 4000), stir(&mut jumble(), 4000));
}

#[test]
fn a_clone_of_a_world_continues_identically() {
    let mut lab = jumble();
    stir(&mut lab, 1500);
    let mut twin = lab.clone();
    assert_eq!(stir(&mut lab, 1500), stir(&mut twin, 1500));
    assert_eq!(lab.state.energy, twin.state.energy);
}

/// Also covers rolling friction while the tool's mass matrix changes between diagonal and full: on a rail, its inverse
/// inertia once remained from an earlier tick.
#[test]
fn a_new_workspace_in_every_tick_changes_no_bit() {
    for rolling_friction in [0.0, 0.02] {
        let description = SceneDescription { rolling_friction, ..jumble_description() };
        let mut lab = Lab::new(&description).gains(800.0, 4.0).upright(0.5, 0.002);
        let mut twin = lab.clone();
        for tick in 0..1500 {
            for one in [&mut lab, &mut twin] {
                one.input.rail = (tick / 250 % 2 == 1).then(|| vector![0.6, 0.8]);
                let at = stirring(one.tick);
                if tick / 400 == 2 {
                    one.free()
                } else {
                    one.hand(at)
                };
            }
            twin.workspace = Workspace::new(&twin.scene);
            assert_eq!(lab.state.hash(), twin.state.hash(), "tick {tick}, rolling friction {rolling_friction}");
        }
        assert_eq!(lab.state.energy, twin.state.energy);
    }
}

#[test]
fn a_clone_is_independent_of_its_original() {
    let mut lab = jumble();
    stir(&mut lab, 500);
    let twin = lab.clone();
    let before = twin.state.hash();
    stir(&mut lab, 500);
    assert_eq!(twin.state.hash(), before);
    assert_ne!(lab.state.hash(), before);
}

#[test]
fn the_hash_depends_on_the_last_bit_of_every_number() {
    let lab = jumble();
    let hash = lab.state.hash();
    let bump = |value: &mut f64| *value = f64::from_bits(value.to_bits() ^ 1);
    for index in 0..lab.state.bodies.len() {
        for which in 0..6 {
            let mut state = lab.state.clone();
            let body = &mut state.bodies[index];
            match which {
                0 => bump(&mut body.centre_m.x),
                1 => bump(&mut body.centre_m.y),
                2 => bump(&mut body.angle_rad),
                3 => bump(&mut body.velocity_m_per_s.x),
                4 => bump(&mut body.velocity_m_per_s.y),
                _ => bump(&mut body.angular_velocity_rad_per_s),
            }
            assert_ne!(state.hash(), hash, "body {index}, number {which}");
        }
    }
}

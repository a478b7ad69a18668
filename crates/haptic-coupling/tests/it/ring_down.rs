//! A tool released on the coupling rings down at the frequency and damping given by spring, damper and mass.

use haptic_coupling::coupling::{Coupling, Gains};
use haptic_planar::scene::Scene;
use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription, ToolDescription};
use haptic_planar::state::State;
use haptic_planar::tick::TICK_S;
use haptic_planar::workspace::Workspace;
use nalgebra::Vector2;
use std::f64::consts::{PI, TAU};

/// Returns the times, s, at which a 100 g tool passes the resting hand, and its speed at each, m/s.
fn passages(gains: Gains, ticks: u32) -> Vec<(f64, f64)> {
    let mut tool = BodyDescription::new("tool", ShapeDescription::Disc { radius_m: 0.01 });
    tool.mass_kg = Some(0.1);
    let description = SceneDescription {
        gravity_m_per_s2: Vector2::zeros(),
        bodies: vec![tool],
        tool: Some(ToolDescription { body: "tool".into(), handle_m: Vector2::zeros(), weightless: false }),
        ..SceneDescription::default()
    };
    let scene = Scene::build(&description).unwrap();
    let (mut state, mut workspace) = (State::new(&scene), Workspace::new(&scene));
    let mut coupling = Coupling::new(gains, f64::INFINITY, None);
    let hand_m = Vector2::new(0.005, 0.0);
    let mut passages = Vec::new();
    let (mut before_m, mut before_m_per_s) = (-0.005, 0.0);
    for tick in 0..ticks {
        state.advance(&scene, &mut workspace, Some(&coupling.input(hand_m)));
        let (after_m, after_m_per_s) = (state.handle_m(&scene).x - hand_m.x, state.bodies[0].velocity_m_per_s.x);
        if before_m * after_m < 0.0 {
            let part = before_m / (before_m - after_m);
            let speed = before_m_per_s + part * (after_m_per_s - before_m_per_s);
            passages.push(((f64::from(tick) + part) * TICK_S, speed.abs()));
        }
        (before_m, before_m_per_s) = (after_m, after_m_per_s);
    }
    passages
}

#[test]
fn the_tool_rings_down_as_the_midpoint_rule_says() {
    let gains = Gains { stiffness_n_per_m: 1000.0, damping_n_s_per_m: 5.0, ..Gains::default() };
    let passages = passages(gains, 300);
    let ((first_s, first_speed), (last_s, last_speed)) = (passages[0], passages[6]);
    let half_period_s = (last_s - first_s) / 6.0;
    let decay_per_s = (first_speed / last_speed).ln() / (last_s - first_s);
    let damped = PI / half_period_s;
    let natural = damped.hypot(decay_per_s);
    let (frequency_hz, ratio) = (natural / TAU, decay_per_s / natural);
    assert!((frequency_hz / 15.90 - 1.0).abs() < 1e-3, "{frequency_hz} Hz");
    assert!((ratio / 0.2496 - 1.0).abs() < 2e-3, "damping ratio {ratio}");
}

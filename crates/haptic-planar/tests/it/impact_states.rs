//! The impact states of Chang & Colgate 1997, section 4.3: the defects that the paper reports, and the choices without
//! them. `examples/impact_states.rs` prints the figures behind these claims.

mod scenarios;

use crate::common::{Lab, body, box_shape, disc, fixed, scene, with};
use haptic_planar::scene::description::ImpactState;
use nalgebra::vector;
use scenarios::*;

const EXACT: ImpactState = ImpactState::Exact;
const PREVIOUS: ImpactState = ImpactState::Previous;
const PREVIOUS_POSITION: ImpactState = ImpactState::PreviousPosition;
const LIMITED_SEARCH: ImpactState = ImpactState::LimitedSearch;
const AS_PRINTED: ImpactState = ImpactState::InterStateAsPrinted;
const FORCE_IMPULSE: ImpactState = ImpactState::ForceImpulse;
const INTER_STATE: ImpactState = ImpactState::InterState;

#[track_caller]
fn assert_near(value: f64, wanted: f64, tolerance: f64) {
    assert!((value - wanted).abs() <= tolerance, "{value} is not {wanted} ± {tolerance}");
}

#[test]
fn the_printed_inter_state_gains_half_the_energy_of_an_elastic_ball_in_ten_seconds() {
    assert_near(elastic_ball(AS_PRINTED, 10.0).drift, 0.48, 0.05);
}

#[test]
fn the_previous_position_with_the_current_velocity_gains_as_much() {
    assert_near(elastic_ball(PREVIOUS_POSITION, 10.0).drift, 0.496, 0.05);
}

#[test]
fn the_inter_state_made_passive_keeps_the_energy_of_an_elastic_ball() {
    assert!(elastic_ball(INTER_STATE, 10.0).drift.abs() < 1e-9);
}

#[test]
fn consistent_impact_states_keep_the_energy_of_an_elastic_ball() {
    for choice in [EXACT, PREVIOUS, LIMITED_SEARCH, FORCE_IMPULSE] {
        let drift = elastic_ball(choice, 10.0).drift;
        assert!(drift.abs() < 1e-9, "{choice:?}: {drift}");
    }
}

#[test]
fn no_choice_adds_energy_without_a_force() {
    for (name, choice) in IMPACT_STATES {
        let gain_j = elastic_square(choice, 10.0).gain_j;
        assert!(gain_j < 1e-15, "{name}: {gain_j} J");
    }
}

#[test]
fn the_previous_state_gets_stuck_in_the_papers_scenario() {
    assert_eq!(stuck_ticks(PREVIOUS, 1e-6), 1000);
}

#[test]
fn a_limited_search_gets_stuck_only_close_to_contact() {
    assert_eq!(stuck_ticks(LIMITED_SEARCH, 1e-6), 0);
    assert_eq!(stuck_ticks(LIMITED_SEARCH, 1e-8), 1000);
}

#[test]
fn other_choices_do_not_get_stuck() {
    for choice in [EXACT, PREVIOUS_POSITION, AS_PRINTED, FORCE_IMPULSE, INTER_STATE] {
        assert_eq!(stuck_ticks(choice, 1e-6), 0, "{choice:?}");
        assert_eq!(stuck_ticks(choice, 1e-8), 0, "{choice:?}");
    }
}

#[test]
fn a_pushed_box_is_held_where_it_should_slide() {
    for choice in [PREVIOUS, PREVIOUS_POSITION, LIMITED_SEARCH, AS_PRINTED] {
        let speed = push_and_slide(choice, 0.0).speed_m_per_s;
        assert!(speed.abs() < 1e-4, "{choice:?}: {speed} m/s");
    }
}

#[test]
fn friction_is_felt_where_contact_is_more_than_a_row_of_impulses() {
    for choice in [FORCE_IMPULSE, INTER_STATE] {
        let slid = push_and_slide(choice, 0.0);
        assert_near(slid.ratio, 0.5, 5e-4);
        assert_near(slid.speed_m_per_s, 0.05, 1e-5);
    }
}

#[test]
fn a_held_box_hides_energy_behind_its_frozen_position() {
    for choice in [PREVIOUS_POSITION, AS_PRINTED] {
        assert!(push_and_slide(choice, 0.0).gain_j > 1.0, "{choice:?}");
    }
    assert!(push_and_slide(INTER_STATE, 0.0).gain_j < 1e-9);
}

#[test]
fn a_rocking_tool_sticks_to_the_floor_by_the_printed_rule_and_not_by_ours() {
    let inertia_alone_n = 0.7115;
    assert!(pull_off(AS_PRINTED, 0.0, 0.02) > inertia_alone_n + 0.5);
    assert!(pull_off(PREVIOUS_POSITION, 0.0, 0.02) > inertia_alone_n + 0.5);
    assert_near(pull_off(INTER_STATE, 0.0, 0.02), inertia_alone_n, 0.035);
}

#[test]
fn no_choice_lets_bodies_overlap() {
    for (name, choice) in IMPACT_STATES.iter().filter(|(_, choice)| *choice != EXACT) {
        let depth_m = push_and_slide(*choice, 0.5).penetration_m;
        assert!(depth_m < 1e-7, "{name}: {depth_m} m");
    }
}

#[test]
fn several_collisions_of_a_tick_are_processed_one_after_the_other() {
    for (name, choice) in IMPACT_STATES {
        let mut description = scene(0.0, vec![], None);
        description.impact_state = choice;
        description.bodies = (0..4)
            .map(|i| with(body(&format!("b{i}"), disc(0.01), 0.0201 * f64::from(i), 0.0), 0.1, 0.0, 1.0))
            .collect();
        description.bodies[0].velocity_m_per_s = vector![1.0, 0.0];
        description.bodies.push(with(fixed("wall", box_shape(0.02, 0.2), 0.5, 0.0), 1.0, 0.0, 1.0));
        let mut lab = Lab::new(&description);
        for _ in 0..100 {
            lab.free();
        }
        let speed: Vec<f64> = (0..4).map(|i| lab.state.bodies[i].velocity_m_per_s.x).collect();
        assert_near(speed.iter().sum(), 1.0, 1e-9);
        assert!(speed[3] > 0.999, "{name}: {speed:?}");
    }
}

#[test]
fn a_heap_stays_apart_and_finite_under_every_choice_with_a_bound() {
    for (name, choice) in IMPACT_STATES.iter().filter(|(_, choice)| ![EXACT, INTER_STATE].contains(choice)) {
        let mut description = scene(9.81, vec![], None);
        description.impact_state = *choice;
        description.bodies.push(with(fixed("floor", box_shape(1.0, 0.1), 0.0, -0.05), 1.0, 0.5, 0.3));
        for i in 0..8 {
            let mut one = with(
                body(&format!("b{i}"), box_shape(0.03, 0.02), 0.007 * f64::from(i % 3), 0.04 * f64::from(i + 1)),
                0.1,
                0.5,
                0.3,
            );
            one.angle_rad = 0.2 * f64::from(i);
            description.bodies.push(one);
        }
        let mut lab = Lab::new(&description);
        for _ in 0..2000 {
            lab.free();
        }
        assert!(lab.penetration_m < 1e-6, "{name}: {} m", lab.penetration_m);
        assert!(lab.state.bodies.iter().all(|body| body.centre_m.norm() < 10.0), "{name}");
    }
}

//! Bodies that leave the bounds of the world.

use crate::common::measure::{assert_below, assert_near};
use crate::common::*;
use haptic_planar::checkpoint::Checkpoint;
use haptic_planar::scene::description::{BodyDescription, Bounds, ImpactState, Leave, SceneDescription};
use haptic_planar::scene::{Place, Scene};
use haptic_planar::state::State;
use haptic_planar::step::worst_case::WorstCase;
use haptic_planar::workspace::Workspace;
use haptic_testing::assert_no_allocator_calls;
use nalgebra::{Vector2, vector};

const ALL: [Leave; 3] = [Leave::Respawn, Leave::Remove, Leave::Stop];
/// Largest reported gain of energy, J.
const GAIN_J: f64 = 1e-9;

/// Bounds of 0.2 m by 0.2 m around the origin.
fn bounded(leave: Leave, bodies: Vec<BodyDescription>, tool: Option<&str>) -> SceneDescription {
    let bounds = Some(Bounds { corners_m: [vector![0.1, -0.1], vector![-0.1, 0.1]], leave });
    SceneDescription { bounds, ..scene(GRAVITY, bodies, tool) }
}

fn moving(name: &str, radius_m: f64, at: [f64; 2], velocity: [f64; 2]) -> BodyDescription {
    let one = with(body(name, disc(radius_m), at[0], at[1]), 0.05, 0.3, 0.5);
    BodyDescription { velocity_m_per_s: velocity.into(), ..one }
}

/// A ball that is thrown to the right from the origin.
fn thrown(leave: Leave) -> Lab {
    let ball = BodyDescription { angular_velocity_rad_per_s: 20.0, ..moving("ball", 0.01, [0.0, 0.0], [2.0, 0.5]) };
    Lab::new(&bounded(leave, vec![ball], None))
}

fn assert_at_rest(lab: &Lab, name: &str) {
    let ball = lab.body(name);
    assert_eq!((ball.velocity_m_per_s, ball.angular_velocity_rad_per_s), (Vector2::zeros(), 0.0));
}

#[test]
fn a_thrown_ball_is_back_at_its_start_at_rest_in_the_tick_in_which_it_leaves() {
    let mut lab = thrown(Leave::Respawn);
    let mut before = *lab.body("ball");
    while lab.body("ball").centre_m.x >= before.centre_m.x {
        before = *lab.body("ball");
        lab.free();
    }
    assert!(before.centre_m.x > 0.095 && before.centre_m.x <= 0.1, "{before:?}");
    let ball = *lab.body("ball");
    assert_eq!((ball.centre_m, ball.angle_rad, ball.rotation), (vector![0.0, 0.0], 0.0, vector![1.0, 0.0]));
    assert_at_rest(&lab, "ball");
    assert!(!lab.state.has_left(0));
    // From there it falls out below, again and again: sqrt(2 · 0.1 m / g) = 0.143 s.
    let mut returns = 0;
    for _ in 0..1440 {
        let y = lab.body("ball").centre_m.y;
        lab.free();
        returns += usize::from(lab.body("ball").centre_m.y > y);
    }
    assert_eq!(returns, 10);
    assert_below("gain", lab.gain_j(), GAIN_J);
}

#[test]
fn a_stopped_ball_stands_where_it_left() {
    for leave in [Leave::Stop, Leave::Remove] {
        let mut lab = thrown(leave);
        lab.run_s(0.1);
        let left = *lab.body("ball");
        assert!(lab.state.has_left(0) && left.centre_m.x > 0.1 && left.centre_m.x < 0.103, "{left:?}");
        assert_eq!(lab.state.is_removed(&lab.scene, 0), leave == Leave::Remove);
        assert_at_rest(&lab, "ball");
        lab.run_s(1.0);
        let later = *lab.body("ball");
        assert_eq!((later.centre_m, later.angle_rad), (left.centre_m, left.angle_rad));
        assert_at_rest(&lab, "ball");
        assert_eq!(lab.state.energy.kinetic_j, 0.0);
        assert_below("gain", lab.gain_j(), GAIN_J);
    }
}

/// A platform that falls and leaves below after 0.14 s, and a ball that falls after it from the upper edge.
fn platform_and_ball(leave: Leave) -> Lab {
    let platform = with(body("platform", box_shape(0.06, 0.01), 0.0, 0.0), 0.01, 0.3, 0.5);
    Lab::new(&bounded(leave, vec![platform, moving("ball", 0.01, [0.01, 0.09], [0.0, 0.0])], None))
}

#[test]
fn a_stopped_body_holds_another_like_a_fixed_body() {
    let mut lab = platform_and_ball(Leave::Stop);
    lab.run_s(0.18);
    let platform = *lab.body("platform");
    assert!(lab.state.has_left(0) && platform.centre_m.y < -0.1);
    lab.run_s(2.0);
    let ball = *lab.body("ball");
    assert_near("height", ball.centre_m.y - platform.centre_m.y, 0.015, 1e-5);
    assert_below("speed", ball.velocity_m_per_s.norm(), 1e-6);
    assert!(!lab.state.has_left(1), "the ball lies on the platform, inside the bounds");
    assert_eq!(lab.body("platform").centre_m, platform.centre_m);
    assert_below("gain", lab.gain_j(), GAIN_J);
    assert_below("penetration", lab.penetration_m, 2e-5);
    let contacts: Vec<_> = lab.workspace.contacts(&lab.state).collect();
    assert_near("load", contacts.iter().map(|contact| contact.force_n.norm()).sum(), 0.05 * GRAVITY, 1e-3);
}

#[test]
fn a_removed_body_touches_nothing() {
    let mut lab = platform_and_ball(Leave::Remove);
    let mut alone = Lab::new(&bounded(Leave::Remove, vec![moving("ball", 0.01, [0.01, 0.09], [0.0, 0.0])], None));
    for _ in 0..300 {
        lab.free();
        alone.free();
        let (ball, single) = (lab.body("ball"), alone.body("ball"));
        assert_eq!((ball.centre_m, ball.velocity_m_per_s), (single.centre_m, single.velocity_m_per_s));
    }
    assert!(lab.state.is_removed(&lab.scene, 0) && lab.state.is_removed(&lab.scene, 1));
    assert_below("gain", lab.gain_j(), GAIN_J);
}

#[test]
fn two_stopped_bodies_that_overlap_fixed_ones_stay_where_they_are() {
    let step = fixed("step", box_shape(0.2, 0.02), 0.2, 0.0);
    let ball = |name: &str, y| moving(name, 0.01, [0.08, y], [1.5, 0.0]);
    let mut lab = Lab::new(&bounded(Leave::Stop, vec![step, ball("low", 0.03), ball("high", 0.052)], None));
    lab.run_s(0.3);
    let stopped = ["low", "high"].map(|name| lab.body(name).centre_m);
    assert!(lab.state.has_left(1) && lab.state.has_left(2), "{stopped:?}");
    lab.run_s(0.5);
    assert_eq!(["low", "high"].map(|name| lab.body(name).centre_m), stopped);
    assert!(lab.state.energy.stored_j().is_finite() && lab.gain_j() < GAIN_J, "{:?}", lab.state.energy);
}

/// A ball that leaves below and whose start a second one enters meanwhile, on a shelf that the ball starts beside.
fn occupied() -> Lab {
    let shelf = fixed("shelf", box_shape(0.04, 0.01), 0.0, -0.005);
    let first = moving("first", 0.01, [0.01, 0.01], [1.5, 0.0]);
    let second = moving("second", 0.01, [-0.015, 0.01], [0.0, 0.0]);
    let probe = with(body("probe", disc(0.004), -0.035, 0.01), 0.05, 0.3, 0.5);
    Lab::new(&bounded(Leave::Respawn, vec![shelf, first, second, probe], Some("probe")))
}

#[test]
fn a_body_waits_until_its_start_is_free() {
    let mut lab = occupied();
    let at = |x| vector![x, 0.01];
    lab.hand(at(-0.035));
    lab.lead(at(-0.01), 70, |_, _| ());
    let waiting = *lab.body("first");
    assert!(lab.state.has_left(1) && waiting.centre_m.x > 0.1, "{waiting:?}");
    assert!((lab.body("second").centre_m.x - 0.01).abs() < 0.02, "the place is occupied");
    lab.lead(at(-0.01), 300, |lab, _| {
        assert_eq!(lab.state.has_left(1), (lab.body("second").centre_m - vector![0.01, 0.01]).norm() < 0.02 - 5e-6);
    });
    lab.lead(at(0.02), 500, |_, _| ());
    lab.lead(at(-0.035), 200, |_, _| ());
    lab.lead(at(-0.035), 400, |_, _| ());
    assert!(!lab.state.has_left(1));
    let first = *lab.body("first");
    assert!((first.centre_m - vector![0.01, 0.01]).norm() < 1e-3, "it stands on the shelf: {first:?}");
    assert_below("gain", lab.gain_j(), GAIN_J);
}

#[test]
fn a_body_whose_start_stays_occupied_does_not_keep_others_waiting() {
    let blocked = moving("blocked", 0.005, [0.08, 0.02], [2.0, 0.0]);
    let free = moving("free", 0.005, [-0.04, 0.05], [-2.0, 0.0]);
    let probe = with(body("probe", disc(0.004), 0.06, 0.02), 0.05, 0.3, 0.5);
    let mut lab = Lab::new(&bounded(Leave::Respawn, vec![blocked, free, probe], Some("probe")));
    // The probe follows the first ball and stays at its start.
    let mut returns = 0;
    let mut height_m = lab.body("free").centre_m.y;
    lab.lead(vector![0.078, 0.02], 10, |_, _| ());
    lab.lead(vector![0.078, 0.02], 1000, |lab, _| {
        let now_m = lab.body("free").centre_m.y;
        returns += usize::from(now_m > height_m);
        height_m = now_m;
    });
    assert!(lab.state.has_left(0), "its start is occupied");
    // The fall from 0.05 m to -0.1 m takes 0.175 s.
    assert!((5..=6).contains(&returns), "{returns} returns");
    assert_below("gain", lab.gain_j(), GAIN_J);
}

#[test]
fn the_tool_may_leave() {
    for leave in ALL {
        let probe = with(body("probe", disc(0.004), 0.0, 0.0), 0.05, 0.3, 0.5);
        let mut lab = Lab::new(&bounded(leave, vec![probe], Some("probe")));
        lab.lead(vector![0.3, 0.0], 300, |_, _| ());
        lab.lead(vector![0.3, 0.0], 300, |_, _| ());
        assert!(!lab.state.has_left(0) && lab.body("probe").centre_m.x > 0.29);
    }
}

/// Balls thrown out in all directions, and a tool that stirs them.
fn burst(leave: Leave) -> SceneDescription {
    let mut bodies = vec![fixed("floor", box_shape(0.3, 0.01), 0.0, -0.08)];
    for i in 0..16 {
        let (x, y) = (-0.06 + 0.04 * f64::from(i % 4), -0.05 + 0.03 * f64::from(i / 4));
        let (sine, cosine) = libm::sincos(f64::from(i));
        bodies.push(moving(&format!("{i}"), 0.008, [x, y], [2.0 * cosine, 1.0 + sine]));
    }
    bodies.push(with(body("tool", box_shape(0.015, 0.015), 0.0, 0.08), 0.1, 0.4, 0.3));
    bounded(leave, bodies, Some("tool"))
}

fn stirring(tick: u64) -> Vector2<f64> {
    let (sine, cosine) = libm::sincos(tick as f64 * 0.01);
    vector![0.12 * sine, 0.01 + 0.07 * cosine]
}

fn stir(lab: &mut Lab, ticks: u64) -> Vec<u64> {
    let one = |_| {
        let at = stirring(lab.tick);
        lab.hand(at);
        lab.state.hash()
    };
    (0..ticks).map(one).collect()
}

#[test]
fn a_crowd_that_leaves_stays_finite_and_gains_no_energy() {
    for leave in ALL {
        let mut lab = Lab::new(&burst(leave));
        stir(&mut lab, 3000);
        let count = (0..lab.scene.bodies.len()).filter(|&body| lab.state.has_left(body)).count();
        assert!(leave == Leave::Respawn || count >= 8, "{leave:?}: {count} left");
        for state in &lab.state.bodies {
            let numbers = [state.centre_m, state.velocity_m_per_s, state.rotation];
            assert!(numbers.iter().all(|v| v.x.is_finite() && v.y.is_finite()), "{leave:?}: {state:?}");
        }
        assert_below(&format!("gain, {leave:?}"), lab.gain_j(), GAIN_J);
        assert!(lab.state.energy.stored_j().is_finite());
    }
}

#[test]
fn a_new_workspace_in_every_tick_changes_no_bit() {
    for leave in ALL {
        let mut lab = Lab::new(&burst(leave));
        let mut twin = lab.clone();
        for tick in 0..800 {
            twin.workspace = Workspace::new(&twin.scene);
            assert_eq!(stir(&mut lab, 1), stir(&mut twin, 1), "{leave:?}, tick {tick}");
        }
        assert_eq!(lab.state.energy, twin.state.energy);
    }
}

#[test]
fn a_state_restored_from_a_checkpoint_mid_run_continues_with_the_same_bits() {
    for leave in ALL {
        let mut lab = Lab::new(&burst(leave));
        stir(&mut lab, 400);
        let mut checkpoint = Checkpoint::with_capacity(State::checkpoint_words(&lab.scene));
        lab.state.write_checkpoint(&lab.scene, &mut checkpoint.begin());
        let mut twin = Lab { state: State::new(&lab.scene), workspace: Workspace::new(&lab.scene), ..lab.clone() };
        let mut reader = checkpoint.read();
        twin.state.read_checkpoint(&lab.scene, &mut reader).unwrap();
        reader.end().unwrap();
        assert_eq!(twin.state.hash(), lab.state.hash());
        assert!(leave == Leave::Respawn || (0..lab.scene.bodies.len()).any(|body| twin.state.has_left(body)));
        assert_eq!(stir(&mut lab, 600), stir(&mut twin, 600), "{leave:?}");
    }
}

#[test]
fn a_checkpoint_that_names_a_body_that_does_not_exist_is_rejected() {
    let lab = thrown(Leave::Respawn);
    let mut checkpoint = Checkpoint::with_capacity(State::checkpoint_words(&lab.scene));
    lab.state.write_checkpoint(&lab.scene, &mut checkpoint.begin());
    let words = checkpoint.words().unwrap();
    // After 3 counts and 9 words for the ball, the body that is next to be put back.
    let read = |next| {
        let mut words = words.to_vec();
        words[12] = next;
        State::new(&lab.scene).read_checkpoint(&lab.scene, &mut Checkpoint::from_words(words).read())
    };
    assert!(words[12] == 0 && read(0).is_ok());
    assert!(read(1).is_err() && read(u64::from(u32::MAX)).is_err());
}

#[test]
fn bounds_that_nothing_reaches_change_no_motion() {
    let wide = Bounds { corners_m: [vector![-900.0, -900.0], vector![900.0, 900.0]], leave: Leave::Stop };
    let mut lab = Lab::new(&SceneDescription { bounds: None, ..burst(Leave::Stop) });
    let mut twin = Lab::new(&SceneDescription { bounds: Some(wide), ..burst(Leave::Stop) });
    stir(&mut lab, 400);
    stir(&mut twin, 400);
    assert_eq!(lab.state.bodies, twin.state.bodies);
    assert_eq!(lab.state.energy, twin.state.energy);
}

#[test]
fn the_hash_depends_on_who_has_left() {
    let mut lab = thrown(Leave::Stop);
    let mut twin = lab.clone();
    lab.run_s(0.1);
    twin.state.bodies.clone_from(&lab.state.bodies);
    assert_ne!(lab.state.hash(), twin.state.hash());
}

#[test]
fn ticks_with_bounds_allocate_nothing_and_do_no_more_work_than_the_worst_one() {
    for leave in ALL {
        let mut lab = Lab::new(&burst(leave));
        let mut worst = WorstCase::new(&lab.scene);
        worst.tick(&lab.scene);
        let sum = worst.tick(&lab.scene);
        assert!(sum.is_finite() && sum == worst.tick(&lab.scene));
        for tick in 0..1000 {
            let at = stirring(tick);
            assert_no_allocator_calls(|| _ = lab.hand(at));
            assert_eq!(lab.workspace.work().exceeding(&worst.work()), None, "{leave:?}, tick {tick}");
        }
    }
}

#[test]
fn the_other_impact_states_have_bounds_too() {
    use ImpactState::{Exact, ForceImpulse, InterStateAsPrinted, LimitedSearch, Previous, PreviousPosition};
    for impact_state in [InterStateAsPrinted, Exact, Previous, PreviousPosition, LimitedSearch, ForceImpulse] {
        for leave in ALL {
            let ball = moving("ball", 0.01, [0.0, 0.0], [2.0, 0.5]);
            let mut lab = Lab::new(&SceneDescription { impact_state, ..bounded(leave, vec![ball], None) });
            lab.run_s(0.08);
            assert_eq!(lab.state.has_left(0), leave != Leave::Respawn, "{impact_state:?}");
            assert!(lab.body("ball").centre_m.x.abs() < 0.103, "{impact_state:?}");
        }
    }
}

#[test]
fn bounds_that_do_not_fit_are_rejected() {
    let ball = || vec![moving("ball", 0.01, [0.0, 0.0], [0.0, 0.0])];
    let error = |corners_m| {
        let bounds = Some(Bounds { corners_m, leave: Leave::Stop });
        Scene::build(&SceneDescription { bounds, ..scene(GRAVITY, ball(), None) }).unwrap_err()
    };
    for (corners, expected) in [
        (
            [vector![0.1, 0.2], vector![0.3, -0.2]],
            "`ball` starts outside, with its centre of mass at [0.000, 0.000]; \
             write bounds_m = [[-0.1, -0.3], [0.4, 0.3]]",
        ),
        (
            [vector![-0.1, 0.2], vector![0.3, 0.2]],
            "the rectangle has no height; give two opposite corners: write bounds_m = [[-0.2, 0.1], [0.4, 0.3]]",
        ),
        (
            [vector![0.1, 0.2], vector![0.1, -0.2]],
            "the rectangle has no width; give two opposite corners: write bounds_m = [[0.0, -0.3], [0.2, 0.3]]",
        ),
    ] {
        let error = error(corners);
        assert_eq!((error.place, error.to_string().as_str()), (Place::World("bounds_m"), expected));
    }
    assert!(error([vector![f64::NAN, 0.0], vector![1.0, 1.0]]).to_string().starts_with("bounds_m of the world is NaN"));
}

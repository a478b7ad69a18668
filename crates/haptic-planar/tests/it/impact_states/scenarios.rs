//! Scenarios in which the impact states of the paper differ, shared by the tests and by the example that prints the
//! tables.

use crate::common::{Lab, body, box_shape, disc, fixed, scene, with};
use haptic_planar::scene::description::{ImpactState, SceneDescription};
use nalgebra::vector;

pub const IMPACT_STATES: [(&str, ImpactState); 7] = [
    ("exact", ImpactState::Exact),
    ("previous", ImpactState::Previous),
    ("previous-position", ImpactState::PreviousPosition),
    ("limited-search", ImpactState::LimitedSearch),
    ("inter-state-as-printed", ImpactState::InterStateAsPrinted),
    ("force-impulse", ImpactState::ForceImpulse),
    ("inter-state", ImpactState::InterState),
];

fn lab(choice: ImpactState, mut description: SceneDescription) -> Lab {
    description.impact_state = choice;
    Lab::new(&description)
}

/// Change of energy in an elastic scene.
pub struct Drift {
    /// Relative change of the energy, measured from the energy at rest.
    pub drift: f64,
    /// Largest unexplained gain, J.
    pub gain_j: f64,
}

/// Drops a frictionless elastic ball of 0.1 kg from 0.1 m onto a floor, where it bounces.
pub fn elastic_ball(choice: ImpactState, seconds: f64) -> Drift {
    let ball = with(body("ball", disc(0.01), 0.0, 0.11), 0.1, 0.0, 1.0);
    let floor = with(fixed("floor", box_shape(1.0, 0.1), 0.0, -0.05), 1.0, 0.0, 1.0);
    let mut lab = lab(choice, scene(9.81, vec![floor, ball], None));
    let height = |lab: &Lab| {
        let body = &lab.state.bodies[1];
        9.81 * (body.centre_m.y - 0.01) + 0.5 * body.velocity_m_per_s.norm_squared()
    };
    let start = height(&lab);
    for _ in 0..(seconds * 1e3) as usize {
        lab.free();
    }
    Drift { drift: height(&lab) / start - 1.0, gain_j: lab.state.energy.gain_max_j }
}

/// Lets a frictionless elastic square tumble in a box without gravity.
pub fn elastic_square(choice: ImpactState, seconds: f64) -> Drift {
    let wall = |name: &str, w, h, x, y| with(fixed(name, box_shape(w, h), x, y), 1.0, 0.0, 1.0);
    let mut square = with(body("square", box_shape(0.02, 0.02), 0.003, 0.001), 0.1, 0.0, 1.0);
    square.velocity_m_per_s = vector![0.3, 0.17];
    square.angular_velocity_rad_per_s = 5.0;
    let mut lab = lab(
        choice,
        scene(
            0.0,
            vec![
                wall("left", 0.02, 0.2, -0.06, 0.0),
                wall("right", 0.02, 0.2, 0.06, 0.0),
                wall("top", 0.2, 0.02, 0.0, 0.06),
                wall("bottom", 0.2, 0.02, 0.0, -0.06),
                square,
            ],
            None,
        ),
    );
    lab.free();
    let start = lab.energy_j();
    for _ in 0..(seconds * 1e3) as usize {
        lab.free();
    }
    Drift { drift: lab.energy_j() / start - 1.0, gain_j: lab.state.energy.gain_max_j }
}

/// Runs the paper's scenario for getting stuck: a ball just above the floor that still recedes and returns within the
/// tick. Returns the number of ticks, out of 1000, in which nothing changed although no contact carried the ball.
pub fn stuck_ticks(choice: ImpactState, gap_m: f64) -> usize {
    let mut ball = with(body("ball", disc(0.01), 0.0, 0.01 + gap_m), 0.1, 0.0, 1.0);
    ball.velocity_m_per_s = vector![0.0, 1e-4];
    let floor = with(fixed("floor", box_shape(1.0, 0.1), 0.0, -0.05), 1.0, 0.0, 1.0);
    let mut lab = lab(choice, scene(9.81, vec![floor, ball], None));
    let mut stuck = 0;
    for _ in 0..1000 {
        let before = lab.state.bodies[1];
        let output = lab.free();
        stuck += usize::from(lab.state.bodies[1] == before && output.contacts == 0);
    }
    stuck
}

/// Result of a slide.
pub struct Slid {
    /// Ratio of the mean tangential to the mean normal force on the hand while the box slides.
    pub ratio: f64,
    /// Speed of the box while the hand moves at 50 mm/s, m/s.
    pub speed_m_per_s: f64,
    /// Largest unexplained gain of energy, J.
    pub gain_j: f64,
    /// Deepest overlap, m.
    pub penetration_m: f64,
}

/// Returns a box of 40 × 20 mm and 0.1 kg, tilted by 1° and held at its centre, over a floor with μ = 0.5. Its inertia
/// is `inertia_fraction` times that of a uniform box; a small value makes it rock.
pub fn box_on_floor(choice: ImpactState, restitution: f64, inertia_fraction: f64) -> Lab {
    let mut tool = with(body("tool", box_shape(0.04, 0.02), 0.0, 0.010_4), 0.1, 0.5, restitution);
    tool.angle_rad = 0.017_453;
    tool.inertia_kg_m2 = Some(inertia_fraction * 0.1 * (0.04_f64.powi(2) + 0.02_f64.powi(2)) / 12.0);
    let floor = with(fixed("floor", box_shape(1.0, 0.1), 0.0, -0.05), 1.0, 0.5, restitution);
    lab(choice, scene(0.0, vec![floor, tool], Some("tool")))
}

/// Moves the hand within half a second to 5 mm below the height of contact and keeps it there for the rest of the
/// ticks.
pub fn press_down(lab: &mut Lab, ticks: usize) {
    for i in 0..ticks {
        lab.hand(vector![0.0, 0.0104 - 0.0054 * (i as f64 / 500.0).min(1.0)]);
    }
}

/// Presses the box 5 mm in, then slides it at 50 mm/s.
pub fn push_and_slide(choice: ImpactState, restitution: f64) -> Slid {
    let mut lab = box_on_floor(choice, restitution, 1.0);
    press_down(&mut lab, 600);
    let (mut tangent, mut normal, mut from) = (0.0, 0.0, 0.0);
    for i in 1..=1000 {
        let output = lab.hand(vector![0.05e-3 * f64::from(i), 0.005]);
        if i == 500 {
            from = lab.state.bodies[1].centre_m.x;
        }
        if i > 500 {
            tangent -= output.force_on_hand_n.x;
            normal += output.force_on_hand_n.y;
        }
    }
    Slid {
        ratio: tangent / normal,
        speed_m_per_s: (lab.state.bodies[1].centre_m.x - from) / 0.5,
        gain_j: lab.state.energy.gain_max_j,
        penetration_m: lab.penetration_m,
    }
}

/// Presses the box 5 mm in, then pulls it off at 100 mm/s. Returns the largest pull on the hand, N; part of it is the
/// tool's own inertia.
pub fn pull_off(choice: ImpactState, restitution: f64, inertia_fraction: f64) -> f64 {
    let mut lab = box_on_floor(choice, restitution, inertia_fraction);
    press_down(&mut lab, 600);
    let mut tension: f64 = 0.0;
    for i in 1..=400 {
        let output = lab.hand(vector![0.0, 0.005 + 0.1e-3 * f64::from(i)]);
        tension = tension.max(-output.force_on_hand_n.y);
    }
    tension
}

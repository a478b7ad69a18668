//! A world, a hand and what came of them: the work of one tick and the figures of a whole run.

use crate::files::hand::HandPath;
use crate::files::profile::{Coupling, Mapping};
use crate::setup::Setup;
use haptic_planar::grip::{Felt, Grip};
use haptic_planar::piece::rotate;
use haptic_planar::scene::Scene;
use haptic_planar::state::State;
use nalgebra::Vector2;

/// Ticks in a second.
pub const TICKS_PER_SECOND: f64 = 1000.0;

/// A world with the hand that holds its tool.
#[derive(Clone, Debug)]
pub struct Session {
    scene: Scene,
    state: State,
    /// How the tool is held now; `None` without a tool.
    grip: Option<Grip>,
    hand: Hand,
    last: Tick,
    figures: Figures,
}

/// What one tick left behind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tick {
    /// Counts from 1; zero before the first.
    pub number: u64,
    /// The world's time after the tick, s.
    pub t_s: f64,
    /// The hand at that time, world, m.
    pub hand_m: Vector2<f64>,
    /// The force on the hand, world, N.
    pub force_n: Vector2<f64>,
    /// What the world felt like.
    pub felt: Felt,
    /// What the energy tank holds, J.
    pub tank_j: f64,
}

/// What is worth knowing of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Deepest penetration of any pair, m.
    pub penetration_max_m: f64,
    /// Square of the largest force on the hand, N²; the root is taken once, at the end.
    force_max_squared: f64,
    /// Most contact points with a load in one tick.
    pub contacts_max: u32,
    /// Near pairs that found no room, over all ticks.
    pub pairs_dropped: u64,
    /// The gain of energy that nothing explains, J.
    pub energy_gain_max_j: f64,
}

impl Figures {
    /// The largest force on the hand, N.
    pub fn force_max_n(&self) -> f64 {
        self.force_max_squared.sqrt()
    }

    fn take_in(&mut self, tick: &Tick) {
        let felt = &tick.felt;
        self.penetration_max_m = self.penetration_max_m.max(felt.penetration_m);
        self.force_max_squared = self.force_max_squared.max(tick.force_n.norm_squared());
        self.contacts_max = self.contacts_max.max(felt.contacts);
        self.pairs_dropped += u64::from(felt.pairs_dropped);
        self.energy_gain_max_j = felt.energy.gain_max_j;
    }
}

/// Where the hand comes from.
#[derive(Clone, Debug)]
enum Hand {
    /// It stays where the handle was at the start.
    Still,
    /// It follows a path in the device's frame.
    Prescribed { path: HandPath, segment: usize, frame: Frame },
}

impl Hand {
    /// Where the hand is, world, m; `None`: where it was. Real-time: each row of a path is passed once.
    fn at(&mut self, t_s: f64) -> Option<Vector2<f64>> {
        match self {
            Self::Still => None,
            Self::Prescribed { path, segment, frame } => Some(frame.to_world(path.at(t_s, segment))),
        }
    }
}

/// From the device's frame to the world's: x_world = offset + columns·x_device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    offset_m: Vector2<f64>,
    x_axis: Vector2<f64>,
    y_axis: Vector2<f64>,
}

impl Frame {
    /// The frame of a mapping for a device of one or two axes; with one, only x counts.
    pub fn new(mapping: &Mapping, axes: usize) -> Self {
        let (sin, cos) = libm::sincos(mapping.rotation_rad);
        let turned = |axis: Vector2<f64>| rotate(Vector2::new(cos, sin), axis) * mapping.scale;
        let (x_axis, y_axis) = match axes {
            1 => (mapping.axis * mapping.scale, Vector2::zeros()),
            _ => (turned(Vector2::x()), turned(Vector2::y())),
        };
        Self { offset_m: mapping.offset_m, x_axis, y_axis }
    }

    /// A position of the device in the world, m. Real-time: constant.
    #[inline]
    pub fn to_world(&self, device_m: Vector2<f64>) -> Vector2<f64> {
        self.offset_m + self.x_axis * device_m.x + self.y_axis * device_m.y
    }
}

impl Session {
    /// A session of what was set up.
    pub fn of(setup: Setup) -> Self {
        let frame = Frame::new(&setup.profile.mapping, setup.device.axes);
        let scale = setup.profile.mapping.scale.abs();
        let on_rail = setup.device.axes == 1 && setup.profile.mapping.rail;
        let grip = Grip {
            max_force_n: setup.max_force_n() / scale,
            rail: on_rail.then_some(setup.profile.mapping.axis),
            ..grip_of(&setup.profile.coupling)
        };
        Self::new(setup.scene, grip, setup.hand, frame)
    }

    /// A session of a scene; the grip's positions are set here, its gains are taken as given.
    pub fn new(scene: Scene, grip: Grip, path: Option<HandPath>, frame: Frame) -> Self {
        let state = State::new(&scene);
        let start_m = state.handle_m(&scene);
        let grip = scene.tool.map(|_| Grip { hand_m: start_m, hand_before_m: start_m, ..grip });
        let hand = path.map_or(Hand::Still, |path| Hand::Prescribed { path, segment: 0, frame });
        Self { scene, state, grip, hand, last: Tick::default(), figures: Figures::default() }
    }

    /// One millisecond. Real-time: bounded by the scene's capacities.
    pub fn tick(&mut self) -> &Tick {
        let last = &mut self.last;
        last.number += 1;
        // Division rounds to the nearest number to the decimal fraction, which k · 0.001 does not.
        last.t_s = last.number as f64 / TICKS_PER_SECOND;
        if let Some(grip) = &mut self.grip {
            let before_m = grip.hand_m;
            grip.hand_m = self.hand.at(last.t_s).unwrap_or(before_m);
            // The first tick has nothing before it and starts at rest.
            grip.hand_before_m = if last.number == 1 { grip.hand_m } else { before_m };
            last.hand_m = grip.hand_m;
        }
        last.felt = self.state.advance(&self.scene, self.grip.as_ref());
        last.force_n = last.felt.force_on_hand_n;
        self.figures.take_in(last);
        last
    }

    /// The world as it is.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// What moves in it.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The newest tick.
    pub fn last(&self) -> &Tick {
        &self.last
    }

    /// What is worth knowing of the run so far.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }
}

/// A grip with a coupling's gains, at the origin, without limit or rail.
pub fn grip_of(coupling: &Coupling) -> Grip {
    Grip {
        hand_m: Vector2::zeros(),
        hand_before_m: Vector2::zeros(),
        stiffness_n_per_m: coupling.stiffness_n_per_m,
        damping_n_s_per_m: coupling.damping_n_s_per_m,
        angular_stiffness_n_m_per_rad: coupling.angular_stiffness_n_m_per_rad,
        angular_damping_n_m_s_per_rad: coupling.angular_damping_n_m_s_per_rad,
        max_force_n: f64::INFINITY,
        rail: None,
    }
}

/// How many ticks a time has, to the nearest.
pub fn ticks_in(seconds: f64) -> u64 {
    (seconds * TICKS_PER_SECOND).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping() -> Mapping {
        let quarter = std::f64::consts::FRAC_PI_2;
        Mapping {
            scale: 2.0,
            rotation_rad: quarter,
            offset_m: Vector2::new(1.0, 0.0),
            axis: Vector2::new(0.0, -1.0),
            rail: true,
        }
    }

    #[test]
    fn two_axes_are_turned_scaled_and_moved() {
        let world = Frame::new(&mapping(), 2).to_world(Vector2::new(0.1, 0.0));
        assert!((world - Vector2::new(1.0, 0.2)).norm() < 1e-15);
    }

    #[test]
    fn one_axis_follows_its_direction_and_ignores_y() {
        let world = Frame::new(&mapping(), 1).to_world(Vector2::new(0.1, 7.0));
        assert!((world - Vector2::new(1.0, -0.2)).norm() < 1e-15);
    }

    #[test]
    fn ticks_are_the_nearest_whole_number_of_milliseconds() {
        assert_eq!([0.0, 0.001, 0.1, 0.3, 2.5].map(ticks_in), [0, 1, 100, 300, 2500]);
    }
}

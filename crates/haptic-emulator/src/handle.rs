//! The handle of an emulated device, and the simulated hand that holds it.

use crate::encoder_fault::{FaultyEncoders, Motion};
use crate::native::Measured;
use crate::planned_fault::ActiveFaults;
use haptic_device::config::ReversedAxes;
use haptic_device::simulated::{DeviceModel, HandModel, ModelError, SimulatedDevice, TrueState};
use haptic_device::{Device, Effort, MonotonicNs};
use nalgebra::Vector2;

/// The handle of an emulated device, optionally held by a simulated hand. Vectors are in the device frame: x to the
/// right, y away from the user.
#[derive(Clone, Debug)]
pub struct EmulatedHandle {
    device: SimulatedDevice,
    /// Axes whose motor or encoder is reversed.
    reversed: ReversedAxes,
    encoders: FaultyEncoders,
    force_n: Vector2<f64>,
    /// Work done by the motors on the handle since the start, J.
    given_j: f64,
    /// Minimum of `given_j` so far, J.
    given_least_j: f64,
    /// Largest rise of `given_j` above its earlier minimum, J.
    given_most_j: f64,
}

impl EmulatedHandle {
    /// Creates a handle at the start of the hand's path; without a hand or a path, at the origin.
    ///
    /// # Errors
    /// If the model cannot be simulated.
    pub fn new(axes: u8, model: &DeviceModel, hand: Option<&HandModel>) -> Result<Self, ModelError> {
        let device = SimulatedDevice::new(axes, model, hand)?;
        let encoders = FaultyEncoders::new(motion(&device, device.true_state().position_m));
        Ok(Self {
            device,
            reversed: ReversedAxes::default(),
            encoders,
            force_n: Vector2::zeros(),
            given_j: 0.0,
            given_least_j: 0.0,
            given_most_j: 0.0,
        })
    }

    /// Reverses motors and encoders along some axes.
    #[must_use]
    pub fn reversed(self, reversed: ReversedAxes) -> Self {
        Self { reversed, ..self }
    }

    /// Creates the handle of a USB device, held at the centre by a hand.
    ///
    /// # Errors
    /// If the model cannot be simulated.
    pub fn still() -> Result<Self, ModelError> {
        Self::new(2, &USB_MODEL, Some(&usb_hand(Vec::new())))
    }

    /// Creates the handle of a USB device. Its hand presses it against a central post from every side.
    ///
    /// # Errors
    /// If the model cannot be simulated.
    pub fn round_the_post() -> Result<Self, ModelError> {
        Self::new(2, &USB_MODEL, Some(&usb_hand(path_round_the_post())))
    }

    /// Advances by one millisecond under the given motor force, N, whose sign a reversed motor changes.
    pub fn advance(&mut self, force_n: Vector2<f64>) {
        let force_n = force_n.component_mul(&self.reversed.force_signs());
        self.force_n = force_n;
        let before_m = self.device.true_state().position_m;
        self.device.write(Effort { force_n }, MonotonicNs(0));
        let encoder_m = self.device.read(MonotonicNs(0)).position_m;
        self.encoders.observe(motion(&self.device, encoder_m));
        self.given_j += force_n.dot(&(self.device.true_state().position_m - before_m));
        self.given_least_j = self.given_least_j.min(self.given_j);
        self.given_most_j = self.given_most_j.max(self.given_j - self.given_least_j);
    }

    /// Guides the hand to a target in place of its path, m; the target moves there at no more than 1 m/s.
    pub fn guide_hand(&mut self, target_m: Vector2<f64>) {
        self.device.set_hand_target(Some(target_m));
    }

    /// Number of milliseconds by which the handle has been advanced.
    pub fn age_ms(&self) -> u64 {
        self.encoders.time_ms()
    }

    /// Sets the active faults of the encoders; faults of the line are ignored.
    pub fn set_faults(&mut self, active: ActiveFaults) {
        self.encoders.set_faults(active);
    }

    /// Position measured by the encoder, m.
    pub fn encoder_m(&self) -> Vector2<f64> {
        self.reported().encoder_m
    }

    /// Position that an encoder without steps measures, m.
    pub fn unquantised_m(&self) -> Vector2<f64> {
        self.reported().exact_m
    }

    /// Position measured by the encoder, and velocity.
    pub fn measured(&self) -> Measured {
        let Motion { encoder_m, velocity_m_per_s, .. } = self.reported();
        Measured { position_m: encoder_m, velocity_m_per_s }
    }

    fn reported(&self) -> Motion {
        self.encoders.reported().along(self.reversed.position_signs())
    }

    /// True position and velocity.
    pub fn true_state(&self) -> TrueState {
        self.device.true_state()
    }

    /// Largest net energy that the motors delivered to the hand over any time interval, J. A passive host never
    /// delivers more than it has received, plus the energy stored in its world at the start.
    pub fn given_most_j(&self) -> f64 {
        self.given_most_j
    }

    /// Motor force in the last millisecond, N.
    pub fn force_n(&self) -> Vector2<f64> {
        self.force_n
    }
}

fn motion(device: &SimulatedDevice, encoder_m: Vector2<f64>) -> Motion {
    let TrueState { position_m, velocity_m_per_s } = device.true_state();
    Motion { encoder_m, exact_m: position_m, velocity_m_per_s }
}

/// Model of a USB device without friction, quantisation or delay, so that the commanded force acts exactly.
const USB_MODEL: DeviceModel = DeviceModel {
    mass_kg: [0.3; 2],
    damping_n_s_per_m: [0.0; 2],
    coulomb_n: [0.0; 2],
    encoder_step_m: [0.0; 2],
    delay_s: [0.0; 2],
    max_force_n: [f64::INFINITY; 2],
};

fn usb_hand(path: Vec<[f64; 3]>) -> HandModel {
    HandModel { stiffness_n_per_m: 150.0, damping_n_s_per_m: 6.0, mass_kg: 0.0, path, looped: false }
}

/// Time for which the hand waits beside the post until the force is on, s.
const REST_S: f64 = 4.0;
/// Duration of the hand's approach to the post, s.
const APPROACH_S: f64 = 1.0;
/// Duration of one turn around the post, s.
const ROUND_S: f64 = 2.0;
/// Distance of the hand's target from the centre while the hand waits, m.
const BESIDE_M: f64 = 0.025;
/// Distance of the hand's target from the centre while the hand presses against the post, m.
const PRESSING_M: f64 = 0.006;
/// Number of turns around the post; more than a run needs.
const ROUNDS: u32 = 300;
/// Path rows per turn. The straight lines between them deviate from the circle by at most 3 µm.
const ROWS_PER_ROUND: u32 = 100;

fn path_round_the_post() -> Vec<[f64; 3]> {
    let circle = (0..=ROUNDS * ROWS_PER_ROUND).map(|row| {
        let rounds = f64::from(row) / f64::from(ROWS_PER_ROUND);
        let (sine, cosine) = libm::sincos(rounds * core::f64::consts::TAU);
        [REST_S + APPROACH_S + rounds * ROUND_S, PRESSING_M * cosine, PRESSING_M * sine]
    });
    [[0.0, BESIDE_M, 0.0], [REST_S, BESIDE_M, 0.0]].into_iter().chain(circle).collect()
}

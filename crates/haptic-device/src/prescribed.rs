//! A device with prescribed positions, for measuring the physics without device dynamics.
//!
//! There is no model, encoder or delay between the given motion and the readings. Like the simulated device, this
//! device counts ticks: reading k is the position at time k·T, where T is one tick.

use crate::contract::{Device, Effort, Health, Identity, Limits, MonotonicNs, Reading, WriteError, WriteOutcome};
use crate::kind::PRESCRIBED;
use crate::path::Path;
use crate::simulated::{TICK_S, seconds};
use crate::velocity::BackwardDifference;
use nalgebra::Vector2;

/// A prescribed motion. Also implemented for functions from time to position.
pub trait Trajectory {
    /// Position of the handle at `time_s`, device frame, m.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn at(&mut self, time_s: f64) -> Vector2<f64>;
}

impl Trajectory for Path {
    #[inline(always)]
    fn at(&mut self, time_s: f64) -> Vector2<f64> {
        self.follow(time_s)
    }
}

impl<Function: FnMut(f64) -> Vector2<f64>> Trajectory for Function {
    fn at(&mut self, time_s: f64) -> Vector2<f64> {
        self(time_s)
    }
}

/// A device that follows a trajectory. Efforts have no effect.
#[derive(Clone, Debug)]
pub struct PrescribedDevice<M> {
    identity: Identity,
    limits: Limits,
    motion: M,
    velocity: BackwardDifference,
    effort: Effort,
    ticks: u64,
}

impl<M: Trajectory> PrescribedDevice<M> {
    /// Creates a device that follows `motion`; with one axis, the second component of the position is set to zero.
    pub fn new(axes: u8, motion: M) -> Self {
        let identity = Identity {
            name: "prescribed motion".into(),
            kind: &PRESCRIBED,
            serial_number: String::new(),
            firmware: String::new(),
            axes: axes.clamp(1, 2),
        };
        let limits = Limits {
            max_force_n: f64::INFINITY,
            travel_min_m: Vector2::repeat(f64::NEG_INFINITY),
            travel_max_m: Vector2::repeat(f64::INFINITY),
            rate_hz: 1.0 / TICK_S,
        };
        Self { identity, limits, motion, velocity: BackwardDifference::new(), effort: Effort::zero(), ticks: 0 }
    }

    /// The last effort written; zero after closing.
    pub fn effort(&self) -> Effort {
        self.effort
    }
}

impl<M: Trajectory + Send> Device for PrescribedDevice<M> {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Real-time: one evaluation of the trajectory.
    fn read(&mut self, _now: MonotonicNs) -> Reading {
        self.ticks += 1;
        let mut position_m = self.motion.at(seconds(self.ticks));
        if self.identity.axes == 1 {
            position_m.y = 0.0;
        }
        Reading {
            position_m,
            velocity_m_per_s: self.velocity.update(position_m, TICK_S),
            health: Health::Ready,
            age_ns: 0,
            fresh: true,
            sequence: self.ticks as u32,
        }
    }

    /// Real-time: one store.
    fn write(&mut self, effort: Effort, _now: MonotonicNs) -> WriteOutcome {
        if !(effort.force_n.x.is_finite() && effort.force_n.y.is_finite()) {
            self.effort = Effort::zero();
            return WriteOutcome::Failed(WriteError::NotFinite);
        }
        self.effort = effort;
        WriteOutcome::Written
    }

    fn close(&mut self) {
        self.effort = Effort::zero();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: MonotonicNs = MonotonicNs(0);

    #[test]
    fn rows_that_lie_on_ticks_are_met_to_the_last_bit() {
        let rows: Vec<[f64; 3]> = (0..5000).map(|row| [f64::from(row) / 1000.0, f64::from(row) * 0.1, 0.7]).collect();
        let mut device = PrescribedDevice::new(2, Path::new(rows.clone(), false).unwrap());
        for row in &rows[1..] {
            assert_eq!(device.read(NOW).position_m, Vector2::new(row[1], row[2]), "at {} s", row[0]);
        }
        assert_eq!(device.read(NOW).position_m, Vector2::new(rows[4999][1], 0.7), "held after the last row");
    }

    #[test]
    fn efforts_do_not_move_it() {
        let mut device = PrescribedDevice::new(2, |time_s: f64| Vector2::new(time_s, 2.0 * time_s));
        device.write(Effort { force_n: Vector2::new(100.0, 100.0) }, NOW);
        assert_eq!(device.read(NOW).position_m, Vector2::new(0.001, 0.002));
        assert_eq!(device.effort().force_n.x, 100.0);
    }

    #[test]
    fn the_first_velocity_is_zero_and_the_next_the_difference() {
        let mut device = PrescribedDevice::new(2, |time_s: f64| Vector2::new(3.0 * time_s, 0.0));
        assert_eq!(device.read(NOW).velocity_m_per_s, Vector2::zeros());
        assert!((device.read(NOW).velocity_m_per_s.x - 3.0).abs() < 1e-12);
    }

    #[test]
    fn one_axis_ignores_the_second_column() {
        let mut device = PrescribedDevice::new(1, Path::new(vec![[0.0, 0.1, 0.9]], false).unwrap());
        assert_eq!(device.read(NOW).position_m, Vector2::new(0.1, 0.0));
    }
}

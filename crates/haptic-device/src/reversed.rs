//! Wrapper for a device whose motors or encoders act against the device frame, as some wirings and firmwares do.

use crate::config::ReversedAxes;
use crate::contract::{Device, Effort, Identity, Limits, LinkStatistics, MonotonicNs, Reading, WriteOutcome};
use nalgebra::Vector2;

/// Wraps a device and reverses positions and efforts along some axes of the device frame.
#[derive(Clone, Debug)]
pub struct ReversedDevice<D> {
    device: D,
    limits: Limits,
    /// 1 or −1 for the efforts of each axis.
    force_signs: Vector2<f64>,
    /// 1 or −1 for the positions of each axis.
    position_signs: Vector2<f64>,
}

impl<D: Device> ReversedDevice<D> {
    /// Wraps a device whose motors and encoders are reversed along the given axes.
    pub fn new(device: D, reversed: ReversedAxes) -> Self {
        let signs = |axes: [bool; 2]| Vector2::from(axes.map(|is_reversed| if is_reversed { -1.0 } else { 1.0 }));
        let position_signs = signs(reversed.position);
        let limits = reversed_travel(device.limits(), position_signs);
        Self { device, limits, force_signs: signs(reversed.force), position_signs }
    }
}

/// Returns the limits with the ends of travel exchanged along the reversed axes.
fn reversed_travel(limits: &Limits, signs: Vector2<f64>) -> Limits {
    let ends_m = [limits.travel_min_m, limits.travel_max_m].map(|end_m| end_m.component_mul(&signs));
    Limits { travel_min_m: ends_m[0].inf(&ends_m[1]), travel_max_m: ends_m[0].sup(&ends_m[1]), ..*limits }
}

impl<D: Device> Device for ReversedDevice<D> {
    fn identity(&self) -> &Identity {
        self.device.identity()
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Real-time: one reading of the wrapped device.
    fn read(&mut self, now: MonotonicNs) -> Reading {
        let reading = self.device.read(now);
        Reading {
            position_m: reading.position_m.component_mul(&self.position_signs),
            velocity_m_per_s: reading.velocity_m_per_s.component_mul(&self.position_signs),
            ..reading
        }
    }

    /// Real-time: one write to the wrapped device.
    fn write(&mut self, effort: Effort, now: MonotonicNs) -> WriteOutcome {
        self.device.write(Effort { force_n: effort.force_n.component_mul(&self.force_signs) }, now)
    }

    fn set_hand_target(&mut self, target_m: Option<Vector2<f64>>) {
        self.device.set_hand_target(target_m.map(|target_m| target_m.component_mul(&self.position_signs)));
    }

    fn place_hand(&mut self, start_m: Vector2<f64>) {
        self.device.place_hand(start_m.component_mul(&self.position_signs));
    }

    fn can_be_led(&self) -> bool {
        self.device.can_be_led()
    }

    fn lead_hand(&mut self, target_m: Vector2<f64>) {
        self.device.lead_hand(target_m.component_mul(&self.position_signs));
    }

    fn set_paused(&mut self, is_paused: bool) {
        self.device.set_paused(is_paused);
    }

    fn link_statistics(&self) -> Option<LinkStatistics> {
        self.device.link_statistics()
    }

    fn close(&mut self) {
        self.device.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeviceModel, SimulatedDevice};

    const NOW: MonotonicNs = MonotonicNs(0);

    fn simulated() -> SimulatedDevice {
        let model = DeviceModel { encoder_step_m: [0.0; 2], ..DeviceModel::default() };
        SimulatedDevice::new(2, &model, None).unwrap()
    }

    /// Returns where a handle is after a force has acted on it for some milliseconds.
    fn pushed(device: &mut dyn Device, force_n: Vector2<f64>) -> Vector2<f64> {
        for _ in 0..10 {
            device.read(NOW);
            device.write(Effort { force_n }, NOW);
        }
        device.read(NOW).position_m
    }

    #[test]
    fn an_axis_with_reversed_motor_and_encoder_still_moves_with_the_force() {
        let force_n = Vector2::new(1.0, 2.0);
        let plain_m = pushed(&mut simulated(), force_n);
        let both = ReversedAxes { force: [true, false], position: [true, false] };
        assert_eq!(pushed(&mut ReversedDevice::new(simulated(), both), force_n), plain_m);
        assert!(plain_m.x > 0.0 && plain_m.y > 0.0);
    }

    #[test]
    fn each_sign_acts_on_its_axis_alone() {
        let force_n = Vector2::new(1.0, 2.0);
        let plain_m = pushed(&mut simulated(), force_n);
        for (force, position, expected) in [
            ([true, false], [false; 2], [-1.0, 1.0]),
            ([false, true], [false; 2], [1.0, -1.0]),
            ([false; 2], [true, false], [-1.0, 1.0]),
            ([false; 2], [false, true], [1.0, -1.0]),
        ] {
            let moved_m = pushed(&mut ReversedDevice::new(simulated(), ReversedAxes { force, position }), force_n);
            assert_eq!(moved_m, plain_m.component_mul(&Vector2::from(expected)), "{force:?} {position:?}");
        }
    }

    #[test]
    fn the_ends_of_a_reversed_travel_are_exchanged() {
        let limits = Limits {
            max_force_n: 1.0,
            travel_min_m: Vector2::new(-0.1, f64::NEG_INFINITY),
            travel_max_m: Vector2::new(0.3, 0.2),
            rate_hz: 1000.0,
        };
        let reversed = reversed_travel(&limits, Vector2::new(-1.0, -1.0));
        assert_eq!(reversed.travel_min_m, Vector2::new(-0.3, -0.2));
        assert_eq!(reversed.travel_max_m, Vector2::new(0.1, f64::INFINITY));
    }
}

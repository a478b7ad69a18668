//! Wrapper for a device that is served only every n-th tick, because its link or firmware is slower than the tick.
//!
//! The wrapped device is still read every tick: reading advances a simulated device, and reading the newest value of
//! hardware costs almost nothing. Between services, readings are returned as stale and efforts as busy, so that the
//! tank counts the force that actually acts. A zero effort that ends a force is sent without waiting for the next
//! service.

use crate::contract::{Device, Effort, Health, Identity, Limits, LinkStatistics, MonotonicNs, Reading, WriteOutcome};
use nalgebra::Vector2;

/// Ticks per second.
const TICKS_PER_S: f64 = 1000.0;

/// Wraps a device and forwards only every n-th reading and effort.
#[derive(Clone, Debug)]
pub struct PacedDevice<D> {
    device: D,
    limits: Limits,
    every_ticks: u32,
    /// Ticks until the next service.
    left: u32,
    handed_out: Reading,
    /// Whether the wrapped device may still be exerting a force.
    pushes: bool,
}

impl<D: Device> PacedDevice<D> {
    /// Wraps a device and serves it every `every_ticks` ticks; zero is treated as one.
    pub fn new(device: D, every_ticks: u32) -> Self {
        let every_ticks = every_ticks.max(1);
        let rate_hz = device.limits().rate_hz.min(TICKS_PER_S / f64::from(every_ticks));
        let limits = Limits { rate_hz, ..*device.limits() };
        Self { device, limits, every_ticks, left: 0, handed_out: Reading::default(), pushes: false }
    }

    /// Updates `pushes`. An effort whose write failed may still have reached the device.
    fn update_pushes(&mut self, effort: Effort, sent: WriteOutcome) {
        let is_force = effort != Effort::zero();
        match sent {
            WriteOutcome::Written => self.pushes = is_force,
            WriteOutcome::Failed(_) => self.pushes |= is_force,
            WriteOutcome::Busy => {}
        }
    }
}

impl<D> PacedDevice<D> {
    /// Whether `reading` repeats a sample that arrived between two services and has not been returned as fresh yet.
    fn came_in_between(&self, reading: &Reading) -> bool {
        reading.health == Health::Stale && reading.sequence != self.handed_out.sequence
    }
}

impl<D: Device> Device for PacedDevice<D> {
    fn identity(&self) -> &Identity {
        self.device.identity()
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Real-time: one reading of the wrapped device. Faults are forwarded in every tick.
    fn read(&mut self, now: MonotonicNs) -> Reading {
        let reading = self.device.read(now);
        let is_due = self.left == 0;
        self.left = if is_due { self.every_ticks - 1 } else { self.left - 1 };
        if is_due || matches!(reading.health, Health::Lost | Health::Faulted(_)) {
            self.handed_out = if self.came_in_between(&reading) {
                Reading { fresh: true, health: Health::Ready, ..reading }
            } else {
                reading
            };
            return self.handed_out;
        }
        Reading { fresh: false, health: Health::Stale, ..self.handed_out }
    }

    /// Real-time: at most one write to the wrapped device.
    fn write(&mut self, effort: Effort, now: MonotonicNs) -> WriteOutcome {
        // The reading of this tick has already counted down: a full count means that this tick is served.
        let is_due = self.left == self.every_ticks - 1;
        // A zero after a zero can wait: sending it early would fill a line that is no faster than the service rate.
        let ends_a_force = self.pushes && effort == Effort::zero();
        if !is_due && !ends_a_force {
            return WriteOutcome::Busy;
        }
        let sent = self.device.write(effort, now);
        self.update_pushes(effort, sent);
        sent
    }

    fn set_hand_target(&mut self, target_m: Option<Vector2<f64>>) {
        self.device.set_hand_target(target_m);
    }

    fn place_hand(&mut self, start_m: Vector2<f64>) {
        self.device.place_hand(start_m);
    }

    fn can_be_led(&self) -> bool {
        self.device.can_be_led()
    }

    fn lead_hand(&mut self, target_m: Vector2<f64>) {
        self.device.lead_hand(target_m);
    }

    fn set_paused(&mut self, is_paused: bool) {
        self.device.set_paused(is_paused);
    }

    fn link_statistics(&self) -> Option<LinkStatistics> {
        self.device.link_statistics().map(|link| LinkStatistics { rate_hz: self.limits.rate_hz, ..link })
    }

    fn close(&mut self) {
        self.device.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PrescribedDevice;

    const NOW: MonotonicNs = MonotonicNs(0);

    type Straight = fn(f64) -> Vector2<f64>;

    fn paced() -> PacedDevice<PrescribedDevice<Straight>> {
        PacedDevice::new(PrescribedDevice::new(2, |time_s| Vector2::new(time_s, 0.0)), 3)
    }

    #[test]
    fn every_third_reading_is_new_and_the_others_repeat_it() {
        let mut device = paced();
        let readings: Vec<Reading> = (0..7).map(|_| device.read(NOW)).collect();
        assert_eq!(
            readings.iter().map(|reading| reading.fresh).collect::<Vec<_>>(),
            [1, 0, 0, 1, 0, 0, 1].map(|new| new == 1)
        );
        let places: Vec<f64> = readings.iter().map(|reading| reading.position_m.x).collect();
        assert_eq!(places, [0.001, 0.001, 0.001, 0.004, 0.004, 0.004, 0.007]);
    }

    /// A device with a new sample in every third tick, starting with the second.
    struct Sparse(u32);

    impl Device for Sparse {
        fn identity(&self) -> &Identity {
            unreachable!("not used here")
        }

        fn limits(&self) -> &Limits {
            const LIMITS: Limits = Limits {
                max_force_n: 1.0,
                travel_min_m: Vector2::new(-1.0, -1.0),
                travel_max_m: Vector2::new(1.0, 1.0),
                rate_hz: 1000.0,
            };
            &LIMITS
        }

        fn read(&mut self, _now: MonotonicNs) -> Reading {
            self.0 += 1;
            let fresh = self.0 % 3 == 2;
            let health = if fresh { Health::Ready } else { Health::Stale };
            Reading { fresh, health, sequence: (self.0 + 1) / 3, ..Reading::default() }
        }

        fn write(&mut self, _effort: Effort, _now: MonotonicNs) -> WriteOutcome {
            WriteOutcome::Written
        }

        fn close(&mut self) {}
    }

    #[test]
    fn a_sample_that_came_between_two_services_is_new_at_the_next() {
        let mut device = PacedDevice::new(Sparse(0), 3);
        let readings: Vec<Reading> = (0..7).map(|_| device.read(NOW)).collect();
        assert_eq!(
            readings.iter().map(|reading| (reading.fresh, reading.health == Health::Ready)).collect::<Vec<_>>(),
            [0, 0, 0, 1, 0, 0, 1].map(|new| (new == 1, new == 1))
        );
    }

    /// Runs one tick that requests a force, N.
    fn tick<D: Device>(device: &mut PacedDevice<D>, force_n: f64) -> WriteOutcome {
        device.read(NOW);
        device.write(Effort { force_n: Vector2::new(force_n, 0.0) }, NOW)
    }

    #[test]
    fn efforts_between_are_busy_but_a_zero_that_ends_a_force_goes_out() {
        let mut device = paced();
        assert_eq!(
            [1.0, 2.0, 0.0, 3.0].map(|force_n| tick(&mut device, force_n)),
            [WriteOutcome::Written, WriteOutcome::Busy, WriteOutcome::Written, WriteOutcome::Written]
        );
        assert_eq!(device.device.effort().force_n.x, 3.0);
    }

    #[test]
    fn while_the_force_is_zero_a_device_gets_no_more_efforts_than_services() {
        let mut device = paced();
        let written = (0..30).filter(|_| tick(&mut device, 0.0) == WriteOutcome::Written).count();
        assert_eq!(written, 10);
        assert_eq!(
            [1.0, 0.0, 0.0, 0.0].map(|force_n| tick(&mut device, force_n)),
            [WriteOutcome::Written, WriteOutcome::Written, WriteOutcome::Busy, WriteOutcome::Written]
        );
    }

    /// A device whose link is busy for some writes.
    struct Jammed {
        device: PrescribedDevice<Straight>,
        jammed_writes: u32,
    }

    impl Device for Jammed {
        fn identity(&self) -> &Identity {
            self.device.identity()
        }

        fn limits(&self) -> &Limits {
            self.device.limits()
        }

        fn read(&mut self, now: MonotonicNs) -> Reading {
            self.device.read(now)
        }

        fn write(&mut self, effort: Effort, now: MonotonicNs) -> WriteOutcome {
            let is_jammed = effort == Effort::zero() && self.jammed_writes > 0;
            self.jammed_writes -= u32::from(is_jammed);
            if is_jammed { WriteOutcome::Busy } else { self.device.write(effort, now) }
        }

        fn close(&mut self) {}
    }

    #[test]
    fn a_zero_that_found_no_room_is_tried_again_in_the_next_tick() {
        let straight: Straight = |time_s| Vector2::new(time_s, 0.0);
        let mut device = PacedDevice::new(Jammed { device: PrescribedDevice::new(2, straight), jammed_writes: 1 }, 4);
        assert_eq!(
            [1.0, 0.0, 0.0, 0.0].map(|force_n| tick(&mut device, force_n)),
            [WriteOutcome::Written, WriteOutcome::Busy, WriteOutcome::Written, WriteOutcome::Busy]
        );
    }
}

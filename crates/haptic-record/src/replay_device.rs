//! Replayed device: returns the readings and write outcomes of a recording.

use crate::header::DeviceInfo;
use haptic_device::kind::REPLAY;
use haptic_device::{Device, Effort, Identity, Limits, MonotonicNs, Reading, WriteOutcome};
use nalgebra::Vector2;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Recorded behaviour of a device in one tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceTick {
    /// Reading that the device returned.
    pub reading: Reading,
    /// Outcome of writing the effort.
    pub sent: WriteOutcome,
}

/// Sends recorded behaviour to a replayed device, one tick at a time.
#[derive(Debug)]
pub struct ReplayFeeder {
    ticks: Sender<DeviceTick>,
}

/// A device that behaves as recorded.
#[derive(Debug)]
pub struct ReplayDevice {
    identity: Identity,
    limits: Limits,
    ticks: Receiver<DeviceTick>,
    now: DeviceTick,
}

/// Creates a replayed device with the properties of the recorded one, and the feeder that supplies its ticks.
pub fn replay_device(info: &DeviceInfo) -> (ReplayDevice, ReplayFeeder) {
    let (sender, ticks) = channel();
    let identity = Identity {
        name: info.name.clone(),
        kind: &REPLAY,
        serial_number: info.serial_number.clone(),
        firmware: info.firmware.clone(),
        axes: info.axes.clamp(1, 2),
    };
    let limits = Limits {
        max_force_n: info.max_force_n,
        travel_min_m: Vector2::repeat(f64::NEG_INFINITY),
        travel_max_m: Vector2::repeat(f64::INFINITY),
        rate_hz: info.rate_hz,
    };
    let now = DeviceTick { reading: Reading::default(), sent: WriteOutcome::Written };
    (ReplayDevice { identity, limits, ticks, now }, ReplayFeeder { ticks: sender })
}

impl ReplayFeeder {
    /// Queues the behaviour for one tick. This has no effect if the device was dropped.
    pub fn feed(&self, tick: DeviceTick) {
        let _ = self.ticks.send(tick);
    }
}

impl Device for ReplayDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the reading of the next queued tick, or the previous reading if none is queued.
    fn read(&mut self, _now: MonotonicNs) -> Reading {
        if let Ok(tick) = self.ticks.try_recv() {
            self.now = tick;
        }
        self.now.reading
    }

    fn write(&mut self, _effort: Effort, _now: MonotonicNs) -> WriteOutcome {
        self.now.sent
    }

    fn close(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_repeats_the_recorded_ticks_one_by_one() {
        let info = DeviceInfo {
            name: "kept".to_owned(),
            kind: "serial".to_owned(),
            serial_number: String::new(),
            firmware: String::new(),
            axes: 2,
            max_force_n: 3.0,
            rate_hz: 1000.0,
        };
        let (mut device, feeder) = replay_device(&info);
        for (sequence, sent) in [(1, WriteOutcome::Written), (2, WriteOutcome::Busy)] {
            feeder.feed(DeviceTick { reading: Reading { sequence, ..Reading::default() }, sent });
        }
        for (sequence, sent) in [(1, WriteOutcome::Written), (2, WriteOutcome::Busy), (2, WriteOutcome::Busy)] {
            assert_eq!(device.read(MonotonicNs(0)).sequence, sequence);
            assert_eq!(device.write(Effort::zero(), MonotonicNs(0)), sent);
        }
        assert!(!device.identity().kind.is_hardware);
        assert_eq!(device.limits().max_force_n, 3.0);
    }
}

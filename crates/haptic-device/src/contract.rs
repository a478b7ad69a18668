//! Interface between the tick and a device: read the newest state, write one effort, never block.
//!
//! All quantities are in the device frame: metres and newtons at the handle. [`crate::mapping`] converts to the world
//! frame and back. A device with one axis uses the first component and leaves the second at zero.

use crate::kind::KindSpec;
use nalgebra::Vector2;

/// Maximum number of axes of a device. Arrays on the hot path have this length.
pub const MAX_AXES: usize = 2;

/// An instant in nanoseconds on a monotonic clock; in virtual time, the tick count times the period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonotonicNs(pub u64);

impl MonotonicNs {
    /// Nanoseconds since `earlier`; zero if `earlier` is later than this instant.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The instant `nanoseconds` later.
    pub const fn after(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }
}

/// Fault reported by or detected on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultCode {
    /// The firmware's watchdog expired and cut the effort.
    Watchdog,
    /// An encoder moved farther between two samples than is physically possible.
    EncoderJump {
        /// Index of the axis, counted from zero.
        axis: u8,
    },
    /// The device left the armed state by itself.
    Disarmed,
    /// Too many consecutive frames from the link were invalid.
    Protocol {
        /// Number of consecutive invalid frames.
        bad_frames: u32,
    },
    /// The device reported a pose outside the range of its linkage.
    Kinematics,
    /// Any other fault that the device's firmware reported.
    Device {
        /// Fault code sent by the firmware.
        code: u8,
        /// Fault detail sent by the firmware.
        detail: u32,
    },
    /// A person has pressed the device's own emergency stop. It lasts until a person releases it.
    EmergencyStop,
    /// The dead-man process of the device ended, so that nothing would end its force if this process died.
    DeadMan,
}

/// Whether a reading can be used for force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Connected, with valid data.
    Ready,
    /// Connected, but without a new sample in this tick; the reading repeats the last valid one.
    Stale,
    /// The link is gone, or no sample has arrived for longer than the backend permits.
    Lost,
    /// The device reports a fault.
    Faulted(FaultCode),
}

/// The newest state of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Handle position, device frame, m.
    pub position_m: Vector2<f64>,
    /// Handle velocity, device frame, m/s, as estimated by the device or its backend.
    pub velocity_m_per_s: Vector2<f64>,
    /// Whether the reading can be used for force.
    pub health: Health,
    /// Time since the sample was taken, as estimated by the backend, ns.
    pub age_ns: u64,
    /// Whether this sample is newer than the previous reading.
    pub fresh: bool,
    /// Wrapping sample counter; a repeated sample keeps its number.
    pub sequence: u32,
}

impl Default for Reading {
    /// Returns the reading before the first sample: at rest at the origin.
    fn default() -> Self {
        Self {
            position_m: Vector2::zeros(),
            velocity_m_per_s: Vector2::zeros(),
            health: Health::Stale,
            age_ns: u64::MAX,
            fresh: false,
            sequence: 0,
        }
    }
}

impl Reading {
    /// Whether position and velocity are finite. A sum of magnitudes is finite only if every term is.
    ///
    /// Real-time: one comparison.
    pub fn is_finite(&self) -> bool {
        let (position, velocity) = (self.position_m.abs(), self.velocity_m_per_s.abs());
        (position.x + position.y + velocity.x + velocity.y).is_finite()
    }
}

/// Force exerted by the device on the hand until the next effort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Force on the hand, device frame, N.
    pub force_n: Vector2<f64>,
}

impl Effort {
    /// Returns zero effort, the last effort of every shutdown.
    pub fn zero() -> Self {
        Self { force_n: Vector2::zeros() }
    }
}

/// Reason why an effort was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The effort was not finite; zero was sent instead if the link allowed it.
    NotFinite,
    /// The device is closed or disconnected.
    NotConnected,
    /// The operating system rejected the write.
    Os {
        /// `errno` of the call.
        errno: i32,
    },
}

/// Outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The effort was passed to the device or its link.
    Written,
    /// The link is still busy with the previous effort. The new effort was discarded, because the next tick sends a
    /// newer one.
    Busy,
    /// The effort was not sent.
    Failed(WriteError),
}

/// Identity of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name for the user.
    pub name: String,
    /// Kind of the device.
    pub kind: &'static KindSpec,
    /// Serial number that the device reports; empty if it has none.
    pub serial_number: String,
    /// Firmware version that the device reports; empty if it has none.
    pub firmware: String,
    /// Number of axes, 1 or 2.
    pub axes: u8,
}

/// Limits of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Largest force on the hand, N; infinity if unknown.
    pub max_force_n: f64,
    /// Lower end of travel of each axis, device frame, m; −infinity if there is none.
    pub travel_min_m: Vector2<f64>,
    /// Upper end of travel of each axis, device frame, m; infinity if there is none.
    pub travel_max_m: Vector2<f64>,
    /// Rate at which the device accepts efforts and provides readings, Hz.
    pub rate_hz: f64,
}

/// Percentiles of the round-trip time from a command to its reply, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

/// Statistics of the link since the device was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkStatistics {
    /// Percentiles of the time from a command to its reply.
    pub round_trip: RoundTrip,
    /// Number of commands without a reply.
    pub frames_lost: u64,
    /// Number of corrupted replies.
    pub crc_errors: u64,
    /// Number of reconnections after a loss of the link.
    pub reconnects: u32,
    /// Service rate, Hz.
    pub rate_hz: f64,
}

/// A haptic device, as the tick uses it.
///
/// The tick calls `read` once, then `write` once, with the same `now`. Both return immediately: a backend whose link
/// can block serves it on a separate thread and exchanges latest values with that thread.
pub trait Device: Send {
    /// Returns the identity of the device, which is constant after opening.
    fn identity(&self) -> &Identity;

    /// Returns the limits of the device, which are constant after opening.
    fn limits(&self) -> &Limits;

    /// Returns the newest reading, or the last valid one marked as stale.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn read(&mut self, now: MonotonicNs) -> Reading;

    /// Sets the force on the hand, which acts until the next effort.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn write(&mut self, effort: Effort, now: MonotonicNs) -> WriteOutcome;

    /// Sets the target of a simulated hand, device frame, m; `None` releases the hand. May be called in every tick.
    /// Hardware is held by a real hand and ignores the call.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn set_hand_target(&mut self, _target_m: Option<Vector2<f64>>) {}

    /// Places a simulated hand at the start of a new scene, device frame, m, and restarts its path, unless the hand
    /// follows a target. Before the first reading, a hand with a path of its own stays at the start of that path.
    /// Hardware is held by a real hand and ignores the call.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn place_hand(&mut self, _start_m: Vector2<f64>) {}

    /// Whether a simulated hand without a path of its own holds the handle, so that [`Self::lead_hand`] moves it.
    /// Constant after opening.
    fn can_be_led(&self) -> bool {
        false
    }

    /// Moves a simulated hand without a path of its own to `target_m`, device frame, m, unless it follows the target of
    /// [`Self::set_hand_target`]. May be called in every tick.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn lead_hand(&mut self, _target_m: Vector2<f64>) {}

    /// Pauses or resumes a simulated hand: its time stands still during a pause. Hardware ignores the call.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn set_paused(&mut self, _is_paused: bool) {}

    /// Returns the link statistics; `None` for devices without a link. Not for use in the tick.
    fn link_statistics(&self) -> Option<LinkStatistics> {
        None
    }

    /// Sends zero force, disarms the device and closes the link. Not for use in the tick, because it may wait for the
    /// device to confirm. Closing a closed device has no effect.
    fn close(&mut self);
}

/// Forwards to the boxed device, so that the device can be chosen at start-up and wrapped.
impl<D: Device + ?Sized> Device for Box<D> {
    fn identity(&self) -> &Identity {
        (**self).identity()
    }

    fn limits(&self) -> &Limits {
        (**self).limits()
    }

    fn read(&mut self, now: MonotonicNs) -> Reading {
        (**self).read(now)
    }

    fn write(&mut self, effort: Effort, now: MonotonicNs) -> WriteOutcome {
        (**self).write(effort, now)
    }

    fn set_hand_target(&mut self, target_m: Option<Vector2<f64>>) {
        (**self).set_hand_target(target_m);
    }

    fn place_hand(&mut self, start_m: Vector2<f64>) {
        (**self).place_hand(start_m);
    }

    fn can_be_led(&self) -> bool {
        (**self).can_be_led()
    }

    fn lead_hand(&mut self, target_m: Vector2<f64>) {
        (**self).lead_hand(target_m);
    }

    fn set_paused(&mut self, is_paused: bool) {
        (**self).set_paused(is_paused);
    }

    fn link_statistics(&self) -> Option<LinkStatistics> {
        (**self).link_statistics()
    }

    fn close(&mut self) {
        (**self).close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeviceModel, FaultPlan, FaultyDevice, HandModel, SimulatedDevice};

    #[test]
    fn a_boxed_and_wrapped_device_follows_the_mouse_like_a_bare_one() {
        let new = || SimulatedDevice::new(2, &DeviceModel::default(), Some(&HandModel::default())).unwrap();
        let boxed: Box<dyn Device> = Box::new(new());
        let (mut bare, mut wrapped) = (new(), FaultyDevice::new(boxed, FaultPlan::default()));
        let both: [&mut dyn Device; 2] = [&mut bare, &mut wrapped];
        let [bare, wrapped] = both.map(|device| {
            device.set_hand_target(Some(Vector2::new(0.05, 0.05)));
            device.write(Effort { force_n: Vector2::new(1.0, 0.0) }, MonotonicNs(0));
            (0..100).map(|_| device.read(MonotonicNs(0))).last()
        });
        assert_eq!(bare, wrapped);
        assert!(bare.is_some_and(|reading| reading.position_m.x > 0.01));
    }

    #[test]
    fn a_reading_with_a_nan_anywhere_is_not_finite() {
        let mut reading = Reading::default();
        assert!(reading.is_finite());
        reading.velocity_m_per_s.y = f64::NAN;
        assert!(!reading.is_finite());
    }

    #[test]
    fn time_never_runs_backwards() {
        assert_eq!(MonotonicNs(5).since(MonotonicNs(9)), 0);
        assert_eq!(MonotonicNs(5).after(4).since(MonotonicNs(5)), 4);
    }
}

//! The seam between the tick and a device: read the newest state, write one effort, never wait.
//!
//! Frames: everything here is in the device frame, metres and newtons at the handle. [`crate::mapping`] goes to the
//! world and back. A device with one axis uses the first component and leaves the second at zero.

use crate::kind::KindSpec;
use nalgebra::Vector2;

/// The most axes a device can have. Arrays on the hot path have this length.
pub const MAX_AXES: usize = 2;

/// Nanoseconds on a monotonic clock; for simulated devices, the tick count times the tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonotonicNs(pub u64);

impl MonotonicNs {
    /// Nanoseconds from `earlier` to here; zero if `earlier` lies ahead.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This instant moved `nanoseconds` ahead.
    pub const fn after(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }
}

/// Why a device stopped serving. The numbers are the device's own, for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultCode {
    /// The firmware's watchdog expired and cut the effort.
    Watchdog,
    /// An encoder moved farther between two samples than it can.
    EncoderJump {
        /// Which axis, from zero.
        axis: u8,
    },
    /// The device left the armed state by itself.
    Disarmed,
    /// The link carried frames that make no sense: how many in a row.
    Protocol {
        /// Bad frames in a row.
        bad_frames: u32,
    },
    /// The linkage reported a pose outside its workspace.
    Kinematics,
    /// The device's own fault code, as sent.
    Device {
        /// Code of the firmware.
        code: u8,
        /// Detail of the firmware.
        detail: u32,
    },
}

/// Whether a reading can be acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Connected and serving.
    Ready,
    /// Connected, but this tick brought nothing new; the reading repeats the last good one.
    Stale,
    /// The link is gone, or has been silent for so long that the backend gave it up.
    Lost,
    /// The device says that it failed.
    Faulted(FaultCode),
}

/// The newest state of the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Handle position, device frame, m.
    pub position_m: Vector2<f64>,
    /// Handle velocity, device frame, m/s, as the device or its backend estimates it.
    pub velocity_m_per_s: Vector2<f64>,
    /// Whether this can be acted on.
    pub health: Health,
    /// Time since the sample was taken, as far as the backend knows, ns.
    pub age_ns: u64,
    /// True if the sample is newer than the one handed out before.
    pub fresh: bool,
    /// Counts samples, wrapping; a repeated sample keeps its number.
    pub sequence: u32,
}

impl Default for Reading {
    /// At rest at the origin; nothing received yet.
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
    /// True if position and velocity are numbers: the sum of their sizes is one only if all are.
    ///
    /// Real-time: one comparison.
    pub fn is_finite(&self) -> bool {
        let (position, velocity) = (self.position_m.abs(), self.velocity_m_per_s.abs());
        (position.x + position.y + velocity.x + velocity.y).is_finite()
    }
}

/// The force that the device shall put on the hand until the next effort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Force on the hand, device frame, N.
    pub force_n: Vector2<f64>,
}

impl Effort {
    /// No force: what every way down ends with.
    pub fn zero() -> Self {
        Self { force_n: Vector2::zeros() }
    }
}

/// Why an effort did not go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The effort held something that is not a number; zero was sent in its place if the link allowed.
    NotFinite,
    /// The device is closed or gone.
    NotConnected,
    /// The operating system refused: its error number.
    Os {
        /// `errno` of the call.
        errno: i32,
    },
}

/// What became of an effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// Handed to the device or its link.
    Written,
    /// The link still carries the one before; nothing was queued, the newest effort of a later tick goes out.
    Busy,
    /// It did not go out.
    Failed(WriteError),
}

/// Who the device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name for people.
    pub name: String,
    /// Which backend drives it.
    pub kind: &'static KindSpec,
    /// Serial number as the device gives it; empty if it has none.
    pub serial_number: String,
    /// Version of the firmware as the device gives it; empty if it has none.
    pub firmware: String,
    /// 1 or 2.
    pub axes: u8,
}

/// What the device can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Largest force on the hand, N; infinity if unknown.
    pub max_force_n: f64,
    /// Lower end of travel of each axis, device frame, m; −infinity if there is none.
    pub travel_min_m: Vector2<f64>,
    /// Upper end of travel of each axis, device frame, m; infinity if there is none.
    pub travel_max_m: Vector2<f64>,
    /// How often the device takes an effort and gives a reading, Hz.
    pub rate_hz: f64,
}

/// How long commands took to be answered, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Half were answered within this time.
    pub p50_ns: u64,
    /// 99 % were.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// How the link to a device has been doing since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkStatistics {
    /// From a command to its answer.
    pub round_trip: RoundTrip,
    /// Commands that were never answered.
    pub frames_lost: u64,
    /// Answers that arrived damaged.
    pub crc_errors: u64,
    /// How often the link was lost and found again.
    pub reconnects: u32,
    /// How often a second the device is served.
    pub rate_hz: f64,
}

/// One haptic device, as the tick sees it.
///
/// The tick calls `read` once, then `write` once, with the same `now`. Both return at once: a backend whose link can
/// block keeps its own thread and exchanges latest values with it.
pub trait Device: Send {
    /// Who the device is; does not change after opening.
    fn identity(&self) -> &Identity;

    /// What the device can do; does not change after opening.
    fn limits(&self) -> &Limits;

    /// The newest reading, or the last good one marked stale.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn read(&mut self, now: MonotonicNs) -> Reading;

    /// Hands over the force on the hand, held until the next one.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn write(&mut self, effort: Effort, now: MonotonicNs) -> WriteOutcome;

    /// Leads the hand of a simulated device to a place, device frame, m, or lets it go; calling it every tick is fine.
    /// Real devices are held by hands of their own and ignore it.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn set_hand_target(&mut self, _target_m: Option<Vector2<f64>>) {}

    /// There is another tool to hold, its handle at this place, device frame, m: the hand of a simulated device goes there and
    /// begins its path anew. Real devices are held by hands of their own and ignore it.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn move_hand_to_tool(&mut self, _handle_m: Vector2<f64>) {}

    /// How the link has been doing; none for devices without one. Not for the tick.
    fn link_statistics(&self) -> Option<LinkStatistics> {
        None
    }

    /// Zero force, disarm, let go. Not for the tick: it may wait for the device to confirm. Closing twice is harmless.
    fn close(&mut self);
}

/// A boxed device is a device, so that the backend can be chosen at start and still be wrapped.
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

    fn move_hand_to_tool(&mut self, handle_m: Vector2<f64>) {
        (**self).move_hand_to_tool(handle_m);
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
    fn a_boxed_and_wrapped_device_is_led_by_the_mouse_like_a_bare_one() {
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

//! What every measurement has in common: readings in, efforts out, and an end at zero force whatever happens.

use crate::TICK_S;
use crate::excitation::GaveUp;
use haptic_device::{Device, Effort, Limits, MonotonicNs, Reading, WriteOutcome};
use haptic_loop::fault::Fault;
use haptic_loop::settings::Safety;
use haptic_loop::watch::{ReadingMonitor, Validity};
use nalgebra::Vector2;
use std::fmt;

/// Faster than this is not what was asked of the handle, m/s.
pub const MAX_SPEED_M_PER_S: f64 = 2.0;
/// A tick of virtual time, ns.
const TICK_NS: u64 = 1_000_000;
/// Silence counts as it does for a device that is served in every tick.
const EVERY_TICK_HZ: f64 = 1000.0;

/// What a measurement may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementLimits {
    /// Strongest force, N.
    pub force_n: f64,
    /// How far from its beginning the handle may come, either way, m.
    pub travel_m: f64,
}

/// How a measurement ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// Everything was done.
    Finished,
    /// Somebody wanted it to end.
    Aborted,
    /// The device failed or its readings cannot be trusted.
    Fault(Fault),
    /// The handle came too far from its beginning.
    OutOfTravel {
        /// From zero.
        axis: usize,
        /// m.
        distance_m: f64,
        /// m.
        limit_m: f64,
    },
    /// The excitation gave up.
    GaveUp {
        /// From zero.
        axis: usize,
        /// Why.
        why: GaveUp,
    },
}

/// Something that is done with a device, tick by tick.
pub trait Measurement {
    /// One period after the last, or several if some were skipped: a reading in, the effort out. Once it has ended, all
    /// efforts are zero. Real-time: no allocation, lock, wait or log.
    fn tick(&mut self, reading: &Reading, periods: u32) -> Effort;

    /// What became of the effort of this tick. Real-time: as [`Self::tick`].
    fn learn(&mut self, sent: WriteOutcome);

    /// How it ended; none while it runs.
    fn end(&self) -> Option<End>;

    /// Ends it now; the next effort is zero.
    fn abort(&mut self);

    /// How much is done, 0 to 1, and what is under way.
    fn progress(&self) -> (f64, &'static str);
}

/// Does all of it in virtual time, as fast as it goes, and lets the device go.
pub fn run_in_virtual_time(measurement: &mut impl Measurement, device: &mut dyn Device) -> End {
    let mut now = MonotonicNs(0);
    let end = loop {
        now = now.after(TICK_NS);
        let effort = measurement.tick(&device.read(now), 1);
        let sent = device.write(effort, now);
        measurement.learn(sent);
        if let Some(end) = measurement.end() {
            break end;
        }
    };
    device.write(Effort::zero(), now);
    device.close();
    end
}

/// What may be made of a reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Where the handle is, if a force may answer, m.
    pub trusted_m: Option<Vector2<f64>>,
    /// Where it is, if this is news, m.
    pub new_m: Option<Vector2<f64>>,
    /// What is wrong.
    pub end: Option<End>,
}

/// Watches readings, speed and travel.
#[derive(Clone, Debug)]
pub struct Guardrail {
    watch: ReadingMonitor,
    axes: usize,
    travel_m: f64,
    home_m: Option<Vector2<f64>>,
}

impl Guardrail {
    /// For a device with so many axes.
    pub fn new(axes: usize, allowance: &MeasurementLimits) -> Self {
        let safety = Safety { max_speed_m_per_s: MAX_SPEED_M_PER_S, ..Safety::default() };
        Self { watch: ReadingMonitor::new(&safety, EVERY_TICK_HZ), axes, travel_m: allowance.travel_m, home_m: None }
    }

    /// Travel counts from the next place on.
    pub fn begin_anew(&mut self) {
        self.home_m = None;
    }

    /// Judges a reading. Real-time: constant.
    pub fn look(&mut self, reading: &Reading, periods: u32) -> Seen {
        let hand = self.watch.judge(reading, f64::from(periods) * TICK_S);
        let new_m = hand.position_m.filter(|_| hand.is_new);
        match hand.trust {
            Validity::Faulted(fault) => Seen { trusted_m: None, new_m, end: Some(End::Fault(fault)) },
            Validity::Stale => Seen { trusted_m: None, new_m, end: None },
            Validity::Good => {
                let end = hand.position_m.and_then(|position_m| self.strayed(position_m));
                Seen { trusted_m: hand.position_m, new_m, end }
            }
        }
    }

    fn strayed(&mut self, position_m: Vector2<f64>) -> Option<End> {
        let way_m = position_m - *self.home_m.get_or_insert(position_m);
        let axis = (0..self.axes).find(|&axis| way_m[axis].abs() > self.travel_m)?;
        Some(End::OutOfTravel { axis, distance_m: way_m[axis], limit_m: self.travel_m })
    }
}

/// How far the handle can go either way from where it is, m, and no farther than `wanted_m`.
pub fn travel_within(limits: &Limits, axes: usize, position_m: Vector2<f64>, wanted_m: f64) -> f64 {
    let free_m =
        |axis: usize| (limits.travel_max_m[axis] - position_m[axis]).min(position_m[axis] - limits.travel_min_m[axis]);
    (0..axes).map(free_m).fold(wanted_m, f64::min)
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => write!(f, "finished"),
            Self::Aborted => write!(f, "aborted"),
            Self::Fault(Fault::Lost { .. }) => write!(f, "the device was lost; was it unplugged, has it power?"),
            Self::Fault(fault) => write!(f, "{fault}"),
            Self::OutOfTravel { axis, distance_m, limit_m } => write!(
                f,
                "axis {} came {:.1} mm from where it began, the limit is {:.1} mm; nobody must hold or push it, and \
                 --travel-m says how far it may go",
                axis + 1,
                distance_m * 1e3,
                limit_m * 1e3
            ),
            Self::GaveUp { axis, why } => {
                write!(f, "axis {}: ", axis + 1)?;
                write_gave_up(f, why)
            }
        }
    }
}

fn write_gave_up(f: &mut fmt::Formatter<'_>, why: &GaveUp) -> fmt::Result {
    match why {
        GaveUp::MovesByItself { distance_m } => write!(
            f,
            "the handle moved {:.2} mm before any force was given; let go of it and let it come to rest",
            distance_m.abs() * 1e3
        ),
        GaveUp::DoesNotMove { force_n } => write!(
            f,
            "the encoder does not move, although the motor was asked for up to {force_n:.2} N; is the motor powered, the \
             encoder connected, the handle free, and are axes and port of the device file right?"
        ),
        GaveUp::MovesBackwards { force_n } => write!(
            f,
            "the handle moves against the force ({force_n:.3} N); motor or encoder is wired or counted the wrong way round"
        ),
    }
}

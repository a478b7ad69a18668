//! A whole measurement: one axis after the other, behind limits of force, speed and travel, with everything recorded.
//!
//! The same for a model in virtual time and for motors on the wall clock: readings go in, efforts come out. Whatever goes
//! wrong ends it, and its last effort is zero.

use crate::TICK_S;
use crate::excitation::{Bounds, Excitation, GaveUp};
use crate::recording::Recording;
use haptic_device::{Effort, Limits, Reading, Sent};
use haptic_loop::fault::Fault;
use haptic_loop::settings::Safety;
use haptic_loop::watch::{Trust, Watch};
use nalgebra::Vector2;
use std::fmt;

/// Faster than this is not what was asked of the handle, m/s.
pub const MAX_SPEED_M_PER_S: f64 = 2.0;
/// Share of the travel that the excitation uses; the rest is for what it did not foresee.
const REACH_SHARE: f64 = 0.6;
/// Room for periods that were skipped, ticks per axis.
const SPARE_TICKS: usize = 2000;
/// Most rows that one silence adds.
const LONGEST_SILENCE: u32 = 100;

/// What a measurement may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
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

/// The measurement.
pub struct Experiment {
    axis: usize,
    excitations: Vec<Excitation>,
    recordings: Vec<Recording>,
    watch: Watch,
    travel_m: f64,
    home_m: Option<Vector2<f64>>,
    /// What acts now, N, and what was asked for in this tick.
    acting_n: f64,
    asked_n: f64,
    position_m: f64,
    end: Option<End>,
}

impl Experiment {
    /// A measurement of so many axes.
    pub fn new(axes: usize, allowance: &Allowance) -> Self {
        let bounds = Bounds { force_n: allowance.force_n, reach_m: REACH_SHARE * allowance.travel_m };
        let safety = Safety { max_speed_m_per_s: MAX_SPEED_M_PER_S, ..Safety::default() };
        let room = Excitation::longest_ticks() + SPARE_TICKS;
        Self {
            axis: 0,
            excitations: (0..axes).map(|_| Excitation::new(bounds)).collect(),
            recordings: (0..axes).map(|_| Recording::with_room_for(room)).collect(),
            watch: Watch::new(&safety),
            travel_m: allowance.travel_m,
            home_m: None,
            acting_n: 0.0,
            asked_n: 0.0,
            position_m: f64::NAN,
            end: None,
        }
    }

    /// How it ended; none while it runs.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Ends it now; the next effort is zero.
    pub fn abort(&mut self) {
        self.end.get_or_insert(End::Aborted);
    }

    /// What was recorded, axis by axis.
    pub fn recordings(&self) -> &[Recording] {
        &self.recordings
    }

    /// How much is done, 0 to 1, and what is under way.
    pub fn progress(&self) -> (f64, &'static str) {
        let share: f64 = self.excitations.iter().map(Excitation::share).sum();
        let doing = self.excitations.get(self.axis).map_or("done", Excitation::doing);
        (share / self.excitations.len().max(1) as f64, doing)
    }

    /// One period after the last, or several if some were skipped: a reading in, the effort out.
    ///
    /// Real-time: constant but for skipped periods, of which at most [`LONGEST_SILENCE`] are written down.
    pub fn tick(&mut self, reading: &Reading, periods: u32) -> Effort {
        self.note_silence(periods.saturating_sub(1));
        let hand = self.watch.judge(reading, f64::from(periods) * TICK_S);
        let trusted_m = match hand.trust {
            Trust::Broken(fault) => {
                self.end.get_or_insert(End::Fault(fault));
                None
            }
            Trust::Stale => None,
            Trust::Good => hand.position_m,
        };
        self.position_m =
            if hand.is_new { hand.position_m.map_or(f64::NAN, |place| place[self.axis]) } else { f64::NAN };
        self.asked_n = trusted_m.map_or(0.0, |position_m| self.force_at(position_m));
        if self.end.is_some() {
            self.asked_n = 0.0;
        }
        let mut force_n = Vector2::zeros();
        force_n[self.axis] = self.asked_n;
        Effort { force_n }
    }

    /// What became of the effort of this tick. Real-time: constant.
    pub fn learn(&mut self, sent: Sent) {
        match sent {
            Sent::Written => self.acting_n = self.asked_n,
            Sent::Busy => {}
            Sent::Failed(error) => {
                self.end.get_or_insert(End::Fault(Fault::NotSent(error)));
            }
        }
        let (position_m, acting_n) = (self.position_m, self.acting_n);
        if let Some(recording) = self.recordings.get_mut(self.axis) {
            recording.push(position_m, acting_n);
        }
        self.move_on();
    }

    fn note_silence(&mut self, skipped: u32) {
        let acting_n = self.acting_n;
        let Some(recording) = self.recordings.get_mut(self.axis) else { return };
        (0..skipped.min(LONGEST_SILENCE)).for_each(|_| recording.push(f64::NAN, acting_n));
    }

    fn force_at(&mut self, position_m: Vector2<f64>) -> f64 {
        let home_m = *self.home_m.get_or_insert(position_m);
        let way_m = position_m - home_m;
        if let Some(axis) = (0..self.excitations.len()).find(|&axis| way_m[axis].abs() > self.travel_m) {
            self.end.get_or_insert(End::OutOfTravel { axis, distance_m: way_m[axis], limit_m: self.travel_m });
            return 0.0;
        }
        self.excitations[self.axis].next(position_m[self.axis])
    }

    fn move_on(&mut self) {
        let excitation = &self.excitations[self.axis];
        if let Some(why) = excitation.gave_up() {
            self.end.get_or_insert(End::GaveUp { axis: self.axis, why });
        }
        if excitation.is_done() && self.end.is_none() {
            if self.axis + 1 < self.excitations.len() {
                self.axis += 1;
                (self.acting_n, self.home_m) = (0.0, None);
            } else {
                self.end = Some(End::Finished);
            }
        }
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

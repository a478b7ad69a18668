//! Checks every reading of a device: good, stale, or a fault.

mod checkpoint;

use crate::fault::Fault;
use crate::settings::Safety;
use haptic_device::{Health, Reading};
use haptic_planar::tick::TICK_S;
use nalgebra::Vector2;

/// The position of the last new sample, device frame, with the validity of the reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandReading {
    /// Position of the last new sample, m; `None` before the first one. A sample that is a fault, for example because
    /// of its speed, counts too, unless it is not finite.
    pub position_m: Option<Vector2<f64>>,
    /// Whether the position is new in this tick.
    pub is_new: bool,
    /// Whether the reading can be used for force.
    pub validity: Validity,
}

/// Validity of a reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Validity {
    /// The reading is new or recent enough.
    Good,
    /// The reading is too old to compute a force from.
    Stale,
    /// The reading is unusable because of this fault.
    Faulted(Fault),
}

/// Number of service periods without a reading after which a device slower than the tick is stale. Two missed services
/// are tolerated.
const STALE_SERVICES: f64 = 2.5;
/// Number of service periods without a reading after which a device slower than the tick is lost.
const LOST_SERVICES: f64 = 4.0;

/// Time for which readings may arrive too old before that is a fault, s. A link that does not recover by then needs a
/// person.
const STALE_FOR_S: f64 = 1.0;

/// Returns the time without service after which a device is stale, s: at least [`STALE_SERVICES`] of its service
/// periods, unless it is served in every tick.
pub(crate) fn stale_after_s(safety: &Safety, period_s: f64) -> f64 {
    safety.stale_after_s.max(STALE_SERVICES * slow_period_s(period_s))
}

/// Service period of a device slower than the tick, s; zero for a device that is served in every tick.
fn slow_period_s(period_s: f64) -> f64 {
    if period_s > 1.5 * TICK_S { period_s } else { 0.0 }
}

/// Checks the readings of one device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadingMonitor {
    /// Service period of a device slower than the tick, s; zero for a device that is served every tick.
    service_period_s: f64,
    stale_after_s: f64,
    stale_after_ns: u64,
    lost_after_s: f64,
    max_speed_m_per_s: f64,
    position_m: Option<Vector2<f64>>,
    /// Sequence number of the last new sample.
    sequence: u32,
    /// Time since the tick of the last new position, s.
    silent_s: f64,
    /// Age of the last new position when it arrived, s.
    age_s: f64,
    /// Time for which readings have been stale since the last new good one, s.
    stale_s: f64,
}

impl ReadingMonitor {
    /// Creates a monitor for a device with the given service rate, before its first reading.
    pub fn new(safety: &Safety, service_rate_hz: f64) -> Self {
        let mut monitor = Self {
            service_period_s: slow_period_s(1.0 / service_rate_hz),
            stale_after_s: 0.0,
            stale_after_ns: 0,
            lost_after_s: 0.0,
            max_speed_m_per_s: 0.0,
            position_m: None,
            sequence: 0,
            silent_s: 0.0,
            age_s: 0.0,
            stale_s: 0.0,
        };
        monitor.set_limits(safety);
        monitor
    }

    /// Sets new limits. Real-time: constant.
    pub fn set_limits(&mut self, safety: &Safety) {
        self.stale_after_s = stale_after_s(safety, self.service_period_s);
        self.stale_after_ns = (self.stale_after_s * 1e9) as u64;
        self.lost_after_s = safety.lost_after_s.max(LOST_SERVICES * self.service_period_s);
        self.max_speed_m_per_s = safety.max_speed_m_per_s;
    }

    /// Forgets the last position, because a simulated hand may have been placed elsewhere: the next reading is not a
    /// jump. Real-time: constant.
    pub fn restart(&mut self) {
        self.position_m = None;
    }

    /// Checks the reading of a tick, `elapsed_s` after the previous tick. Real-time: constant.
    #[inline(always)]
    pub fn check(&mut self, reading: &Reading, elapsed_s: f64) -> HandReading {
        self.silent_s += elapsed_s;
        let is_finite = reading.is_finite();
        let is_new = reading.fresh && is_finite && self.is_newer(reading.sequence);
        let validity = match reading.health {
            Health::Faulted(code) => Validity::Faulted(Fault::Device(code)),
            Health::Lost => Validity::Faulted(Fault::Lost { silent_s: self.silent_s }),
            Health::Ready | Health::Stale if !is_finite => Validity::Faulted(Fault::ReadingNotFinite),
            Health::Ready | Health::Stale if is_new => self.check_new(reading),
            Health::Ready | Health::Stale => self.check_old(),
        };
        let validity = match validity {
            Validity::Stale => self.check_stale(elapsed_s),
            _ => validity,
        };
        if is_new {
            self.position_m = Some(reading.position_m);
            self.sequence = reading.sequence;
            self.silent_s = 0.0;
            self.age_s = age_s(reading);
        }
        HandReading { position_m: self.position_m, is_new, validity }
    }

    /// Whether a sequence number belongs to a new sample. A repeated or reordered sample is not new. After a gap, any
    /// number other than the last one is accepted, because the device may have restarted its count.
    fn is_newer(&self, sequence: u32) -> bool {
        let ahead = sequence.wrapping_sub(self.sequence) as i32;
        self.position_m.is_none() || ahead > 0 || (ahead != 0 && self.silent_s >= self.stale_after_s)
    }

    fn check_new(&mut self, reading: &Reading) -> Validity {
        let moved_m = self.position_m.map_or_else(Vector2::zeros, |before_m| reading.position_m - before_m);
        let elapsed_s = self.elapsed_since_last_s(reading);
        let allowed_m = self.max_speed_m_per_s * elapsed_s;
        if moved_m.norm_squared() > allowed_m * allowed_m {
            let speed_m_per_s = moved_m.norm() / elapsed_s;
            Validity::Faulted(Fault::OverSpeed { speed_m_per_s, limit_m_per_s: self.max_speed_m_per_s })
        } else if reading.age_ns >= self.stale_after_ns {
            Validity::Stale
        } else {
            self.stale_s = 0.0;
            Validity::Good
        }
    }

    /// Counts a stale reading, which is a fault if readings have arrived too old for [`STALE_FOR_S`].
    #[cold]
    fn check_stale(&mut self, elapsed_s: f64) -> Validity {
        self.stale_s += elapsed_s;
        if self.stale_s < STALE_FOR_S.max(self.lost_after_s) {
            return Validity::Stale;
        }
        Validity::Faulted(Fault::Stale { limit_s: self.stale_after_s })
    }

    /// Time between the last new sample and this one, s, during which the handle moved. Sample ages matter because a
    /// late tick reads a response that is as old as the tick is late. The next response comes only one period later but
    /// covers all of that time.
    fn elapsed_since_last_s(&self, reading: &Reading) -> f64 {
        let younger_s = self.age_s - age_s(reading);
        // A plain comparison: a maximum that handles NaN costs three times as much.
        self.silent_s + if younger_s > 0.0 { younger_s } else { 0.0 }
    }

    fn check_old(&self) -> Validity {
        // Half a nanosecond of tolerance: a sum of whole ticks can be slightly less than the limit that it reaches.
        let silent_s = self.silent_s + 5e-10;
        if silent_s >= self.lost_after_s {
            Validity::Faulted(Fault::Lost { silent_s: self.silent_s })
        } else if silent_s >= self.stale_after_s || self.position_m.is_none() {
            Validity::Stale
        } else {
            Validity::Good
        }
    }
}

fn age_s(reading: &Reading) -> f64 {
    // No age reaches 2⁶³ ns, and a signed number is converted by one instruction instead of seven.
    reading.age_ns as i64 as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_device::FaultCode;
    use std::cell::Cell;

    /// Returns the next sample, at `x_m`.
    fn at(x_m: f64) -> Reading {
        thread_local!(static SEQUENCE: Cell<u32> = const { Cell::new(u32::MAX - 1) });
        let sequence = SEQUENCE.with(|count| count.replace(count.get().wrapping_add(1)));
        let position_m = Vector2::new(x_m, 0.0);
        Reading { position_m, health: Health::Ready, age_ns: 0, fresh: true, sequence, ..Reading::default() }
    }

    fn repeated(x_m: f64) -> Reading {
        Reading { fresh: false, health: Health::Stale, ..at(x_m) }
    }

    fn monitor_at_rest() -> ReadingMonitor {
        let mut monitor = ReadingMonitor::new(&Safety::default(), 1000.0);
        assert_eq!(monitor.check(&at(0.0), TICK_S).validity, Validity::Good);
        monitor
    }

    #[test]
    fn silence_is_good_then_stale_after_5_ms_then_lost_after_100() {
        let mut monitor = monitor_at_rest();
        for tick in 1..=120 {
            let validity = monitor.check(&repeated(0.0), TICK_S).validity;
            match tick {
                1..=4 => assert_eq!(validity, Validity::Good, "{tick}"),
                5..=99 => assert_eq!(validity, Validity::Stale, "{tick}"),
                _ => assert!(matches!(validity, Validity::Faulted(Fault::Lost { .. })), "{tick}: {validity:?}"),
            }
        }
        assert_eq!(monitor.check(&at(0.0), TICK_S).validity, Validity::Good);
    }

    #[test]
    fn a_device_that_is_served_every_tenth_tick_may_miss_two_services() {
        let mut monitor = ReadingMonitor::new(&Safety::default(), 100.0);
        assert_eq!(monitor.check(&at(0.0), TICK_S).validity, Validity::Good);
        for tick in 1..=100 {
            let validity = monitor.check(&repeated(0.0), TICK_S).validity;
            let expected = if tick < 25 { Validity::Good } else { Validity::Stale };
            assert!(validity == expected || tick == 100, "{tick}: {validity:?}");
        }
    }

    #[test]
    fn a_device_without_samples_is_stale_then_lost_and_has_no_position() {
        let mut monitor = ReadingMonitor::new(&Safety::default(), 1000.0);
        let hand = monitor.check(&Reading::default(), TICK_S);
        assert_eq!((hand.position_m, hand.validity), (None, Validity::Stale));
        let last = (0..99).map(|_| monitor.check(&Reading::default(), TICK_S)).last().unwrap();
        assert!(matches!(last.validity, Validity::Faulted(Fault::Lost { .. })));
    }

    #[test]
    fn a_jump_is_an_over_speed_and_the_next_reading_is_good() {
        let mut monitor = monitor_at_rest();
        let hand = monitor.check(&at(0.01), TICK_S);
        let Validity::Faulted(Fault::OverSpeed { speed_m_per_s, .. }) = hand.validity else { panic!("{hand:?}") };
        assert!((speed_m_per_s - 10.0).abs() < 1e-9);
        assert_eq!(monitor.check(&at(0.0101), TICK_S).validity, Validity::Good);
    }

    #[test]
    fn the_speed_after_a_gap_counts_the_whole_gap() {
        let mut monitor = monitor_at_rest();
        monitor.check(&repeated(0.0), TICK_S);
        monitor.check(&repeated(0.0), TICK_S);
        assert_eq!(monitor.check(&at(0.006), TICK_S).validity, Validity::Good);
    }

    #[test]
    fn the_speed_after_a_late_tick_counts_the_whole_time() {
        let mut monitor = monitor_at_rest();
        let asked_before = Reading { age_ns: 8_000_000, ..at(0.001) };
        assert_eq!(monitor.check(&asked_before, 0.008).validity, Validity::Stale);
        let asked_after = Reading { age_ns: 1_000_000, ..at(0.009) };
        assert_eq!(monitor.check(&asked_after, TICK_S).validity, Validity::Good);
        assert!(matches!(monitor.check(&at(0.018), TICK_S).validity, Validity::Faulted(Fault::OverSpeed { .. })));
    }

    #[test]
    fn a_position_that_is_not_finite_is_a_fault_and_is_not_used() {
        let mut monitor = monitor_at_rest();
        let hand = monitor.check(&at(f64::NAN), TICK_S);
        assert_eq!(hand.validity, Validity::Faulted(Fault::ReadingNotFinite));
        assert_eq!((hand.position_m, hand.is_new), (Some(Vector2::zeros()), false));
    }

    #[test]
    fn a_sample_that_took_too_long_to_come_is_stale() {
        let mut monitor = monitor_at_rest();
        let old = Reading { age_ns: 6_000_000, ..at(0.0) };
        assert_eq!(monitor.check(&old, TICK_S).validity, Validity::Stale);
    }

    #[test]
    fn samples_that_keep_coming_too_late_are_a_fault_after_a_second() {
        let mut monitor = monitor_at_rest();
        for tick in 1..=1500 {
            let validity = monitor.check(&Reading { age_ns: 6_000_000, ..at(0.0) }, TICK_S).validity;
            let expected =
                if tick < 1000 { Validity::Stale } else { Validity::Faulted(Fault::Stale { limit_s: 0.005 }) };
            assert!(validity == expected || tick == 1000, "{tick}: {validity:?}");
        }
        assert_eq!(monitor.check(&at(0.0), TICK_S).validity, Validity::Good);
        assert_eq!(monitor.check(&Reading { age_ns: 6_000_000, ..at(0.0) }, TICK_S).validity, Validity::Stale);
    }

    #[test]
    fn the_devices_own_faults_are_passed_on() {
        let mut monitor = monitor_at_rest();
        let faulted = Reading { health: Health::Faulted(FaultCode::Watchdog), ..at(0.0) };
        assert_eq!(monitor.check(&faulted, TICK_S).validity, Validity::Faulted(Fault::Device(FaultCode::Watchdog)));
        let lost = Reading { health: Health::Lost, ..at(0.0) };
        assert!(matches!(monitor.check(&lost, TICK_S).validity, Validity::Faulted(Fault::Lost { .. })));
    }

    #[test]
    fn a_sample_that_comes_twice_or_after_a_newer_one_is_not_new() {
        let mut monitor = monitor_at_rest();
        let (older, newer) = (at(0.001), at(0.002));
        assert!(monitor.check(&newer, TICK_S).is_new);
        assert!(!monitor.check(&newer, TICK_S).is_new);
        let hand = monitor.check(&older, TICK_S);
        assert_eq!((hand.is_new, hand.position_m), (false, Some(newer.position_m)));
    }

    #[test]
    fn a_device_that_restarts_its_counter_after_a_pause_is_accepted() {
        let mut monitor = monitor_at_rest();
        let anew = Reading { sequence: at(0.0).sequence.wrapping_sub(1000), ..at(0.0) };
        assert!(!monitor.check(&anew, TICK_S).is_new);
        assert!(monitor.check(&anew, 0.01).is_new);
    }
}

//! A device that injects faults into another device, at random or at given ticks.
//!
//! Random numbers come from a seed and time is the count of readings, so every failure is reproducible.

use crate::contract::{
    Device, Effort, FaultCode, Health, Identity, Limits, LinkStatistics, MonotonicNs, Reading, WriteError, WriteOutcome,
};
use crate::xorshift::Xorshift;
use nalgebra::Vector2;

/// Length of the history of readings, ticks. It limits the age of late readings.
const REMEMBERED: usize = 64;

/// Number of ticks (20 ms) without an effort after which the wrapped device receives zero effort, as from a firmware
/// watchdog.
const WATCHDOG_TICKS: u32 = 20;

/// Error number of the operating system for a broken link (EIO on Linux).
const INPUT_OUTPUT_ERROR: i32 = 5;

/// One injected fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InjectedFault {
    /// The reading of this tick is dropped; the last one is repeated and marked as stale.
    Drop,
    /// The last reading is repeated and marked as fresh, with its old sequence number.
    Repeat,
    /// The position is NaN.
    NotANumber,
    /// The position is displaced in a random direction for this tick.
    Jump {
        /// Length of the displacement, m.
        distance_m: f64,
    },
    /// An old reading replaces the new one.
    Late {
        /// Age of the reading, ticks; at most 63.
        ticks: u32,
    },
    /// The link is lost in both directions.
    Loss {
        /// Duration of the loss, ticks, including the current one.
        ticks: u32,
    },
    /// The effort of this tick is not sent.
    WriteFailure,
    /// The link is busy with an older effort.
    WriteBusy,
    /// The device reports a fault from this tick on.
    Failure(FaultCode),
}

/// One value for each kind of random fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerKind<T> {
    /// Value for [`InjectedFault::Drop`].
    pub dropped: T,
    /// Value for [`InjectedFault::Repeat`].
    pub repeated: T,
    /// Value for [`InjectedFault::NotANumber`].
    pub not_a_number: T,
    /// Value for [`InjectedFault::Jump`].
    pub jump: T,
    /// Value for [`InjectedFault::Late`].
    pub late: T,
    /// Value for [`InjectedFault::Loss`].
    pub loss: T,
    /// Value for [`InjectedFault::WriteFailure`].
    pub write_failure: T,
    /// Value for [`InjectedFault::WriteBusy`].
    pub write_busy: T,
}

/// Faults to inject, with their probabilities or times.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultPlan {
    /// Random seed.
    pub seed: u64,
    /// Probability of each kind of fault per tick, zero to one.
    pub chance: PerKind<f64>,
    /// Length of the displacement of random jumps, m.
    pub jump_m: f64,
    /// Age of random late readings, ticks.
    pub late_ticks: u32,
    /// Duration of random losses, ticks.
    pub loss_ticks: u32,
    /// Faults at given ticks, in any order; the first reading is tick 1.
    pub scheduled: Vec<(u64, InjectedFault)>,
}

impl Default for FaultPlan {
    /// A plan without faults.
    fn default() -> Self {
        Self { seed: 0, chance: PerKind::default(), jump_m: 0.01, late_ticks: 3, loss_ticks: 50, scheduled: Vec::new() }
    }
}

/// Faults of this tick.
#[derive(Clone, Copy, Debug, Default)]
struct Spoiled {
    dropped: bool,
    repeated: bool,
    not_a_number: bool,
    jump_m: Option<f64>,
    late_ticks: Option<u32>,
    write_failure: bool,
    write_busy: bool,
}

/// Wraps a device and injects the faults of a [`FaultPlan`].
#[derive(Clone, Debug)]
pub struct FaultyDevice<D> {
    device: D,
    plan: FaultPlan,
    random: Xorshift,
    ticks: u64,
    next_scheduled: usize,
    spoiled: Spoiled,
    lost_ticks: u32,
    failure: Option<FaultCode>,
    injected: PerKind<u64>,
    history: [Reading; REMEMBERED],
    handed_out: Reading,
    handed_out_at: MonotonicNs,
    silent_ticks: u32,
}

impl<D: Device> FaultyDevice<D> {
    /// Wraps `device` and injects the faults of `plan`.
    pub fn new(device: D, mut plan: FaultPlan) -> Self {
        plan.scheduled.sort_by_key(|(tick, _)| *tick);
        Self {
            device,
            random: Xorshift::new(plan.seed),
            plan,
            ticks: 0,
            next_scheduled: 0,
            spoiled: Spoiled::default(),
            lost_ticks: 0,
            failure: None,
            injected: PerKind::default(),
            history: [Reading::default(); REMEMBERED],
            handed_out: Reading::default(),
            handed_out_at: MonotonicNs(0),
            silent_ticks: 0,
        }
    }

    /// Number of injected faults of each kind.
    pub fn injected(&self) -> PerKind<u64> {
        self.injected
    }

    /// The wrapped device.
    pub fn device(&self) -> &D {
        &self.device
    }

    fn draw_faults(&mut self) {
        self.spoiled = Spoiled::default();
        self.lost_ticks = self.lost_ticks.saturating_sub(1);
        let (plan_jump_m, late, loss) = (self.plan.jump_m, self.plan.late_ticks, self.plan.loss_ticks);
        let chance = self.plan.chance;
        for (rate, fault) in [
            (chance.dropped, InjectedFault::Drop),
            (chance.repeated, InjectedFault::Repeat),
            (chance.not_a_number, InjectedFault::NotANumber),
            (chance.jump, InjectedFault::Jump { distance_m: plan_jump_m }),
            (chance.late, InjectedFault::Late { ticks: late }),
            (chance.loss, InjectedFault::Loss { ticks: loss }),
            (chance.write_failure, InjectedFault::WriteFailure),
            (chance.write_busy, InjectedFault::WriteBusy),
        ] {
            // Always drawn, so that the probability of one kind does not change the faults of another.
            if self.random.unit() < rate {
                self.inject(fault);
            }
        }
    }

    fn take_scheduled(&mut self) {
        while let Some(&(tick, fault)) = self.plan.scheduled.get(self.next_scheduled) {
            if tick > self.ticks {
                break;
            }
            self.inject(fault);
            self.next_scheduled += 1;
        }
    }

    fn inject(&mut self, fault: InjectedFault) {
        let (spoiled, count) = (&mut self.spoiled, &mut self.injected);
        match fault {
            InjectedFault::Drop => (spoiled.dropped, count.dropped) = (true, count.dropped + 1),
            InjectedFault::Repeat => (spoiled.repeated, count.repeated) = (true, count.repeated + 1),
            InjectedFault::NotANumber => (spoiled.not_a_number, count.not_a_number) = (true, count.not_a_number + 1),
            InjectedFault::Jump { distance_m } => (spoiled.jump_m, count.jump) = (Some(distance_m), count.jump + 1),
            InjectedFault::Late { ticks } => (spoiled.late_ticks, count.late) = (Some(ticks), count.late + 1),
            InjectedFault::Loss { ticks } => {
                (self.lost_ticks, count.loss) = (self.lost_ticks.max(ticks), count.loss + 1)
            }
            InjectedFault::WriteFailure => {
                (spoiled.write_failure, count.write_failure) = (true, count.write_failure + 1)
            }
            InjectedFault::WriteBusy => (spoiled.write_busy, count.write_busy) = (true, count.write_busy + 1),
            InjectedFault::Failure(code) => self.failure = Some(code),
        }
    }

    fn remember(&mut self, reading: Reading) {
        self.history[(self.ticks % REMEMBERED as u64) as usize] = reading;
    }

    fn remembered(&self, ticks_ago: u32) -> Reading {
        let ticks_ago = u64::from(ticks_ago).min(REMEMBERED as u64 - 1);
        self.history[(self.ticks.saturating_sub(ticks_ago) % REMEMBERED as u64) as usize]
    }

    /// Repeats the last reading, marked as not fresh.
    fn repeat_last(&self, health: Health, now: MonotonicNs) -> Reading {
        let age_ns = self.handed_out.age_ns.saturating_add(now.since(self.handed_out_at));
        Reading { health, age_ns, fresh: false, ..self.handed_out }
    }

    fn spoil(&mut self, newest: Reading) -> Reading {
        let mut reading = newest;
        if let Some(ticks) = self.spoiled.late_ticks {
            reading = Reading { fresh: true, ..self.remembered(ticks) };
        }
        if self.spoiled.repeated {
            reading = Reading { fresh: true, ..self.handed_out };
        }
        if let Some(distance_m) = self.spoiled.jump_m {
            reading.position_m += self.random_displacement(distance_m);
        }
        if self.spoiled.not_a_number {
            reading.position_m = Vector2::repeat(f64::NAN);
        }
        reading
    }

    fn random_displacement(&mut self, distance_m: f64) -> Vector2<f64> {
        let angle_rad = self.random.between(0.0, core::f64::consts::TAU);
        if self.device.identity().axes == 1 {
            return Vector2::new(if angle_rad < core::f64::consts::PI { distance_m } else { -distance_m }, 0.0);
        }
        Vector2::new(libm::cos(angle_rad), libm::sin(angle_rad)) * distance_m
    }

    fn link_is_down(&self) -> bool {
        self.lost_ticks > 0
    }

    fn withhold(&mut self, sent: WriteOutcome, now: MonotonicNs) -> WriteOutcome {
        self.silent_ticks += 1;
        if self.silent_ticks == WATCHDOG_TICKS {
            self.device.write(Effort::zero(), now);
        }
        sent
    }
}

impl<D: Device> Device for FaultyDevice<D> {
    fn identity(&self) -> &Identity {
        self.device.identity()
    }

    fn limits(&self) -> &Limits {
        self.device.limits()
    }

    /// Real-time: one reading of the wrapped device, eight random numbers, and the faults scheduled for the tick.
    fn read(&mut self, now: MonotonicNs) -> Reading {
        self.ticks += 1;
        let newest = self.device.read(now);
        self.remember(newest);
        self.draw_faults();
        self.take_scheduled();
        if let Some(code) = self.failure {
            return self.repeat_last(Health::Faulted(code), now);
        }
        if self.link_is_down() {
            return self.repeat_last(Health::Lost, now);
        }
        if self.spoiled.dropped {
            return self.repeat_last(Health::Stale, now);
        }
        let spoiled = self.spoil(newest);
        if !self.spoiled.repeated {
            // The measured reading is stored, so a jump or a NaN lasts one tick.
            (self.handed_out, self.handed_out_at) = (newest, now);
        }
        spoiled
    }

    /// Real-time: same bound as the wrapped device.
    fn write(&mut self, effort: Effort, now: MonotonicNs) -> WriteOutcome {
        if self.link_is_down() || self.failure.is_some() {
            return self.withhold(WriteOutcome::Failed(WriteError::NotConnected), now);
        }
        if self.spoiled.write_failure {
            return self.withhold(WriteOutcome::Failed(WriteError::Os { errno: INPUT_OUTPUT_ERROR }), now);
        }
        if self.spoiled.write_busy {
            return self.withhold(WriteOutcome::Busy, now);
        }
        self.silent_ticks = 0;
        self.device.write(effort, now)
    }

    fn link_statistics(&self) -> Option<LinkStatistics> {
        self.device.link_statistics()
    }

    fn close(&mut self) {
        self.device.close();
    }

    /// Real-time: same bound as the wrapped device.
    fn set_hand_target(&mut self, target_m: Option<Vector2<f64>>) {
        self.device.set_hand_target(target_m);
    }

    /// Real-time: same bound as the wrapped device.
    fn place_hand(&mut self, start_m: Vector2<f64>) {
        self.device.place_hand(start_m);
    }

    fn can_be_led(&self) -> bool {
        self.device.can_be_led()
    }

    /// Real-time: same bound as the wrapped device.
    fn lead_hand(&mut self, target_m: Vector2<f64>) {
        self.device.lead_hand(target_m);
    }

    /// Real-time: same bound as the wrapped device.
    fn set_paused(&mut self, is_paused: bool) {
        self.device.set_paused(is_paused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prescribed::PrescribedDevice;

    fn steady() -> impl Device {
        PrescribedDevice::new(2, |time_s: f64| Vector2::new(time_s, -time_s))
    }

    fn scheduled(faults: &[(u64, InjectedFault)]) -> FaultyDevice<impl Device> {
        FaultyDevice::new(steady(), FaultPlan { scheduled: faults.to_vec(), ..FaultPlan::default() })
    }

    fn at(tick: u64) -> MonotonicNs {
        MonotonicNs(tick * 1_000_000)
    }

    fn readings(device: &mut impl Device, ticks: u64) -> Vec<Reading> {
        (1..=ticks).map(|tick| device.read(at(tick))).collect()
    }

    #[test]
    fn without_a_plan_nothing_is_changed() {
        let mut faulty = scheduled(&[]);
        let mut plain = steady();
        assert_eq!(readings(&mut faulty, 100), readings(&mut plain, 100));
        assert_eq!(faulty.write(Effort::zero(), at(100)), WriteOutcome::Written);
    }

    #[test]
    fn a_dropped_reading_repeats_the_last_good_one_and_says_so() {
        let seen = readings(&mut scheduled(&[(5, InjectedFault::Drop), (6, InjectedFault::Drop)]), 7);
        for (reading, age_ns) in [(seen[4], 1_000_000), (seen[5], 2_000_000)] {
            assert_eq!(reading.position_m, seen[3].position_m);
            assert_eq!((reading.health, reading.fresh, reading.sequence), (Health::Stale, false, 4));
            assert_eq!(reading.age_ns, age_ns);
        }
        assert_eq!((seen[6].health, seen[6].fresh, seen[6].sequence), (Health::Ready, true, 7));
    }

    #[test]
    fn a_repeated_reading_pretends_to_be_new_but_keeps_its_number() {
        let seen = readings(&mut scheduled(&[(5, InjectedFault::Repeat)]), 5);
        assert_eq!(seen[4].position_m, seen[3].position_m);
        assert_eq!((seen[4].fresh, seen[4].sequence), (true, 4));
    }

    #[test]
    fn a_nan_and_a_jump_last_one_tick() {
        let seen = readings(
            &mut scheduled(&[(3, InjectedFault::NotANumber), (6, InjectedFault::Jump { distance_m: 0.02 })]),
            7,
        );
        assert!(!seen[2].is_finite() && seen[3].is_finite());
        let jump = seen[5].position_m - Vector2::new(0.006, -0.006);
        assert!((jump.norm() - 0.02).abs() < 1e-12);
        assert!((seen[6].position_m - Vector2::new(0.007, -0.007)).norm() < 1e-15);
    }

    #[test]
    fn a_reading_dropped_after_a_spoiled_one_repeats_what_was_measured() {
        let seen = readings(&mut scheduled(&[(3, InjectedFault::NotANumber), (4, InjectedFault::Drop)]), 4);
        assert_eq!(seen[3].position_m, Vector2::new(0.003, -0.003));
    }

    #[test]
    fn a_late_reading_is_the_one_of_so_many_ticks_ago() {
        let seen = readings(
            &mut scheduled(&[(50, InjectedFault::Late { ticks: 7 }), (99, InjectedFault::Late { ticks: 1000 })]),
            99,
        );
        assert_eq!((seen[49].sequence, seen[49].position_m), (43, seen[42].position_m));
        assert_eq!(seen[98].sequence, 99 - 63);
    }

    #[test]
    fn a_loss_takes_the_link_both_ways_for_its_time() {
        let mut device = scheduled(&[(3, InjectedFault::Loss { ticks: 30 })]);
        for tick in 1..=40 {
            let lost = (3..33).contains(&tick);
            assert_eq!(device.read(at(tick)).health == Health::Lost, lost, "tick {tick}");
            let sent = device.write(Effort::zero(), at(tick));
            assert_eq!(sent == WriteOutcome::Failed(WriteError::NotConnected), lost, "tick {tick}");
        }
    }

    #[test]
    fn the_wrapped_device_lets_go_when_no_effort_comes_through() {
        let inner = PrescribedDevice::new(2, |_: f64| Vector2::zeros());
        let plan = FaultPlan { scheduled: vec![(2, InjectedFault::Loss { ticks: 100 })], ..FaultPlan::default() };
        let mut device = FaultyDevice::new(inner, plan);
        let push = Effort { force_n: Vector2::new(1.0, 0.0) };
        for tick in 1..=40 {
            device.read(at(tick));
            device.write(push, at(tick));
            let expected = if tick < 21 { push } else { Effort::zero() };
            assert_eq!(device.device().effort(), expected, "tick {tick}");
        }
    }

    #[test]
    fn an_effort_that_comes_through_feeds_the_watchdog() {
        let inner = PrescribedDevice::new(2, |_: f64| Vector2::zeros());
        let loss = InjectedFault::Loss { ticks: 15 };
        let plan = FaultPlan { scheduled: vec![(2, loss), (18, loss)], ..FaultPlan::default() };
        let mut device = FaultyDevice::new(inner, plan);
        let push = Effort { force_n: Vector2::new(1.0, 0.0) };
        for tick in 1..=32 {
            device.read(at(tick));
            device.write(push, at(tick));
            assert_eq!(device.device().effort(), push, "tick {tick}");
        }
    }

    #[test]
    fn write_faults_concern_one_tick() {
        let mut device = scheduled(&[(2, InjectedFault::WriteFailure), (3, InjectedFault::WriteBusy)]);
        let sent: Vec<WriteOutcome> = (1..=4)
            .map(|tick| {
                device.read(at(tick));
                device.write(Effort::zero(), at(tick))
            })
            .collect();
        assert_eq!(sent[0], WriteOutcome::Written);
        assert!(matches!(sent[1], WriteOutcome::Failed(WriteError::Os { .. })));
        assert_eq!((sent[2], sent[3]), (WriteOutcome::Busy, WriteOutcome::Written));
    }

    #[test]
    fn a_failure_stays() {
        let seen = readings(&mut scheduled(&[(3, InjectedFault::Failure(FaultCode::Watchdog))]), 10);
        assert!(seen[2..].iter().all(|reading| reading.health == Health::Faulted(FaultCode::Watchdog)));
    }

    #[test]
    fn chance_gives_the_asked_rates_and_the_same_faults_for_the_same_seed() {
        let chance = PerKind { dropped: 0.1, jump: 0.02, not_a_number: 0.01, ..PerKind::default() };
        let plan = |seed| FaultPlan { seed, chance, ..FaultPlan::default() };
        let run = |seed| {
            let mut device = FaultyDevice::new(steady(), plan(seed));
            let kept: Vec<(u64, bool)> =
                readings(&mut device, 20_000).iter().map(|r| (r.position_m.x.to_bits(), r.fresh)).collect();
            (kept, device.injected())
        };
        let (seen, counts) = run(7);
        assert_eq!(run(7), (seen.clone(), counts));
        assert_ne!(run(8).0, seen);
        assert!((1850..2150).contains(&counts.dropped), "{counts:?}");
        assert!((330..470).contains(&counts.jump) && (140..260).contains(&counts.not_a_number), "{counts:?}");
        assert_eq!(counts.late + counts.loss + counts.repeated + counts.write_busy, 0);
    }
}

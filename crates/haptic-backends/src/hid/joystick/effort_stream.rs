//! Order and timing of the reports that carry the force.

use crate::hid::force::Magnitudes;
use haptic_device::MAX_AXES;

/// Interval at which effects are restarted, ns: a quarter of their duration.
const RESTART_NS: u64 = 25_000_000;

/// Schedules reports one at a time, no faster than the endpoint accepts them. Performs no I/O and has no clock.
#[derive(Clone, Debug, PartialEq)]
pub struct EffortStream {
    /// Effect block index of each axis.
    pub blocks: Vec<i64>,
    interval_ns: u64,
    /// Earliest time of the next report, ns.
    free_ns: u64,
    sent: Magnitudes,
    restart_ns: [u64; MAX_AXES],
    /// Axis whose magnitude is checked first, so that the axes take turns.
    first_axis: usize,
}

/// Next action of the sending thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Start an effect.
    Start { block: i64 },
    /// Set the magnitude of an effect.
    Set { block: i64, magnitude: i64 },
    /// Nothing to send before this time, unless the magnitudes change.
    Idle { until_ns: u64 },
    /// Nothing may be sent before this time.
    Wait { until_ns: u64 },
}

impl EffortStream {
    /// Creates the stream for a newly armed device, on which every effect plays with zero force.
    pub fn new(blocks: Vec<i64>, interval_ns: u64) -> Self {
        Self { blocks, interval_ns, free_ns: 0, sent: [0; MAX_AXES], restart_ns: [0; MAX_AXES], first_axis: 0 }
    }

    /// Returns the next action towards the magnitudes `wanted`.
    pub fn next(&mut self, wanted: Magnitudes, now_ns: u64) -> Act {
        if now_ns < self.free_ns {
            return Act::Wait { until_ns: self.free_ns };
        }
        let axes = self.blocks.len();
        let due = (0..axes).find(|axis| now_ns >= self.restart_ns[*axis]);
        let changed =
            (0..axes).map(|step| (self.first_axis + step) % axes).find(|axis| wanted[*axis] != self.sent[*axis]);
        let act = match (due, changed) {
            (Some(axis), _) => {
                self.restart_ns[axis] = now_ns + RESTART_NS;
                Act::Start { block: self.blocks[axis] }
            }
            (None, Some(axis)) => {
                (self.sent[axis], self.first_axis) = (wanted[axis], (axis + 1) % axes);
                Act::Set { block: self.blocks[axis], magnitude: wanted[axis] }
            }
            (None, None) => {
                let until_ns = self.restart_ns[..axes].iter().copied().min().unwrap_or(now_ns);
                return Act::Idle { until_ns };
            }
        };
        self.free_ns = self.slot_after(now_ns);
        act
    }

    /// Returns the earliest time of the next report. Reports are sent on a fixed time grid, so that a slightly late
    /// report does not delay the following ones.
    fn slot_after(&self, now_ns: u64) -> u64 {
        let is_late = now_ns.saturating_sub(self.free_ns) > self.interval_ns;
        if is_late { now_ns + self.interval_ns } else { self.free_ns + self.interval_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Runs a stream and returns its actions with their times, ms.
    fn run(axes: usize, duration_ms: u64, wanted: impl Fn(u64) -> Magnitudes) -> Vec<(u64, Act)> {
        let mut stream = EffortStream::new((1..=axes as i64).collect(), MS);
        let mut acts = Vec::new();
        let mut now_ns = 1000 * MS;
        while now_ns < (1000 + duration_ms) * MS {
            match stream.next(wanted(now_ns / MS - 1000), now_ns) {
                Act::Idle { .. } => now_ns += MS / 4,
                Act::Wait { until_ns } => now_ns = until_ns,
                act => {
                    acts.push((now_ns / MS - 1000, act));
                    now_ns += 1000;
                }
            }
        }
        acts
    }

    #[test]
    fn two_axes_that_change_continuously_share_the_endpoint_evenly_and_never_exceed_it() {
        let acts = run(2, 1000, |ms| [ms as i64 + 1, -(ms as i64) - 1]);
        let sets = |wanted: i64| {
            acts.iter().filter(|(_, act)| matches!(act, Act::Set { block, .. } if *block == wanted)).count()
        };
        assert!(acts.len() <= 1000, "{} reports in a second", acts.len());
        assert!(sets(1) >= 455 && sets(2) >= 455, "{} and {}", sets(1), sets(2));
    }

    #[test]
    fn one_axis_gets_nearly_every_report() {
        let acts = run(1, 1000, |ms| [ms as i64 + 1, 0]);
        let sets = acts.iter().filter(|(_, act)| matches!(act, Act::Set { .. })).count();
        assert!((955..=1000).contains(&sets), "{sets}");
    }

    #[test]
    fn a_constant_force_is_sent_once_and_its_effects_are_restarted_every_25_milliseconds() {
        let acts = run(2, 1000, |_| [7, 8]);
        let sets = acts.iter().filter(|(_, act)| matches!(act, Act::Set { .. })).count();
        let starts: Vec<u64> =
            acts.iter().filter(|(_, act)| matches!(act, Act::Start { block: 1 })).map(|(ms, _)| *ms).collect();
        assert_eq!(sets, 2);
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] <= 27) && starts.len() >= 38, "{starts:?}");
    }
}

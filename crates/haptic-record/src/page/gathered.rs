//! Ticks of a recording as columns, reduced to fewer points where a plot cannot show them all.

use crate::tick_message::TickMessage;

/// Maximum number of points in a plot. If a recording has more ticks, each point shows the range of several ticks.
const MOST_POINTS: usize = 12_000;

/// Columns of a recording, all of the same length, and counts over all ticks. World frame, SI units.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the names are those of the tick's message")]
pub struct TickColumns {
    pub tick: Vec<u64>,
    pub hand_m: [Vec<f32>; 2],
    pub tool_m: [Vec<f32>; 2],
    pub force_n: [Vec<f32>; 2],
    pub normal_n: Vec<f32>,
    pub tangent_n: Vec<f32>,
    pub penetration_m: Vec<f32>,
    pub energy_j: Vec<f32>,
    pub tank_j: Vec<f32>,
    pub late_ns: Vec<u32>,
    pub compute_ns: Vec<u32>,
    pub skipped: u64,
    pub stale: u64,
    pub faults: u64,
}

/// A reduced column: the minimum and maximum over the ticks represented by each point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thinned {
    /// Minimum at each point; the value itself if every tick has its own point.
    pub low: Vec<f64>,
    /// Maximum at each point; empty if every tick has its own point.
    pub high: Vec<f64>,
}

impl TickColumns {
    /// Adds a tick.
    pub fn add(&mut self, message: &TickMessage) {
        let rounded = &message.rounded;
        self.tick.push(message.tick);
        for axis in 0..2 {
            self.hand_m[axis].push(rounded.hand_m[axis]);
            self.tool_m[axis].push(rounded.tool_m[axis]);
            self.force_n[axis].push(rounded.force_n[axis]);
        }
        self.normal_n.push(rounded.normal_force_n);
        self.tangent_n.push(rounded.tangent_force_n);
        self.penetration_m.push(rounded.penetration_m);
        self.energy_j.push(rounded.energy_j);
        self.tank_j.push(rounded.tank_j);
        self.late_ns.push(message.late_ns);
        self.compute_ns.push(message.previous_compute_ns);
        self.skipped += u64::from(message.skipped);
        self.stale += u64::from(message.stale);
        self.faults += u64::from(message.fault != 0);
    }

    /// Returns the number of ticks.
    pub fn len(&self) -> usize {
        self.tick.len()
    }

    /// Returns true if there are no ticks.
    pub fn is_empty(&self) -> bool {
        self.tick.is_empty()
    }

    /// Returns true if wake-up latency or compute time was measured.
    pub fn has_clock(&self) -> bool {
        self.late_ns.iter().any(|late| *late > 0) || self.compute_ns.iter().any(|compute| *compute > 0)
    }

    /// Returns the magnitude of the force on the hand in every tick, N.
    pub fn force_size_n(&self) -> Vec<f64> {
        let [x, y] = &self.force_n;
        x.iter().zip(y).map(|(x, y)| f64::from(*x).hypot(f64::from(*y))).collect()
    }

    /// Returns the number of ticks represented by each point of a plot.
    pub fn ticks_per_point(&self) -> usize {
        self.len().div_ceil(MOST_POINTS).max(1)
    }

    /// Returns the world time of each point, s: the number of its first tick times 1 ms.
    pub fn times_s(&self) -> Vec<f64> {
        self.tick.chunks(self.ticks_per_point()).map(|ticks| ticks[0] as f64 / 1000.0).collect()
    }

    /// Reduces a column to the number of points returned by [`Self::times_s`].
    pub fn thinned(&self, column: impl Iterator<Item = f64>) -> Thinned {
        let step = self.ticks_per_point();
        let values: Vec<f64> = column.collect();
        if step == 1 {
            return Thinned { low: values, high: Vec::new() };
        }
        let chunks = || values.chunks(step);
        Thinned {
            low: chunks().map(|chunk| chunk.iter().copied().fold(f64::INFINITY, f64::min)).collect(),
            high: chunks().map(|chunk| chunk.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes_and_the_number_of_times() {
        let ticks = 3 * MOST_POINTS as u64 - 1;
        let gathered = TickColumns { tick: (1..=ticks).collect(), ..TickColumns::default() };
        let thinned = gathered.thinned((0..ticks).map(|k| if k == 100 { 9.0 } else { k as f64 * 1e-9 }));
        assert_eq!((thinned.low.len(), thinned.high.len()), (gathered.times_s().len(), gathered.times_s().len()));
        assert_eq!(thinned.high.iter().copied().fold(0.0, f64::max), 9.0);
        assert!(thinned.low.len() <= MOST_POINTS);
    }

    #[test]
    fn few_ticks_keep_a_point_each() {
        let gathered = TickColumns { tick: vec![1, 2, 3], ..TickColumns::default() };
        assert_eq!(gathered.thinned([1.0, 2.0, 3.0].into_iter()), Thinned { low: vec![1.0, 2.0, 3.0], high: vec![] });
        assert_eq!(gathered.times_s(), [0.001, 0.002, 0.003]);
    }
}

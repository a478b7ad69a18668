//! Recorded commands and readings of one axis.

/// A recording of one axis during an experiment. Row k contains the position at tick k and the force commanded from
/// that tick onwards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Handle position at each tick, m; NaN where there was no new reading.
    pub positions_m: Vec<f64>,
    /// Force commanded from each tick onwards, N.
    pub commands_n: Vec<f64>,
}

impl Recording {
    /// Creates an empty recording with capacity for `ticks` rows. Further rows are dropped, so that adding a row never
    /// allocates.
    pub fn with_capacity(ticks: usize) -> Self {
        Self { positions_m: Vec::with_capacity(ticks), commands_n: Vec::with_capacity(ticks) }
    }

    /// Adds a row unless the recording is full. Real-time: constant.
    pub fn push(&mut self, position_m: f64, command_n: f64) {
        if self.positions_m.len() < self.positions_m.capacity() && self.commands_n.len() < self.commands_n.capacity() {
            self.positions_m.push(position_m);
            self.commands_n.push(command_n);
        }
    }

    /// Returns the number of recorded ticks.
    pub fn len(&self) -> usize {
        self.positions_m.len()
    }

    /// Whether the recording is empty.
    pub fn is_empty(&self) -> bool {
        self.positions_m.is_empty()
    }

    /// Returns the positions that were read, in order, m.
    pub fn read_m(&self) -> impl Iterator<Item = f64> + '_ {
        self.positions_m.iter().copied().filter(|position| position.is_finite())
    }

    /// Returns the distance from the lowest to the highest position, m.
    pub fn extent_m(&self) -> f64 {
        let (low, high) = self
            .read_m()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), position| (low.min(position), high.max(position)));
        (high - low).max(0.0)
    }

    /// Returns the largest magnitude of the commanded force, N.
    pub fn max_force_n(&self) -> f64 {
        self.commands_n.iter().map(|command| command.abs()).fold(0.0, f64::max)
    }

    /// Returns the position at a tick, interpolated linearly between readings, m; `None` if there are no readings.
    pub fn position_near_m(&self, tick: usize) -> Option<f64> {
        let is_read = |index: &usize| self.positions_m[*index].is_finite();
        let before = (0..=tick.min(self.len().checked_sub(1)?)).rev().find(is_read);
        let after = (tick..self.len()).find(is_read);
        match (before, after) {
            (Some(before), Some(after)) if after > before => {
                let fraction = (tick - before) as f64 / (after - before) as f64;
                Some(self.positions_m[before] + fraction * (self.positions_m[after] - self.positions_m[before]))
            }
            (Some(index), _) | (None, Some(index)) => Some(self.positions_m[index]),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_recording_takes_no_more() {
        let mut recording = Recording::with_capacity(2);
        let room = recording.positions_m.capacity();
        (0..room + 5).for_each(|tick| recording.push(tick as f64, 0.0));
        assert_eq!((recording.len(), recording.positions_m.capacity()), (room, room));
    }

    #[test]
    fn missing_readings_are_bridged_by_a_line() {
        let positions_m = vec![f64::NAN, 1.0, f64::NAN, 3.0, f64::NAN];
        let recording = Recording { positions_m, commands_n: vec![0.0; 5] };
        let places: Vec<f64> = (0..5).filter_map(|tick| recording.position_near_m(tick)).collect();
        assert_eq!(places, [1.0, 1.0, 2.0, 3.0, 3.0]);
        assert_eq!(recording.extent_m(), 2.0);
    }
}

//! Constant delay from a command to its effect; not necessarily a whole number of ticks.

/// Length of the command ring, ticks. It limits the delay.
const REMEMBERED: usize = 128;

/// Maximum delay, s: the length of the ring less one tick for the fraction and one in reserve. Usual delays are below
/// 0.003 s.
pub(super) const MAX_DELAY_S: f64 = (REMEMBERED - 2) as f64 * super::TICK_S;

/// Rounding tolerance, s: a delay at most this far below a whole number of ticks counts as that number. Far below the
/// resolution of any device.
const ROUNDING_S: f64 = 1e-12;

/// Delayed commands of one motor.
#[derive(Clone, Debug)]
pub(super) struct DelayLine {
    whole_ticks: usize,
    /// Remainder of the delay beyond whole ticks, s.
    fraction_s: f64,
    commands_n: [f64; REMEMBERED],
    newest: usize,
}

impl DelayLine {
    /// Creates a delay line filled with zero force. `delay_s` must be from zero to [`MAX_DELAY_S`].
    pub fn new(delay_s: f64) -> Self {
        let whole = ((delay_s + ROUNDING_S) / super::TICK_S).floor();
        let fraction_s = (delay_s - whole * super::TICK_S).max(0.0);
        Self { whole_ticks: whole as usize, fraction_s, commands_n: [0.0; REMEMBERED], newest: 0 }
    }

    /// Adds the command given at the start of this tick.
    ///
    /// Real-time: one store.
    pub fn push(&mut self, command_n: f64) {
        self.newest = (self.newest + 1) % REMEMBERED;
        self.commands_n[self.newest] = command_n;
    }

    /// Forces during this tick, N: first the older command, then the newer one. [`Self::parts_s`] gives their
    /// durations.
    ///
    /// Real-time: two loads.
    pub fn acting_n(&self) -> [f64; 2] {
        [self.command_before(self.whole_ticks + 1), self.command_before(self.whole_ticks)]
    }

    /// Durations of the two forces from [`Self::acting_n`], s; the same in every tick.
    pub fn parts_s(&self) -> [f64; 2] {
        [self.fraction_s, super::TICK_S - self.fraction_s]
    }

    fn command_before(&self, ticks: usize) -> f64 {
        self.commands_n[(self.newest + REMEMBERED - ticks) % REMEMBERED]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forces, N, with their durations, s, in order, after a single command of 1 N.
    fn effect_after_one_command(delay_s: f64) -> Vec<(f64, f64)> {
        let mut line = DelayLine::new(delay_s);
        let commands = std::iter::once(1.0).chain(std::iter::repeat_n(0.0, 130));
        let effect_of = |command| {
            line.push(command);
            std::iter::zip(line.acting_n(), line.parts_s())
        };
        commands.flat_map(effect_of).collect()
    }

    #[test]
    fn every_command_acts_for_exactly_one_tick() {
        for delay_s in [0.0, 0.0003, 0.001, 0.0017, 0.003, 0.0999, MAX_DELAY_S] {
            let pieces = effect_after_one_command(delay_s);
            let impulse: f64 = pieces.iter().map(|(force, duration)| force * duration).sum();
            assert!((impulse - super::super::TICK_S).abs() < 1e-15, "delay {delay_s}: {impulse}");
        }
    }

    #[test]
    fn a_command_begins_to_act_after_its_delay() {
        for delay_s in [0.0, 0.0003, 0.001, 0.0017, 0.003, 0.0999, MAX_DELAY_S] {
            let mut elapsed_s = 0.0;
            for (force, duration) in effect_after_one_command(delay_s) {
                if force > 0.0 && duration > 0.0 {
                    break;
                }
                elapsed_s += duration;
            }
            assert!((elapsed_s - delay_s).abs() < 1e-9, "delay {delay_s}: {elapsed_s}");
        }
    }
}

//! Which efforts may still go out while earlier ones are on their way.

use haptic_device::{Effort, MonotonicNs};

/// So many commands may be on their way. A line or a device that stalls gets no longer queue to work off: what is sent after
/// the stall is the newest effort, and no buffer of a small board overflows.
const OPEN_COMMANDS: u64 = 6;

/// With a full queue a command still goes out this often, ns: it may be the answers that were lost, and the device's
/// watchdog must be fed.
const INSIST_EVERY_NS: u64 = 10_000_000;

/// What went out last.
#[derive(Clone, Copy, Debug)]
pub struct InFlightLimit {
    sent_at: MonotonicNs,
    /// The last effort that went out was a force.
    pushes: bool,
}

impl InFlightLimit {
    /// Nothing went out yet.
    pub fn new() -> Self {
        Self { sent_at: MonotonicNs(0), pushes: false }
    }

    /// Whether an effort may go out now, with so many commands on their way. A zero that ends a force always may: the force would go
    /// on for as long as the stall does.
    ///
    /// Real-time: a few comparisons.
    pub fn admits(&self, effort: Effort, open_commands: u64, now: MonotonicNs) -> bool {
        let has_room = open_commands < OPEN_COMMANDS;
        let ends_a_force = self.pushes && !is_force(effort);
        has_room || ends_a_force || now.since(self.sent_at) >= INSIST_EVERY_NS
    }

    /// An effort went out, or the beginning of it.
    ///
    /// Real-time: two stores.
    pub fn note(&mut self, effort: Effort, now: MonotonicNs) {
        (self.sent_at, self.pushes) = (now, is_force(effort));
    }
}

/// What is not a number goes out as zero.
fn is_force(effort: Effort) -> bool {
    let is_number = effort.force_n.iter().all(|component| component.is_finite());
    is_number && effort != Effort::zero()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Vector2;

    const NOW: MonotonicNs = MonotonicNs(INSIST_EVERY_NS);

    fn force(force_n: f64) -> Effort {
        Effort { force_n: Vector2::new(force_n, 0.0) }
    }

    fn after(effort: Effort) -> InFlightLimit {
        let mut queue = InFlightLimit::new();
        queue.note(effort, NOW);
        queue
    }

    #[test]
    fn a_full_queue_holds_back_forces_until_it_must_insist() {
        let queue = after(force(1.0));
        assert!(queue.admits(force(2.0), OPEN_COMMANDS - 1, NOW));
        assert!(!queue.admits(force(2.0), OPEN_COMMANDS, NOW));
        assert!(queue.admits(force(2.0), OPEN_COMMANDS, NOW.after(INSIST_EVERY_NS)));
    }

    #[test]
    fn a_zero_that_ends_a_force_passes_a_full_queue_and_the_zeros_after_it_wait() {
        assert!(after(force(1.0)).admits(Effort::zero(), OPEN_COMMANDS, NOW));
        assert!(after(force(1.0)).admits(force(f64::NAN), OPEN_COMMANDS, NOW), "goes out as zero");
        assert!(!after(Effort::zero()).admits(Effort::zero(), OPEN_COMMANDS, NOW));
    }
}

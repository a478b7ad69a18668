//! Limits the number of commands in flight, and holds commands back while the link resynchronises.

use crate::link_monitor::LinkMonitor;
use haptic_device::{Effort, MonotonicNs};

/// Maximum number of commands in flight. It bounds the backlog of a stalled line or device, so that the newest effort
/// is sent soon after the stall and the buffer of a small board does not overflow.
const MAX_IN_FLIGHT: u64 = 6;

/// Time since the last command after which a command is sent even if the limit is reached, ns. The answers alone may
/// have been lost, and the device's watchdog must be fed.
const SEND_ANYWAY_EVERY_NS: u64 = 10_000_000;

/// Limits the number of commands in flight. Stores the time of the last command and whether it requested a force.
#[derive(Clone, Copy, Debug, Default)]
pub struct InFlightLimit {
    sent_at: MonotonicNs,
    /// Whether the last command requested a force.
    pushes: bool,
}

impl InFlightLimit {
    /// Creates a limit before the first command.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether an effort may be sent now on the link with this monitor. A zero effort that ends a force is always
    /// admitted; otherwise, the force would last as long as the stall.
    ///
    /// Real-time: three atomic loads and a few comparisons.
    pub fn admits(&self, effort: Effort, monitor: &LinkMonitor, now: MonotonicNs) -> bool {
        let ends_a_force = self.pushes && !is_force(effort);
        let since_last_ns = now.since(self.sent_at);
        ends_a_force
            || match monitor.hold_ns() {
                0 => monitor.in_flight() < MAX_IN_FLIGHT || since_last_ns >= SEND_ANYWAY_EVERY_NS,
                interval_ns => since_last_ns >= interval_ns,
            }
    }

    /// Records that an effort was sent, completely or in part.
    ///
    /// Real-time: two stores.
    pub fn record(&mut self, effort: Effort, now: MonotonicNs) {
        (self.sent_at, self.pushes) = (now, is_force(effort));
    }
}

/// Whether the command for an effort requests a force. A non-finite effort is sent as zero.
fn is_force(effort: Effort) -> bool {
    let is_finite = effort.force_n.iter().all(|component| component.is_finite());
    is_finite && effort != Effort::zero()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Vector2;

    const NOW: MonotonicNs = MonotonicNs(SEND_ANYWAY_EVERY_NS);

    fn force(force_n: f64) -> Effort {
        Effort { force_n: Vector2::new(force_n, 0.0) }
    }

    fn after(effort: Effort) -> InFlightLimit {
        let mut limit = InFlightLimit::new();
        limit.record(effort, NOW);
        limit
    }

    /// A link with this many commands in flight.
    fn link(in_flight: u64) -> LinkMonitor {
        let monitor = LinkMonitor::default();
        (0..in_flight).for_each(|number| monitor.record_sent(number as u8, NOW));
        monitor
    }

    #[test]
    fn at_the_limit_a_force_waits_until_the_interval_is_over() {
        let limit = after(force(1.0));
        assert!(limit.admits(force(2.0), &link(MAX_IN_FLIGHT - 1), NOW));
        assert!(!limit.admits(force(2.0), &link(MAX_IN_FLIGHT), NOW));
        assert!(limit.admits(force(2.0), &link(MAX_IN_FLIGHT), NOW.after(SEND_ANYWAY_EVERY_NS)));
    }

    #[test]
    fn at_the_limit_a_zero_that_ends_a_force_is_sent_and_further_zeros_wait() {
        let full = link(MAX_IN_FLIGHT);
        assert!(after(force(1.0)).admits(Effort::zero(), &full, NOW));
        assert!(after(force(1.0)).admits(force(f64::NAN), &full, NOW), "it is sent as zero");
        assert!(!after(Effort::zero()).admits(Effort::zero(), &full, NOW));
    }

    #[test]
    fn while_the_link_resynchronises_a_force_waits_and_a_zero_that_ends_a_force_is_sent() {
        let (limit, monitor) = (after(force(1.0)), link(0));
        monitor.hold(20_000_000);
        assert!(!limit.admits(force(2.0), &monitor, NOW.after(SEND_ANYWAY_EVERY_NS)));
        assert!(limit.admits(force(2.0), &monitor, NOW.after(20_000_000)), "the watchdog is fed");
        assert!(limit.admits(Effort::zero(), &monitor, NOW));
        monitor.hold(0);
        assert!(limit.admits(force(2.0), &monitor, NOW));
    }
}

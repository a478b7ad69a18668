//! Serial line faults: frames are dropped, damaged or delayed at random, reproducibly from a seed.

use haptic_device::xorshift::Xorshift;
use std::collections::VecDeque;

/// Faults to inject into a serial line, with their probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LineFaults {
    /// Fraction of exchanges lost, half of them in each direction.
    pub drop: f64,
    /// Fraction of exchanges damaged, half of them in each direction.
    pub garbage: f64,
    /// Maximum delay of replies, ns. Delays are random, but replies keep their order.
    pub delay_ns: u64,
    /// Random seed.
    pub seed: u64,
}

/// Counts of injected faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCount {
    /// Number of frames lost.
    pub dropped: u64,
    /// Number of frames damaged.
    pub damaged: u64,
}

/// A serial line that injects faults and delays replies.
#[derive(Clone, Debug)]
pub struct FaultyLine {
    faults: LineFaults,
    random: Xorshift,
    late: VecDeque<(u64, Vec<u8>)>,
    count: FaultCount,
}

impl FaultyLine {
    /// Creates a line without queued replies.
    pub fn new(faults: LineFaults) -> Self {
        Self { faults, random: Xorshift::new(faults.seed), late: VecDeque::new(), count: FaultCount::default() }
    }

    /// Returns the counts of faults injected so far.
    pub fn count(&self) -> FaultCount {
        self.count
    }

    /// Applies faults to a frame and returns it; `None` if the frame is lost.
    pub fn pass(&mut self, mut frame: Vec<u8>) -> Option<Vec<u8>> {
        if self.random.unit() < self.faults.drop / 2.0 {
            self.count.dropped += 1;
            return None;
        }
        if self.random.unit() < self.faults.garbage / 2.0 {
            self.count.damaged += 1;
            let place = (self.random.unit() * frame.len() as f64) as usize;
            if let Some(byte) = frame.get_mut(place) {
                *byte ^= 1 << (self.random.unit() * 8.0) as u8;
            }
        }
        Some(frame)
    }

    /// Applies faults to a reply and, unless it is lost, queues it until it is due.
    pub fn hold(&mut self, frame: Vec<u8>, now_ns: u64) {
        let wanted_ns = now_ns + (self.random.unit() * self.faults.delay_ns as f64) as u64;
        let due_ns = self.late.back().map_or(wanted_ns, |(before_ns, _)| wanted_ns.max(*before_ns));
        if let Some(frame) = self.pass(frame) {
            self.late.push_back((due_ns, frame));
        }
    }

    /// Removes and returns the next reply that is due, if any.
    pub fn due(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        let is_due = self.late.front().is_some_and(|(due_ns, _)| *due_ns <= now_ns);
        if is_due { self.late.pop_front().map(|(_, frame)| frame) } else { None }
    }

    /// Due time of the next reply, ns; `None` if no reply is queued.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.late.front().map(|(due_ns, _)| *due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_faults_passes_everything_at_once() {
        let mut line = FaultyLine::new(LineFaults::default());
        line.hold(vec![1, 2], 5);
        assert_eq!((line.due(5), line.due(5)), (Some(vec![1, 2]), None));
    }

    #[test]
    fn late_answers_keep_their_order() {
        let mut line = FaultyLine::new(LineFaults { delay_ns: 1000, ..LineFaults::default() });
        (0..100).for_each(|number| line.hold(vec![number], u64::from(number)));
        let all: Vec<u8> = std::iter::from_fn(|| line.due(5000)).flatten().collect();
        assert_eq!(all, (0..100).collect::<Vec<u8>>());
    }

    #[test]
    fn fractions_are_as_configured() {
        let mut line = FaultyLine::new(LineFaults { drop: 0.2, garbage: 0.1, ..LineFaults::default() });
        let passed = (0..10_000).filter(|_| line.pass(vec![0; 10]).is_some()).count();
        assert!((8_800..9_200).contains(&passed), "{passed}");
        assert!((350..650).contains(&line.count().damaged), "{:?}", line.count());
    }
}

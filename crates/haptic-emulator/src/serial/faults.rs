//! Serial line faults: frames are dropped, damaged or delayed at random, reproducibly from a seed, or as planned.

use crate::planned_fault::{ActiveFaults, FaultKind};
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
    active: ActiveFaults,
    count: FaultCount,
}

impl FaultyLine {
    /// Creates a line without queued replies.
    pub fn new(faults: LineFaults) -> Self {
        Self {
            faults,
            random: Xorshift::new(faults.seed),
            late: VecDeque::new(),
            active: ActiveFaults::default(),
            count: FaultCount::default(),
        }
    }

    /// Returns the counts of faults injected so far.
    pub fn count(&self) -> FaultCount {
        self.count
    }

    /// Sets the active planned faults; faults of the encoders are ignored.
    pub fn set_faults(&mut self, active: ActiveFaults) {
        self.active = active;
    }

    /// Applies faults to bytes from the host and returns them; `None` if they are lost.
    pub fn receive(&mut self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        self.pass(bytes, FaultKind::CutIn)
    }

    /// Applies faults to a reply and, unless it is lost, queues it until it is due.
    pub fn hold(&mut self, frame: Vec<u8>, now_ns: u64) {
        let wanted_ns = now_ns + (self.random.unit() * self.faults.delay_ns as f64) as u64;
        let due_ns = self.late.back().map_or(wanted_ns, |(before_ns, _)| wanted_ns.max(*before_ns));
        let copies = if self.active.contains(FaultKind::Doubled) { 2 } else { 1 };
        if let Some(frame) = self.pass(frame, FaultKind::CutOut) {
            self.late.extend(std::iter::repeat_n((due_ns, frame), copies));
        }
    }

    /// Applies faults to a frame and returns it; `None` if it is lost, as every frame is during a `cut`.
    fn pass(&mut self, mut frame: Vec<u8>, cut: FaultKind) -> Option<Vec<u8>> {
        if self.active.contains(cut) || self.random.unit() < self.faults.drop / 2.0 {
            self.count.dropped += 1;
            return None;
        }
        if self.active.contains(FaultKind::Garbage) || self.random.unit() < self.faults.garbage / 2.0 {
            self.count.damaged += 1;
            self.damage(&mut frame);
        }
        Some(frame)
    }

    /// Flips one bit of a frame.
    fn damage(&mut self, frame: &mut [u8]) {
        let place = (self.random.unit() * frame.len() as f64) as usize;
        if let Some(byte) = frame.get_mut(place) {
            *byte ^= 1 << (self.random.unit() * 8.0) as u8;
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
        let passed = (0..10_000).filter(|_| line.receive(vec![0; 10]).is_some()).count();
        assert!((8_800..9_200).contains(&passed), "{passed}");
        assert!((350..650).contains(&line.count().damaged), "{:?}", line.count());
    }

    /// A line with one active planned fault.
    fn faulty(kind: FaultKind) -> FaultyLine {
        let mut line = FaultyLine::new(LineFaults::default());
        line.set_faults([kind].into_iter().collect());
        line
    }

    /// Everything that arrives at the host after one answer.
    fn answered(line: &mut FaultyLine, answer: &[u8]) -> Vec<Vec<u8>> {
        line.hold(answer.to_vec(), 0);
        std::iter::from_fn(|| line.due(0)).collect()
    }

    #[test]
    fn each_cut_blocks_one_direction() {
        let mut line = faulty(FaultKind::CutIn);
        assert_eq!((line.receive(vec![1]), answered(&mut line, &[2])), (None, vec![vec![2]]));
        let mut line = faulty(FaultKind::CutOut);
        assert_eq!((line.receive(vec![1]), answered(&mut line, &[2])), (Some(vec![1]), vec![]));
        assert_eq!(line.count(), FaultCount { dropped: 1, damaged: 0 });
    }

    #[test]
    fn doubled_answers_arrive_twice_and_commands_once() {
        let mut line = faulty(FaultKind::Doubled);
        assert_eq!((line.receive(vec![1]), answered(&mut line, &[2])), (Some(vec![1]), vec![vec![2], vec![2]]));
    }

    #[test]
    fn garbage_damages_one_byte_of_every_message() {
        let mut line = faulty(FaultKind::Garbage);
        for _ in 0..100 {
            for message in [line.receive(vec![7; 5]).unwrap(), answered(&mut line, &[7; 5]).remove(0)] {
                assert_eq!(message.iter().filter(|byte| **byte != 7).count(), 1, "{message:?}");
            }
        }
        assert_eq!(line.count(), FaultCount { dropped: 0, damaged: 200 });
    }

    #[test]
    fn a_planned_fault_leaves_the_random_ones_as_they_are() {
        let random = LineFaults { drop: 0.2, garbage: 0.1, ..LineFaults::default() };
        let pass = |line: &mut FaultyLine| (0..1000).map(|_| line.receive(vec![0; 10])).collect::<Vec<_>>();
        let (mut plain, mut planned) = (FaultyLine::new(random), FaultyLine::new(random));
        planned.set_faults([FaultKind::Doubled, FaultKind::Frozen].into_iter().collect());
        assert_eq!(pass(&mut plain), pass(&mut planned));
    }
}

//! The commands that stay in flight after an answer, and how many of them the round trip explains.
//!
//! On a prompt line there are none. If answers have been lost, that number never falls below the number of lost ones.
//! It does not on a line either whose answers take longer than a tick. What distinguishes them is a resynchronisation:
//! if all commands were answered, the round trip explains the number, and it is no reason to resynchronise again.

/// Number of answers over which several commands too many are noticed.
const SHORT: usize = 8;
/// Number of answers over which one command too many is noticed.
const LONG: u32 = 64;

/// The smallest numbers of commands in flight after an answer.
#[derive(Clone, Debug)]
pub struct Backlog {
    /// Numbers after the last answers.
    recent: [u64; SHORT],
    /// Number of answers since the start.
    answers: usize,
    /// Smallest number in the current long window.
    least: u64,
    /// Largest of the smallest recent numbers in the current long window.
    largest: u64,
    in_window: u32,
    /// Number that the round trip explains.
    explained: u64,
    /// Whether one command too many was in flight in the whole of the last long window.
    was_exceeded: bool,
}

impl Default for Backlog {
    fn default() -> Self {
        Self {
            recent: [0; SHORT],
            answers: 0,
            least: u64::MAX,
            largest: 0,
            in_window: 0,
            explained: 0,
            was_exceeded: false,
        }
    }
}

impl Backlog {
    /// Records the number of commands in flight after an answer.
    pub fn record(&mut self, in_flight: u64) {
        self.recent[self.answers % SHORT] = in_flight;
        self.answers += 1;
        self.least = self.least.min(in_flight);
        self.largest = self.largest.max(self.recent_least());
        self.in_window += 1;
        if self.in_window == LONG {
            self.was_exceeded = self.least > self.explained;
            self.explained = self.explained.min(self.largest);
            (self.least, self.largest, self.in_window) = (u64::MAX, 0, 0);
        }
    }

    /// Whether more commands are in flight than the round trip explains.
    pub fn is_unexplained(&self) -> bool {
        self.was_exceeded || self.recent_least() > self.explained + 1
    }

    /// Records that all commands were answered in the end: the round trip explains the number.
    pub fn explain(&mut self) {
        self.explained = self.explained.max(self.recent_least());
        self.clear();
    }

    /// Forgets the numbers, but not what is explained.
    pub fn clear(&mut self) {
        *self = Self { explained: self.explained, ..Self::default() };
    }

    fn recent_least(&self) -> u64 {
        self.recent.iter().copied().min().unwrap_or(0)
    }
}

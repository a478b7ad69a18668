//! Black box: about two seconds of tick reports, ending a tenth of a second after a fault, for diagnosis.
//!
//! Every tick writes its report directly into the next row of a ring that is allocated at the start; nothing is copied.
//! Once the ticks that follow a fault are recorded, the full ring is exchanged for a spare one, and an ordinary thread
//! writes the full one to disk.

use crate::report::TickReport;

/// Number of ticks in a black box, about two seconds. A power of two, so that wrapping an index takes no comparison.
pub const BLACK_BOX_TICKS: usize = 2048;
/// Number of ticks recorded between a fault and the last tick of its black box, to show how the force ends.
pub const AFTERMATH_TICKS: u32 = 100;

/// A ring of the newest tick reports. When it is full, each new report overwrites the oldest.
#[derive(Clone, Debug)]
pub struct BlackBox {
    rows: Box<[TickReport; BLACK_BOX_TICKS]>,
    /// Index of the newest report; kept in range by [`on_ring`].
    newest: usize,
    /// Number of rows written since the box was last cleared.
    written: usize,
}

/// Wraps an index around the ring.
const fn on_ring(latest: usize) -> usize {
    latest % BLACK_BOX_TICKS
}

impl Default for BlackBox {
    fn default() -> Self {
        Self::new()
    }
}

impl BlackBox {
    /// Creates an empty black box. Every page of its memory is touched here, so that no tick causes a page fault.
    pub fn new() -> Self {
        let rows = vec![TickReport::default(); BLACK_BOX_TICKS].into_boxed_slice();
        let rows = rows.try_into().unwrap_or_else(|_| unreachable!("the slice was made with this length"));
        Self { rows, newest: 0, written: 0 }
    }

    /// The row after the newest one, for writing. It holds an old report and counts only after [`Self::commit`].
    /// Real-time: constant.
    pub fn next_row(&mut self) -> &mut TickReport {
        &mut self.rows[on_ring(self.newest + 1)]
    }

    /// Makes the next row the newest one. Real-time: constant.
    pub fn commit(&mut self) {
        self.newest = on_ring(self.newest + 1);
        self.written += 1;
    }

    /// The newest row. Real-time: constant.
    pub fn latest(&self) -> &TickReport {
        &self.rows[on_ring(self.newest)]
    }

    /// The newest row, for writing. Real-time: constant.
    pub fn latest_mut(&mut self) -> &mut TickReport {
        &mut self.rows[on_ring(self.newest)]
    }

    /// Empties the box. Real-time: constant.
    pub fn clear(&mut self) {
        self.written = 0;
    }

    /// Reports in the box, oldest first.
    pub fn reports(&self) -> impl Iterator<Item = &TickReport> {
        let count = self.written.min(BLACK_BOX_TICKS);
        let oldest = self.newest + BLACK_BOX_TICKS + 1 - count;
        (oldest..oldest + count).map(|latest| &self.rows[on_ring(latest)])
    }
}

/// The black boxes of one loop: the current one, a spare, and a full one after a fault.
#[derive(Debug)]
pub(crate) struct BlackBoxRecorder {
    running: Box<BlackBox>,
    spare: Option<Box<BlackBox>>,
    full: Option<Box<BlackBox>>,
    /// Number of ticks until the current box is complete; `None` unless the ticks after a fault are being recorded.
    aftermath: Option<u32>,
}

impl BlackBoxRecorder {
    pub(crate) fn new() -> Self {
        let (running, spare) = (Box::default(), Some(Box::default()));
        Self { running, spare, full: None, aftermath: None }
    }

    /// The row after the newest one, for writing. Real-time: constant.
    pub(crate) fn next_row(&mut self) -> &mut TickReport {
        self.running.next_row()
    }

    /// The newest row.
    pub(crate) fn latest(&self) -> &TickReport {
        self.running.latest()
    }

    /// The newest row, for writing.
    pub(crate) fn latest_mut(&mut self) -> &mut TickReport {
        self.running.latest_mut()
    }

    /// Makes the next row the newest one. Sets the box aside once the ticks after a fault are recorded. Real-time:
    /// constant.
    pub(crate) fn commit(&mut self) {
        self.running.commit();
        if self.aftermath.is_some() || self.latest().fault.is_some() {
            self.commit_aftermath();
        }
    }

    #[cold]
    fn commit_aftermath(&mut self) {
        self.aftermath = match self.aftermath {
            Some(0) => self.put_aside(),
            Some(left) => Some(left - 1),
            None => Some(AFTERMATH_TICKS),
        };
    }

    pub(crate) fn take_full(&mut self) -> Option<Box<BlackBox>> {
        self.full.take()
    }

    /// Takes the current box if ticks after a fault are still being recorded, or unconditionally if `in_any_case` is
    /// set.
    pub(crate) fn take_unfinished(&mut self, in_any_case: bool) -> Option<Box<BlackBox>> {
        let is_wanted = in_any_case || self.aftermath.take().is_some();
        is_wanted.then(|| std::mem::take(&mut self.running))
    }

    pub(crate) fn give_spare(&mut self, mut black_box: Box<BlackBox>) {
        black_box.clear();
        self.spare = Some(black_box);
    }

    /// Sets the current box aside as the full one and continues with the spare. Without a spare, the current box stays
    /// in use, because the box of the first fault is more useful.
    fn put_aside(&mut self) -> Option<u32> {
        if let Some(mut spare) = self.spare.take() {
            // The newest report must stay readable.
            *spare.latest_mut() = *self.latest();
            self.full = Some(std::mem::replace(&mut self.running, spare));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    fn tick(tick: u64) -> TickReport {
        TickReport { tick, ..TickReport::default() }
    }

    fn record(black_box: &mut BlackBox, report: TickReport) {
        *black_box.next_row() = report;
        black_box.commit();
    }

    fn write(recorder: &mut BlackBoxRecorder, report: TickReport) {
        *recorder.next_row() = report;
        recorder.commit();
        assert_eq!(recorder.latest().tick, report.tick);
    }

    #[test]
    fn the_newest_two_seconds_are_kept_in_order() {
        let mut black_box = BlackBox::new();
        (1..=5).for_each(|number| record(&mut black_box, tick(number)));
        assert_eq!(black_box.reports().map(|report| report.tick).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        (6..=4500).for_each(|number| record(&mut black_box, tick(number)));
        let remembered: Vec<u64> = black_box.reports().map(|report| report.tick).collect();
        assert_eq!(remembered, (4500 - BLACK_BOX_TICKS as u64 + 1..=4500).collect::<Vec<_>>());
    }

    #[test]
    fn a_fault_gives_one_full_box_with_its_aftermath_and_recording_goes_on() {
        let mut recorder = BlackBoxRecorder::new();
        let fault = Some(Fault::ForceNotFinite);
        (1..=50).for_each(|number| write(&mut recorder, tick(number)));
        write(&mut recorder, TickReport { fault, ..tick(51) });
        assert!(recorder.take_full().is_none());
        (52..=300).for_each(|number| write(&mut recorder, tick(number)));
        let full = recorder.take_full().unwrap();
        assert_eq!(full.reports().last().unwrap().tick, 51 + u64::from(AFTERMATH_TICKS) + 1);
        assert_eq!(full.reports().filter(|report| report.fault.is_some()).count(), 1);
        recorder.give_spare(full);
        write(&mut recorder, TickReport { fault, ..tick(301) });
        (302..=500).for_each(|number| write(&mut recorder, tick(number)));
        assert!(recorder.take_full().is_some());
    }
}

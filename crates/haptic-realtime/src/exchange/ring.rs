//! Passes on every value in order, through a wait-free single-producer single-consumer ring of fixed capacity.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Creates a ring with room for `capacity` values and returns its two ends.
pub fn ring<T: Send>(capacity: usize) -> (RingWriter<T>, RingReader<T>) {
    let (producer, consumer) = rtrb::RingBuffer::new(capacity);
    let dropped = Arc::new(AtomicU64::new(0));
    (RingWriter { producer, dropped: Arc::clone(&dropped) }, RingReader { consumer, dropped })
}

/// The writing end of a ring.
#[derive(Debug)]
pub struct RingWriter<T> {
    producer: rtrb::Producer<T>,
    dropped: Arc<AtomicU64>,
}

/// The reading end of a ring.
#[derive(Debug)]
pub struct RingReader<T> {
    consumer: rtrb::Consumer<T>,
    dropped: Arc<AtomicU64>,
}

impl<T> RingWriter<T> {
    /// Pushes `value` and returns true. If the ring is full, drops and counts the value and returns false. Real-time:
    /// wait-free, about 0.1 µs.
    pub fn push(&mut self, value: T) -> bool {
        let pushed = self.producer.push(value).is_ok();
        if !pushed {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        pushed
    }

    /// Lower bound on the number of free slots; the reader may free more at any time. Real-time: one atomic load.
    pub fn room(&self) -> usize {
        self.producer.slots()
    }

    /// Pushes `value` and returns true if at least `reserve` slots stay free. Otherwise, drops and counts the value and
    /// returns false. Real-time: same as [`RingWriter::push`].
    pub fn push_with_reserve(&mut self, reserve: usize, value: T) -> bool {
        if self.room() > reserve {
            return self.push(value);
        }
        self.dropped.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Number of values dropped so far because the ring was full. Real-time: one atomic load.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Whether the reader is gone, so that pushed values are lost. Real-time: one atomic load.
    pub fn is_abandoned(&self) -> bool {
        self.producer.is_abandoned()
    }
}

impl<T> RingReader<T> {
    /// Removes the oldest value and returns it, if there is one. Real-time: wait-free.
    pub fn pop(&mut self) -> Option<T> {
        self.consumer.pop().ok()
    }

    /// Removes and returns the values present when it is called, but no later ones, so that a fast writer cannot occupy
    /// the reader forever.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        let available = self.consumer.slots();
        (0..available).map_while(|_| self.pop())
    }

    /// Number of values dropped so far because the ring was full.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Whether the writer is gone, so that an empty ring stays empty.
    pub fn is_abandoned(&self) -> bool {
        self.consumer.is_abandoned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_a_reserve_is_dropped_before_the_ring_is_full() {
        let (mut writer, mut reader) = ring(4);
        (0..9).for_each(|value| _ = writer.push_with_reserve(2, value));
        assert_eq!((writer.room(), writer.dropped()), (2, 7));
        assert!(writer.push(9) && writer.push(10));
        assert_eq!(reader.drain().collect::<Vec<_>>(), [0, 1, 9, 10]);
    }

    #[test]
    fn values_come_out_in_order() {
        let (mut writer, mut reader) = ring(4);
        (0..3).for_each(|value| assert!(writer.push(value)));
        assert_eq!(reader.drain().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(reader.pop(), None);
    }

    #[test]
    fn a_full_ring_drops_the_newest_and_both_ends_know_how_many() {
        let (mut writer, mut reader) = ring(4);
        let accepted = (0..10).filter(|value| writer.push(*value)).count();
        assert_eq!((accepted, writer.dropped(), reader.dropped()), (4, 6, 6));
        assert_eq!(reader.drain().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert!(writer.push(10));
        assert_eq!(reader.dropped(), 6);
    }

    #[test]
    fn received_and_dropped_add_up_to_pushed_across_threads() {
        const PUSHED: u64 = 50_000;
        let (mut writer, mut reader) = ring(64);
        let push_all = move || (0..PUSHED).filter(|value| writer.push(*value)).count() as u64;
        let writing = std::thread::spawn(push_all);
        let (mut received, mut newest) = (0, None);
        loop {
            let abandoned = reader.is_abandoned();
            while let Some(value) = reader.pop() {
                assert!(Some(value) > newest, "out of order");
                newest = Some(value);
                received += 1;
            }
            if abandoned {
                break;
            }
        }
        assert_eq!(received, writing.join().unwrap());
        assert_eq!(received + reader.dropped(), PUSHED);
    }

    #[test]
    fn each_end_notices_that_the_other_is_gone() {
        let (writer, reader) = ring::<u8>(1);
        drop(reader);
        assert!(writer.is_abandoned());
    }
}

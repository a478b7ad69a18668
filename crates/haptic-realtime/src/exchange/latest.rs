//! Exchange of the newest value through a triple buffer: writer and reader each own a slot and swap it with the third.

/// Creates a latest-value exchange and returns its two ends. Before the first publication, the reader sees `initial`.
pub fn latest<T: Clone + Send>(initial: T) -> (LatestWriter<T>, LatestReader<T>) {
    let (input, output) = triple_buffer::triple_buffer(&initial);
    (LatestWriter { input }, LatestReader { output })
}

/// The writing end of a latest-value exchange.
#[derive(Debug)]
pub struct LatestWriter<T: Send> {
    input: triple_buffer::Input<T>,
}

/// The reading end of a latest-value exchange.
#[derive(Debug)]
pub struct LatestReader<T: Send> {
    output: triple_buffer::Output<T>,
}

impl<T: Send> LatestWriter<T> {
    /// Publishes `value`. Real-time: wait-free, one move and one atomic swap. This drops an earlier value, so `T`
    /// should not own heap memory if the loop is the writer.
    pub fn publish(&mut self, value: T) {
        self.input.write(value);
    }

    /// Updates the writer's slot with `fill` and publishes it, for values too large to move. The slot contains some
    /// earlier value, not necessarily the last. Real-time: wait-free, the cost of `fill` and one swap.
    pub fn publish_with(&mut self, fill: impl FnOnce(&mut T)) {
        fill(self.input.input_buffer_mut());
        self.input.publish();
    }
}

impl<T: Send> LatestReader<T> {
    /// Returns the newest value. Real-time: wait-free, at most one atomic swap.
    pub fn read(&mut self) -> &T {
        self.output.read()
    }

    /// Returns the newest value if it was published since the last read, or `None`. Real-time: wait-free.
    pub fn read_if_new(&mut self) -> Option<&T> {
        if self.output.update() { Some(self.output.output_buffer()) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_sees_the_initial_value_then_only_the_newest() {
        let (mut writer, mut reader) = latest(0);
        assert_eq!(*reader.read(), 0);
        writer.publish(1);
        writer.publish(2);
        assert_eq!(*reader.read(), 2);
        assert_eq!(*reader.read(), 2);
    }

    #[test]
    fn a_value_is_new_once() {
        let (mut writer, mut reader) = latest(0);
        assert_eq!(reader.read_if_new(), None);
        writer.publish_with(|slot| *slot = 5);
        assert_eq!(reader.read_if_new(), Some(&5));
        assert_eq!(reader.read_if_new(), None);
    }

    #[test]
    fn values_read_across_threads_are_whole_and_never_go_back() {
        let (mut writer, mut reader) = latest([0u64; 16]);
        let writing = std::thread::spawn(move || (1..=20_000).for_each(|value| writer.publish([value; 16])));
        let mut newest = 0;
        while newest < 20_000 {
            let values = *reader.read();
            assert!(values.iter().all(|value| *value == values[0]), "a torn value");
            assert!(values[0] >= newest, "an older value after a newer one");
            newest = values[0];
        }
        writing.join().unwrap();
    }
}

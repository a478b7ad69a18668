//! Requests to the loop, on a bounded crossbeam channel.
//!
//! There are many senders and one receiver, which only polls. Because the receiver never blocks in `recv`, a send wakes
//! no thread, and polling an empty channel costs two atomic loads.

use crossbeam_channel::{Receiver, Sender, bounded};

/// Creates a command queue with room for `capacity` commands and returns its two ends.
pub fn commands<T: Send>(capacity: usize) -> (CommandSender<T>, CommandReceiver<T>) {
    let (sender, receiver) = bounded(capacity);
    (CommandSender { sender }, CommandReceiver { receiver })
}

/// Sending end of a command queue; clone it for every sender.
#[derive(Debug)]
pub struct CommandSender<T> {
    sender: Sender<T>,
}

/// Receiving end of a command queue, in the loop.
#[derive(Debug)]
pub struct CommandReceiver<T> {
    receiver: Receiver<T>,
}

/// Reason why a command was not accepted, together with the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The queue is full, because the loop is still processing earlier commands; try again later.
    Full(T),
    /// The loop has ended.
    Disconnected(T),
}

impl<T> std::fmt::Display for TrySendError<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Full(_) => "the loop has not caught up with earlier commands; try again in a moment",
            Self::Disconnected(_) => "the loop has ended and accepts no commands",
        })
    }
}

impl<T: std::fmt::Debug> std::error::Error for TrySendError<T> {}

impl<T> Clone for CommandSender<T> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone() }
    }
}

impl<T> CommandSender<T> {
    /// Queues a command without waiting. If it is not accepted, the error contains it.
    pub fn send(&self, command: T) -> Result<(), TrySendError<T>> {
        self.sender.try_send(command).map_err(|refused| match refused {
            crossbeam_channel::TrySendError::Full(command) => TrySendError::Full(command),
            crossbeam_channel::TrySendError::Disconnected(command) => TrySendError::Disconnected(command),
        })
    }
}

impl<T> CommandReceiver<T> {
    /// Returns the commands to handle in this tick, oldest first, at most `most` of them; the rest wait for the next
    /// tick. The loop must not drop commands that own heap memory; it sends them to another thread through a ring.
    /// Real-time: no allocation, at most `most` polls.
    pub fn poll(&self, most: usize) -> impl Iterator<Item = T> + '_ {
        self.receiver.try_iter().take(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_takes_at_most_its_cap_and_leaves_the_rest_in_order() {
        let (sender, receiver) = commands(8);
        (0..5).for_each(|command| sender.send(command).unwrap());
        assert_eq!(receiver.poll(3).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(receiver.poll(3).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(receiver.poll(3).count(), 0);
    }

    #[test]
    fn a_full_queue_gives_the_command_back() {
        let (sender, _receiver) = commands(1);
        sender.clone().send("first").unwrap();
        assert_eq!(sender.send("second"), Err(TrySendError::Full("second")));
    }

    #[test]
    fn a_command_to_an_ended_loop_comes_back() {
        let (sender, receiver) = commands(1);
        drop(receiver);
        assert_eq!(sender.send(1), Err(TrySendError::Disconnected(1)));
    }
}

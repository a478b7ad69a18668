//! Runs the recorder on a separate thread, so that a stalled disk blocks no other thread.

use crate::file::RecordError;
use crate::recorder::{Ended, Recorder};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval between two reads of the rings, which can hold 16 s of records.
const ROUND: Duration = Duration::from_millis(20);
/// Number of reads between two checks that the file still exists.
const ROUNDS_PER_LOOK: u32 = 25;

/// Notice to the user about a running recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Ticks were dropped; contains the total so far.
    Lost(u64),
    /// The recording ended with an error before it was stopped.
    Failed(RecordError),
}

/// Handle for a running recorder thread.
#[derive(Debug)]
pub struct RecorderThread {
    thread: JoinHandle<Ended>,
    stop: Arc<AtomicBool>,
    notices: Receiver<Notice>,
}

impl RecorderThread {
    /// Starts a thread that runs a recorder.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub fn start(recorder: Recorder) -> std::io::Result<Self> {
        let stop = Arc::<AtomicBool>::default();
        let (sender, notices) = channel();
        let stop_inside = Arc::clone(&stop);
        let body = move || {
            let ended = record(recorder, &stop_inside, &sender);
            if let Some(error) = &ended.error {
                // The receiver may already be gone; `finish` then reports the error.
                let _ = sender.send(Notice::Failed(error.clone()));
            }
            ended
        };
        let thread = std::thread::Builder::new().name("hapticd-record".to_owned()).spawn(body)?;
        Ok(Self { thread, stop, notices })
    }

    /// Returns the next notice to the user, if any.
    pub fn notice(&self) -> Option<Notice> {
        self.notices.try_recv().ok()
    }

    /// Stops the thread, which first writes the remaining records and closes the file. Returns how the recording ended.
    pub fn finish(self) -> Ended {
        self.stop.store(true, Ordering::Release);
        let panicked = || RecordError::ended(Path::new(""), "the recorder panicked".to_owned());
        self.thread.join().unwrap_or_else(|_| Ended { error: Some(panicked()), ..Ended::default() })
    }
}

/// Records until `stop`, and closes the file.
fn record(mut recorder: Recorder, stop: &AtomicBool, notices: &Sender<Notice>) -> Ended {
    let written = record_until(&mut recorder, stop, notices);
    recorder.end(written)
}

fn record_until(recorder: &mut Recorder, stop: &AtomicBool, notices: &Sender<Notice>) -> Result<(), RecordError> {
    let (mut rounds, mut told) = (0_u32, 0);
    while !stop.load(Ordering::Acquire) {
        recorder.drain()?;
        let [lost, ..] = recorder.dropped();
        if lost > told {
            told = lost;
            let _ = notices.send(Notice::Lost(lost));
        }
        rounds = rounds.wrapping_add(1);
        if rounds.is_multiple_of(ROUNDS_PER_LOOK) {
            check_presence(recorder)?;
        }
        std::thread::sleep(ROUND);
    }
    check_presence(recorder)
}

fn check_presence(recorder: &Recorder) -> Result<(), RecordError> {
    let problem = || "the file was removed: the recording has ended and its data are lost".to_owned();
    if recorder.is_removed() { Err(RecordError::ended(recorder.path(), problem())) } else { Ok(()) }
}

//! The recorder on a thread of its own: a disk that stalls holds up nobody.

use crate::file::RecordError;
use crate::recorder::{Recorder, RecordingSummary};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it looks into the rings, which have room for 16 s.
const ROUND: Duration = Duration::from_millis(20);
/// Every so many rounds it looks whether its file is still there.
const ROUNDS_PER_LOOK: u32 = 25;

/// What the user should know of a recording that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Ticks were lost; so many so far.
    Lost(u64),
    /// It has ended before it was told to.
    Failed(RecordError),
}

/// A recording that runs.
#[derive(Debug)]
pub struct RecorderThread {
    thread: JoinHandle<Result<RecordingSummary, RecordError>>,
    stop: Arc<AtomicBool>,
    notices: Receiver<Notice>,
}

impl RecorderThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(recorder: Recorder) -> std::io::Result<Self> {
        let stop = Arc::<AtomicBool>::default();
        let (sender, notices) = channel();
        let stop_inside = Arc::clone(&stop);
        let body = move || {
            let ended = record(recorder, &stop_inside, &sender);
            if let Err(error) = &ended {
                // Nobody listens any more at the end; then the outcome tells.
                let _ = sender.send(Notice::Failed(error.clone()));
            }
            ended
        };
        let thread = std::thread::Builder::new().name("hapticd-record".to_owned()).spawn(body)?;
        Ok(Self { thread, stop, notices })
    }

    /// What the user should be told next.
    pub fn notice(&self) -> Option<Notice> {
        self.notices.try_recv().ok()
    }

    /// Writes down what is left and closes the file.
    ///
    /// # Errors
    /// When the recording has failed.
    pub fn finish(self) -> Result<RecordingSummary, RecordError> {
        self.stop.store(true, Ordering::Release);
        let panicked = |_| RecordError::ended(Path::new(""), "the recorder panicked".to_owned());
        self.thread.join().map_err(panicked)?
    }
}

fn record(
    mut recorder: Recorder,
    stop: &AtomicBool,
    notices: &Sender<Notice>,
) -> Result<RecordingSummary, RecordError> {
    let (mut rounds, mut told) = (0_u32, 0);
    while !stop.load(Ordering::Acquire) {
        recorder.drain()?;
        let [lost, ..] = recorder.dropped();
        if lost > told {
            told = lost;
            let _ = notices.send(Notice::Lost(lost));
        }
        rounds = rounds.wrapping_add(1);
        if rounds.is_multiple_of(ROUNDS_PER_LOOK) && recorder.is_removed() {
            let problem = "somebody has removed the file: the recording has ended, and what it held is gone".to_owned();
            return Err(RecordError::ended(recorder.path(), problem));
        }
        std::thread::sleep(ROUND);
    }
    recorder.finish()
}

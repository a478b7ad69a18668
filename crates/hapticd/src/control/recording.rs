//! Recordings of a running daemon, started at the first tick or on request.
//!
//! The real-time thread writes every tick into rings ([`haptic_record::tap`]); a recorder thread writes them to the
//! file. The supervisor and the viewer start and stop recordings and report their progress.

use super::{LoopRequest, send};
use crate::cli::RecordArguments;
use crate::failure::Failure;
use crate::recording::{header, rotation, worlds};
use crate::summary::RecordingOutcome;
use haptic_config::setup::Setup;
use haptic_device::Device;
use haptic_loop::control::ControlError;
use haptic_realtime::clock::monotonic_ns;
use haptic_realtime::exchange::CommandSender;
use haptic_record::header::{Header, Text};
use haptic_record::recorder::{Recorder, RecordingSummary, Rotation};
use haptic_record::recorder_thread::{Notice, RecorderThread};
use haptic_record::tap::{Tap, tap};
use haptic_record::worlds::Worlds;
use haptic_view::message::state::RecordingMessage;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Minimum capacity of a tap, in dynamic bodies. A later world may have more of them than the first.
const MIN_MOVING_BODIES: usize = 64;

/// Maximum length of a recording's file name, bytes. File systems accept 255 bytes, and rotated recordings need space
/// for a number.
const MAX_NAME_BYTES: usize = 200;

/// Recordings of a daemon, one at a time. Clones share their state.
#[derive(Clone)]
pub struct Recording {
    header: Arc<Header>,
    worlds: Worlds,
    rotation: Rotation,
    moving_bodies: usize,
    active: Arc<Mutex<Option<ActiveRecording>>>,
    /// Outcome of the last recording, or of the first one that is incomplete.
    outcome: Arc<Mutex<Option<RecordingOutcome>>>,
    /// Locked while a recording starts, because two recordings started simultaneously would overwrite each other in
    /// `active`.
    starting: Arc<Mutex<()>>,
}

struct ActiveRecording {
    path: PathBuf,
    since: Instant,
    thread: RecorderThread,
    /// Whether the recording has failed and the error has been logged.
    has_failed: bool,
    /// Whether the loop has accepted the request to return the tap.
    is_abandoned: bool,
}

impl Recording {
    /// Creates the recordings for a setup; none is active yet.
    pub fn new(setup: &Setup, device: &dyn Device, arguments: &RecordArguments) -> Self {
        let moving_bodies = setup.scene.bodies.iter().filter(|body| !body.fixed).count();
        Self {
            header: Arc::new(header(setup, device, "run", epoch_ns())),
            worlds: worlds(setup),
            rotation: rotation(arguments),
            moving_bodies: moving_bodies.max(MIN_MOVING_BODIES),
            active: Arc::default(),
            outcome: Arc::default(),
            starting: Arc::default(),
        }
    }

    /// Returns the worlds that recordings refer to. A new world must be added before the loop receives it, and must be
    /// given the number returned by [`Worlds::add`] (`World::numbered`).
    pub fn worlds(&self) -> &Worlds {
        &self.worlds
    }

    /// Returns the capacity of a tap, in dynamic bodies.
    pub fn moving_bodies(&self) -> usize {
        self.moving_bodies
    }

    /// Returns the path of the active recording, if any.
    pub fn file(&self) -> Option<PathBuf> {
        self.active().as_ref().map(|active| active.path.clone())
    }

    /// Returns the progress of the active recording; `None` if there is none or it has failed.
    pub fn progress(&self) -> Option<RecordingMessage> {
        let active = self.active();
        let active = active.as_ref().filter(|active| !active.has_failed)?;
        let bytes = std::fs::metadata(&active.path).map_or(0, |metadata| metadata.len());
        let file = active.path.display().to_string();
        Some(RecordingMessage { file, seconds: active.since.elapsed().as_secs_f64(), bytes })
    }

    /// Begins a recording that starts with the first tick. Returns its tap, which must be passed to the loop before
    /// that tick.
    ///
    /// # Errors
    /// If the file cannot be created or the recorder thread cannot be started.
    pub fn begin(&self, file: &Path) -> Result<Box<Tap>, Failure> {
        self.begin_with(file, Header::clone(&self.header))
    }

    /// Begins a recording mid-run, in the world with the given number. The recording starts with a checkpoint of the
    /// whole loop, so that it can be replayed.
    ///
    /// # Errors
    /// If the file cannot be created, another recording is active, or the loop does not accept the request.
    pub fn start(&self, file: &Path, world: u64, requests: &CommandSender<LoopRequest>) -> Result<(), ControlError> {
        let _starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = self.file() {
            let text = format!("already recording to {}; stop that recording first", path.display());
            return Err(ControlError::NotNow(text));
        }
        let tap = self
            .begin_with(file, self.header_mid_run(world))
            .map_err(|failure| ControlError::NotNow(failure.to_string()))?;
        requests.send(LoopRequest::Record(tap)).map_err(|rejected| {
            self.finish();
            ControlError::NotNow(rejected.to_string())
        })
    }

    /// Requests the end of the active recording. Its file is complete after [`Self::finish`].
    ///
    /// # Errors
    /// If the loop does not accept the request.
    pub fn stop(&self, requests: &CommandSender<LoopRequest>) -> Result<(), ControlError> {
        send(requests, LoopRequest::StopRecording)
    }

    /// Returns the header of a recording that starts mid-run, in the world with the given number.
    pub fn header_mid_run(&self, world: u64) -> Header {
        let mut header = Header { first_tick: 0, world, ..Header::clone(&self.header) };
        if let Some(source) = self.worlds.get(world) {
            header.texts.scene = Text { name: source.name, text: source.text };
        }
        header
    }

    fn begin_with(&self, file: &Path, header: Header) -> Result<Box<Tap>, Failure> {
        let (tap, reader) = tap(self.moving_bodies);
        let worlds = self.worlds.clone();
        let recorder = Recorder::create(file, header, reader, worlds, self.rotation)?;
        let thread = RecorderThread::start(recorder)
            .map_err(|error| Failure::Runtime(format!("the recorder thread cannot be started: {error}")))?;
        tracing::info!("recording to {}", file.display());
        let (path, since) = (file.to_owned(), Instant::now());
        *self.active() = Some(ActiveRecording { path, since, thread, has_failed: false, is_abandoned: false });
        Ok(Box::new(tap))
    }

    /// Logs the problems reported by the recorder thread since the last call.
    pub fn log_problems(&self) {
        if let Some(active) = self.active().as_mut() {
            while let Some(notice) = active.thread.notice() {
                active.log(&notice);
            }
        }
    }

    /// Asks the loop to return the tap of a failed recording, so that another can begin. Must be called repeatedly,
    /// because a busy loop may not accept the request.
    pub fn abandon_failed(&self, requests: &CommandSender<LoopRequest>) {
        if let Some(active) = self.active().as_mut().filter(|active| active.has_failed && !active.is_abandoned) {
            active.is_abandoned = self.stop(requests).is_ok();
        }
    }

    /// Closes the file of the active recording, if any, and logs a summary. The loop must no longer use its tap.
    pub fn finish(&self) {
        self.log_problems();
        let Some(ActiveRecording { path, thread, has_failed, .. }) = self.active().take() else { return };
        let ended = thread.finish();
        match &ended.error {
            None => tracing::info!("{}", describe(&ended.summary)),
            Some(error) if !has_failed => tracing::error!("{error}"),
            Some(_) => {}
        }
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if outcome.as_ref().is_none_or(|earlier| earlier.complete) {
            *outcome = Some(RecordingOutcome::new(&path, &ended));
        }
    }

    /// Returns the outcome of the last finished recording, or of the first one that is incomplete; `None` if there was
    /// none.
    pub fn outcome(&self) -> Option<RecordingOutcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn active(&self) -> MutexGuard<'_, Option<ActiveRecording>> {
        // A panic leaves no partial update behind this lock.
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActiveRecording {
    fn log(&mut self, notice: &Notice) {
        match notice {
            Notice::Lost(ticks) => {
                tracing::warn!("{}: {ticks} ticks dropped so far: the disk is too slow", self.path.display());
            }
            Notice::Failed(error) => {
                self.has_failed = true;
                tracing::error!("{error}; the loop continues");
            }
        }
    }
}

/// Returns the path of a recording requested by the viewer: a new file in the subfolder `recordings` of the state
/// folder. A page must not be able to choose another folder or overwrite a file.
///
/// # Errors
/// If the name is invalid or in use, or the folder cannot be created.
pub fn recording_file(name: Option<&str>) -> Result<PathBuf, ControlError> {
    let nowhere = || ControlError::NotNow("no folder for recordings; set XDG_STATE_HOME or HOME".to_owned());
    let folder = super::state_folder().ok_or_else(nowhere)?.join("recordings");
    let name = name.map_or_else(|| free_name(&folder, unix_ns() / 1_000_000), str::to_owned);
    if !is_plain(&name) {
        return Err(ControlError::Invalid(format!(
            "{name:?} is not a valid name for a recording; use one like \"session.mcap\""
        )));
    }
    let refused = |error| ControlError::NotNow(format!("{}: cannot be created: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(refused)?;
    let file = folder.join(name);
    if file.exists() {
        return Err(ControlError::Invalid(format!("{} already exists; choose another name", file.display())));
    }
    Ok(file)
}

/// Whether a name is a plain `.mcap` file name, printable in logs and terminals, and short enough for any file system.
fn is_plain(name: &str) -> bool {
    let is_text = !name.contains(|letter: char| letter.is_control() || ['/', '\\'].contains(&letter));
    name.ends_with(".mcap") && !name.starts_with(['.', ' ']) && is_text && name.len() <= MAX_NAME_BYTES
}

/// Returns an unused file name in the folder: `unix_ms`, or the next free number, with the extension `.mcap`.
fn free_name(folder: &Path, unix_ms: u64) -> String {
    let mut names = (unix_ms..).map(|number| format!("{number}.mcap"));
    names.find(|name| !folder.join(name).exists()).unwrap_or_default()
}

fn describe(summary: &RecordingSummary) -> String {
    let RecordingSummary { files, ticks, bytes, dropped: [dropped, ..] } = summary;
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let megabytes = *bytes as f64 / 1e6;
    let dropped = if *dropped > 0 { format!(", {dropped} dropped") } else { String::new() };
    format!("recorded {ticks} ticks{dropped}, {megabytes:.1} MB: {}", names.join(", "))
}

/// Returns the offset from the monotonic clock to Unix time, ns. Its low 24 bits (17 ms) are zero, so that both times
/// in a message end in the same bytes, which compresses better.
fn epoch_ns() -> u64 {
    unix_ns().saturating_sub(monotonic_ns()) & !0xFF_FFFF
}

fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_testing::TestFolder;

    #[test]
    fn recordings_that_begin_at_the_same_time_have_different_names() {
        let folder = TestFolder::new();
        let names: Vec<String> = (0..3)
            .map(|_| {
                let name = free_name(folder.path(), 1_700_000_000_000);
                folder.write(&name, "");
                name
            })
            .collect();
        assert_eq!(names, ["1700000000000.mcap", "1700000000001.mcap", "1700000000002.mcap"]);
    }
}

//! Keeps what is felt in a file: from the first tick on, or from when somebody asks.
//!
//! The real-time side notes every tick in rings ([`haptic_record::tap`]); a thread of its own writes them down. The lower
//! side and the viewer only start, stop and tell.

use super::loop_thread::LoopRequest;
use crate::cli::RecordArguments;
use crate::failure::Failure;
use crate::recording::{header, rotation, worlds};
use haptic_config::setup::Setup;
use haptic_device::Device;
use haptic_loop::black_box::state_folder;
use haptic_realtime::clock::monotonic_ns;
use haptic_realtime::exchange::CommandSender;
use haptic_record::header::{Header, Text};
use haptic_record::recorder::{Recorder, RecordingSummary, Rotation};
use haptic_record::recorder_thread::{Notice, RecorderThread};
use haptic_record::tap::{Tap, tap};
use haptic_record::worlds::Worlds;
use haptic_view::ControlError;
use haptic_view::message::state::RecordingMessage;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Room is made for at least so many moving bodies: another world may have more than the first.
const LEAST_MOVING_BODIES: usize = 64;

/// Longest name of a recording; file systems take 255 bytes, and parts of a rotated one get a number.
const LONGEST_NAME_BYTES: usize = 200;

/// The recordings of a daemon, one at a time; clones share them.
#[derive(Clone)]
pub struct Recording {
    header: Arc<Header>,
    worlds: Worlds,
    rotation: Rotation,
    moving_bodies: usize,
    running: Arc<Mutex<Option<ActiveRecording>>>,
    /// Held while a recording is begun: two that begin at once would share one place.
    beginning: Arc<Mutex<()>>,
}

struct ActiveRecording {
    path: PathBuf,
    since: Instant,
    thread: RecorderThread,
    /// It has failed, and the user knows.
    has_failed: bool,
    /// The loop has been told that nobody writes down what it notes any more.
    is_given_up: bool,
}

impl Recording {
    /// Nothing is recorded yet.
    pub fn new(setup: &Setup, device: &dyn Device, arguments: &RecordArguments) -> Self {
        let moving_bodies = setup.scene.bodies.iter().filter(|body| !body.fixed).count();
        Self {
            header: Arc::new(header(setup, device, "run", epoch_ns())),
            worlds: worlds(setup),
            rotation: rotation(arguments),
            moving_bodies: moving_bodies.max(LEAST_MOVING_BODIES),
            running: Arc::default(),
            beginning: Arc::default(),
        }
    }

    /// The worlds that recordings know. Whoever gives the loop another world adds it here first, and gives it the number
    /// that it gets (`World::numbered`).
    pub fn worlds(&self) -> &Worlds {
        &self.worlds
    }

    /// Moving bodies that there is room for.
    pub fn moving_bodies(&self) -> usize {
        self.moving_bodies
    }

    /// The file that is being written.
    pub fn file(&self) -> Option<PathBuf> {
        self.running().as_ref().map(|running| running.path.clone())
    }

    /// What is being written, for those who look on.
    pub fn progress(&self) -> Option<RecordingMessage> {
        let running = self.running();
        let running = running.as_ref().filter(|running| !running.has_failed)?;
        let bytes = std::fs::metadata(&running.path).map_or(0, |metadata| metadata.len());
        let file = running.path.display().to_string();
        Some(RecordingMessage { file, seconds: running.since.elapsed().as_secs_f64(), bytes })
    }

    /// Begins a recording with the very first tick; the loop must be given the tap before it starts.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn begin(&self, file: &Path) -> Result<Box<Tap>, Failure> {
        self.begin_with(file, Header::clone(&self.header))
    }

    /// Begins a recording while the loop runs, in the world with the given number. It begins with an image of the whole
    /// loop, from which it can be run again.
    ///
    /// # Errors
    /// When the file cannot be created, one is being written already, or the loop takes no orders.
    pub fn start(&self, file: &Path, world: u64, orders: &CommandSender<LoopRequest>) -> Result<(), Failure> {
        let _beginning = self.beginning.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = self.file() {
            return Err(Failure::BadInput(format!("{} is being recorded already; stop that first", path.display())));
        }
        let tap = self.begin_with(file, self.header_mid_run(world))?;
        if let Err(refused) = orders.send(LoopRequest::Record(tap)) {
            self.finish();
            return Err(Failure::Runtime(refused.to_string()));
        }
        Ok(())
    }

    /// Ends the recording; its file is whole a moment later.
    ///
    /// # Errors
    /// When the loop takes no orders.
    pub fn stop(&self, orders: &CommandSender<LoopRequest>) -> Result<(), Failure> {
        orders.send(LoopRequest::StopRecording).map_err(|refused| Failure::Runtime(refused.to_string()))
    }

    /// The beginning of a file that starts while the loop is in the world with the given number.
    pub fn header_mid_run(&self, world: u64) -> Header {
        let mut header = Header { first_tick: 0, world, ..Header::clone(&self.header) };
        if let Some(notes) = self.worlds.get(world) {
            header.texts.scene = Text { name: notes.name, text: notes.text };
        }
        header
    }

    fn begin_with(&self, file: &Path, header: Header) -> Result<Box<Tap>, Failure> {
        let (tap, feed) = tap(self.moving_bodies);
        let worlds = self.worlds.clone();
        let recorder = Recorder::create(file, header, feed, worlds, self.rotation)?;
        let thread = RecorderThread::start(recorder)
            .map_err(|error| Failure::Runtime(format!("the recorder's thread cannot be started: {error}")))?;
        tracing::info!("recording to {}", file.display());
        let (path, since) = (file.to_owned(), Instant::now());
        *self.running() = Some(ActiveRecording { path, since, thread, has_failed: false, is_given_up: false });
        Ok(Box::new(tap))
    }

    /// Tells the user what went wrong since the last look.
    pub fn tell(&self) {
        if let Some(running) = self.running().as_mut() {
            while let Some(notice) = running.thread.notice() {
                running.take(&notice);
            }
        }
    }

    /// Has the loop give back the tap of a recording that has failed, so that another can begin. A loop that is busy is told later.
    pub fn give_up_failed(&self, orders: &CommandSender<LoopRequest>) {
        if let Some(running) = self.running().as_mut().filter(|running| running.has_failed && !running.is_given_up) {
            running.is_given_up = self.stop(orders).is_ok();
        }
    }

    /// Closes the file once the loop notes no more, and says what is in it.
    pub fn finish(&self) {
        self.tell();
        let Some(ActiveRecording { thread, has_failed, .. }) = self.running().take() else { return };
        match thread.finish() {
            Ok(outcome) => tracing::info!("{}", in_words(&outcome)),
            Err(error) if !has_failed => tracing::error!("{error}"),
            Err(_) => {}
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<ActiveRecording>> {
        // Nothing here is left half done by a panic.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActiveRecording {
    fn take(&mut self, notice: &Notice) {
        match notice {
            Notice::Lost(ticks) => {
                tracing::warn!("{}: {ticks} ticks were lost so far: the disk is too slow", self.path.display());
            }
            Notice::Failed(error) => {
                self.has_failed = true;
                tracing::error!("{error}; the loop goes on");
            }
        }
    }
}

/// Where a recording that the viewer asks for goes: a new file in `recordings`, beside the black boxes. A page must not be
/// able to name any other place, or to write over anything.
///
/// # Errors
/// A name that is a path or is taken, a folder that cannot be made.
pub fn recording_file(name: Option<&str>) -> Result<PathBuf, ControlError> {
    let nowhere = || ControlError::NotNow("neither XDG_STATE_HOME nor HOME says where recordings go".to_owned());
    let folder = state_folder().ok_or_else(nowhere)?.join("recordings");
    let name = name.map_or_else(|| free_name(&folder, unix_ns() / 1_000_000), str::to_owned);
    if !is_plain(&name) {
        return Err(ControlError::Invalid(format!(
            "{name:?} is no name for a recording; give one like \"session.mcap\""
        )));
    }
    let refused = |error| ControlError::NotNow(format!("{}: cannot be made: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(refused)?;
    let file = folder.join(name);
    if file.exists() {
        return Err(ControlError::Invalid(format!("{} is there already; give another name", file.display())));
    }
    Ok(file)
}

/// Whether a name is that of a file in the folder, can be written to logs and terminals, and is not too long for any file system.
fn is_plain(name: &str) -> bool {
    let is_text = !name.contains(|letter: char| letter.is_control() || ['/', '\\'].contains(&letter));
    name.ends_with(".mcap") && !name.starts_with(['.', ' ']) && is_text && name.len() <= LONGEST_NAME_BYTES
}

/// A name from the time, ms since 1970; the next one that is free if somebody was quicker.
fn free_name(folder: &Path, unix_ms: u64) -> String {
    let mut names = (unix_ms..).map(|number| format!("{number}.mcap"));
    names.find(|name| !folder.join(name).exists()).unwrap_or_default()
}

fn in_words(outcome: &RecordingSummary) -> String {
    let RecordingSummary { files, ticks, bytes, dropped: [lost, ..] } = outcome;
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let megabytes = *bytes as f64 / 1e6;
    let lost = if *lost > 0 { format!(", {lost} lost") } else { String::new() };
    format!("recorded {ticks} ticks{lost}, {megabytes:.1} MB: {}", names.join(", "))
}

/// What must be added to the monotonic clock to get the time since 1970, ns. Its low bits are left out (17 ms): both times
/// of a message then end in the same bytes, and compress to one.
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
    fn recordings_that_begin_at_the_same_time_have_names_of_their_own() {
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

//! One trial: starts a board and the daemon, lets the board disturb them, and ends both.

use super::backend::{Backend, Device, SCENE};
use super::disturbance::Disturbance;
use super::hand::Behaviour;
use super::subject::{Director, HostAction, Record, Signals};
use crate::audit::HostAuditor;
use crate::gadget::{Gadget, STEP_US};
use crate::serial::{ServeOptions, serve};
use crate::transport::now_us;
use crate::transport::uhid::{Identity, Uhid};
use haptic_realtime::thread::{CpuChoice, RealtimeThread, ThreadRequest, spawn};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for a steady force, for the end of the record and for the end of the daemon.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two looks at the board.
const LOOK: Duration = Duration::from_millis(10);
/// Time for the kernel to recognise a USB device.
const ENUMERATION: Duration = Duration::from_millis(300);
/// Time between two reloads of a storm, ms.
const RELOAD_MS: u32 = 20;
/// Stiffness of every other profile of a storm, as a fraction of the usual one.
const OTHER_STIFFNESS: f64 = 0.8;

/// A trial to be run.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The backend.
    pub backend: &'static Backend,
    /// What is done to it.
    pub disturbance: Disturbance,
    /// What the hand does meanwhile.
    pub behaviour: Behaviour,
}

/// What a trial brought.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the board recorded.
    pub record: Record,
    /// Exit code of the daemon; `None` if it was killed.
    pub exit_code: Option<i32>,
    /// The daemon's summary; null if it left none.
    pub summary: Value,
    /// The end of the daemon's log.
    pub log: String,
}

impl Trial {
    /// Runs the trial with this program as the daemon. Its files are written to `folder`, which is emptied first.
    ///
    /// # Errors
    /// If a process or a file fails, or the force never becomes steady.
    pub fn run(&self, daemon: &Path, folder: &Path) -> io::Result<Outcome> {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
        self.write_files(folder)?;
        let signals = Arc::new(Signals::default());
        let stop = Arc::new(AtomicBool::new(false));
        let (pids, action) = self.action(folder);
        let board = self.serve(folder, action, &signals, &stop)?;
        let outcome = start(daemon, folder).and_then(|mut child| {
            let outcome = self.conduct(&mut child, &signals, &pids, folder);
            let _ = child.kill();
            let _ = child.wait();
            pids.kill_dead_man();
            outcome
        });
        stop.store(true, Ordering::SeqCst);
        board.join().map_err(io::Error::other)??;
        outcome
    }

    fn write_files(&self, folder: &Path) -> io::Result<()> {
        fs::write(folder.join("scene.toml"), SCENE)?;
        fs::write(folder.join("profile.toml"), self.backend.profile(1.0))?;
        fs::write(folder.join("device.toml"), self.backend.device_file(&folder.join("port").display().to_string()))
    }

    /// Starts the board on a thread of its own, below the loop's priority and above that of ordinary programs.
    fn serve(
        &self,
        folder: &Path,
        action: HostAction,
        signals: &Arc<Signals>,
        stop: &Arc<AtomicBool>,
    ) -> io::Result<RealtimeThread<io::Result<()>>> {
        let motion = self.backend.hand_motion(self.behaviour);
        let director = Director::new(self.disturbance, motion, self.backend.press_n, action, Arc::clone(signals));
        let device = self.backend.subject(director).map_err(io::Error::other)?;
        let away = Duration::from_millis(u64::from(self.disturbance.duration_ms()));
        let (stop, signals, port) = (Arc::clone(stop), Arc::clone(signals), folder.join("port"));
        match device {
            Device::Serial(mut subject) => {
                let unplug = Some(Arc::clone(&signals.unplug));
                let options =
                    ServeOptions { link: Some(port.clone()), unplug, dead_for: away, ..ServeOptions::default() };
                let mut body = move || serve(subject.as_mut(), &options, &stop, &mut |_, _| {}).map(|_summary| ());
                let thread = spawn(request(60), move |_| body())?;
                wait_until("the port", || port.exists())?;
                Ok(thread)
            }
            // The threads that serve the device in the daemon have a higher priority than those of a serial port.
            Device::Usb(gadget, identity) => {
                let thread = spawn(request(75), move |_| serve_usb(*gadget, &identity, &signals, &stop))?;
                std::thread::sleep(ENUMERATION);
                Ok(thread)
            }
        }
    }

    /// What the disturbance does to the host, and the processes it does it to.
    fn action(&self, folder: &Path) -> (Arc<Pids>, HostAction) {
        let pids = Arc::new(Pids::default());
        let target = Arc::clone(&pids);
        let profile = folder.join("profile.toml");
        let texts = [1.0, OTHER_STIFFNESS].map(|stiffness| self.backend.profile(stiffness));
        let disturbance = self.disturbance;
        let act = move |since_onset_ms: u32| match disturbance {
            Disturbance::Kill => target.signal_daemon(Signal::KILL),
            Disturbance::Terminate => target.signal_daemon(Signal::TERM),
            Disturbance::EmergencyStop => target.signal_daemon(Signal::USR1),
            Disturbance::Stall(_) if since_onset_ms == 0 => target.signal_daemon(Signal::STOP),
            Disturbance::Stall(ms) if since_onset_ms == ms => target.signal_daemon(Signal::CONT),
            Disturbance::KillDeadMan => target.kill_dead_man(),
            Disturbance::KillBoth => {
                target.kill_dead_man();
                target.signal_daemon(Signal::KILL);
            }
            Disturbance::ReloadStorm if since_onset_ms.is_multiple_of(RELOAD_MS) => {
                let is_last = since_onset_ms == disturbance.duration_ms();
                let other = !is_last && !(since_onset_ms / RELOAD_MS).is_multiple_of(2);
                let _ = fs::write(&profile, &texts[usize::from(other)]);
                target.signal_daemon(Signal::HUP);
            }
            _ => {}
        };
        (pids, Box::new(act))
    }

    fn conduct(&self, child: &mut Child, signals: &Signals, pids: &Pids, folder: &Path) -> io::Result<Outcome> {
        let is_steady = || signals.is_steady.load(Ordering::SeqCst);
        wait_until_or_end("a steady force", child, is_steady).map_err(|error| with_log(&error, folder))?;
        pids.find(child.id());
        if self.disturbance.needs_dead_man() && pids.dead_man().is_none() {
            return Err(io::Error::other("there is no dead-man process"));
        }
        signals.may_begin.store(true, Ordering::SeqCst);
        wait_until("the end of the record", || signals.is_complete.load(Ordering::SeqCst))?;
        if self.disturbance.leaves_the_daemon_running() {
            pids.signal_daemon(Signal::TERM);
        }
        let status = wait_for_end(child)?;
        let record = std::mem::take(&mut *signals.record.lock().unwrap_or_else(PoisonError::into_inner));
        let summary = fs::read(folder.join("summary.json")).unwrap_or_default();
        Ok(Outcome {
            record,
            exit_code: status.and_then(|status| status.code()),
            summary: serde_json::from_slice(&summary).unwrap_or(Value::Null),
            log: log_of(folder),
        })
    }
}

fn request(priority: u8) -> ThreadRequest {
    ThreadRequest { name: "subject".to_owned(), priority, cpu: CpuChoice::Any, ..ThreadRequest::default() }
}

/// Serves a USB device until `stop` is set, and disconnects it when the director says so.
fn serve_usb(mut gadget: Gadget, identity: &Identity, signals: &Signals, stop: &AtomicBool) -> io::Result<()> {
    let fresh = gadget.firmware.clone();
    let mut auditor = HostAuditor::new(None);
    let mut plug = Some(Uhid::create(identity)?);
    while !stop.load(Ordering::SeqCst) {
        let is_unplugged = signals.unplug.load(Ordering::SeqCst);
        if is_unplugged && plug.is_some() {
            // Without power, the motors are off before the kernel knows. The firmware advances in whole milliseconds.
            gadget.restart(fresh.clone());
            std::thread::sleep(Duration::from_micros(STEP_US));
            gadget.step(now_us());
            plug = None;
        }
        if !is_unplugged && plug.is_none() {
            plug = Some(Uhid::create(identity)?);
        }
        match &mut plug {
            Some(plug) => plug.serve(&mut gadget, &mut auditor, now_us() + STEP_US)?,
            None => {
                std::thread::sleep(Duration::from_micros(STEP_US));
                gadget.step(now_us());
            }
        }
    }
    Ok(())
}

fn start(daemon: &Path, folder: &Path) -> io::Result<Child> {
    Command::new(daemon)
        .args(["run", "--no-view", "--json", "--allow-no-rt", "--profile"])
        .arg(folder.join("profile.toml"))
        .env("XDG_STATE_HOME", folder)
        .stdout(File::create(folder.join("summary.json"))?)
        .stderr(File::create(folder.join("log.txt"))?)
        .spawn()
}

fn log_of(folder: &Path) -> String {
    fs::read_to_string(folder.join("log.txt")).unwrap_or_default()
}

fn with_log(error: &io::Error, folder: &Path) -> io::Error {
    io::Error::other(format!("{error}; the daemon's log:\n{}", log_of(folder)))
}

fn wait_until(what: &str, is_true: impl Fn() -> bool) -> io::Result<()> {
    let started = Instant::now();
    while !is_true() {
        if started.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("waited in vain for {what}")));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn wait_until_or_end(what: &str, child: &mut Child, is_true: impl Fn() -> bool) -> io::Result<()> {
    let started = Instant::now();
    while !is_true() {
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!("waited for {what}, but the daemon ended with {status}")));
        }
        if started.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("waited in vain for {what}")));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Status of a daemon that should end; `None` if it does not.
fn wait_for_end(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(LOOK);
    }
    Ok(None)
}

/// The processes of a daemon.
#[derive(Debug, Default)]
struct Pids {
    found: std::sync::Mutex<(Option<Pid>, Option<Pid>)>,
}

impl Pids {
    /// Notes the daemon and its dead-man process, if it has one.
    fn find(&self, daemon: u32) {
        let pids = (Pid::from_raw(daemon as i32), dead_man_of(daemon));
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = pids;
    }

    fn dead_man(&self) -> Option<Pid> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    fn signal_daemon(&self, signal: Signal) {
        if let Some(pid) = self.found.lock().unwrap_or_else(PoisonError::into_inner).0 {
            let _ = kill_process(pid, signal);
        }
    }

    fn kill_dead_man(&self) {
        if let Some(pid) = self.dead_man() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The child of this daemon that is its dead-man process.
fn dead_man_of(daemon: u32) -> Option<Pid> {
    let folders = fs::read_dir("/proc").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let found = folders.filter(|folder| is_dead_man_of(folder, daemon)).last()?;
    Pid::from_raw(found.file_name()?.to_str()?.parse().ok()?)
}

fn is_dead_man_of(process: &Path, daemon: u32) -> bool {
    let text = |name: &str| fs::read_to_string(process.join(name)).unwrap_or_default();
    let is_child =
        text("status").lines().any(|line| line.split_once("PPid:\t").is_some_and(|(_, pid)| pid == daemon.to_string()));
    is_child && text("cmdline").split('\0').any(|word| word == "dead-man")
}

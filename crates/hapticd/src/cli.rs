//! What can be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use haptic_config::setup::FileNames;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Longest run, s: a hundred days and some. Beyond it a slip is likelier than a wish.
const MAX_SECONDS: f64 = 1e7;

/// Feel virtual planar objects: a hard real-time haptic rendering daemon.
///
/// Without a command it runs the built-in default profile.
#[derive(Debug, Parser)]
#[command(name = "hapticd", version)]
pub struct Cli {
    /// How log lines look on standard error; RUST_LOG chooses which ones.
    #[arg(long, global = true, value_enum, default_value = "text")]
    pub log_format: LogFormat,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run on the wall clock until Ctrl-C, SIGTERM or --seconds.
    Run(RunArguments),
    /// The same tick with no clock, as fast as it goes, repeatable bit for bit.
    Simulate(SimulateArguments),
    /// Validate scenes, profiles, devices and hands; the kind is told by the keys.
    Check(CheckArguments),
    /// Measure the cost of a tick per scene, and how it grows.
    Bench(BenchArguments),
    /// Is this machine fit for 1 kHz: each finding with its remedy; exit code 1 if it is not.
    Doctor(DoctorArguments),
    /// How late this machine wakes the bare real-time loop.
    Latency(LatencyArguments),
    /// What is plugged in and which backend would drive it.
    Devices(DevicesArguments),
    /// Be a device made of software behind a pseudo-terminal, with a hand, and with faults on request.
    Emulate(EmulateArguments),
    /// Measure a device: mass, friction, delay, encoder; write a device file and propose gains.
    Identify(IdentifyArguments),
    /// Find the region of stable stiffness and damping of a device, and draw it.
    Zwidth(ZwidthArguments),
    /// Draw a still picture of a scene, with --seconds after running it.
    Snapshot(SnapshotArguments),
    /// Run a recording again, bit for bit; exit code 4 if it comes out differently.
    Replay(ReplayArguments),
    /// Write a page of plots of a recording, in one file that needs no network.
    Report(ReportArguments),
    /// Write a table from a recording, with the columns of a trace, or the files that it was made with.
    Export(ExportArguments),
    /// End the force of a device without a watchdog if the daemon cannot.
    #[command(hide = true)]
    StandGuard(StandGuardArguments),
}

/// What is run; flags override the profile.
#[derive(Args, Clone, Debug, Default)]
pub struct InputArguments {
    /// Profile: a file, or a built-in's name.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<String>,
    /// Scene: a file, or a built-in's name.
    #[arg(long, value_name = "FILE")]
    pub scene: Option<String>,
    /// Device: a file, or a built-in's name.
    #[arg(long, value_name = "FILE")]
    pub device: Option<String>,
}

impl<'a> From<&'a InputArguments> for FileNames<'a> {
    fn from(input: &'a InputArguments) -> Self {
        let InputArguments { profile, scene, device } = input;
        Self { profile: profile.as_deref(), scene: scene.as_deref(), device: device.as_deref() }
    }
}

/// What is kept of a run.
#[derive(Args, Clone, Debug, Default)]
pub struct RecordArguments {
    /// Record everything that is needed to run it again, bit for bit.
    #[arg(long, value_name = "FILE.mcap")]
    pub record: Option<PathBuf>,
    /// Begin a new file after so many megabytes.
    #[arg(long, value_name = "MB", requires = "record", value_parser = above_zero, allow_negative_numbers = true)]
    pub record_rotate_mb: Option<f64>,
    /// Begin a new file after so many minutes.
    #[arg(long, value_name = "MINUTES", requires = "record", value_parser = above_zero, allow_negative_numbers = true)]
    pub record_rotate_minutes: Option<f64>,
}

/// Arguments of `run`.
#[derive(Args, Clone, Debug, Default)]
pub struct RunArguments {
    /// What is run.
    #[command(flatten)]
    pub input: InputArguments,
    /// End after so many seconds.
    #[arg(long, value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: Option<f64>,
    /// Drive hardware even without real-time scheduling.
    #[arg(long)]
    pub allow_no_rt: bool,
    /// On hardware, go without the energy tank if the profile says passivity = "off".
    #[arg(long)]
    pub i_know: bool,
    /// Serve the viewer at this address and port instead of the profile's; the next free port if it is taken.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "no_view", value_parser = address)]
    pub view: Option<SocketAddr>,
    /// Serve no viewer.
    #[arg(long)]
    pub no_view: bool,
    /// What is kept.
    #[command(flatten)]
    pub recording: RecordArguments,
    /// Print the summary as a JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `simulate`.
#[derive(Args, Clone, Debug)]
pub struct SimulateArguments {
    /// What is run.
    #[command(flatten)]
    pub input: InputArguments,
    /// Prescribe the device's position: columns t_s,x_m,y_m, linear between rows, held after the last.
    #[arg(long, value_name = "FILE.csv")]
    pub hand: Option<PathBuf>,
    /// How many seconds of the world's time.
    #[arg(long, value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: f64,
    /// Write one row a tick: hand, tool, force, contact, energy.
    #[arg(long, value_name = "FILE.csv")]
    pub trace: Option<PathBuf>,
    /// Write one row a tick and body: pose and velocity.
    #[arg(long, value_name = "FILE.csv")]
    pub trace_bodies: Option<PathBuf>,
    /// What is kept.
    #[command(flatten)]
    pub recording: RecordArguments,
    /// Compare hash and figures with a kept file; exit code 4 if they differ.
    #[arg(long, value_name = "FILE.json")]
    pub golden: Option<PathBuf>,
    /// Write the file of --golden instead of comparing with it.
    #[arg(long, requires = "golden")]
    pub update_golden: bool,
    /// Print the summary as a JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `check`.
#[derive(Args, Clone, Debug)]
pub struct CheckArguments {
    /// Files to check.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print the findings as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArguments {
    /// How many seconds of each world's time.
    #[arg(long, value_parser = seconds, allow_negative_numbers = true, default_value = "2")]
    pub seconds: f64,
    /// Print the figures as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `doctor`.
#[derive(Args, Clone, Debug)]
pub struct DoctorArguments {
    /// How long the self-test of the loop takes.
    #[arg(long, value_parser = seconds_above_zero, allow_negative_numbers = true, default_value = "10")]
    pub seconds: f64,
    /// Print the findings as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `latency`.
#[derive(Args, Clone, Debug)]
pub struct LatencyArguments {
    /// How long to measure.
    #[arg(long, value_parser = seconds_above_zero, allow_negative_numbers = true, default_value = "10")]
    pub seconds: f64,
    /// Print the figures as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `devices`.
#[derive(Args, Clone, Debug)]
pub struct DevicesArguments {
    /// Print what is found as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Devices that can be emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EmulatedKind {
    /// A board with one axis that speaks the native protocol.
    #[value(name = "native-1dof")]
    Native1dof,
    /// A board with two axes that speaks the native protocol.
    #[value(name = "native-2dof")]
    Native2dof,
    /// A Haply 2diy.
    #[value(name = "haply-2diy")]
    Haply2diy,
    /// An ODrive motor controller with one axis.
    Odrive,
}

/// Makes of the Haply 2diy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs, reason = "the names are those of the device file")]
pub enum HaplyMake {
    V3,
    V2,
    Kit,
}

/// Arguments of `stand-guard`.
#[derive(Args, Clone, Debug)]
pub struct StandGuardArguments {
    /// What ends all force, in hexadecimal digits.
    pub words: String,
    /// Silence of the daemon that ends it, ms.
    pub patience_ms: u64,
}

/// Arguments of `emulate`.
#[derive(Args, Clone, Debug)]
pub struct EmulateArguments {
    /// What to be.
    pub kind: EmulatedKind,
    /// Where its port shall appear; write this path as `port` into a device file.
    #[arg(long, value_name = "PATH")]
    pub link: PathBuf,
    /// Model and hand: the file of a simulated device, or a built-in's name.
    #[arg(long, value_name = "FILE")]
    pub device: Option<String>,
    /// Send velocities with positions (native).
    #[arg(long)]
    pub velocity: bool,
    /// Which make (haply-2diy).
    #[arg(long, value_enum, default_value = "v3")]
    pub variant: HaplyMake,
    /// Metres that the handle moves per radian of the motor (odrive).
    #[arg(long, default_value = "0.05", value_parser = above_zero, allow_negative_numbers = true, value_name = "METRES")]
    pub lever_m: f64,
    /// Pretend to speak this major version of the protocol (native).
    #[arg(long, default_value = "1", value_name = "MAJOR", allow_negative_numbers = true)]
    pub protocol_version: u8,
    /// Lose this share of exchanges.
    #[arg(long, value_parser = share, allow_negative_numbers = true, default_value = "0", value_name = "SHARE")]
    pub drop: f64,
    /// Damage this share of exchanges.
    #[arg(long, value_parser = share, allow_negative_numbers = true, default_value = "0", value_name = "SHARE")]
    pub garbage: f64,
    /// Answer up to this late, at random.
    #[arg(long, value_parser = seconds, allow_negative_numbers = true, default_value = "0", value_name = "MILLISECONDS")]
    pub delay_ms: f64,
    /// Be unplugged after so many seconds, once.
    #[arg(long, value_parser = seconds, allow_negative_numbers = true, value_name = "SECONDS")]
    pub die_after: Option<f64>,
    /// And be plugged in again after this.
    #[arg(long, value_parser = seconds, allow_negative_numbers = true, default_value = "0.3", value_name = "SECONDS")]
    pub dead_for: f64,
    /// Write a row for each millisecond: its time, where the handle is, and the force of the motors on it.
    #[arg(long, value_name = "FILE.csv")]
    pub trace: Option<PathBuf>,
    /// Where chance begins.
    #[arg(long, default_value = "1", allow_negative_numbers = true)]
    pub seed: u64,
    /// End after so many seconds.
    #[arg(long, value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: Option<f64>,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("give a share from 0 to 1, e.g. 0.01 for one in a hundred".to_owned()),
    }
}

/// Arguments of `identify`.
#[derive(Args, Clone, Debug)]
pub struct IdentifyArguments {
    /// Device: a file, or a built-in's name.
    #[arg(long, value_name = "FILE")]
    pub device: String,
    /// The device file to write: the one measured, with what was found.
    #[arg(long, value_name = "FILE.toml")]
    pub out: PathBuf,
    /// How far the handle may go from where it is, either way, in metres.
    #[arg(long, value_name = "METRES", value_parser = above_zero, allow_negative_numbers = true, default_value = "0.02")]
    pub travel_m: f64,
    /// The strongest force to use, if less than the device's own limit.
    #[arg(long, value_name = "NEWTONS", value_parser = above_zero, allow_negative_numbers = true)]
    pub max_force_n: Option<f64>,
    /// The moving mass, if it is known from a balance: tells how many newtons the motor gives for each one asked for.
    #[arg(long, value_name = "KG", value_parser = above_zero, allow_negative_numbers = true)]
    pub known_mass_kg: Option<f64>,
    /// Drive hardware even without real-time scheduling.
    #[arg(long)]
    pub allow_no_rt: bool,
    /// Print what was found as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `zwidth`.
#[derive(Args, Clone, Debug)]
pub struct ZwidthArguments {
    /// Device: a file, or a built-in's name; the profile's if none is given.
    #[arg(long, value_name = "FILE")]
    pub device: Option<String>,
    /// Profile whose gains are marked: a file, or a built-in's name.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<String>,
    /// The picture; its ending says how it is written. Without it only numbers are printed.
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub out: Option<PathBuf>,
    /// How many dampings are looked at.
    #[arg(long, default_value = "28", value_parser = clap::value_parser!(u16).range(2..=1000), allow_negative_numbers = true)]
    pub points: u16,
    /// Also try springs of rising stiffness on the device itself, with nobody holding it; each ends when it rings up.
    #[arg(long)]
    pub measure: bool,
    /// With --measure, drive hardware even without real-time scheduling.
    #[arg(long)]
    pub allow_no_rt: bool,
    /// Print the numbers as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `snapshot`.
#[derive(Args, Clone, Debug)]
pub struct SnapshotArguments {
    /// What is drawn.
    #[command(flatten)]
    pub input: InputArguments,
    /// The picture; its ending says how it is written.
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub out: PathBuf,
    /// Run the world for so many seconds first, and draw the ways of hand and tool, the contacts and the force.
    #[arg(long, value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: Option<f64>,
    /// Leave the bodies' names out.
    #[arg(long)]
    pub no_names: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "give an address and a port, e.g. 127.0.0.1:8520".to_owned())
}

/// Arguments of `replay`.
#[derive(Args, Clone, Debug)]
pub struct ReplayArguments {
    /// The recording.
    #[arg(value_name = "FILE.mcap")]
    pub file: PathBuf,
    /// Instead of comparing, tell what the same hand would have felt with this profile's gains and limits.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<String>,
    /// Print the findings as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `report`.
#[derive(Args, Clone, Debug)]
pub struct ReportArguments {
    /// The recording.
    #[arg(value_name = "FILE.mcap")]
    pub file: PathBuf,
    /// The page.
    #[arg(long, value_name = "FILE.html")]
    pub out: PathBuf,
}

/// Arguments of `export`.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = true, args = ["csv", "parquet", "files"])]
pub struct ExportArguments {
    /// The recording.
    #[arg(value_name = "FILE.mcap")]
    pub file: PathBuf,
    /// Write a CSV file, for anything.
    #[arg(long, value_name = "FILE.csv")]
    pub csv: Option<PathBuf>,
    /// Write a Parquet file, for pandas, MATLAB and the like.
    #[arg(long, value_name = "FILE.parquet")]
    pub parquet: Option<PathBuf>,
    /// Put the profile, scene, device and hand that were recorded into a folder, and say how to start from them.
    #[arg(long, value_name = "FOLDER")]
    pub files: Option<PathBuf>,
}

fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("give a number above zero, e.g. 60".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=MAX_SECONDS).contains(&seconds) => Ok(seconds),
        _ => Err(format!("give a number of seconds from 0 to {MAX_SECONDS:e}, e.g. 2.5")),
    }
}

/// Of a measurement: with no tick there is nothing to judge, and nothing would look like a good result.
fn seconds_above_zero(text: &str) -> Result<f64, String> {
    match seconds(text) {
        Ok(seconds) if seconds > 0.0 => Ok(seconds),
        _ => Err(format!("a measurement takes time: give a number of seconds above 0, up to {MAX_SECONDS:e}, e.g. 10")),
    }
}

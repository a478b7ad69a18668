//! Command-line arguments. `values` parses the values of options; [`mistakes`] adds remedies to errors. The arguments of
//! `emulate`, which are many, are in `emulate`.

mod emulate;
pub mod mistakes;
mod values;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
pub use emulate::EmulateArguments;
use haptic_backends::KINDS;
use haptic_config::profile::DEFAULT_LISTEN;
use haptic_config::setup::FileNames;
use std::net::SocketAddr;
use std::path::PathBuf;
pub use values::FileType;
use values::{above_zero, address, file_kind, points, seconds, seconds_above_zero};

/// A hard real-time haptic rendering daemon for virtual planar objects.
///
/// Without a command, runs the built-in default profile.
#[derive(Debug, Parser)]
#[command(name = "hapticd", version)]
pub struct Cli {
    /// Format of log lines on standard error; RUST_LOG selects which lines are printed.
    #[arg(long, global = true, value_enum, default_value = "text")]
    pub log_format: LogFormat,
    /// Command to execute; `None` for `run` with the default profile.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Plain text.
    Text,
    /// One JSON object per line.
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run in real time until Ctrl-C, SIGTERM or the --seconds limit; SIGUSR1 is an emergency stop, SIGHUP reloads.
    Run(RunArguments),
    /// Stop a running daemon: zero force until the stop is released; exit code 1 if no daemon answers.
    Stop(StopArguments),
    /// Run the same loop as fast as possible, without a clock; reproducible bit for bit.
    Simulate(SimulateArguments),
    /// Validate scene, profile, device and hand files; the file type is detected automatically.
    Check(CheckArguments),
    /// Write a commented file to start from; an existing file is never overwritten.
    New(NewArguments),
    /// Print the JSON Schema of a kind of file, for editors and validators.
    Schema(SchemaArguments),
    /// Measure the cost of a tick per scene, and its growth with scene size.
    Bench(BenchArguments),
    /// Check whether this machine is fit for 1 kHz; print findings and remedies; exit code 1 if it is unfit.
    Doctor(DoctorArguments),
    /// Measure the wake-up latency of the bare real-time loop on this machine.
    Latency(LatencyArguments),
    /// List connected devices and the backend for each, or read a report descriptor.
    Devices(DevicesArguments),
    /// Install the udev rules that let users open haptic devices; needs root.
    InstallUdev(InstallUdevArguments),
    /// Emulate a device on a pseudo-terminal, with a simulated hand and optional faults.
    Emulate(EmulateArguments),
    /// Measure mass, friction, delay and encoder step of a device; write a device file and propose gains.
    Identify(IdentifyArguments),
    /// Compute and draw the region of stable stiffness and damping of a device.
    Zwidth(ZwidthArguments),
    /// Draw a still picture of a scene, at its start or after --seconds.
    Snapshot(SnapshotArguments),
    /// Replay a recording bit for bit; exit code 4 if the replay differs.
    Replay(ReplayArguments),
    /// Write plots of a recording to one self-contained HTML file.
    Report(ReportArguments),
    /// Export a recording as a table with the same columns as --trace, or extract the files it was made with.
    Export(ExportArguments),
    /// Send the stop frame to a device without a watchdog if the daemon dies or hangs.
    #[command(hide = true)]
    DeadMan(DeadManArguments),
}

/// Help of `--device` for commands that drive hardware.
const DEVICE_OR_AUTO: &str = "Device: a file, the name of a built-in device, or `auto` for the only connected device";

/// Input files; flags override the profile.
#[derive(Args, Clone, Debug, Default)]
pub struct InputArguments {
    /// Profile: a file or the name of a built-in profile.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<String>,
    /// Scene: a file or the name of a built-in scene.
    #[arg(long, value_name = "FILE")]
    pub scene: Option<String>,
    /// Device: a file or the name of a built-in device.
    #[arg(long, value_name = "FILE")]
    pub device: Option<String>,
}

impl<'a> From<&'a InputArguments> for FileNames<'a> {
    fn from(input: &'a InputArguments) -> Self {
        let InputArguments { profile, scene, device } = input;
        Self { profile: profile.as_deref(), scene: scene.as_deref(), device: device.as_deref(), kinds: KINDS }
    }
}

/// Options of a recording.
#[derive(Args, Clone, Debug, Default)]
pub struct RecordArguments {
    /// Record the run to this file; the recording can be replayed bit for bit.
    #[arg(long, value_name = "FILE.mcap")]
    pub record: Option<PathBuf>,
    /// Start a new file after this many megabytes.
    #[arg(long, value_name = "MB", requires = "record", value_parser = above_zero("100"), allow_negative_numbers = true)]
    pub record_rotate_mb: Option<f64>,
    /// Start a new file after this many minutes.
    #[arg(long, value_name = "MINUTES", requires = "record", value_parser = above_zero("60"), allow_negative_numbers = true)]
    pub record_rotate_minutes: Option<f64>,
}

/// Arguments of `run`.
#[derive(Args, Clone, Debug, Default)]
#[command(mut_arg("device", |device| device.help(DEVICE_OR_AUTO)))]
pub struct RunArguments {
    /// Input files.
    #[command(flatten)]
    pub input: InputArguments,
    /// End the run after this many seconds.
    #[arg(long, value_parser = seconds(), allow_negative_numbers = true)]
    pub seconds: Option<f64>,
    /// Drive hardware even without real-time scheduling.
    #[arg(long)]
    pub allow_no_rt: bool,
    /// On hardware, allow passivity = "off" in the profile, which disables the energy tank.
    #[arg(long)]
    pub i_know: bool,
    /// Address and port of the viewer, overriding the profile; if the port is in use, the next free one is used.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "no_view", value_parser = address())]
    pub view: Option<SocketAddr>,
    /// Disable the viewer.
    #[arg(long)]
    pub no_view: bool,
    /// Options of the recording.
    #[command(flatten)]
    pub recording: RecordArguments,
    /// Print the summary as a JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `stop`.
#[derive(Args, Clone, Debug)]
pub struct StopArguments {
    /// Address and port of the daemon's viewer, as printed at its start.
    #[arg(long, value_name = "ADDRESS", value_parser = address(), default_value_t = DEFAULT_LISTEN)]
    pub view: SocketAddr,
    /// Release the stop; the force ramps up.
    #[arg(long)]
    pub release: bool,
    /// Token in the printed address, if the viewer listens beyond this machine. A stop from this machine needs none.
    #[arg(long)]
    pub token: Option<String>,
}

/// Arguments of `simulate`.
#[derive(Args, Clone, Debug)]
pub struct SimulateArguments {
    /// Input files.
    #[command(flatten)]
    pub input: InputArguments,
    /// Prescribe the device position from a CSV file with columns t_s,x_m,y_m; interpolated linearly, held after the
    /// last row.
    #[arg(long, value_name = "FILE.csv")]
    pub hand: Option<PathBuf>,
    /// Simulated time in seconds.
    #[arg(long, value_parser = seconds(), allow_negative_numbers = true)]
    pub seconds: f64,
    /// Write one row per tick: hand, tool, force, contact, energy.
    #[arg(long, value_name = "FILE.csv")]
    pub trace: Option<PathBuf>,
    /// Write one row per tick and body: pose and velocity.
    #[arg(long, value_name = "FILE.csv")]
    pub trace_bodies: Option<PathBuf>,
    /// Options of the recording.
    #[command(flatten)]
    pub recording: RecordArguments,
    /// Compare state hash and summary with a golden file; exit code 4 if they differ.
    #[arg(long, value_name = "FILE.json")]
    pub golden: Option<PathBuf>,
    /// Write the --golden file instead of comparing with it.
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
    /// Draw the scene, or that of the profile, at its start; the format follows the file extension.
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub picture: Option<PathBuf>,
    /// Print the findings as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `new`.
#[derive(Args, Clone, Debug)]
pub struct NewArguments {
    /// Kind of the file.
    #[arg(value_parser = file_kind())]
    pub kind: FileType,
    /// Name of the file, without .toml; it may contain a folder.
    pub name: String,
}

/// Arguments of `schema`.
#[derive(Args, Clone, Debug)]
pub struct SchemaArguments {
    /// Kind of the file.
    #[arg(value_parser = file_kind())]
    pub kind: FileType,
}

/// Arguments of `bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArguments {
    /// Simulated time of each world in seconds.
    #[arg(long, value_parser = seconds(), allow_negative_numbers = true, default_value = "2")]
    pub seconds: f64,
    /// Print the results as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `doctor`.
#[derive(Args, Clone, Debug)]
pub struct DoctorArguments {
    /// Duration of the loop's self-test, in seconds.
    #[arg(long, value_parser = seconds_above_zero(), allow_negative_numbers = true, default_value = "10")]
    pub seconds: f64,
    /// Print the findings as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `latency`.
#[derive(Args, Clone, Debug)]
pub struct LatencyArguments {
    /// Duration of the measurement in seconds.
    #[arg(long, value_parser = seconds_above_zero(), allow_negative_numbers = true, default_value = "10")]
    pub seconds: f64,
    /// Print the results as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `devices`.
#[derive(Args, Clone, Debug)]
pub struct DevicesArguments {
    /// Report what would be driven of a HID device with this report descriptor: a file of bytes, or of hexadecimal text
    /// in which `#` starts a comment.
    #[arg(long, value_name = "FILE")]
    pub descriptor: Option<PathBuf>,
    /// Print the devices as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `install-udev`.
#[derive(Args, Clone, Debug)]
pub struct InstallUdevArguments {
    /// Only print the rules.
    #[arg(long)]
    pub print: bool,
}

/// Arguments of `dead-man`.
#[derive(Args, Clone, Debug)]
pub struct DeadManArguments {
    /// Stop frame as a hexadecimal string.
    pub stop_frame: String,
    /// Time without a heartbeat before the stop frame is sent, ms.
    pub timeout_ms: u64,
}

/// Arguments of `identify`.
#[derive(Args, Clone, Debug)]
pub struct IdentifyArguments {
    /// Device to measure.
    #[arg(long, value_name = "FILE", help = DEVICE_OR_AUTO)]
    pub device: String,
    /// Device file to write: a copy of --device with the measured values filled in.
    #[arg(long, value_name = "FILE.toml")]
    pub out: PathBuf,
    /// Maximum travel of the handle from its start, in each direction, in metres.
    #[arg(
        long,
        value_name = "METRES",
        value_parser = above_zero("0.02"),
        allow_negative_numbers = true,
        default_value = "0.02"
    )]
    pub travel_m: f64,
    /// Maximum force in newtons, if lower than the device's own limit.
    #[arg(long, value_name = "NEWTONS", value_parser = above_zero("2"), allow_negative_numbers = true)]
    pub max_force_n: Option<f64>,
    /// Moving mass in kilograms, if you have weighed it; used to determine the ratio of actual to commanded force.
    #[arg(long, value_name = "KG", value_parser = above_zero("0.1"), allow_negative_numbers = true)]
    pub known_mass_kg: Option<f64>,
    /// Drive hardware even without real-time scheduling.
    #[arg(long)]
    pub allow_no_rt: bool,
    /// Print the results as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `zwidth`.
#[derive(Args, Clone, Debug)]
pub struct ZwidthArguments {
    /// Device: a file, the name of a built-in device, or `auto` for the only connected device; defaults to the
    /// profile's device.
    #[arg(long, value_name = "FILE")]
    pub device: Option<String>,
    /// Profile whose gains are marked: a file or the name of a built-in profile.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<String>,
    /// Picture to write; the format follows the file extension. Without it only numbers are printed.
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub out: Option<PathBuf>,
    /// Number of damping values for which the limits are computed.
    #[arg(
        long,
        default_value = "28",
        value_parser = points(),
        allow_negative_numbers = true
    )]
    pub points: u16,
    /// Also test springs of increasing stiffness with the handle free; each test stops when its oscillation grows.
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
    /// Input files.
    #[command(flatten)]
    pub input: InputArguments,
    /// Picture to write; the format follows the file extension.
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub out: PathBuf,
    /// Run the world for this many seconds first; also draw the paths of hand and tool, the contacts and the force.
    #[arg(long, value_parser = seconds(), allow_negative_numbers = true)]
    pub seconds: Option<f64>,
    /// Omit the names of the bodies.
    #[arg(long)]
    pub no_names: bool,
}

/// Arguments of `replay`.
#[derive(Args, Clone, Debug)]
pub struct ReplayArguments {
    /// Recording to read.
    #[arg(value_name = "FILE.mcap")]
    pub file: PathBuf,
    /// Also replay the same hand motion with the gains and limits of this profile, and compare the forces.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<String>,
    /// Print the findings as a JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `report`.
#[derive(Args, Clone, Debug)]
pub struct ReportArguments {
    /// Recording to read.
    #[arg(value_name = "FILE.mcap")]
    pub file: PathBuf,
    /// HTML file to write.
    #[arg(long, value_name = "FILE.html")]
    pub out: PathBuf,
}

/// Arguments of `export`.
#[derive(Args, Clone, Debug)]
// The group that clap derives would also contain the recording, which is always given.
#[group(skip)]
#[command(group = ArgGroup::new("outputs").args(["csv", "parquet", "files"]).required(true).multiple(true))]
pub struct ExportArguments {
    /// Recording to read.
    #[arg(value_name = "FILE.mcap")]
    pub file: PathBuf,
    /// Write the table as a CSV file.
    #[arg(long, value_name = "FILE.csv")]
    pub csv: Option<PathBuf>,
    /// Write the table as a Parquet file, e.g. for pandas or MATLAB.
    #[arg(long, value_name = "FILE.parquet")]
    pub parquet: Option<PathBuf>,
    /// Write the recorded profile, scene, device and hand to a folder, and print the command that uses them.
    #[arg(long, value_name = "FOLDER")]
    pub files: Option<PathBuf>,
}

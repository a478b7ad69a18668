//! The `hapticd` command: reads files, runs the loop, writes results.
//!
//! [`cli`] defines the arguments. [`commands`] has one file per command, except `snapshot` ([`still`]). `haptic-config`
//! reads the files, [`hardware`] opens the device, [`realtime_setup`] starts the real-time thread, [`daemon`] runs and
//! supervises the loop on it, [`viewer`] and `haptic-terminal` show it, and [`control`] contains the parts shared by
//! daemon and viewer.
#![forbid(unsafe_code)]

pub mod admission;
pub mod cli;
pub mod commands;
pub mod control;
pub mod daemon;
pub mod failure;
pub mod figures;
pub mod file_use;
pub mod golden;
pub mod hardware;
pub mod log;
pub mod realtime_setup;
pub mod recording;
pub mod status;
pub mod still;
pub mod stopwatch;
pub mod summary;
pub mod trace;
pub mod tuning;
pub mod verdict;
pub mod viewer;

use cli::{Cli, Command, RunArguments};
use failure::Failure;

/// Executes the given command, or `run` with the default profile if no command is given.
///
/// # Errors
/// If the command fails.
pub fn execute(cli: &Cli) -> Result<(), Failure> {
    match &cli.command {
        None => commands::run::run(&RunArguments::default()),
        Some(Command::Run(arguments)) => commands::run::run(arguments),
        Some(Command::Stop(arguments)) => commands::stop::stop(arguments),
        Some(Command::Simulate(arguments)) => commands::simulate::simulate(arguments),
        Some(Command::Check(arguments)) => commands::check::check(arguments),
        Some(Command::New(arguments)) => commands::new::new(arguments),
        Some(Command::Schema(arguments)) => commands::schema::schema(arguments),
        Some(Command::Bench(arguments)) => commands::bench::bench(arguments),
        Some(Command::Doctor(arguments)) => commands::doctor::doctor(arguments),
        Some(Command::Latency(arguments)) => commands::latency::latency(arguments),
        Some(Command::Devices(arguments)) => commands::devices::devices(arguments),
        Some(Command::InstallUdev(arguments)) => commands::install_udev::install_udev(arguments),
        Some(Command::Emulate(arguments)) => commands::emulate::emulate(arguments),
        Some(Command::DeadMan(arguments)) => commands::dead_man::dead_man(arguments),
        Some(Command::Replay(arguments)) => commands::replay::replay(arguments),
        Some(Command::Report(arguments)) => commands::report::report(arguments),
        Some(Command::Export(arguments)) => commands::export::export(arguments),
        Some(Command::Identify(arguments)) => commands::identify::identify(arguments),
        Some(Command::Zwidth(arguments)) => commands::zwidth::zwidth(arguments),
        Some(Command::Snapshot(arguments)) => still::snapshot(arguments),
    }
}

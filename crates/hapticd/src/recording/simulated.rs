//! Records a simulation synchronously, with the same records and tap as the daemon but without real-time constraints.

use super::{header, rotation, worlds};
use crate::cli::RecordArguments;
use crate::failure::Failure;
use haptic_config::setup::Setup;
use haptic_device::Device;
use haptic_loop::command::Command;
use haptic_loop::report::TickReport;
use haptic_loop::tick::HapticLoop;
use haptic_record::file::RecordError;
use haptic_record::header::Header;
use haptic_record::recorder::{Ended, Recorder};
use haptic_record::tap::{Tap, Timing, small_tap};
use haptic_record::worlds::Worlds;
use std::path::Path;

/// A recording of a simulation.
pub struct SimulatedRecording {
    tap: Tap,
    recorder: Recorder,
    /// Error that has ended the recording, if any. Later ticks are not recorded.
    written: Result<(), RecordError>,
}

/// Data needed to start a recording. For a simulation, it must be collected before the setup becomes a loop.
pub struct Beginning {
    header: Header,
    worlds: Worlds,
    moving_bodies: usize,
}

impl Beginning {
    /// Collects the data from a setup and its device.
    pub fn of(setup: &Setup, device: &dyn Device) -> Self {
        let moving_bodies = setup.scene.bodies.iter().filter(|body| !body.fixed).count();
        Self { header: header(setup, device, "simulate", 0), worlds: worlds(setup), moving_bodies }
    }

    /// Collects the data for a recording that starts mid-run.
    pub fn mid_run(header: Header, worlds: Worlds, rendering: &HapticLoop) -> Self {
        let moving_bodies = rendering.world().moving().len();
        Self { header: Header { first_tick: 0, ..header }, worlds, moving_bodies }
    }

    /// Returns the header of the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the worlds of the recording.
    pub fn worlds(&self) -> &Worlds {
        &self.worlds
    }

    /// Creates the file of a recording that starts with the first tick.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(self, path: &Path, arguments: &RecordArguments) -> Result<SimulatedRecording, Failure> {
        let (tap, feed) = small_tap(self.moving_bodies);
        let recorder = Recorder::create(path, self.header, feed, self.worlds, rotation(arguments))?;
        Ok(SimulatedRecording { tap, recorder, written: Ok(()) })
    }

    /// Creates the file of a recording that starts mid-run, with the loop's next tick.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create_mid_run(
        self,
        path: &Path,
        arguments: &RecordArguments,
        rendering: &HapticLoop,
    ) -> Result<SimulatedRecording, Failure> {
        let mut recording = self.create(path, arguments)?;
        recording.tap.record_checkpoint(rendering);
        Ok(recording)
    }
}

impl SimulatedRecording {
    /// Records a command that is about to be applied.
    pub fn command(&mut self, command: &Command, before_tick: u64) {
        self.tap.record_command(command, before_tick);
    }

    /// Writes the newest tick of a loop.
    pub fn tick(&mut self, rendering: &HapticLoop) {
        self.tick_as(rendering.last(), rendering);
    }

    /// Writes the given report instead of the loop's newest one.
    pub fn tick_as(&mut self, report: &TickReport, rendering: &HapticLoop) {
        if self.written.is_ok() {
            self.tap.record_tick(report, rendering.world(), Timing::default());
            self.tap.record_checkpoint(rendering);
            self.written = self.recorder.drain();
        }
    }

    /// Closes the file and returns how the recording ended.
    pub fn finish(self) -> Ended {
        self.recorder.end(self.written)
    }
}

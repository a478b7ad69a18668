//! Records a simulation, in step with it: the same records on the same way, only that nobody has to hurry.

use super::{header, refused, rotation, worlds};
use crate::cli::RecordArguments;
use crate::failure::Failure;
use crate::setup::Setup;
use haptic_device::Device;
use haptic_loop::command::Command;
use haptic_loop::report::TickReport;
use haptic_loop::world::World;
use haptic_record::header::Header;
use haptic_record::recorder::{Outcome, Recorder};
use haptic_record::tap::{Tap, Timing, small_tap};
use haptic_record::worlds::Worlds;
use std::path::Path;

/// A recording of a simulation.
pub struct SimulatedRecording {
    tap: Tap,
    recorder: Recorder,
}

/// What is needed to begin one, taken before the setup becomes a loop.
pub struct Beginning {
    header: Header,
    worlds: Worlds,
    moving_bodies: usize,
}

impl Beginning {
    /// Of a setup and its device.
    pub fn of(setup: &Setup, device: &dyn Device) -> Self {
        let moving_bodies = setup.scene.bodies.iter().filter(|body| !body.fixed).count();
        Self { header: header(setup, device, "simulate", 0), worlds: worlds(setup), moving_bodies }
    }

    /// The worlds that the recording knows.
    pub fn worlds(&self) -> &Worlds {
        &self.worlds
    }

    /// Creates the file.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(self, path: &Path, arguments: &RecordArguments) -> Result<SimulatedRecording, Failure> {
        let (tap, feed) = small_tap(self.moving_bodies);
        let recorder = Recorder::create(path, self.header, feed, self.worlds, 0, rotation(arguments))
            .map_err(|error| refused(&error))?;
        Ok(SimulatedRecording { tap, recorder })
    }
}

impl SimulatedRecording {
    /// Notes an order that is about to be taken.
    pub fn order(&mut self, command: &Command, before_tick: u64) {
        self.tap.note_order(command, before_tick);
    }

    /// Writes down a tick.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn tick(&mut self, report: &TickReport, world: &World) -> Result<(), Failure> {
        self.tap.note_tick(report, world, Timing::default());
        Ok(self.recorder.drain()?)
    }

    /// Closes the file.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn finish(self) -> Result<Outcome, Failure> {
        Ok(self.recorder.finish()?)
    }
}

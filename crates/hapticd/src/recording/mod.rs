//! Recording and replay of runs.
//!
//! - [`simulated`]: records a simulation synchronously; the daemon's recording is in `control::recording`.
//! - [`kept`]: an open recording with its header, texts and files.
//! - [`replay`]: replays a recording and compares every tick.
//! - [`felt`]: statistics of a run, for comparison.

pub mod felt;
pub mod kept;
pub mod replay;
pub mod simulated;

use crate::cli::RecordArguments;
use crate::failure::Failure;
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use haptic_device::Device;
use haptic_record::file::RecordError;
use haptic_record::header::{DeviceInfo, Header, Text, Texts};
use haptic_record::reader::ReadError;
use haptic_record::recorder::Rotation;
use haptic_record::worlds::{WorldSource, Worlds};
use std::sync::Arc;

/// Ticks per minute at 1 kHz.
const TICKS_PER_MINUTE: f64 = 60_000.0;

/// Creates the header of a recording that starts with the first tick.
pub fn header(setup: &Setup, device: &dyn Device, command: &str, epoch_ns: u64) -> Header {
    let sources = &setup.sources;
    Header {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command.to_owned(),
        texts: Texts {
            profile: text_of(&setup.profile.source),
            scene: text_of(&sources.scene),
            device: text_of(&sources.device),
            hand: sources.hand.as_ref().map(text_of),
        },
        moves_no_motor: setup.moves_no_motor(),
        sign_check: setup.checked_motors().is_some(),
        device: DeviceInfo::of(device.identity(), device.limits(), setup.device_rate_hz),
        epoch_ns,
        first_tick: 1,
        world: 0,
        part: 1,
    }
}

fn text_of(source: &Source) -> Text {
    Text { name: source.name.clone(), text: source.text.clone() }
}

/// Creates the list of worlds for a run that starts with this setup.
pub fn worlds(setup: &Setup) -> Worlds {
    let Source { name, text, .. } = setup.sources.scene.clone();
    Worlds::starting_with(WorldSource { name, text, scene: Arc::new(setup.scene.clone()) })
}

/// Returns the size and duration after which a recording continues in a new file.
pub fn rotation(arguments: &RecordArguments) -> Rotation {
    Rotation {
        bytes: arguments.record_rotate_mb.map(|megabytes| (megabytes * 1e6) as u64),
        ticks: arguments.record_rotate_minutes.map(|minutes| (minutes * TICKS_PER_MINUTE) as u64),
    }
}

/// Reports a file that cannot be created as bad input, and a full or failing disk as a runtime failure.
impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        if error.is_unopened { Self::BadInput(error.to_string()) } else { Self::Runtime(error.to_string()) }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::BadInput(error.to_string())
    }
}

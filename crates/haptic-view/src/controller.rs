//! What can be asked of the daemon, and how it refuses.

use crate::message::scene::ScenesMessage;
use crate::message::settings::CouplingMessage;
use nalgebra::Vector2;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt;

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlError {
    /// What was given is wrong: status 422.
    Invalid(String),
    /// It cannot be done as things are: status 409.
    NotNow(String),
    /// There is no such thing: status 404.
    Unknown(String),
    /// The loop has not caught up with earlier orders: status 503.
    Busy(String),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Invalid(text) | Self::NotNow(text) | Self::Unknown(text) | Self::Busy(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for ControlError {}

/// Which scene shall run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SceneChoice {
    /// One that is built in.
    BuiltIn(String),
    /// One as a scene file has it.
    Toml(String),
}

/// What is plugged in, and what this loop drives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DevicesMessage {
    /// As the daemon's own command lists them.
    pub devices: Value,
    /// What this loop drives; a model is not among those that are plugged in.
    pub in_use: DeviceInUse,
}

/// What this loop drives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceInUse {
    /// For people.
    pub name: String,
    /// As in a device file.
    pub kind: String,
}

/// The daemon, as the viewer asks it. Every call is made on an ordinary thread; those that may take long say so.
pub trait Controller: Send + Sync + 'static {
    /// Leads the hand of a simulated device to a place in the world, m, or lets it go.
    ///
    /// # Errors
    /// When the hand cannot be led, or the loop is busy.
    fn set_hand_target(&self, target_m: Option<Vector2<f64>>) -> Result<(), ControlError>;

    /// Has the world stand still, or go on.
    ///
    /// # Errors
    /// When the loop is busy.
    fn pause(&self, paused: bool) -> Result<(), ControlError>;

    /// Has a world that stands still do so many ticks.
    ///
    /// # Errors
    /// When it does not stand still, or the loop is busy.
    fn step(&self, ticks: u32) -> Result<(), ControlError>;

    /// Puts the world back to its start.
    ///
    /// # Errors
    /// When the loop is busy.
    fn reset(&self) -> Result<(), ControlError>;

    /// Takes over the keys of a profile's `[coupling]`; what is not given stays. Gives what holds from now on.
    ///
    /// # Errors
    /// When a key is unknown or a value is outside its limits.
    fn set_gains(&self, keys: &Map<String, Value>) -> Result<CouplingMessage, ControlError>;

    /// Scenes that can be switched to.
    fn scenes(&self) -> ScenesMessage;

    /// The picture of a built-in scene, as SVG. May take long.
    fn thumbnail(&self, name: &str) -> Option<String>;

    /// Switches to another scene and gives its number. May take long: the scene is built and its worst tick measured.
    ///
    /// # Errors
    /// When the scene is wrong, or too much for a tick.
    fn change_scene(&self, choice: &SceneChoice) -> Result<u64, ControlError>;

    /// What is plugged in. May take long.
    fn devices(&self) -> DevicesMessage;

    /// Begins to record and says into which file.
    ///
    /// # Errors
    /// When it cannot be done.
    fn start_recording(&self, file: Option<&str>) -> Result<String, ControlError>;

    /// Ends the recording and says which file it is in.
    ///
    /// # Errors
    /// When nothing is recorded.
    fn stop_recording(&self) -> Result<String, ControlError>;
}

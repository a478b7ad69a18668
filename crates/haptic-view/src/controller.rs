//! The interface through which the server controls the daemon.

use crate::message::scene::ScenesMessage;
use crate::message::settings::CouplingMessage;
use haptic_loop::control::ControlError;
use nalgebra::Vector2;
use serde::Serialize;
use serde_json::{Map, Value};

/// The scene to switch to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SceneChoice {
    /// Name of a built-in scene.
    BuiltIn(String),
    /// Text of a scene file.
    Toml(String),
}

/// Connected devices, and the device in use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DevicesMessage {
    /// The list that `hapticd devices --json` prints.
    pub devices: Value,
    /// The device in use; a simulated one is not in the list.
    pub in_use: DeviceInUse,
}

/// The device that the loop drives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceInUse {
    /// Name to display.
    pub name: String,
    /// `kind` of the device file.
    pub kind: String,
}

/// The daemon as the server sees it. Every call runs on an ordinary thread; slow ones are marked.
pub trait Controller: Send + Sync + 'static {
    /// Guides the hand of a simulated device to a position in the world, m; `None` releases it.
    ///
    /// # Errors
    /// When the hand cannot be guided, or the loop is busy.
    fn guide_hand(&self, target_m: Option<Vector2<f64>>) -> Result<(), ControlError>;

    /// Pauses or resumes the world.
    ///
    /// # Errors
    /// When the loop is busy.
    fn pause(&self, paused: bool) -> Result<(), ControlError>;

    /// Runs this many ticks of a paused world.
    ///
    /// # Errors
    /// When the world is not paused, or the loop is busy.
    fn step(&self, ticks: u32) -> Result<(), ControlError>;

    /// Restarts the world.
    ///
    /// # Errors
    /// When the loop is busy.
    fn reset(&self) -> Result<(), ControlError>;

    /// Sets keys of the profile's `[coupling]`; the other keys stay. Returns the new gains.
    ///
    /// # Errors
    /// When a key is unknown or a value is outside its limits.
    fn set_gains(&self, keys: &Map<String, Value>) -> Result<CouplingMessage, ControlError>;

    /// The built-in scenes.
    fn scenes(&self) -> ScenesMessage;

    /// Picture of a built-in scene as SVG. Slow.
    fn thumbnail(&self, name: &str) -> Option<String>;

    /// Switches to another scene and returns its number. Slow: builds the scene and measures its worst tick.
    ///
    /// # Errors
    /// When the scene is invalid, or its worst tick takes too long.
    fn change_scene(&self, choice: &SceneChoice) -> Result<u64, ControlError>;

    /// Lists connected devices. Slow.
    fn devices(&self) -> DevicesMessage;

    /// Starts a recording and returns its path.
    ///
    /// # Errors
    /// When the name is invalid, a recording is active, or the file cannot be written.
    fn start_recording(&self, file: Option<&str>) -> Result<String, ControlError>;

    /// Ends the recording and returns its path.
    ///
    /// # Errors
    /// When no recording is active.
    fn stop_recording(&self) -> Result<String, ControlError>;
}

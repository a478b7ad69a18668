//! The interface through which the viewer changes the running daemon.

use crate::message::scene::ScenesMessage;
use haptic_coupling::coupling::Gains;
use haptic_loop::control::ControlError;
use nalgebra::Vector2;
use serde::Serialize;
use serde_json::{Map, Value};

/// A scene to switch to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SceneChoice {
    /// Name of a built-in scene.
    BuiltIn(String),
    /// Text of a scene file.
    Toml(String),
}

/// The connected devices and the one in use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DevicesMessage {
    /// Connected devices, as `hapticd devices --json` lists them.
    pub devices: Value,
    /// The device that this loop drives. A simulated one is not among the connected devices.
    pub in_use: DeviceInUse,
}

/// The device that this loop drives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceInUse {
    /// Name for display.
    pub name: String,
    /// Device kind, as in a device file.
    pub kind: String,
}

/// Changes the running daemon. All methods are called on ordinary threads; those documented as slow, on a thread of
/// their own.
pub trait Controller: Send + Sync + 'static {
    /// Moves the hand of a simulated device towards a position in the world, m; `None` releases it.
    ///
    /// # Errors
    /// If the device has no simulated hand, or the loop is busy.
    fn set_hand_target(&self, target_m: Option<Vector2<f64>>) -> Result<(), ControlError>;

    /// Pauses or resumes the world.
    ///
    /// # Errors
    /// If the loop is busy.
    fn pause(&self, paused: bool) -> Result<(), ControlError>;

    /// Runs a number of ticks of a paused world.
    ///
    /// # Errors
    /// If the world is not paused, or the loop is busy.
    fn step(&self, ticks: u32) -> Result<(), ControlError>;

    /// Puts the world back to its start.
    ///
    /// # Errors
    /// If the loop is busy.
    fn reset(&self) -> Result<(), ControlError>;

    /// Sets keys of a profile's `[coupling]`; keys not given stay as they are. Returns the gains in force afterwards.
    ///
    /// # Errors
    /// If a key is unknown or a value is outside its limits.
    fn set_gains(&self, keys: &Map<String, Value>) -> Result<Gains, ControlError>;

    /// The built-in scenes and the current one.
    fn scenes(&self) -> ScenesMessage;

    /// The picture of a built-in scene, as SVG. Slow.
    fn thumbnail(&self, name: &str) -> Option<String>;

    /// Switches to another scene and returns its number. Slow: the scene is built and its worst tick measured.
    ///
    /// # Errors
    /// If the scene is invalid, or too expensive for a tick.
    fn change_scene(&self, choice: &SceneChoice) -> Result<u64, ControlError>;

    /// The connected devices and the one in use. Slow.
    fn devices(&self) -> DevicesMessage;

    /// Starts a recording and returns its file.
    ///
    /// # Errors
    /// If the name is not allowed, a recording is in progress, or the file cannot be created.
    fn start_recording(&self, file: Option<&str>) -> Result<String, ControlError>;

    /// Stops the recording and returns its file.
    ///
    /// # Errors
    /// If nothing is being recorded, or the loop is busy.
    fn stop_recording(&self) -> Result<String, ControlError>;
}

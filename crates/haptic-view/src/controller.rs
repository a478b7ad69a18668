//! Interface that the viewer uses to change the running daemon.

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

/// The connected devices and the device in use, as a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DevicesMessage {
    /// Connected devices, as listed by `hapticd devices --json`.
    pub devices: Value,
    /// Device driven by the loop. A simulated device is not among the connected devices.
    pub in_use: DeviceInUse,
}

/// The device driven by the loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceInUse {
    /// Display name.
    pub name: String,
    /// Device kind, as named in a device file.
    pub kind: String,
}

/// Interface that the viewer uses to change the running daemon. All methods are called on ordinary threads; slow ones
/// are not called on the server thread.
pub trait Controller: Send + Sync + 'static {
    /// Moves the hand of a simulated device towards a position in the world frame, m; `None` releases the hand.
    ///
    /// # Errors
    /// If the device has no simulated hand, or the loop is busy.
    fn set_hand_target(&self, target_m: Option<Vector2<f64>>) -> Result<(), ControlError>;

    /// Requests an emergency stop and returns its number. Never fails and never waits; the stop takes effect in the
    /// next tick, whatever else is pending.
    fn stop(&self) -> u64;

    /// Whether a tick has sent zero force since the stop with this number was requested.
    fn is_stop_effective(&self, number: u64) -> bool;

    /// Releases the stops requested so far; the force ramps up.
    ///
    /// # Errors
    /// If the loop is busy.
    fn release_stop(&self) -> Result<(), ControlError>;

    /// Pauses or resumes the world.
    ///
    /// # Errors
    /// If the loop is busy.
    fn pause(&self, paused: bool) -> Result<(), ControlError>;

    /// Runs `ticks` ticks in a paused world.
    ///
    /// # Errors
    /// If the world is not paused, or the loop is busy.
    fn step(&self, ticks: u32) -> Result<(), ControlError>;

    /// Resets the world to its initial state.
    ///
    /// # Errors
    /// If the loop is busy.
    fn reset(&self) -> Result<(), ControlError>;

    /// Sets the gains with the given keys, as in `[coupling]` of a profile, and keeps the others. Returns the resulting
    /// gains.
    ///
    /// # Errors
    /// If a key is unknown or a value is outside its limits.
    fn set_gains(&self, keys: &Map<String, Value>) -> Result<Gains, ControlError>;

    /// Returns the built-in scenes and the name of the current scene.
    fn scenes(&self) -> ScenesMessage;

    /// Returns a picture of a built-in scene as SVG; `None` if there is no such scene. Slow.
    fn thumbnail(&self, name: &str) -> Option<String>;

    /// Switches to another scene and returns its number. Slow: the scene is built and its worst-case tick is measured.
    ///
    /// # Errors
    /// If the scene is invalid, or too expensive for a tick.
    fn change_scene(&self, choice: &SceneChoice) -> Result<u64, ControlError>;

    /// Returns the connected devices and the device in use. Slow.
    fn devices(&self) -> DevicesMessage;

    /// Starts a recording and returns the name of its file. If `file` is `None`, the daemon chooses the name.
    ///
    /// # Errors
    /// If the name is not allowed, a recording is in progress, or the file cannot be created.
    fn start_recording(&self, file: Option<&str>) -> Result<String, ControlError>;

    /// Stops the recording in progress and returns the name of its file.
    ///
    /// # Errors
    /// If no recording is in progress, or the loop is busy.
    fn stop_recording(&self) -> Result<String, ControlError>;
}

//! The settings in force, their limits, and the stability margins that follow.

use haptic_coupling::coupling::Gains;
use haptic_loop::settings::Safety;
use serde::Serialize;

/// All settings, with the device and the margins they depend on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingsMessage {
    /// The profile's `[coupling]`.
    pub coupling: Gains,
    /// Limits of the gains in the viewer.
    pub limits: LimitsMessage,
    /// The profile's `[safety]`.
    pub safety: Safety,
    /// Stability margins of the coupling.
    pub stability: StabilityMessage,
    /// The device.
    pub device: DeviceMessage,
    /// Version of the daemon.
    pub version: String,
}

/// Minimum and maximum of each gain in the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are complete, unit included")]
pub struct LimitsMessage {
    pub max_force_n: f64,
    pub stiffness_n_per_m: [f64; 2],
    pub damping_n_s_per_m: [f64; 2],
    pub angular_stiffness_n_m_per_rad: [f64; 2],
    pub angular_damping_n_m_s_per_rad: [f64; 2],
}

/// Margins of the coupling on this device, and the regions of stable gains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StabilityMessage {
    /// Passive with any hand, even without the tank.
    pub passive: bool,
    /// Stable with the known hand.
    pub stable: bool,
    /// The margins as text, in lines.
    pub text: String,
    /// Largest passive and largest stable stiffness for damping values from zero upwards, in world units.
    pub region: Vec<RegionPoint>,
}

/// Limits of both regions at one damping value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are complete, unit included")]
pub struct RegionPoint {
    pub damping_n_s_per_m: f64,
    pub stiffness_passive_n_per_m: f64,
    pub stiffness_stable_n_per_m: f64,
}

/// The device in use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceMessage {
    /// Name for display.
    pub name: String,
    /// Device kind, as in a device file.
    pub kind: String,
    /// Number of axes, 1 or 2.
    pub axes: u8,
    /// Whether its hand is simulated and can follow the mouse.
    pub can_be_guided: bool,
    /// Largest force, N.
    pub max_force_n: f64,
    /// Dynamics of its worst axis.
    pub model: ModelMessage,
}

/// Dynamics of a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are those of a device file, unit included")]
pub struct ModelMessage {
    pub mass_kg: f64,
    pub damping_n_s_per_m: f64,
    pub coulomb_n: f64,
    pub encoder_step_m: f64,
    pub delay_s: f64,
}

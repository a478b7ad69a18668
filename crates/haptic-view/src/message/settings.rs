//! Current settings, their limits, and the resulting stability margins.

use haptic_coupling::coupling::Gains;
use haptic_loop::settings::Safety;
use serde::Serialize;

/// All settings, the device and the stability margins, as a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingsMessage {
    /// Gains, with the keys of `[coupling]` in a profile.
    pub coupling: Gains,
    /// Limits on the force, and on the gains that can be set in the viewer.
    pub limits: LimitsMessage,
    /// Safety settings, with the keys of `[safety]` in a profile.
    pub safety: Safety,
    /// Stability margins of the coupling.
    pub stability: StabilityMessage,
    /// The device in use.
    pub device: DeviceMessage,
    /// Version of the daemon.
    pub version: String,
}

/// Limits in the viewer: the maximum force, and the minimum and maximum of each gain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are complete, unit included")]
pub struct LimitsMessage {
    pub max_force_n: f64,
    pub stiffness_n_per_m: [f64; 2],
    pub damping_n_s_per_m: [f64; 2],
    pub angular_stiffness_n_m_per_rad: [f64; 2],
    pub angular_damping_n_m_s_per_rad: [f64; 2],
}

/// Stability margins of the coupling on the device in use, and the regions of passive and stable gains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StabilityMessage {
    /// Whether the coupling is passive with any hand, even without the tank.
    pub passive: bool,
    /// Whether the coupling is stable with the assumed hand.
    pub stable: bool,
    /// Margins as lines of text.
    pub text: String,
    /// Largest passive and largest stable stiffness for damping values from zero upwards, world frame.
    pub region: Vec<RegionPoint>,
}

/// Largest passive and largest stable stiffness at one damping value.
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
    /// Display name.
    pub name: String,
    /// Device kind, as named in a device file.
    pub kind: String,
    /// Number of axes, 1 or 2.
    pub axes: u8,
    /// Whether the device has a simulated hand, which can follow the mouse.
    pub can_be_guided: bool,
    /// Largest force of the device, N.
    pub max_force_n: f64,
    /// Dynamics of the worst axis.
    pub model: ModelMessage,
}

/// Dynamics of the worst axis of a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are those of a device file, unit included")]
pub struct ModelMessage {
    pub mass_kg: f64,
    pub damping_n_s_per_m: f64,
    pub coulomb_n: f64,
    pub encoder_step_m: f64,
    pub delay_s: f64,
}

//! How hand and tool are joined, within which limits, and how far that is from trouble.

use serde::Serialize;

/// Everything that can be set, and what surrounds it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingsMessage {
    /// The profile's `[coupling]`.
    pub coupling: CouplingMessage,
    /// What cannot be exceeded.
    pub limits: LimitsMessage,
    /// The profile's `[safety]`.
    pub safety: SafetyMessage,
    /// How far the coupling is from trouble.
    pub stability: StabilityMessage,
    /// What the hand holds.
    pub device: DeviceMessage,
    /// Of the daemon.
    pub version: String,
}

/// The keys of `[coupling]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are those of the profile, unit included")]
pub struct CouplingMessage {
    pub stiffness_n_per_m: f64,
    pub damping_n_s_per_m: f64,
    pub angular_stiffness_n_m_per_rad: f64,
    pub angular_damping_n_m_s_per_rad: f64,
}

/// What can be set through the viewer: the least and the most of each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names say it, unit included")]
pub struct LimitsMessage {
    pub max_force_n: f64,
    pub stiffness_n_per_m: [f64; 2],
    pub damping_n_s_per_m: [f64; 2],
    pub angular_stiffness_n_m_per_rad: [f64; 2],
    pub angular_damping_n_m_s_per_rad: [f64; 2],
}

/// The keys of `[safety]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are those of the profile, unit included")]
pub struct SafetyMessage {
    pub max_force_n: f64,
    pub slew_n_per_s: f64,
    pub engage_ramp_s: f64,
    pub stale_after_s: f64,
    pub lost_after_s: f64,
    pub max_speed_m_per_s: f64,
    pub passivity: &'static str,
}

/// The margins of the coupling on this device, and the regions around it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StabilityMessage {
    /// No hand and no passive world can make the loop gain energy, even without the tank.
    pub passive: bool,
    /// The loop comes to rest with the hand that is known.
    pub stable: bool,
    /// The same in words, line by line.
    pub text: String,
    /// The stiffest passive and the stiffest stable coupling for dampings from none upwards, in world units.
    pub region: Vec<RegionPoint>,
}

/// The edge of both regions at one damping.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names say it, unit included")]
pub struct RegionPoint {
    pub damping_n_s_per_m: f64,
    pub stiffness_passive_n_per_m: f64,
    pub stiffness_stable_n_per_m: f64,
}

/// What the hand holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceMessage {
    /// For people.
    pub name: String,
    /// As in a device file.
    pub kind: String,
    /// 1 or 2.
    pub axes: u8,
    /// Whether the mouse can lead its hand.
    pub can_be_guided: bool,
    /// The largest force, N.
    pub max_force_n: f64,
    /// How it behaves, its worst axis.
    pub model: ModelMessage,
}

/// How a device behaves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are those of a device file, unit included")]
pub struct ModelMessage {
    pub mass_kg: f64,
    pub damping_n_s_per_m: f64,
    pub coulomb_n: f64,
    pub encoder_step_m: f64,
    pub delay_s: f64,
}

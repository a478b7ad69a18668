//! Device kinds, as named by `kind` in a device file.

use crate::pantograph::Pantograph;

/// Properties of a device kind, for device files, reports and recordings. Every backend supports one kind.
#[derive(Debug)]
pub struct KindSpec {
    /// Name in device files, messages and recordings.
    pub name: &'static str,
    /// Description of the devices of this kind, for help and documentation.
    pub about: &'static str,
    /// Whether efforts move real motors. The full safety path is then required.
    pub is_hardware: bool,
    /// Number of axes, if it is the same for all devices of this kind.
    pub axes: Option<u8>,
    /// Keys of a device file that apply to this kind, in addition to those that apply to every kind and those that
    /// apply to all hardware ([`HARDWARE_KEYS`]).
    pub keys: &'static [&'static str],
    /// Permitted values of the key `variant`; the first is the default.
    pub variants: &'static [&'static str],
    /// Returns the linkage between motors and handle of a variant; `None` if each motor drives an axis of the device
    /// frame.
    pub linkage: Option<fn(variant: &str) -> Option<Pantograph>>,
}

/// Compares kinds by name.
impl PartialEq for KindSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for KindSpec {}

/// Keys of a device file that apply to every kind of hardware.
pub const HARDWARE_KEYS: &[&str] =
    &["reverse_force_x", "reverse_force_y", "reverse_position_x", "reverse_position_y", "sign_check"];

/// Device kinds supported by a program.
pub type Kinds = &'static [&'static KindSpec];

/// Kind of the simulated device: a device model with a simulated hand.
pub static SIMULATED: KindSpec = KindSpec::software("simulated", "a device model with a simulated hand");

/// Kind of the prescribed device: its positions are given in advance, and efforts have no effect.
pub static PRESCRIBED: KindSpec = KindSpec::software("prescribed", "positions given beforehand");

/// Kind of the replayed device, which returns the readings of a recording.
pub static REPLAY: KindSpec = KindSpec::software("replay", "a recording played back");

impl KindSpec {
    const fn software(name: &'static str, about: &'static str) -> Self {
        Self { name, about, is_hardware: false, axes: None, keys: &[], variants: &[], linkage: None }
    }

    /// Whether a key of a device file that does not apply to every kind applies to this one.
    pub fn has_key(&self, key: &str) -> bool {
        self.keys.contains(&key) || self.is_hardware && HARDWARE_KEYS.contains(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_and_recordings_are_not_hardware() {
        assert!(![&SIMULATED, &PRESCRIBED, &REPLAY].iter().any(|kind| kind.is_hardware));
    }

    #[test]
    fn kinds_are_equal_by_name() {
        assert_eq!(SIMULATED, KindSpec { about: "another text", ..KindSpec::software("simulated", "") });
        assert_ne!(SIMULATED, REPLAY);
    }
}

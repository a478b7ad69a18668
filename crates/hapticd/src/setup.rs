//! From flags to what is run: profile, scene, device and hand, opened and checked.

use crate::cli::InputArguments;
use crate::files::builtin::{DEVICES, PROFILES, SCENES};
use crate::files::device::{Device, DeviceKind};
use crate::files::error::FileErrors;
use crate::files::hand::HandPath;
use crate::files::profile::{Profile, Reference};
use crate::files::source::Source;
use crate::files::{device, hand, profile, scene};
use haptic_planar::scene::Scene;
use std::path::Path;

/// Everything that a session is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How things are joined.
    pub profile: Profile,
    /// The world.
    pub scene: Scene,
    /// What the hand holds.
    pub device: Device,
    /// A prescribed hand, if there is one.
    pub hand: Option<HandPath>,
}

impl Setup {
    /// Opens what the flags name, and for the rest what the profile names.
    ///
    /// # Errors
    /// Everything that is wrong in the profile; if it is right, everything that is wrong in scene, device and hand.
    pub fn open(input: &InputArguments, hand_file: Option<&Path>) -> Result<Self, FileErrors> {
        let profile_name = input.profile.as_deref().unwrap_or(PROFILES.entries[0].0);
        let mut profile = profile::load(&PROFILES.open(profile_name, None)?)?;
        override_with(&mut profile.scene, input.scene.as_deref());
        override_with(&mut profile.device, input.device.as_deref());
        Self::of_profile(profile, hand_file)
    }

    /// Opens what a profile names.
    ///
    /// # Errors
    /// Everything that is wrong in scene, device and hand.
    pub fn of_profile(profile: Profile, hand_file: Option<&Path>) -> Result<Self, FileErrors> {
        let scene = profile.scene.open(&SCENES).and_then(|source| scene::load(&source));
        let device = profile.device.open(&DEVICES).and_then(|source| device::load(&source));
        let hand = hand_file.map(|path| Source::read(path).and_then(|source| hand::load(&source))).transpose();
        match (scene, device, hand) {
            (Ok(scene), Ok(device), Ok(hand)) => Self { profile, scene, device, hand }.protected(),
            (scene, device, hand) => {
                let errors = [scene.err(), device.err(), hand.err()];
                Err(FileErrors(errors.into_iter().flatten().flat_map(|errors| errors.0).collect()))
            }
        }
    }

    /// Hardware needs everything that protects the hand; a prescribed hand moves no hardware.
    fn protected(self) -> Result<Self, FileErrors> {
        if !self.is_simulated() && self.hand.is_none() {
            self.profile.bareness.refuse_on_hardware()?;
        }
        Ok(self)
    }

    /// The largest force on the device, N: of two limits the smaller holds.
    pub fn max_force_n(&self) -> f64 {
        let device = self.device.model.max_force_n[..self.device.axes].iter().copied().fold(f64::INFINITY, f64::min);
        self.profile.safety.max_force_n.min(device)
    }

    /// Whether the device is a model and not hardware.
    pub fn is_simulated(&self) -> bool {
        self.device.kind == DeviceKind::Simulated
    }
}

fn override_with(reference: &mut Reference, flag: Option<&str>) {
    if let Some(name) = flag {
        *reference = Reference::from_flag(name);
    }
}

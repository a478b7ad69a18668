//! The Haply 2diy: two motors and a five-bar linkage on a USB CDC port.
//!
//! Its protocol has no framing, no checksum and no watchdog, and the board holds its last torque indefinitely. Zero
//! torque is therefore the first and last command of a session. Setup sets the encoders to the home angles, so the arm
//! must be at its home stop at that moment; the protocol cannot check this. The board is therefore set up only once,
//! right after the user has started the program with the arm at the stop. A board that loses its angles during a run is
//! rejected.

mod handshake;
pub mod message;
mod receive;
mod transmit;

use crate::link_monitor::LinkMonitor;
use crate::protocol::{Handshake, Protocol, TxBytes};
use handshake::HaplyHandshake;
use haptic_device::config::{ArmSettings, Rotation};
use haptic_device::{DeviceConfig, KindSpec, MonotonicNs, Pantograph};
use nalgebra::Vector2;
use std::sync::Arc;

/// Firmware torque limit of each motor, N·m.
pub const MAX_TORQUE_N_M: f64 = 0.123;

/// Counts that a board with a SAMD21 processor needs for a change of its angles. Other boards need one.
const BOARD_DIVISOR: f64 = 2.0;

/// Device kind for all variants of the Haply 2diy.
pub static HAPLY_2DIY: KindSpec = KindSpec {
    name: "haply-2diy",
    about: "Haply 2diy: v2, v3 and the older kit",
    is_hardware: true,
    axes: Some(2),
    keys: &[
        "port",
        "baud",
        "variant",
        "serial_number",
        "watchdog_s",
        "motor_directions",
        "encoder_directions",
        "home_rad",
        "counts_per_turn",
    ],
    variants: &VARIANTS,
    linkage: Some(|variant| HaplyVariant::by_name(variant).map(|variant| variant.linkage)),
};

/// Names of the variants.
const VARIANTS: [&str; HaplyVariant::ALL.len()] = {
    let mut variants = [""; HaplyVariant::ALL.len()];
    let mut index = 0;
    while index < variants.len() {
        variants[index] = HaplyVariant::ALL[index].variant;
        index += 1;
    }
    variants
};

/// A variant of the Haply 2diy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HaplyVariant {
    /// Value of `variant` in a device file.
    pub variant: &'static str,
    /// Display name.
    pub name: &'static str,
    /// Dimensions of the linkage.
    pub linkage: Pantograph,
    /// Angles of joints 1 and 2 at the home stop, degrees.
    pub home_deg: [f32; 2],
    /// Encoder counts per turn of joints 1 and 2, as the setup states them. Boards with a SAMD21 processor count only
    /// every second of them, so that their angles have [`Self::steps_rad`].
    pub counts_per_turn: [f32; 2],
    /// Directions of the motors of joints 1 and 2.
    pub motor_directions: [Rotation; 2],
    /// Directions of the encoders of joints 1 and 2.
    pub encoder_directions: [Rotation; 2],
    /// Whether joint 1 is on port 2 and joint 2 on port 1.
    pub ports_are_swapped: bool,
}

impl HaplyVariant {
    /// Version 3, plastic, that starts with its handle drawn back; "v3.1" in public sketches.
    pub const V3: Self = Self {
        variant: "v3",
        name: "Haply 2diy v3",
        linkage: Pantograph::HAPLY_V3,
        home_deg: [168.0, 12.0],
        counts_per_turn: [4880.0; 2],
        motor_directions: [Rotation::Anticlockwise; 2],
        encoder_directions: [Rotation::Anticlockwise; 2],
        ports_are_swapped: true,
    };
    /// Version 3 that starts with its arms stretched out; "v3" in older sketches. Its counts per turn were measured.
    pub const V3_EXTENDED: Self = Self {
        variant: "v3-extended",
        name: "Haply 2diy v3, home extended",
        home_deg: [97.23, 82.77],
        counts_per_turn: [5299.8, 5219.3],
        ..Self::V3
    };
    /// Version 3 whose motors turn clockwise and whose arms start in line.
    pub const V3_CLOCKWISE: Self = Self {
        variant: "v3-clockwise",
        name: "Haply 2diy v3, clockwise motors",
        home_deg: [180.0, 0.0],
        motor_directions: [Rotation::Clockwise; 2],
        ..Self::V3
    };
    /// Version 2, metal.
    pub const V2: Self = Self {
        variant: "v2",
        name: "Haply 2diy v2",
        linkage: Pantograph::HAPLY_V2,
        home_deg: [241.0, -61.0],
        counts_per_turn: [10752.0; 2],
        motor_directions: [Rotation::Anticlockwise, Rotation::Clockwise],
        encoder_directions: [Rotation::Anticlockwise, Rotation::Clockwise],
        ports_are_swapped: true,
    };
    /// The older Haply kit.
    pub const KIT: Self = Self {
        variant: "kit",
        name: "Haply 2diy kit",
        linkage: Pantograph::HAPLY_KIT,
        home_deg: [180.0, 0.0],
        counts_per_turn: [13824.0; 2],
        motor_directions: [Rotation::Clockwise; 2],
        encoder_directions: [Rotation::Clockwise; 2],
        ports_are_swapped: false,
    };

    /// All variants; the first is the default.
    pub const ALL: [Self; 5] = [Self::V3, Self::V3_EXTENDED, Self::V3_CLOCKWISE, Self::V2, Self::KIT];

    /// Returns the variant with this value of `variant` in a device file, if known.
    pub fn by_name(variant: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.variant == variant)
    }

    /// Returns the variant of a device file, with the settings that the file gives instead of those of the variant.
    pub fn of(config: &DeviceConfig) -> Self {
        config.variant.and_then(Self::by_name).unwrap_or(Self::ALL[0]).with(&config.arms)
    }

    fn with(self, arms: &ArmSettings) -> Self {
        let home_deg = arms.home_rad.map(|home_rad| home_rad.map(|angle_rad| angle_rad.to_degrees() as f32));
        let counts_per_turn = arms.counts_per_turn.map(|counts| counts.map(|counts| counts as f32));
        Self {
            home_deg: home_deg.unwrap_or(self.home_deg),
            counts_per_turn: counts_per_turn.unwrap_or(self.counts_per_turn),
            motor_directions: arms.motor_directions.unwrap_or(self.motor_directions),
            encoder_directions: arms.encoder_directions.unwrap_or(self.encoder_directions),
            ..self
        }
    }

    /// Converts values from joint order to port order, or back.
    pub fn by_port<T: Copy>(&self, [first, second]: [T; 2]) -> [T; 2] {
        if self.ports_are_swapped { [second, first] } else { [first, second] }
    }

    /// Returns the smallest change of the angles of joints 1 and 2 that any board reports, rad.
    pub fn steps_rad(&self) -> [f64; 2] {
        self.counts_per_turn.map(|counts| BOARD_DIVISOR * core::f64::consts::TAU / f64::from(counts))
    }

    /// Returns the joint angles at the home stop, rad.
    pub fn home_rad(&self) -> Vector2<f64> {
        Vector2::from_fn(|joint, _| f64::from(self.home_deg[joint]).to_radians())
    }

    /// Returns the force at full torque in the weakest direction, with the handle in the middle of its travel, N.
    pub fn max_force_n(&self) -> f64 {
        let linkage = &self.linkage;
        let middle_m = Vector2::new(linkage.base_m / 2.0, 0.65 * (linkage.upper_link_m + linkage.lower_link_m));
        let jacobian = linkage.angles_rad(middle_m).and_then(|angles| linkage.jacobian(angles));
        jacobian.map_or(0.0, |jacobian| MAX_TORQUE_N_M / jacobian.singular_values().max())
    }
}

/// The protocol of a Haply 2diy with its settings.
pub struct HaplyProtocol {
    variant: HaplyVariant,
    monitor: Arc<LinkMonitor>,
    /// Whether a handshake has already set up the board. The board is then accepted only if it has kept its angles,
    /// because another setup would define any pose as home.
    was_set_up: bool,
}

impl HaplyProtocol {
    /// Creates the protocol, before its first session.
    pub fn new(variant: HaplyVariant, monitor: Arc<LinkMonitor>) -> Self {
        Self { variant, monitor, was_set_up: false }
    }
}

impl Protocol for HaplyProtocol {
    fn start_handshake(&mut self, now: MonotonicNs) -> Box<dyn Handshake> {
        let keeps_angles = std::mem::replace(&mut self.was_set_up, true);
        Box::new(HaplyHandshake::new(self.variant, Arc::clone(&self.monitor), keeps_angles, now))
    }

    fn dead_man_frame(&self) -> Option<TxBytes> {
        Some(message::stop(&self.variant))
    }
}

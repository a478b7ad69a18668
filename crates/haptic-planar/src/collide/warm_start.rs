//! Impulses of one contact, and what of them lasts to the next tick.

use crate::shape::features::FeatureId;
use nalgebra::Vector2;

/// The impulses of one manifold, N·s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockImpulse {
    /// Normal impulses of the two points; the second is zero for a single point.
    pub normal: [f64; 2],
    /// Shared tangential impulse.
    pub tangent: f64,
}

/// How a manifold carries its load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No load.
    #[default]
    Open,
    /// These points load, no slip.
    Stick(Loaded),
    /// These points load, slip along +t.
    SlideForward(Loaded),
    /// These points load, slip along −t.
    SlideBack(Loaded),
}

impl Mode {
    /// The same way of carrying load with a single point.
    pub fn for_single_point(self) -> Self {
        match self {
            Self::Open => Self::Open,
            Self::Stick(_) => Self::Stick(Loaded::First),
            Self::SlideForward(_) => Self::SlideForward(Loaded::First),
            Self::SlideBack(_) => Self::SlideBack(Loaded::First),
        }
    }
}

/// Which points carry load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// Both.
    Both,
    /// The first.
    First,
    /// The second.
    Second,
}

/// The load of a contact in the last tick, from which the next solve starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct WarmStart {
    /// Normal of the contact; zero if there was none.
    pub normal: Vector2<f64>,
    /// Impulses by end of the manifold.
    pub impulse: BlockImpulse,
    /// How the load was carried.
    pub mode: Mode,
    /// Angular impulse of rolling friction, N·m·s.
    pub roll: f64,
    /// From which features.
    pub id: FeatureId,
}

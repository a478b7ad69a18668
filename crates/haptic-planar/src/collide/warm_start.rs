//! Impulses of one contact, and the warm start of the next tick.

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

/// Mode of a contact: which points carry load, and whether it slips.
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
    /// The same mode with a single point.
    pub fn for_single_point(self) -> Self {
        match self {
            Self::Open => Self::Open,
            Self::Stick(_) => Self::Stick(Loaded::First),
            Self::SlideForward(_) => Self::SlideForward(Loaded::First),
            Self::SlideBack(_) => Self::SlideBack(Loaded::First),
        }
    }
}

/// Points that carry load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// Both.
    Both,
    /// The first.
    First,
    /// The second.
    Second,
}

/// Impulses of a contact in the last tick: the first guess of the next solve.
#[derive(Clone, Copy, Debug, Default)]
pub struct WarmStart {
    /// Normal of the contact; zero if there was none.
    pub normal: Vector2<f64>,
    /// Impulses by end of the manifold.
    pub impulse: BlockImpulse,
    /// Mode of the contact.
    pub mode: Mode,
    /// Angular impulse of rolling friction, N·m·s.
    pub roll: f64,
    /// Features of the contact.
    pub id: FeatureId,
}

//! Impulses of one contact, and the warm start of the next tick.

use crate::shape::features::FeatureId;
use nalgebra::Vector2;

/// Impulses of one manifold, N·s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockImpulse {
    /// Normal impulses of the two points; the second is zero if there is a single point.
    pub normal: [f64; 2],
    /// Tangential impulse of both points together.
    pub tangent: f64,
}

/// Mode of a contact: which points carry load, and whether the contact slips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No point carries load.
    #[default]
    Open,
    /// The given points carry load, without slip.
    Stick(Loaded),
    /// The given points carry load, with slip along +t.
    SlideForward(Loaded),
    /// The given points carry load, with slip along −t.
    SlideBack(Loaded),
}

impl Mode {
    /// Returns the corresponding mode of a contact with a single point.
    pub fn for_single_point(self) -> Self {
        match self {
            Self::Open => Self::Open,
            Self::Stick(_) => Self::Stick(Loaded::First),
            Self::SlideForward(_) => Self::SlideForward(Loaded::First),
            Self::SlideBack(_) => Self::SlideBack(Loaded::First),
        }
    }
}

/// Points of a contact that carry load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// Both points.
    Both,
    /// The first point.
    First,
    /// The second point.
    Second,
}

/// Impulses of a contact in the last tick, used as the first guess of the next solve.
#[derive(Clone, Copy, Debug, Default)]
pub struct WarmStart {
    /// Unit normal of the contact, world; zero if there was no contact.
    pub normal: Vector2<f64>,
    /// Impulses, N·s. The index of a normal impulse is the end of the manifold at which it acts, in the order of the
    /// tangent.
    pub impulse: BlockImpulse,
    /// Mode of the contact.
    pub mode: Mode,
    /// Angular impulse of rolling friction, N·m·s.
    pub roll: f64,
    /// Features of the contact.
    pub id: FeatureId,
}

//! What a pair of pieces remembers of its features from tick to tick.

use crate::shape::closest::Seed;

/// Names the features that a manifold was made from, so that impulses find their way to the next tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureId {
    /// 1: the face belongs to the first piece, 2: to the second, 0: no face (corner to corner).
    pub face_of: u8,
    /// Index of the face, or of the first piece's corner.
    pub face: u8,
    /// Index of the other piece's edge, or corner.
    pub other: u8,
}

/// What a pair remembers from tick to tick to find its features again.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeatureCache {
    /// Where the walk over closest features starts.
    pub seed: Seed,
    /// The last face that separated the pair or carried its contact.
    pub face: FeatureId,
}

//! Features of a near pair that last from tick to tick.

use crate::shape::closest::Seed;

/// Identifies the features of a contact, so that its impulses can be found in the next tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureId {
    /// Owner of the face: 1 for the first piece, 2 for the second, 0 if there is no face because two corners meet.
    pub face_of: u8,
    /// Index of the face, or of the first piece's corner if there is no face.
    pub face: u8,
    /// Index of the other piece's edge, or of the second piece's corner if there is no face.
    pub other: u8,
}

/// Features of a near pair in the last tick, from which the search of the next tick starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeatureCache {
    /// Features from which the walk to the closest features starts.
    pub seed: Seed,
    /// The last face that separated the pair or carried its contact.
    pub face: FeatureId,
}

impl FeatureCache {
    /// Forgets the face, so that the next search compares all faces. The face of the last tick is kept until another
    /// one is better by a hysteresis, because pieces at rest would switch between faces. A pair that meets gets the
    /// impulse along the normal of the face that is really touched.
    pub fn forget_face(&mut self) {
        self.face = FeatureId::default();
    }
}

//! Collision detection: from all pieces to near pairs, and from a near pair to the geometry of its contact.

pub(crate) mod broad_phase;
pub(crate) mod narrow;
pub(crate) mod pair_table;
pub(crate) mod toi;
pub(crate) mod warm_start;

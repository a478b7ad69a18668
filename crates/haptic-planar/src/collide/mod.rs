//! Collision detection: finds the near pairs among all pieces, and the geometry of the contact of each near pair.

pub(crate) mod broad_phase;
pub(crate) mod meeting;
pub(crate) mod narrow;
pub(crate) mod pair_table;
pub(crate) mod toi;
pub(crate) mod warm_start;

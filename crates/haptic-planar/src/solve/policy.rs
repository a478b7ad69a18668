//! Compile-time choice between an ordinary step and the most expensive one.

/// Rule for ending the loops of a step. It is a type parameter, so that the ordinary step contains no code of the
/// forced one.
pub trait Policy {
    /// Whether every loop runs to its cap and every search takes its slowest path. Only the cost of such a step is
    /// meaningful.
    const FORCED: bool;
}

/// Policy of the ordinary step: loops end when they have converged.
#[derive(Clone, Copy, Debug)]
pub struct Ordinary;

impl Policy for Ordinary {
    const FORCED: bool = false;
}

/// Policy of the forced step: loops run to their caps.
#[derive(Clone, Copy, Debug)]
pub struct Forced;

impl Policy for Forced {
    const FORCED: bool = true;
}

//! Compile-time choice between an ordinary step and the most expensive one.

/// End of the loops of a step. Monomorphised, so that the ordinary step contains no code of the forced one.
pub trait Policy {
    /// Every loop runs to its cap, every search takes its slowest path. Only the cost of such a step means anything.
    const FORCED: bool;
}

/// Loops end when they have converged.
#[derive(Clone, Copy, Debug)]
pub struct Ordinary;

impl Policy for Ordinary {
    const FORCED: bool = false;
}

/// Loops run to their caps.
#[derive(Clone, Copy, Debug)]
pub struct Forced;

impl Policy for Forced {
    const FORCED: bool = true;
}

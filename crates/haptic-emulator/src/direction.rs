//! Direction of a USB device from inside: something that moves its hand and disturbs its line.

use crate::handle::EmulatedHandle;
use nalgebra::Vector2;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Moves the hand of a device and disturbs its line.
pub trait Direct: Send {
    /// Returns what arrives at the device of a report from the host, if anything.
    fn receive(&mut self, report: &[u8]) -> Option<Vec<u8>>;

    /// Returns what arrives at the host of a report from the device.
    fn transmit(&mut self, report: Vec<u8>) -> Vec<Vec<u8>>;

    /// Advances the handle by one millisecond under this motor force, N.
    fn advance(&mut self, handle: &mut EmulatedHandle, force_n: Vector2<f64>);
}

/// A director that the copies of a device share.
#[derive(Clone)]
pub struct SharedDirector(Arc<Mutex<dyn Direct>>);

impl SharedDirector {
    /// Shares a director.
    pub fn new(director: impl Direct + 'static) -> Self {
        Self(Arc::new(Mutex::new(director)))
    }

    /// Waits for the director.
    pub fn lock(&self) -> MutexGuard<'_, dyn Direct + 'static> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SharedDirector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedDirector")
    }
}

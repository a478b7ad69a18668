//! The emergency stop of an emulated board: a button for programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Emergency-stop button of an emulated board. Clones operate the same button, also from other threads.
#[derive(Clone, Debug, Default)]
pub struct StopButton(Arc<AtomicBool>);

impl StopButton {
    /// Presses the button. The board applies no force from this moment on.
    pub fn press(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Releases the button. The board stays disarmed until its host arms it again.
    pub fn release(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// Whether the button is pressed.
    pub fn is_pressed(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

//! The native protocol of `firmware-protocol/PROTOCOL.md`, as a host speaks it.

mod handshake;
mod receive;
mod scale;
mod transmit;

use crate::link_monitor::LinkMonitor;
use crate::protocol::{Handshake, Protocol, TxBytes};
use handshake::NativeHandshake;
use haptic_device::{MAX_AXES, MonotonicNs};
use haptic_wire::{Message, WIRE_MAX, encode};
use scale::AxisScale;
use std::sync::Arc;

/// What the host wants of a board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NativeSettings {
    /// Axes that the device file says; the board must agree. None: whatever the board has.
    pub axes: Option<u8>,
    /// Metres per radian of rotary axes.
    pub lever_m: f64,
    /// The board shall give no more than this, N.
    pub max_force_n: f64,
    /// The board cuts its effort after so long a silence, ms; at most 100.
    pub watchdog_ms: u16,
    /// Bits a second of the line; none if the line is native USB, whose speed is not set.
    pub baud: Option<u32>,
}

/// The native protocol with its settings.
pub struct NativeProtocol {
    settings: NativeSettings,
    ledger: Arc<LinkMonitor>,
    /// Names the next session.
    nonce: u32,
}

impl NativeProtocol {
    /// Ready to greet; the first session has this nonce.
    pub fn new(settings: NativeSettings, ledger: Arc<LinkMonitor>, nonce: u32) -> Self {
        Self { settings, ledger, nonce }
    }
}

impl Protocol for NativeProtocol {
    fn greet(&mut self, now: MonotonicNs) -> Box<dyn Handshake> {
        self.nonce = self.nonce.wrapping_add(1);
        Box::new(NativeHandshake::new(self.settings, Arc::clone(&self.ledger), self.nonce, now))
    }
}

/// A message as bytes.
///
/// Real-time: bounded by [`WIRE_MAX`]; no allocation.
fn spoken(message: &Message<'_>, sequence: u8) -> TxBytes {
    let mut wire = [0; WIRE_MAX];
    // A buffer of this length holds any message; were it not so, nothing would be said.
    let length = encode(message, sequence, &mut wire).unwrap_or(0);
    TxBytes::of(&wire[..length])
}

/// The scales of all axes; axes that do not exist scale to zero.
type Scales = [AxisScale; MAX_AXES];

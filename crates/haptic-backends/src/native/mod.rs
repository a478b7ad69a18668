//! The host side of the native protocol (`firmware-protocol/PROTOCOL.md`), generic over its `Framing`.
//!
//! `handshake` opens a session, `transmit` encodes efforts, and `receive` decodes samples and re-arms a board after a
//! fault. All three are pure: bytes and times are arguments. Serial lines and HID reports differ only in the framing;
//! `crate::serial` and `crate::hid` read and write the bytes.

pub mod framing;
mod handshake;
mod receive;
mod transmit;

use crate::link_monitor::LinkMonitor;
use crate::protocol::{Handshake, Protocol};
use crate::scale::AxisScale;
use framing::Framing;
use handshake::NativeHandshake;
use haptic_device::{DeviceConfig, KindSpec, MonotonicNs};
use haptic_wire::PerAxis;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// Device kind of boards that use the native protocol on a serial line.
pub static SERIAL: KindSpec = KindSpec {
    name: "serial",
    about: "boards with the [native protocol](firmware-protocol/PROTOCOL.md), such as a Hapkit with the reference \
            firmware",
    is_hardware: true,
    axes: None,
    keys: &["port", "baud", "serial_number", "lever_m", "watchdog_s"],
    variants: &[],
    linkage: None,
};

/// Device kind of boards that use the native protocol in HID reports.
pub static HID_NATIVE: KindSpec = KindSpec {
    name: "hid-native",
    about: "boards with native USB that use the native protocol in HID reports",
    is_hardware: true,
    axes: None,
    keys: &["path", "vendor_id", "product_id", "serial_number", "lever_m", "watchdog_s"],
    variants: &[],
    linkage: None,
};

/// Settings of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NativeSettings {
    /// Number of axes the board must have; `None` accepts any number.
    pub axes: Option<u8>,
    /// Handle displacement per radian of a rotary axis, m.
    pub lever_m: f64,
    /// Force limit used to arm the board, N.
    pub max_force_n: f64,
    /// Watchdog time, ms, at most 100: the board ends its effort if no command arrives for this long.
    pub watchdog_ms: u16,
    /// Line speed, bits per second; `None` if the link has no fixed speed, as with native USB.
    pub baud: Option<u32>,
}

impl NativeSettings {
    /// Creates the settings from a device file, for a link without a fixed speed.
    ///
    /// A board is armed with the force limit of the device, not the smaller one of a profile. The profile can change
    /// while the board stays armed, and the board would then clip forces that the guard has already admitted.
    pub fn from_config(config: &DeviceConfig) -> Self {
        Self {
            axes: Some(config.axes as u8),
            lever_m: config.lever_m,
            max_force_n: config.max_force_n(),
            watchdog_ms: (config.watchdog_s * 1e3).round() as u16,
            baud: None,
        }
    }
}

/// Returns a nonce that differs in every run, so that a board can detect a new host.
pub fn first_nonce() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_nanos() as u32) ^ std::process::id().rotate_left(16)
}

/// The native protocol with its settings.
pub struct NativeProtocol<F> {
    settings: NativeSettings,
    monitor: Arc<LinkMonitor>,
    /// Nonce of the newest session.
    nonce: u32,
    first_board: FirstBoard,
    framing: PhantomData<F>,
}

/// Uid and number of axes of the board in the first session. Other boards are rejected before they are armed.
type FirstBoard = Arc<OnceLock<([u8; 8], u8)>>;

impl<F: Framing> NativeProtocol<F> {
    /// Creates the protocol. `nonce` should differ in every run of the program, so that a board can detect a new host.
    pub fn new(settings: NativeSettings, monitor: Arc<LinkMonitor>, nonce: u32) -> Self {
        Self { settings, monitor, nonce, first_board: Arc::default(), framing: PhantomData }
    }
}

impl<F: Framing> Protocol for NativeProtocol<F> {
    fn start_handshake(&mut self, now: MonotonicNs) -> Box<dyn Handshake> {
        self.nonce = self.nonce.wrapping_add(1);
        let (monitor, first_board) = (Arc::clone(&self.monitor), Arc::clone(&self.first_board));
        Box::new(NativeHandshake::<F>::new(self.settings, monitor, first_board, self.nonce, now))
    }
}

/// Scales of all axes of a board.
type Scales = PerAxis<AxisScale>;

/// Creates one value for each axis of a board with one or two axes.
fn per_axis<T: Copy + Default>(axes: usize, value_of: impl Fn(usize) -> T) -> PerAxis<T> {
    if axes == 1 { PerAxis::one(value_of(0)) } else { PerAxis::two(value_of(0), value_of(1)) }
}

//! Devices on a serial line.

use crate::failure::Failure;
use haptic_backends::protocol::Protocol;
use haptic_backends::serial::dead_man::DeadManProgram;
use haptic_backends::serial::{
    FindPort, HaplyProtocol, HaplyVariant, LinkMonitor, NativeProtocol, NativeSettings, OdriveProtocol, OdriveSettings,
    OpenError, PortError, SerialDevice, SerialSettings,
};
use haptic_config::device::{self as file, DEFAULT_PORT};
use haptic_config::setup::Setup;
use haptic_device::Device;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Opens a board that speaks the native protocol.
///
/// # Errors
/// What stands in the way, with the remedy.
pub fn open_native(setup: &Setup) -> Result<Box<dyn Device>, Failure> {
    let monitor = Arc::new(LinkMonitor::default());
    let protocol = NativeProtocol::new(native_settings(setup), Arc::clone(&monitor), first_nonce());
    open(setup, Box::new(protocol), monitor)
}

/// What is asked of a board.
pub(super) fn native_settings(setup: &Setup) -> NativeSettings {
    let file = &setup.device;
    NativeSettings {
        axes: file.axes_are_given.then_some(file.axes as u8),
        lever_m: file.lever_m,
        max_force_n: super::arming_limit_n(setup),
        watchdog_ms: (file.watchdog_s * 1e3).round() as u16,
        baud: line_baud(setup),
    }
}

/// Opens a Haply 2diy.
///
/// # Errors
/// What stands in the way, with the remedy.
pub fn open_haply(setup: &Setup) -> Result<Box<dyn Device>, Failure> {
    let variant = match setup.device.identity.variant {
        file::HaplyVariant::V3 => HaplyVariant::V3,
        file::HaplyVariant::V2 => HaplyVariant::V2,
        file::HaplyVariant::Kit => HaplyVariant::KIT,
    };
    tracing::info!("the arm must stand at its home stop while it is set up");
    let monitor = Arc::new(LinkMonitor::default());
    open(setup, Box::new(HaplyProtocol::new(variant, Arc::clone(&monitor))), monitor)
}

/// The listening thread feeds the watchdog every 20 ms until the loop runs; it must not expire in between, s.
const SHORTEST_ODRIVE_WATCHDOG_S: f64 = 0.05;

/// Opens an ODrive.
///
/// # Errors
/// What stands in the way, with the remedy.
pub fn open_odrive(setup: &Setup) -> Result<Box<dyn Device>, Failure> {
    let monitor = Arc::new(LinkMonitor::default());
    let settings = OdriveSettings {
        lever_m: setup.device.lever_m,
        watchdog_s: setup.device.watchdog_s.max(SHORTEST_ODRIVE_WATCHDOG_S),
        baud: line_baud(setup),
    };
    open(setup, Box::new(OdriveProtocol::new(settings, Arc::clone(&monitor))), monitor)
}

fn open(setup: &Setup, protocol: Box<dyn Protocol>, monitor: Arc<LinkMonitor>) -> Result<Box<dyn Device>, Failure> {
    let settings = SerialSettings {
        find: find_port(setup),
        baud: setup.device.identity.baud,
        protocol,
        monitor,
        dead_man: dead_man(setup),
        // Below the loop, so that listening never holds it up.
        priority: setup.profile.realtime.priority.saturating_sub(1).max(1),
    };
    match SerialDevice::open(settings) {
        Ok(device) => Ok(Box::new(device)),
        Err(error) => Err(told(setup, &error)),
    }
}

/// This program itself, with a command that is not in its help: it ends the force when the watchdog's time is over.
fn dead_man(setup: &Setup) -> Option<DeadManProgram> {
    Some(DeadManProgram {
        program: std::env::current_exe().ok()?,
        arguments: vec!["dead-man".to_owned()],
        timeout: Duration::from_secs_f64(setup.device.watchdog_s.max(SHORTEST_GUARD_S)),
    })
}

/// Signs of life come every 20 ms, from a thread that may be late, s.
const SHORTEST_GUARD_S: f64 = 0.1;

fn told(setup: &Setup, error: &OpenError) -> Failure {
    Failure::Runtime(format!("{}: {error}", setup.profile.device.name))
}

/// By name, or by what the device says it is; looked up again whenever it was lost.
fn find_port(setup: &Setup) -> FindPort {
    let identity = &setup.device.identity;
    match (identity.port.clone(), identity.serial_number.clone()) {
        (Some(port), _) => Box::new(move || Ok(port.clone())),
        (None, None) => Box::new(|| Ok(DEFAULT_PORT.to_owned())),
        (None, Some(serial_number)) => Box::new(move || {
            let missing = || PortError::NoSuchSerialNumber { serial_number: serial_number.clone() };
            super::discovery::port_of(&serial_number).ok_or_else(missing)
        }),
    }
}

/// The speed of the line where it matters: native USB ports take any and ignore it.
fn line_baud(setup: &Setup) -> Option<u32> {
    let port = find_port(setup)().ok()?;
    let port = std::fs::canonicalize(port).ok()?;
    let is_native_usb = port.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ttyACM"));
    (!is_native_usb).then_some(setup.device.identity.baud)
}

/// Nonce that differs in every run, so that a board detects a new host.
pub(super) fn first_nonce() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_nanos() as u32) ^ std::process::id().rotate_left(16)
}

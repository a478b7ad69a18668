//! Functions shared by the backends for serial devices.

use super::{OpenContext, OpenResult};
use crate::link_monitor::LinkMonitor;
use crate::open_error::PortError;
use crate::protocol::Protocol;
use crate::serial::dead_man::DeadManProgram;
use crate::serial::usb_port::port_of;
use crate::serial::{FindPort, SerialDevice, SerialSettings};
use haptic_device::DeviceConfig;
use std::sync::Arc;
use std::time::Duration;

/// Serial port used if the device file specifies neither a port nor a serial number.
const DEFAULT_PORT: &str = "/dev/ttyACM0";

/// Minimum timeout of the dead-man process, s. Heartbeats are sent every 20 ms by a thread that may be late.
const MIN_DEAD_MAN_S: f64 = 0.1;

/// Opens a device on a serial line. `protocol` creates its protocol.
pub(super) fn open(
    config: &DeviceConfig,
    context: &OpenContext,
    protocol: impl FnOnce(Arc<LinkMonitor>) -> Box<dyn Protocol>,
) -> OpenResult {
    let monitor = Arc::new(LinkMonitor::default());
    let timeout = Duration::from_secs_f64(config.watchdog_s.max(MIN_DEAD_MAN_S));
    let dead_man = context.dead_man.clone().map(|(program, arguments)| DeadManProgram { program, arguments, timeout });
    let settings = SerialSettings {
        find: find_port(config),
        baud: config.address.baud,
        protocol: protocol(Arc::clone(&monitor)),
        monitor,
        dead_man,
        priority: context.loop_priority.saturating_sub(1).max(1),
    };
    Ok(Box::new(SerialDevice::open(settings)?))
}

/// Returns a function that finds the port by name or by the device's serial number. It is called again after every
/// loss, because port names change.
fn find_port(config: &DeviceConfig) -> FindPort {
    let address = &config.address;
    match (address.port.clone(), address.serial_number.clone()) {
        (Some(port), _) => Box::new(move || Ok(port.clone())),
        (None, None) => Box::new(|| Ok(DEFAULT_PORT.to_owned())),
        (None, Some(serial_number)) => Box::new(move || {
            let missing = || PortError::NoSuchSerialNumber { serial_number: serial_number.clone() };
            port_of(&serial_number).ok_or_else(missing)
        }),
    }
}

/// Returns the line speed, bits per second; `None` if the port is missing or is a native USB port, which ignores the
/// speed.
pub(super) fn baud(config: &DeviceConfig) -> Option<u32> {
    let port = find_port(config)().ok()?;
    let port = std::fs::canonicalize(port).ok()?;
    let is_native_usb = port.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ttyACM"));
    (!is_native_usb).then_some(config.address.baud)
}

//! What is plugged in.

use std::fs;
use std::path::{Path, PathBuf};

/// The port of the USB device with a serial number.
pub fn port_of(serial_number: &str) -> Option<String> {
    let ports = fs::read_dir("/sys/class/tty").ok()?.flatten();
    let found = ports.into_iter().find(|port| {
        usb_device_of(&port.path())
            .and_then(|usb| attribute(&usb, "serial"))
            .is_some_and(|serial| serial == serial_number)
    })?;
    Some(format!("/dev/{}", found.file_name().to_string_lossy()))
}

/// The USB device that a port belongs to: the nearest folder above it that has a vendor.
fn usb_device_of(port: &Path) -> Option<PathBuf> {
    let device = fs::canonicalize(port.join("device")).ok()?;
    device.ancestors().find(|folder| folder.join("idVendor").exists()).map(Path::to_owned)
}

fn attribute(folder: &Path, name: &str) -> Option<String> {
    Some(fs::read_to_string(folder.join(name)).ok()?.trim().to_owned())
}

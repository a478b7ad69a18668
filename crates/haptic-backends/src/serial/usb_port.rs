//! Lists the serial ports of USB devices from `/sys`. No port is opened, because that would raise its DTR line, which
//! resets many boards.

use std::fs;
use std::path::{Path, PathBuf};

/// A serial port of a USB device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsbPort {
    /// Name of the node in `/dev`.
    pub node: String,
    /// Folder of the port under `/sys/class/tty`.
    pub folder: PathBuf,
    /// Folder of the USB device, without symbolic links.
    pub usb_device: PathBuf,
    /// USB vendor id, four hexadecimal digits.
    pub vendor: String,
    /// USB product id, four hexadecimal digits.
    pub product: String,
    /// Serial number of the USB device; empty if it has none.
    pub serial_number: String,
    /// Display name.
    pub name: String,
}

impl UsbPort {
    /// Returns the path of the port.
    pub fn path(&self) -> String {
        format!("/dev/{}", self.node)
    }

    /// Returns the time for which an FTDI chip may hold back bytes, ms, as text from the kernel; `None` for other
    /// chips.
    pub fn latency_timer(&self) -> Option<String> {
        attribute(&self.folder.join("device"), "latency_timer")
    }
}

/// Lists the serial ports of all USB devices, sorted by name, with `root` as the root directory.
pub fn list_in(root: &Path) -> Vec<UsbPort> {
    let folders = fs::read_dir(root.join("sys/class/tty")).into_iter().flatten().flatten();
    let mut ports: Vec<UsbPort> = folders.filter_map(|folder| usb_port(folder.path())).collect();
    ports.sort_by(|a, b| a.node.cmp(&b.node));
    ports
}

/// Returns the path of the port whose USB device has this serial number, if any.
pub fn port_of(serial_number: &str) -> Option<String> {
    list_in(Path::new("/")).into_iter().find(|port| port.serial_number == serial_number).map(|port| port.path())
}

fn usb_port(folder: PathBuf) -> Option<UsbPort> {
    let usb = usb_device_of(&folder.join("device"))?;
    let names = [attribute(&usb, "manufacturer"), attribute(&usb, "product")];
    let name = names.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Some(UsbPort {
        node: folder.file_name()?.to_string_lossy().into_owned(),
        vendor: attribute(&usb, "idVendor")?,
        product: attribute(&usb, "idProduct")?,
        serial_number: attribute(&usb, "serial").unwrap_or_default(),
        name: if name.is_empty() { "serial port".to_owned() } else { name },
        usb_device: usb,
        folder,
    })
}

/// Returns the folder of the USB device that a device belongs to: the nearest ancestor that has a vendor id.
pub fn usb_device_of(device: &Path) -> Option<PathBuf> {
    let device = fs::canonicalize(device).ok()?;
    device.ancestors().find(|folder| folder.join("idVendor").exists()).map(Path::to_owned)
}

fn attribute(folder: &Path, name: &str) -> Option<String> {
    Some(fs::read_to_string(folder.join(name)).ok()?.trim().to_owned())
}

//! Lists connected devices as described in `/sys`. This module lists the serial ports of USB devices, and its submodule
//! `usb` lists HID and input devices. No port is opened, because that would raise its DTR line, which resets many
//! boards.

mod usb;

use crate::kinds::{Candidate, KINDS, recognise};
use crate::serial::usb_port::{self, UsbPort};
use crate::udev;
use serde::Serialize;
use std::path::Path;

/// A connected device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Path of the port or device node, e.g. `/dev/ttyACM0` or `/dev/hidraw0`.
    pub port: String,
    /// Serial number of the USB device; empty if it has none.
    pub serial_number: String,
    /// Display name.
    pub name: String,
    /// USB vendor and product ids, as in `2341:0043`.
    pub usb: String,
    /// Value of `kind` in a device file for this device, or [`NO_BACKEND`].
    pub backend: &'static str,
    /// Number of axes, if known before the device is opened.
    pub axes: Option<usize>,
    /// Description of the force feedback; empty if not known before the device is opened.
    pub capabilities: String,
    /// Obstacles to using the device, each with its remedy.
    pub missing: Vec<String>,
}

/// Value of [`Found::backend`] for devices that no backend can drive, such as joysticks without force feedback.
pub const NO_BACKEND: &str = "none";

impl Found {
    /// Whether a backend can drive the device.
    pub fn can_be_driven(&self) -> bool {
        self.backend != NO_BACKEND
    }

    /// Returns the text of a minimal device file for this device. A device on a serial port is identified by its serial
    /// number if that needs no escaping, because port names change.
    pub fn device_file(&self) -> String {
        let is_serial = KINDS.iter().any(|kind| kind.name == self.backend && kind.keys.contains(&"port"));
        let (key, place) = match (is_serial, self.has_plain_number()) {
            (true, true) => ("serial_number", &self.serial_number),
            (true, false) => ("port", &self.port),
            (false, _) => ("path", &self.port),
        };
        let axes = self.axes.map_or(String::new(), |axes| format!("axes = {axes}\n"));
        format!("kind = \"{}\"\n{key} = \"{place}\"\n{axes}", self.backend)
    }

    /// Whether the device has a serial number that needs no escaping in a device file.
    fn has_plain_number(&self) -> bool {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
        !self.serial_number.is_empty() && self.serial_number.chars().all(plain)
    }
}

/// Lists all connected devices that may be haptic devices.
pub fn found() -> Vec<Found> {
    found_under(Path::new("/"))
}

/// Like [`found`], but with `root` instead of `/` as the root directory, for tests.
pub fn found_under(root: &Path) -> Vec<Found> {
    let ports = usb_port::list_in(root);
    let found = ports.iter().filter_map(|port| serial_port(root, port));
    found.chain(usb::found_under(root)).collect()
}

fn serial_port(root: &Path, port: &UsbPort) -> Option<Found> {
    let (kind, recognised) = recognise(&Candidate::SerialPort { vendor: &port.vendor, product: &port.product })?;
    Some(Found {
        port: port.path(),
        serial_number: port.serial_number.clone(),
        name: port.name.clone(),
        usb: format!("{}:{}", port.vendor, port.product),
        backend: kind.name,
        axes: recognised.axes,
        capabilities: recognised.capabilities,
        missing: missing(&root.join("dev").join(&port.node), port),
    })
}

fn missing(node: &Path, port: &UsbPort) -> Vec<String> {
    let mut missing = missing_rights(node);
    if let Some(timer) = port.latency_timer().filter(|timer| timer != "1") {
        missing.push(format!("its FTDI chip holds bytes back for {timer} ms: {}", udev::REMEDY));
    }
    missing
}

/// Returns an error message with a remedy if the user lacks permission to open a node; empty otherwise. The node is not
/// opened.
fn missing_rights(node: &Path) -> Vec<String> {
    use rustix::fs::{Access, access};
    match access(node, Access::READ_OK | Access::WRITE_OK) {
        Ok(()) => Vec::new(),
        Err(_) => vec![format!("permission denied: {}, or join the group that owns it", udev::REMEDY)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_testing::TestFolder;
    use std::fs;

    struct Root(TestFolder);

    impl Root {
        fn new() -> Self {
            let root = TestFolder::new();
            fs::create_dir_all(root.join("sys/class/tty/ttyS0")).unwrap();
            fs::create_dir_all(root.join("dev")).unwrap();
            Self(root)
        }

        fn plug_in(&self, node: &str, attributes: &[(&str, &str)]) {
            let usb = self.0.join("sys/devices").join(node);
            fs::create_dir_all(usb.join("interface")).unwrap();
            for (name, text) in attributes {
                fs::write(usb.join(name), format!("{text}\n")).unwrap();
            }
            let port = self.0.join("sys/class/tty").join(node);
            fs::create_dir_all(&port).unwrap();
            std::os::unix::fs::symlink(usb.join("interface"), port.join("device")).unwrap();
            fs::write(self.0.join("dev").join(node), "").unwrap();
        }
    }

    #[test]
    fn ports_of_usb_devices_are_found_with_the_backend_that_drives_them() {
        let root = Root::new();
        root.plug_in(
            "ttyACM1",
            &[("idVendor", "1209"), ("idProduct", "0d32"), ("serial", "385A"), ("product", "ODrive 3.6")],
        );
        root.plug_in("ttyACM0", &[("idVendor", "2341"), ("idProduct", "0043"), ("manufacturer", "Arduino")]);
        let found = found_under(root.0.path());
        let listed: Vec<_> = found.iter().map(|found| (found.port.as_str(), found.backend)).collect();
        assert_eq!(listed, [("/dev/ttyACM0", "serial"), ("/dev/ttyACM1", "odrive")]);
        assert_eq!((found[1].serial_number.as_str(), found[1].name.as_str()), ("385A", "ODrive 3.6"));
        assert!(found[0].missing.is_empty(), "{:?}", found[0].missing);
    }

    #[test]
    fn a_device_that_cannot_be_opened_is_listed_with_the_remedy() {
        let root = Root::new();
        root.plug_in("ttyUSB0", &[("idVendor", "0403"), ("idProduct", "6001"), ("interface/latency_timer", "16")]);
        fs::remove_file(root.0.join("dev/ttyUSB0")).unwrap();
        let missing = found_under(root.0.path())[0].missing.join("; ");
        assert!(missing.contains(udev::REMEDY) && missing.contains("16 ms"), "{missing}");
    }

    #[test]
    fn a_device_file_uses_the_serial_number_if_there_is_one() {
        assert_eq!(board("/dev/a").device_file(), "kind = \"serial\"\nport = \"/dev/a\"\n");
        let numbered = Found { serial_number: "385A-01".to_owned(), ..board("/dev/a") };
        assert_eq!(numbered.device_file(), "kind = \"serial\"\nserial_number = \"385A-01\"\n");
    }

    fn board(port: &str) -> Found {
        let (name, usb) = ("board".to_owned(), "2341:0043".to_owned());
        let (serial_number, capabilities, missing) = (String::new(), String::new(), Vec::new());
        Found { port: port.to_owned(), serial_number, name, usb, backend: "serial", axes: None, capabilities, missing }
    }
}

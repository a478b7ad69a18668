//! Lists connected devices as described in `/sys`. This module lists the serial ports of USB devices, and its submodule
//! `usb` lists HID and input devices. No port is opened, because that would raise its DTR line, which resets many
//! boards.

mod usb;

use crate::kinds::{Candidate, KINDS, Unknown, recognise};
use crate::serial::usb_port::{self, UsbPort};
use crate::udev;
use serde::Serialize;
use std::path::{Path, PathBuf};

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
    /// What is not known about the device, each with the way to find out; empty if no backend can drive it.
    pub unknown: Vec<String>,
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
    let listed = usb::list_under(root);
    let driven = listed.iter().filter(|device| device.found.can_be_driven());
    let taken: Vec<PathBuf> = driven.filter_map(|device| usb_port::usb_device_of(device.folder.as_ref()?)).collect();
    let ports = usb_port::list_in(root);
    // A port of a driven HID or input device is its console.
    let separate = ports.iter().filter(|port| !taken.contains(&port.usb_device));
    let found = separate.filter_map(|port| serial_port(root, port));
    found.chain(listed.into_iter().map(|device| device.found)).collect()
}

fn texts(unknown: &[Unknown]) -> Vec<String> {
    unknown.iter().map(ToString::to_string).collect()
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
        unknown: texts(&recognised.unknown),
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

    /// Adds a HID device of the same USB device as `port`.
    fn add_hid(root: &Root, port: &str, descriptor: &[u8]) {
        let hid = format!("sys/devices/{port}/hid");
        root.0.write(&format!("{hid}/uevent"), "HID_ID=0003:00001209:0000FFB0\nHID_NAME=Stick\n");
        root.0.write(&format!("{hid}/report_descriptor"), descriptor);
        let node = root.0.join("sys/class/hidraw/hidraw0");
        fs::create_dir_all(&node).unwrap();
        std::os::unix::fs::symlink(root.0.join(&hid), node.join("device")).unwrap();
        fs::write(root.0.join("dev/hidraw0"), "").unwrap();
    }

    #[test]
    fn the_console_of_a_driven_hid_device_is_not_a_second_device() {
        let root = Root::new();
        let leonardo = [("idVendor", "2341"), ("idProduct", "8036")];
        root.plug_in("ttyACM0", &leonardo);
        root.plug_in("ttyACM1", &leonardo);
        add_hid(&root, "ttyACM0", &haptic_emulator::style::ARDUINO.descriptor());
        let listed: Vec<_> = found_under(root.0.path()).into_iter().map(|found| (found.port, found.backend)).collect();
        assert_eq!(listed, [("/dev/ttyACM1".to_owned(), "serial"), ("/dev/hidraw0".to_owned(), "hid-pid")]);
    }

    #[test]
    fn a_port_beside_a_hid_device_that_cannot_be_driven_stays_listed() {
        let root = Root::new();
        root.plug_in("ttyACM0", &[("idVendor", "2341"), ("idProduct", "8036")]);
        add_hid(&root, "ttyACM0", &[0x05, 0x01, 0x09, 0x06, 0xA1, 0x01, 0xC0]);
        assert_eq!(found_under(root.0.path())[0].backend, "serial");
    }

    #[test]
    fn consoles_of_boards_with_their_own_protocol_are_not_offered_as_serial() {
        let root = Root::new();
        root.plug_in("ttyACM0", &[("idVendor", "1209"), ("idProduct", "ffb0")]);
        assert!(found_under(root.0.path()).is_empty());
    }

    #[test]
    fn every_driven_device_states_what_is_not_known_and_how_to_find_out() {
        let root = Root::new();
        root.plug_in("ttyACM0", &[("idVendor", "2341"), ("idProduct", "0043")]);
        root.plug_in("ttyACM1", &[("idVendor", "1209"), ("idProduct", "0d32")]);
        root.plug_in("ttyACM2", &[("idVendor", "1209"), ("idProduct", "0001")]);
        add_hid(&root, "ttyACM2", &haptic_emulator::style::OPEN_FFBOARD.descriptor());
        let found = found_under(root.0.path());
        assert_eq!(found.len(), 3);
        for Found { backend, unknown, .. } in &found {
            let starting = |start: &str| unknown.iter().filter(|text| text.starts_with(start)).count();
            assert_eq!(["sign", "travel", "watchdog"].map(starting), [1; 3], "{backend}: {unknown:?}");
            assert!(unknown[0].contains("`hapticd identify --device auto"), "{backend}: {unknown:?}");
        }
        assert_eq!(found[2].unknown.iter().filter(|text| text.starts_with("motors")).count(), 1);
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
        let (serial_number, capabilities) = (String::new(), String::new());
        let (port, backend, unknown, missing) = (port.to_owned(), "serial", Vec::new(), Vec::new());
        Found { port, serial_number, name, usb, backend, axes: None, capabilities, unknown, missing }
    }
}

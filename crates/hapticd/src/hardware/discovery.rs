//! What is plugged in, as the kernel tells of it: serial ports of USB devices here, HID and input devices in `usb`. Nothing is
//! opened: opening a port raises its DTR line, which resets many boards.

mod usb;

use haptic_config::device::DeviceKind;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Something that could be driven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Where it is, e.g. `/dev/ttyACM0` or `/dev/hidraw0`.
    pub port: String,
    /// As its USB plug says; empty if it has none.
    pub serial_number: String,
    /// Name for people.
    pub name: String,
    /// USB vendor and product, as in `2341:0043`.
    pub usb: String,
    /// The `kind` of a device file that would drive it, or [`NO_BACKEND`].
    pub backend: &'static str,
    /// How many of x and y it has, where that is known before it is opened.
    pub axes: Option<usize>,
    /// What its force feedback can do, in words; empty where that is not known before it is opened.
    pub capabilities: String,
    /// What stands in the way, with the remedy.
    pub missing: Vec<String>,
}

/// The backend of what nothing here can drive, such as a joystick without force feedback.
pub const NO_BACKEND: &str = "none";

impl Found {
    /// Whether a backend would drive it.
    pub fn can_be_driven(&self) -> bool {
        self.backend != NO_BACKEND
    }

    /// A device file that means this one, as short as can be: on a serial line by serial number where it has one, since the
    /// names of ports change.
    pub fn device_file(&self) -> String {
        let is_serial = [DeviceKind::Serial, DeviceKind::Odrive].iter().any(|kind| kind.name() == self.backend);
        let (key, place) = match (is_serial, self.has_plain_number()) {
            (true, true) => ("serial_number", &self.serial_number),
            (true, false) => ("port", &self.port),
            (false, _) => ("path", &self.port),
        };
        let axes = self.axes.map_or(String::new(), |axes| format!("axes = {axes}\n"));
        format!("kind = \"{}\"\n{key} = \"{place}\"\n{axes}", self.backend)
    }

    /// Whether its serial number can stand in a file as it is.
    fn has_plain_number(&self) -> bool {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
        !self.serial_number.is_empty() && self.serial_number.chars().all(plain)
    }
}

/// ODrive controllers: this vendor, these products.
const ODRIVE_VENDOR: &str = "1209";
const ODRIVE_PRODUCTS: [&str; 4] = ["0d31", "0d32", "0d33", "0d34"];

/// Everything that is plugged in and looks like a device to be felt.
pub fn found() -> Vec<Found> {
    found_under(Path::new("/"))
}

/// The same with another root, for tests.
pub fn found_under(root: &Path) -> Vec<Found> {
    let mut found = serial_ports(root);
    found.extend(usb::found_under(root));
    found
}

/// The serial port of the USB device with a serial number.
pub fn port_of(serial_number: &str) -> Option<String> {
    let ports = serial_ports(Path::new("/"));
    ports.into_iter().find(|found| found.serial_number == serial_number).map(|found| found.port)
}

fn serial_ports(root: &Path) -> Vec<Found> {
    let ports = fs::read_dir(root.join("sys/class/tty")).into_iter().flatten().flatten();
    let mut found: Vec<Found> = ports.filter_map(|port| serial_port(root, &port.path())).collect();
    found.sort_by(|a, b| a.port.cmp(&b.port));
    found
}

fn serial_port(root: &Path, port: &Path) -> Option<Found> {
    let usb = usb_device_of(port)?;
    let node = port.file_name()?.to_string_lossy().into_owned();
    let (vendor, product) = (attribute(&usb, "idVendor")?, attribute(&usb, "idProduct")?);
    let words = [attribute(&usb, "manufacturer"), attribute(&usb, "product")];
    let name = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Some(Found {
        port: format!("/dev/{node}"),
        serial_number: attribute(&usb, "serial").unwrap_or_default(),
        name: if name.is_empty() { "serial port".to_owned() } else { name },
        backend: backend(&vendor, &product).name(),
        usb: format!("{vendor}:{product}"),
        axes: None,
        capabilities: String::new(),
        missing: missing(&root.join("dev").join(&node), port),
    })
}

/// Which backend would drive it. A Haply cannot be told from other boards by its plug.
fn backend(vendor: &str, product: &str) -> DeviceKind {
    if vendor == ODRIVE_VENDOR && ODRIVE_PRODUCTS.contains(&product) { DeviceKind::Odrive } else { DeviceKind::Serial }
}

fn missing(node: &Path, port: &Path) -> Vec<String> {
    let mut missing = missing_rights(node);
    let timer = attribute(&port.join("device"), "latency_timer");
    if timer.as_deref().is_some_and(|timer| timer != "1") {
        let remedy = "run scripts/install-udev and plug it in again";
        missing.push(format!("its FTDI chip holds bytes back for {} ms: {remedy}", timer.unwrap_or_default()));
    }
    missing
}

/// What this user lacks to open a node; it is not opened for that.
fn missing_rights(node: &Path) -> Vec<String> {
    use rustix::fs::{Access, access};
    let remedy = "run scripts/install-udev and plug it in again, or join the group that owns it";
    match access(node, Access::READ_OK | Access::WRITE_OK) {
        Ok(()) => Vec::new(),
        Err(_) => vec![format!("this user may not open it: {remedy}")],
    }
}

/// The USB device that a port belongs to: the nearest folder above it that has a vendor.
fn usb_device_of(port: &Path) -> Option<PathBuf> {
    let device = fs::canonicalize(port.join("device")).ok()?;
    device.ancestors().find(|folder| folder.join("idVendor").exists()).map(Path::to_owned)
}

fn attribute(folder: &Path, name: &str) -> Option<String> {
    Some(fs::read_to_string(folder.join(name)).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_testing::TestFolder;

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
    fn ports_of_usb_devices_are_found_with_the_backend_that_would_drive_them() {
        let root = Root::new();
        root.plug_in(
            "ttyACM1",
            &[("idVendor", "1209"), ("idProduct", "0d32"), ("serial", "385A"), ("product", "ODrive 3.6")],
        );
        root.plug_in("ttyACM0", &[("idVendor", "2341"), ("idProduct", "0043"), ("manufacturer", "Arduino")]);
        let found = found_under(root.0.path());
        let told: Vec<_> = found.iter().map(|found| (found.port.as_str(), found.backend)).collect();
        assert_eq!(told, [("/dev/ttyACM0", "serial"), ("/dev/ttyACM1", "odrive")]);
        assert_eq!((found[1].serial_number.as_str(), found[1].name.as_str()), ("385A", "ODrive 3.6"));
        assert!(found[0].missing.is_empty(), "{:?}", found[0].missing);
    }

    #[test]
    fn what_cannot_be_opened_says_what_to_do() {
        let root = Root::new();
        root.plug_in("ttyUSB0", &[("idVendor", "0403"), ("idProduct", "6001"), ("interface/latency_timer", "16")]);
        fs::remove_file(root.0.join("dev/ttyUSB0")).unwrap();
        let missing = found_under(root.0.path())[0].missing.join("; ");
        assert!(missing.contains("scripts/install-udev") && missing.contains("16 ms"), "{missing}");
    }
}

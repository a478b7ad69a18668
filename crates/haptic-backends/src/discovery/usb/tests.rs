use super::*;
use crate::discovery::found_under;
use haptic_emulator::style::{OPEN_FFBOARD, VPFORCE};
use haptic_testing::TestFolder;
use std::os::unix::fs::symlink;

/// A root folder with the kernel's files for some devices.
struct Root(TestFolder);

/// Descriptor of a joystick with two axes and no force feedback.
const PLAIN_STICK: [u8; 22] = plain(0x04);
/// Descriptor of a mouse.
const MOUSE: [u8; 22] = plain(0x02);

const fn plain(usage: u8) -> [u8; 22] {
    [
        0x05, 0x01, 0x09, usage, 0xA1, 0x01, 0x15, 0x00, 0x26, 0xFF, 0x03, 0x75, 0x10, 0x95, 0x02, 0x09, 0x30, 0x09,
        0x31, 0x81, 0x02, 0xC0,
    ]
}

impl Root {
    fn new() -> Self {
        let root = TestFolder::new();
        fs::create_dir_all(root.join("dev/input")).unwrap();
        Self(root)
    }

    fn write(&self, path: &str, content: &[u8]) {
        self.0.write(path, content);
    }

    fn link(&self, class: &str, node: &str, device: &str) {
        let folder = self.0.join("sys/class").join(class).join(node);
        fs::create_dir_all(&folder).unwrap();
        symlink(self.0.join("sys/devices").join(device), folder.join("device")).unwrap();
    }

    /// Adds a HID device whose node has this number.
    fn plug_in(&self, number: u32, descriptor: &[u8]) {
        let uevent = format!("HID_ID=0003:00001209:0000FFB{number}\nHID_NAME=Stick {number}\nHID_UNIQ=S{number}\n");
        self.write(&format!("sys/devices/hid{number}/uevent"), uevent.as_bytes());
        self.write(&format!("sys/devices/hid{number}/report_descriptor"), descriptor);
        self.link("hidraw", &format!("hidraw{number}"), &format!("hid{number}"));
        self.write(&format!("dev/hidraw{number}"), b"");
    }

    /// Adds an input device with constant force under `device`, which may be a HID device.
    fn let_the_kernel_drive(&self, device: &str, number: u32) {
        let place = format!("{device}/input/input{number}");
        let attributes =
            [("name", "Wheel"), ("id/vendor", "046d"), ("id/product", "c24f"), ("capabilities/ff", "40000 0")];
        for (name, text) in attributes.into_iter().chain([("capabilities/abs", "3")]) {
            self.write(&format!("sys/devices/{place}/{name}"), format!("{text}\n").as_bytes());
        }
        self.link("input", &format!("event{number}"), &place);
        self.write(&format!("dev/input/event{number}"), b"");
    }

    /// Returns the port, backend and number of axes of every device found.
    fn listed(&self) -> Vec<(String, &'static str, Option<usize>)> {
        found_under(self.0.path()).into_iter().map(|found| (found.port, found.backend, found.axes)).collect()
    }
}

#[test]
fn joysticks_and_boards_are_found_with_axes_and_what_they_can_do() {
    let root = Root::new();
    root.plug_in(0, &OPEN_FFBOARD.descriptor());
    root.plug_in(1, &haptic_emulator::native::descriptor());
    root.plug_in(2, &MOUSE);
    let [stick, board] = &found_under(root.0.path())[..] else { panic!("{:?}", root.listed()) };
    assert_eq!((stick.port.as_str(), stick.backend, stick.axes), ("/dev/hidraw0", "hid-pid", Some(2)));
    assert_eq!((stick.name.as_str(), stick.serial_number.as_str(), stick.usb.as_str()), ("Stick 0", "S0", "1209:ffb0"));
    assert_eq!(stick.capabilities, "constant force ±32767, directions, device gain, 500 Hz");
    assert!(stick.missing.is_empty(), "{:?}", stick.missing);
    assert_eq!((board.port.as_str(), board.backend), ("/dev/hidraw1", "hid-native"));
}

#[test]
fn a_joystick_without_force_feedback_cannot_be_driven() {
    let root = Root::new();
    root.plug_in(0, &PLAIN_STICK);
    let found = &found_under(root.0.path())[0];
    assert!(!found.can_be_driven());
    assert!(found.missing[0].contains("no force feedback"), "{:?}", found.missing);
}

#[test]
fn a_stick_whose_reports_are_incomplete_says_what_is_missing() {
    let root = Root::new();
    let descriptor = VPFORCE.descriptor();
    let at = descriptor.windows(2).position(|pair| pair == [0x09, 0x70]).unwrap();
    let mut without_magnitude = descriptor;
    without_magnitude[at + 1] = 0x71;
    root.plug_in(0, &without_magnitude);
    let found = &found_under(root.0.path())[0];
    assert!(!found.can_be_driven() && found.missing[0].contains("magnitude"), "{found:?}");
}

#[test]
fn a_device_with_a_kernel_driver_is_listed_once_with_the_better_backend() {
    let root = Root::new();
    root.plug_in(0, &OPEN_FFBOARD.descriptor());
    root.let_the_kernel_drive("hid0", 5);
    assert_eq!(root.listed(), [("/dev/hidraw0".to_owned(), "hid-pid", Some(2))]);
}

#[test]
fn what_only_the_kernel_can_drive_is_an_input_device() {
    let root = Root::new();
    root.plug_in(0, &PLAIN_STICK);
    root.let_the_kernel_drive("hid0", 5);
    root.let_the_kernel_drive("gameport", 6);
    let event = |number| (format!("/dev/input/event{number}"), "evdev", Some(2));
    assert_eq!(root.listed(), [event(5), event(6)]);
    let found = &found_under(root.0.path())[0];
    assert_eq!(found.device_file(), "kind = \"evdev\"\npath = \"/dev/input/event5\"\naxes = 2\n");
}

#[test]
fn a_node_that_may_not_be_opened_comes_with_the_remedy() {
    let root = Root::new();
    root.plug_in(0, &OPEN_FFBOARD.descriptor());
    fs::remove_file(root.0.join("dev/hidraw0")).unwrap();
    let found = &found_under(root.0.path())[0];
    assert!(found.can_be_driven() && found.missing[0].contains("hapticd install-udev"), "{found:?}");
}

//! Lists HID devices, and input devices for which the kernel provides force feedback. A joystick that is both is listed
//! once: as a HID device if a HID backend can drive it, otherwise as an input device.

use super::{Found, NO_BACKEND, missing_rights, texts};
use crate::evdev::node::{self, NodeInfo};
use crate::hid::descriptor::Descriptor;
use crate::hid::hidraw::{self, HidrawInfo};
use crate::hid::layout::{LayoutError, PidLayout};
use crate::hid::usages::{GAMEPAD, JOYSTICK};
use crate::kinds::{Candidate, Recognised, recognise};
use std::fs;
use std::path::{Path, PathBuf};

/// A device and its `/sys` folder.
pub struct Listed {
    pub folder: Option<PathBuf>,
    pub found: Found,
}

/// Lists the HID and input devices, with `root` as the root directory.
pub fn list_under(root: &Path) -> Vec<Listed> {
    let mut listed: Vec<Listed> = hidraw::list_in(root).iter().filter_map(|info| hid_device(root, info)).collect();
    for info in node::list_in(root) {
        let Some(found) = input_device(root, &info) else { continue };
        let folder = folder_of(root, "input", &info.path);
        let contains = |hid: &Listed| Some(folder.as_ref()?.starts_with(hid.folder.as_ref()?));
        let is_same = |hid: &&mut Listed| contains(hid) == Some(true);
        match listed.iter_mut().find(is_same) {
            Some(hid) if hid.found.can_be_driven() => {}
            Some(hid) => hid.found = found,
            None => listed.push(Listed { found, folder }),
        }
    }
    listed
}

/// Returns the `/sys` folder of the device behind a node. `class` is the device class in `/sys/class`: `hidraw` for
/// `/dev/hidraw0`, `input` for `/dev/input/event0`.
fn folder_of(root: &Path, class: &str, node: &Path) -> Option<PathBuf> {
    fs::canonicalize(root.join("sys/class").join(class).join(node.file_name()?).join("device")).ok()
}

fn hid_device(root: &Path, info: &HidrawInfo) -> Option<Listed> {
    let (backend, recognised, problem) = match recognise(&Candidate::Hid(info)) {
        Some((kind, recognised)) => (kind.name, recognised, None),
        None => (NO_BACKEND, Recognised::default(), Some(problem(info)?)),
    };
    let found = Found {
        port: info.path.display().to_string(),
        serial_number: info.serial_number.clone(),
        name: info.name.clone(),
        usb: format!("{:04x}:{:04x}", info.vendor_id, info.product_id),
        backend,
        axes: recognised.axes,
        capabilities: recognised.capabilities,
        unknown: texts(&recognised.unknown),
        missing: problem.into_iter().chain(missing_rights(&below(root, &info.path))).collect(),
    };
    Some(Listed { folder: folder_of(root, "hidraw", &info.path), found })
}

fn input_device(root: &Path, info: &NodeInfo) -> Option<Found> {
    let (kind, recognised) = recognise(&Candidate::Input(info))?;
    Some(Found {
        port: info.path.display().to_string(),
        serial_number: info.serial_number.clone(),
        name: info.name.clone(),
        usb: format!("{:04x}:{:04x}", info.vendor_id, info.product_id),
        backend: kind.name,
        axes: recognised.axes,
        capabilities: recognised.capabilities,
        unknown: texts(&recognised.unknown),
        missing: missing_rights(&below(root, &info.path)),
    })
}

fn below(root: &Path, node: &Path) -> PathBuf {
    root.join(node.strip_prefix("/").unwrap_or(node))
}

/// Returns the reason no backend can drive a joystick; `None` for devices that are not joysticks, such as keyboards and
/// mice.
fn problem(info: &HidrawInfo) -> Option<String> {
    match PidLayout::find_most(&info.descriptor).err()? {
        LayoutError::NoForceFeedback if !is_joystick(&info.descriptor) => None,
        LayoutError::NoAxis | LayoutError::Descriptor(_) => None,
        error => Some(error.to_string()),
    }
}

fn is_joystick(descriptor: &[u8]) -> bool {
    let is_one = |descriptor: Descriptor| descriptor.applications().any(|usage| [JOYSTICK, GAMEPAD].contains(&usage));
    Descriptor::parse(descriptor).is_ok_and(is_one)
}

#[cfg(test)]
mod tests;

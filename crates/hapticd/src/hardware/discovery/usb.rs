//! HID devices, and input devices that the kernel drives with force feedback. One stick is both; it is told once, with the better
//! backend.

use super::{Found, NO_BACKEND, missing_rights};
use haptic_backends::evdev::node::{self, NodeInfo};
use haptic_backends::hid::descriptor::Descriptor;
use haptic_backends::hid::hidraw::{self, HidrawInfo};
use haptic_backends::hid::joystick::rate_hz;
use haptic_backends::hid::layout::{LayoutError, PidLayout};
use haptic_backends::hid::native::is_native;
use haptic_backends::hid::usages::{GAMEPAD, JOYSTICK};
use haptic_config::device::DeviceKind;
use std::fs;
use std::path::{Path, PathBuf};

/// A HID device and the folder in `/sys` that is all of it.
struct Whole {
    folder: Option<PathBuf>,
    found: Found,
}

/// Everything on HID and input below a root.
pub fn found_under(root: &Path) -> Vec<Found> {
    let mut wholes: Vec<Whole> = hidraw::list_in(root).iter().filter_map(|info| whole(root, info)).collect();
    let driven_by_kernel = node::list_in(root).into_iter().filter(|info| info.has_constant_force && info.axes > 0);
    for info in driven_by_kernel {
        let folder = folder_of(root, "input", &info.path);
        let is_part = |whole: &&mut Whole| matches!((&folder, &whole.folder), (Some(part), Some(folder)) if part.starts_with(folder));
        match wholes.iter_mut().find(is_part) {
            Some(whole) if whole.found.can_be_driven() => {}
            Some(whole) => whole.found = input_device(root, &info),
            None => wholes.push(Whole { found: input_device(root, &info), folder }),
        }
    }
    wholes.into_iter().map(|whole| whole.found).collect()
}

/// The folder of the device behind a node: `/dev/hidraw0` is `hidraw`, `/dev/input/event0` is `input`.
fn folder_of(root: &Path, class: &str, node: &Path) -> Option<PathBuf> {
    fs::canonicalize(root.join("sys/class").join(class).join(node.file_name()?).join("device")).ok()
}

fn whole(root: &Path, info: &HidrawInfo) -> Option<Whole> {
    let told = DescriptorFacts::of(info)?;
    let found = Found {
        port: info.path.display().to_string(),
        serial_number: info.serial_number.clone(),
        name: info.name.clone(),
        usb: format!("{:04x}:{:04x}", info.vendor_id, info.product_id),
        backend: told.backend,
        axes: told.axes,
        capabilities: told.capabilities,
        missing: told.problem.into_iter().chain(missing_rights(&below(root, &info.path))).collect(),
    };
    Some(Whole { folder: folder_of(root, "hidraw", &info.path), found })
}

fn input_device(root: &Path, info: &NodeInfo) -> Found {
    Found {
        port: info.path.display().to_string(),
        serial_number: info.serial_number.clone(),
        name: info.name.clone(),
        usb: format!("{:04x}:{:04x}", info.vendor_id, info.product_id),
        backend: DeviceKind::Evdev.name(),
        axes: Some(info.axes),
        capabilities: "constant force by the kernel's driver".to_owned(),
        missing: missing_rights(&below(root, &info.path)),
    }
}

fn below(root: &Path, node: &Path) -> PathBuf {
    root.join(node.strip_prefix("/").unwrap_or(node))
}

/// What a report descriptor tells.
struct DescriptorFacts {
    backend: &'static str,
    axes: Option<usize>,
    capabilities: String,
    /// Why it cannot be driven.
    problem: Option<String>,
}

impl DescriptorFacts {
    /// Nothing for keyboards, mice and the like.
    fn of(info: &HidrawInfo) -> Option<Self> {
        if is_native(&info.descriptor) {
            let capabilities = "native protocol in HID reports".to_owned();
            return Some(Self { backend: DeviceKind::HidNative.name(), axes: None, capabilities, problem: None });
        }
        let find = |axes| PidLayout::find(&info.descriptor, axes).map(|layout| (axes, layout));
        match find(2).or_else(|_| find(1)) {
            Ok((axes, layout)) => Some(Self::joystick(axes, &layout, info)),
            Err(error) if error == LayoutError::NoForceFeedback && !is_joystick(&info.descriptor) => None,
            Err(LayoutError::NoAxis { .. } | LayoutError::Descriptor(_)) => None,
            Err(error) => Some(Self {
                backend: NO_BACKEND,
                axes: None,
                capabilities: String::new(),
                problem: Some(error.to_string()),
            }),
        }
    }

    fn joystick(axes: usize, layout: &PidLayout, info: &HidrawInfo) -> Self {
        let rate_hz = rate_hz(info.interval_ns, axes);
        Self {
            backend: DeviceKind::HidPid.name(),
            axes: Some(axes),
            capabilities: format!("{}, {rate_hz:.0} Hz", layout.capabilities()),
            problem: None,
        }
    }
}

fn is_joystick(descriptor: &[u8]) -> bool {
    let is_one = |descriptor: Descriptor| descriptor.applications().any(|usage| [JOYSTICK, GAMEPAD].contains(&usage));
    Descriptor::parse(descriptor).is_ok_and(is_one)
}

#[cfg(test)]
mod tests;

//! Linux HID devices, listed in `/sys/class/hidraw` and opened as `/dev/hidraw*`.
//!
//! The kernel's own driver may use the device at the same time; the driver and this process both receive all reports.

use super::link::{HidLink, HidPort, Opened};
use super::report::Report;
use crate::open_error::OpenError;
use haptic_realtime::ioctl::{Request, request};
use haptic_realtime::poll::readable;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Interval assumed for the output endpoint if the kernel reports none, ns; the shortest one at full speed.
const USUAL_INTERVAL_NS: u64 = 1_000_000;

/// The request `HIDIOCSFEATURE`, which writes a feature report.
const SET_FEATURE: Request = Request::both(b'H', 0x06);
/// The request `HIDIOCGFEATURE`, which reads a feature report.
const GET_FEATURE: Request = Request::both(b'H', 0x07);

/// A connected HID device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HidrawInfo {
    /// Path of the node, `/dev/hidraw…`.
    pub path: PathBuf,
    /// Display name.
    pub name: String,
    /// USB vendor id.
    pub vendor_id: u16,
    /// USB product id.
    pub product_id: u16,
    /// Serial number; empty if the device has none.
    pub serial_number: String,
    /// Report descriptor.
    pub descriptor: Vec<u8>,
    /// Interval of the output endpoint, ns.
    pub interval_ns: u64,
}

/// Lists all HID devices, ordered by node number.
pub fn list() -> Vec<HidrawInfo> {
    list_in(Path::new("/"))
}

/// Like [`list`], but with `root` instead of `/` as the root directory, for tests.
pub fn list_in(root: &Path) -> Vec<HidrawInfo> {
    let folder = root.join("sys/class/hidraw");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names.iter().filter_map(|name| info(&folder.join(name).join("device"), name)).collect()
}

fn info(device: &Path, name: &str) -> Option<HidrawInfo> {
    let uevent = fs::read_to_string(device.join("uevent")).ok()?;
    let value =
        |key: &str| uevent.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap_or_default();
    // Bus, vendor and product, in hexadecimal.
    let mut ids = value("HID_ID").split(':').skip(1).map(|id| u32::from_str_radix(id, 16).unwrap_or(0) as u16);
    Some(HidrawInfo {
        path: Path::new("/dev").join(name),
        name: value("HID_NAME").to_owned(),
        vendor_id: ids.next()?,
        product_id: ids.next()?,
        serial_number: value("HID_UNIQ").to_owned(),
        descriptor: fs::read(device.join("report_descriptor")).ok()?,
        interval_ns: output_interval_ns(device).unwrap_or(USUAL_INTERVAL_NS),
    })
}

/// Returns the interval of the output endpoint, ns; `None` if reports are sent over the control endpoint.
fn output_interval_ns(device: &Path) -> Option<u64> {
    let interface = fs::canonicalize(device).ok()?.parent()?.to_owned();
    let text = |path: PathBuf| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let mut endpoints = fs::read_dir(interface).ok()?.flatten().map(|entry| entry.path());
    let outward = endpoints.find(|endpoint| text(endpoint.join("direction")).as_deref() == Some("out"))?;
    interval_ns(&text(outward.join("interval"))?)
}

/// Parses an interval in the kernel's notation, such as `1ms` or `125us`.
fn interval_ns(text: &str) -> Option<u64> {
    let (number, unit_ns) = match (text.strip_suffix("ms"), text.strip_suffix("us")) {
        (Some(number), _) => (number, 1_000_000),
        (_, Some(number)) => (number, 1_000),
        _ => return None,
    };
    number.parse::<u64>().ok().filter(|number| *number > 0).map(|number| number * unit_ns)
}

/// Criteria for selecting a device. A criterion that is `None` matches every device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Path of the device node.
    pub path: Option<PathBuf>,
    /// USB vendor id.
    pub vendor_id: Option<u16>,
    /// USB product id.
    pub product_id: Option<u16>,
    /// Serial number.
    pub serial_number: Option<String>,
}

impl Selection {
    /// Whether a device matches all criteria.
    pub fn fits(&self, info: &HidrawInfo) -> bool {
        self.path.as_ref().is_none_or(|path| *path == info.path)
            && self.vendor_id.is_none_or(|id| id == info.vendor_id)
            && self.product_id.is_none_or(|id| id == info.product_id)
            && self.serial_number.as_ref().is_none_or(|number| *number == info.serial_number)
    }
}

/// Finds and opens the matching device. The search is repeated every time, because the name of the device node can
/// change.
pub struct HidrawPort {
    selection: Selection,
    /// Whether the backend can drive a device with this descriptor.
    is_wanted: fn(&[u8]) -> bool,
}

impl HidrawPort {
    /// Creates a port for devices that match the criteria and whose descriptor satisfies `is_wanted`.
    pub fn new(selection: Selection, is_wanted: fn(&[u8]) -> bool) -> Self {
        Self { selection, is_wanted }
    }

    fn find(&self) -> Result<HidrawInfo, OpenError> {
        let all = list();
        let by_name = all.iter().filter(|info| self.selection.fits(info));
        // A device selected by a criterion is chosen even if the backend cannot drive it, because opening it gives a
        // better error message.
        let is_named = self.selection != Selection::default();
        let fitting: Vec<&HidrawInfo> = by_name.filter(|info| is_named || (self.is_wanted)(&info.descriptor)).collect();
        let wanted: Vec<&&HidrawInfo> = fitting.iter().filter(|info| (self.is_wanted)(&info.descriptor)).collect();
        match (&fitting[..], &wanted[..]) {
            ([only], _) => Ok((*only).clone()),
            (_, [only]) => Ok((**only).clone()),
            ([], _) => Err(OpenError::NotFound { wanted: "HID device", present: describe(&all) }),
            (several, _) => {
                let several: Vec<HidrawInfo> = several.iter().map(|info| (*info).clone()).collect();
                Err(OpenError::Ambiguous { keys: "path or serial_number", present: describe(&several) })
            }
        }
    }
}

fn describe(all: &[HidrawInfo]) -> String {
    let one = |info: &HidrawInfo| {
        format!("{} {:04x}:{:04x} {}", info.path.display(), info.vendor_id, info.product_id, info.name)
    };
    all.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl HidPort for HidrawPort {
    fn open(&mut self) -> Result<Opened, OpenError> {
        let info = self.find()?;
        let open = || Hidraw::open(&info.path).map_err(|error| OpenError::node(&info.path, &error));
        Ok(Opened {
            reading: Box::new(open()?),
            writing: Box::new(open()?),
            descriptor: info.descriptor,
            name: info.name,
            serial_number: info.serial_number,
            interval_ns: info.interval_ns,
        })
    }
}

/// An open `/dev/hidraw*` node.
struct Hidraw {
    file: File,
}

impl Hidraw {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: OpenOptions::new().read(true).write(true).open(path)? })
    }
}

impl HidLink for Hidraw {
    fn write(&mut self, report: &Report) -> io::Result<()> {
        let written = self.file.write(report.bytes())?;
        if written == report.bytes().len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    fn read(&mut self, into: &mut [u8], wait: Duration) -> io::Result<usize> {
        if readable(&self.file, wait)? { self.file.read(into) } else { Ok(0) }
    }

    fn set_feature(&mut self, report: &Report) -> io::Result<()> {
        let mut copy = *report;
        request(&self.file, SET_FEATURE, copy.bytes_mut()).map(drop)
    }

    fn get_feature(&mut self, report: &mut Report) -> io::Result<()> {
        request(&self.file, GET_FEATURE, report.bytes_mut()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_testing::TestFolder;

    #[test]
    fn intervals_are_read_as_the_kernel_writes_them() {
        assert_eq!(["1ms", "8ms", "125us"].map(|text| interval_ns(text).unwrap()), [1_000_000, 8_000_000, 125_000]);
        assert_eq!([interval_ns("0ms"), interval_ns("soon")], [None, None]);
    }

    #[test]
    fn a_device_is_read_from_sysfs() {
        let root = TestFolder::new();
        let uevent = "DRIVER=hid-generic
HID_ID=0003:00001209:0000FFB0
HID_NAME=A stick
HID_UNIQ=S1
";
        root.write("sys/class/hidraw/hidraw3/device/uevent", uevent);
        root.write("sys/class/hidraw/hidraw3/device/report_descriptor", [5, 1]);
        let found = list_in(root.path());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].vendor_id, found[0].product_id), (0x1209, 0xFFB0));
        assert_eq!((found[0].name.as_str(), found[0].serial_number.as_str()), ("A stick", "S1"));
        assert_eq!(found[0].interval_ns, USUAL_INTERVAL_NS);
        let selection = Selection { serial_number: Some("S1".to_owned()), ..Selection::default() };
        assert!(selection.fits(&found[0]) && !Selection { vendor_id: Some(1), ..selection }.fits(&found[0]));
    }

    #[test]
    fn a_denied_permission_is_reported_with_the_remedy() {
        let refused = |kind: io::ErrorKind| OpenError::node(Path::new("/dev/hidraw0"), &kind.into()).to_string();
        assert!(refused(io::ErrorKind::PermissionDenied).contains("udev"));
        assert!(!refused(io::ErrorKind::NotFound).contains("udev"));
    }
}

//! `hid-native`: boards that use the native protocol in HID reports.

use super::{Backend, Candidate, OpenContext, OpenResult, Recognised, Unknown, node};
use crate::hid::hidraw::HidrawPort;
use crate::hid::native::{self, is_native};
use crate::native::{HID_NATIVE, NativeSettings, first_nonce};
use haptic_device::DeviceConfig;

pub(super) static BACKEND: Backend = Backend { spec: &HID_NATIVE, open, recognise: Some(recognise) };

fn open(config: &DeviceConfig, context: &OpenContext) -> OpenResult {
    let port = HidrawPort::new(node::selection(config), is_native);
    let settings = NativeSettings::from_config(config);
    Ok(Box::new(native::open(Box::new(port), settings, first_nonce(), node::priority(context))?))
}

fn recognise(candidate: &Candidate<'_>) -> Option<Recognised> {
    let Candidate::Hid(info) = candidate else { return None };
    let capabilities = "native protocol in HID reports".to_owned();
    let unknown = vec![Unknown::Sign, Unknown::TravelUntilOpened, Unknown::WatchdogUntilOpened];
    is_native(&info.descriptor).then_some(Recognised { axes: None, capabilities, unknown })
}

//! `hid-pid`: joysticks, wheels and boards with USB HID force feedback.

use super::{Backend, Candidate, OpenContext, OpenResult, Recognised, Unknown, node};
use crate::hid::hidraw::HidrawPort;
use crate::hid::joystick::{self, HID_PID, described_travel_m, rate_hz};
use crate::hid::layout::PidLayout;
use haptic_device::DeviceConfig;

pub(super) static BACKEND: Backend = Backend { spec: &HID_PID, open, recognise: Some(recognise) };

fn open(config: &DeviceConfig, context: &OpenContext) -> OpenResult {
    let port = HidrawPort::new(node::selection(config), |descriptor| PidLayout::find(descriptor, 1).is_ok());
    let device = joystick::open(Box::new(port), node::joystick_settings(config), node::priority(context))?;
    Ok(Box::new(device))
}

fn recognise(candidate: &Candidate<'_>) -> Option<Recognised> {
    let Candidate::Hid(info) = candidate else { return None };
    let layout = PidLayout::find_most(&info.descriptor).ok()?;
    let axes = layout.axes.len();
    let capabilities = format!("{}, {:.0} Hz", layout.capabilities(), rate_hz(info.interval_ns, axes));
    let lever_m = DeviceConfig::default().lever_m;
    let is_travel_known = layout.axes.iter().all(|field| described_travel_m(field, lever_m).is_some());
    let mut unknown = vec![Unknown::Sign, Unknown::Watchdog];
    unknown.extend((!is_travel_known).then_some(Unknown::Travel));
    unknown.extend((axes > 1).then_some(Unknown::Motors));
    Some(Recognised { axes: Some(axes), capabilities, unknown })
}

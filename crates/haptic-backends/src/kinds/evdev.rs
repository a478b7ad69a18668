//! `evdev`: devices for which the Linux kernel provides force feedback.

use super::{Backend, Candidate, OpenContext, OpenResult, Recognised, Unknown, node};
use crate::evdev::node::{choose, list};
use crate::evdev::{self, EVDEV};
use haptic_device::DeviceConfig;

pub(super) static BACKEND: Backend = Backend { spec: &EVDEV, open, recognise: Some(recognise) };

fn open(config: &DeviceConfig, context: &OpenContext) -> OpenResult {
    let selection = node::selection(config);
    let find = Box::new(move || choose(&list(), &selection));
    Ok(Box::new(evdev::open(find, node::joystick_settings(config), node::priority(context))?))
}

fn recognise(candidate: &Candidate<'_>) -> Option<Recognised> {
    let Candidate::Input(info) = candidate else { return None };
    let capabilities = "constant force by the kernel's driver".to_owned();
    let mut unknown = vec![Unknown::Sign, Unknown::Travel, Unknown::Watchdog];
    unknown.extend((info.axes > 1).then_some(Unknown::Motors));
    (info.has_constant_force && info.axes > 0).then_some(Recognised { axes: Some(info.axes), capabilities, unknown })
}

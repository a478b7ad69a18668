//! `serial`: boards that use the native protocol on a serial line.

use super::{Backend, Candidate, OpenContext, OpenResult, Recognised, Unknown, line};
use crate::native::framing::Cobs;
use crate::native::{NativeProtocol, NativeSettings, SERIAL, first_nonce};
use haptic_device::DeviceConfig;

pub(super) static BACKEND: Backend = Backend { spec: &SERIAL, open, recognise: Some(recognise) };

fn open(config: &DeviceConfig, context: &OpenContext) -> OpenResult {
    let axes = config.axes_are_given.then_some(config.axes as u8);
    let settings = NativeSettings { axes, baud: line::baud(config), ..NativeSettings::from_config(config) };
    line::open(config, context, |monitor| Box::new(NativeProtocol::<Cobs>::new(settings, monitor, first_nonce())))
}

/// USB ids of boards whose serial port is a console with a protocol of their own: OpenFFBoard, VPforce.
const CONSOLES: [(&str, &str); 2] = [("1209", "ffb0"), ("ffff", "2055")];

/// Recognises every serial port that is not a known console, because any board may use the native protocol.
fn recognise(candidate: &Candidate<'_>) -> Option<Recognised> {
    let Candidate::SerialPort { vendor, product } = candidate else { return None };
    let unknown = vec![Unknown::Sign, Unknown::TravelUntilOpened, Unknown::WatchdogUntilOpened];
    (!CONSOLES.contains(&(*vendor, *product))).then(|| Recognised { unknown, ..Recognised::default() })
}

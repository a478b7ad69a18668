//! `odrive`: ODrive motor controllers.

use super::{Backend, Candidate, OpenContext, OpenResult, Recognised, Unknown, line};
use crate::serial::odrive::{ODRIVE, OdriveProtocol, OdriveSettings};
use haptic_device::DeviceConfig;

pub(super) static BACKEND: Backend = Backend { spec: &ODRIVE, open, recognise: Some(recognise) };

/// USB vendor id of ODrive motor controllers.
const VENDOR: &str = "1209";
/// USB product ids of ODrive motor controllers.
const PRODUCTS: [&str; 4] = ["0d31", "0d32", "0d33", "0d34"];

/// Minimum watchdog time, s. Until the loop runs, the reader thread feeds the watchdog every 20 ms.
const MIN_WATCHDOG_S: f64 = 0.05;

fn open(config: &DeviceConfig, context: &OpenContext) -> OpenResult {
    let settings = OdriveSettings {
        lever_m: config.lever_m,
        max_torque_n_m: config.model.max_force_n[0] * config.lever_m,
        max_speed_m_per_s: context.max_speed_m_per_s,
        watchdog_s: config.watchdog_s.max(MIN_WATCHDOG_S),
        baud: line::baud(config),
    };
    line::open(config, context, |monitor| Box::new(OdriveProtocol::new(settings, monitor)))
}

fn recognise(candidate: &Candidate<'_>) -> Option<Recognised> {
    let Candidate::SerialPort { vendor, product } = candidate else { return None };
    let unknown = vec![Unknown::Sign, Unknown::Lever, Unknown::WatchdogUntilOpened];
    let recognised = || Recognised { unknown, ..Recognised::default() };
    (*vendor == VENDOR && PRODUCTS.contains(product)).then(recognised)
}

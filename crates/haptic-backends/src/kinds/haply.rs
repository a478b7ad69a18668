//! `haply-2diy`: the Haply 2diy, which cannot be recognised by its USB ids.

use super::{Backend, OpenContext, OpenResult, line};
use crate::serial::haply::{HAPLY_2DIY, HaplyProtocol, HaplyVariant};
use haptic_device::DeviceConfig;

pub(super) static BACKEND: Backend = Backend { spec: &HAPLY_2DIY, open, recognise: None };

fn open(config: &DeviceConfig, context: &OpenContext) -> OpenResult {
    let variant = HaplyVariant::of(config);
    tracing::info!("the arm must stand at its home stop during setup");
    line::open(config, context, |monitor| Box::new(HaplyProtocol::new(variant, monitor)))
}

//! Runs the scene before the picture is drawn and records the paths of hand and tool.

use crate::failure::Failure;
use crate::figures::ticks_in;
use haptic_config::setup::Setup;
use haptic_device::MonotonicNs;
use haptic_draw::compose::Trail;
use haptic_draw::placement::{Placement, in_state};
use haptic_planar::tick::TICK_NS;

/// Ticks between two points of a path.
const POINT_EVERY: u64 = 5;

/// Runs the setup for `seconds` of virtual time and returns the paths and the final poses.
///
/// # Errors
/// If the device is not simulated, or its model is invalid.
pub fn run(setup: Setup, seconds: f64) -> Result<(Trail, Vec<Placement>), Failure> {
    if !setup.is_simulated() {
        let (name, kind) = (&setup.profile.device.name, setup.device.kind.name);
        let problem = format!("{name}: a {kind} device cannot be used for a picture");
        return Err(Failure::BadInput(format!("{problem}; name a simulated one, e.g. --device simulated-2dof")));
    }
    let device = setup.simulated_device()?;
    let mut rendering = setup.into_loop(device)?;
    let mut trail = Trail { seconds, ..Trail::default() };
    for tick in 1..=ticks_in(seconds) {
        let report = rendering.tick(MonotonicNs(tick * TICK_NS), 0);
        let (hand_m, force_n) = (report.hand_m, report.force_n);
        trail.force_n = force_n;
        if tick % POINT_EVERY == 0 && rendering.world().scene.tool.is_some() {
            trail.hand_m.push(hand_m);
            trail.handle_m.push(rendering.world().state.handle_m(&rendering.world().scene));
        }
    }
    Ok((trail, in_state(&rendering.world().scene, &rendering.world().state)))
}

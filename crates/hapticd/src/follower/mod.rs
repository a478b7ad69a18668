//! Follows a scene from snapshot to snapshot: where the bodies are, and what the hand does.

pub mod narrator;

use haptic_draw::placement::Placement;
use haptic_loop::snapshot::Snapshot;
use haptic_planar::math::rotate;
use nalgebra::Vector2;

/// Moves what can move to where a snapshot has it. `centres_m` are the bodies' centres of mass in their own frames.
pub fn follow(placements: &mut [Placement], snapshot: &Snapshot, centres_m: &[Vector2<f64>]) {
    for pose in &snapshot.poses {
        let index = pose.body as usize;
        if let (Some(placement), Some(&centre_m)) = (placements.get_mut(index), centres_m.get(index)) {
            let (sine, cosine) = libm::sincos(pose.angle_rad);
            let rotation = Vector2::new(cosine, sine);
            *placement = Placement { centre_m: pose.position_m + rotate(rotation, centre_m), rotation };
        }
    }
}

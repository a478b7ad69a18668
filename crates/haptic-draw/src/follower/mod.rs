//! Follows a scene through its snapshots, for the terminal and the viewer. Provides body poses and a caption.

pub mod narrator;

use crate::placement::Placement;
use crate::view::SceneView;
use haptic_loop::snapshot::Snapshot;
use haptic_planar::math::rotate;
use nalgebra::Vector2;
use narrator::Narrator;

/// A scene and the poses of its bodies in the newest snapshot.
#[derive(Clone, Debug)]
pub struct SceneFollower {
    view: SceneView,
    placements: Vec<Placement>,
    narrator: Narrator,
}

impl SceneFollower {
    /// Creates a follower with every body in its initial pose.
    pub fn new(view: SceneView) -> Self {
        Self { placements: view.start().to_vec(), view, narrator: Narrator::default() }
    }

    /// Returns the appearance of the scene.
    pub fn view(&self) -> &SceneView {
        &self.view
    }

    /// Returns the poses of all bodies, in file order.
    pub fn placements(&self) -> &[Placement] {
        &self.placements
    }

    /// Moves the bodies to their poses in the snapshot and returns a caption that describes the hand's activity.
    pub fn update(&mut self, snapshot: &Snapshot) -> String {
        for pose in &snapshot.poses {
            let index = pose.body as usize;
            if let (Some(placement), Some(body)) = (self.placements.get_mut(index), self.view.bodies.get(index)) {
                let (sine, cosine) = libm::sincos(pose.angle_rad);
                let rotation = Vector2::new(cosine, sine);
                let centre_m = pose.position_m + rotate(rotation, body.centre_m);
                *placement = Placement { centre_m, rotation, is_removed: pose.is_removed };
            }
        }
        self.narrator.narrate(&self.view, &self.placements, &snapshot.report)
    }
}

//! Brings the tool to the hand before the force comes on.
//!
//! The world stands still meanwhile. The tool is placed where the coupling would hold it at the hand, if there is room;
//! otherwise at the free position nearest to it on the line to where the tool is. The rest of the way is the offset of
//! the coupling, which shrinks while the force ramps up: a hand inside a wall is pushed out gradually, and a tool on
//! the wrong side of an obstacle is pulled towards the hand, slowly and with the force of the ramp.

use super::HapticLoop;
use crate::reading_monitor::{HandReading, Validity};
use nalgebra::Vector2;

/// Number of positions between hand and tool that are tried, one in each tick, so that the force starts to ramp up
/// after this many ticks at the latest.
pub const POSITIONS: u32 = 32;

impl HapticLoop {
    /// Tries one position for the tool, unless a fault would end the engagement at once, and starts the ramp of the
    /// force when the tool is placed. Real-time: one test for room, bounded by the scene, in place of the step.
    pub(super) fn bring_tool(&mut self, hand: &HandReading, periods: u32) {
        let can_engage = hand.validity == Validity::Good && self.guard.can_engage(periods);
        let hand_m = hand.position_m.map(|position_m| self.mapping.position_to_world(position_m));
        let Some(hand_m) = hand_m.filter(|_| can_engage) else {
            self.positions_tried = 0;
            return;
        };
        if self.world.scene.tool.is_none() {
            return self.guard.start_ramp(0.0);
        }
        let way_m = hand_m + self.sag_m() - self.world.state.handle_m(&self.world.scene);
        let displacement_m = way_m * (1.0 - f64::from(self.positions_tried) / f64::from(POSITIONS));
        self.positions_tried += 1;
        if self.positions_tried > POSITIONS || self.world.has_room(displacement_m) {
            self.positions_tried = 0;
            self.place_tool(displacement_m, hand_m);
        }
    }

    /// Displacement of the handle from the hand at which the coupling carries the weight of the tool, m; zero if it
    /// cannot.
    fn sag_m(&self) -> Vector2<f64> {
        let (weight_n, stiffness) = (self.world.tool_weight_n(), self.coupling.gains().stiffness_n_per_m);
        let is_carried = weight_n.norm() <= self.max_coupling_force_n() && stiffness > 0.0;
        let sag_m = if is_carried { weight_n / stiffness } else { Vector2::zeros() };
        self.mapping.rail.map_or(sag_m, |axis| axis * axis.dot(&sag_m))
    }

    /// Displaces the tool and engages the coupling so that it carries the weight of the tool and nothing else.
    fn place_tool(&mut self, displacement_m: Vector2<f64>, hand_m: Vector2<f64>) {
        let added_j = self.world.place_tool(displacement_m);
        let handle_m = self.world.state.handle_m(&self.world.scene);
        self.coupling.engage(handle_m - self.sag_m() - hand_m);
        self.guard.start_ramp(added_j);
    }
}

//! The hand of a trial: it presses on a floor until the force is steady, and then keeps pressing or leaves.

use nalgebra::Vector2;

/// Speed of the hand towards the floor and into it, m/s.
const APPROACH_M_PER_S: f64 = 0.1;
/// Speed of a hand that leaves, m/s: a quick but ordinary withdrawal.
const LEAVE_M_PER_S: f64 = 0.1;
/// Distance by which a hand leaves, m.
const LEAVE_M: f64 = 0.04;

/// What the hand does when the disturbance begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// It keeps pressing.
    Presses,
    /// It leaves: a force that stays pushes it, and gives it energy.
    Leaves,
}

impl Behaviour {
    /// Both, in the order in which they are tried.
    pub const ALL: [Self; 2] = [Self::Presses, Self::Leaves];
}

/// The motion of a hand along a line, device frame.
#[derive(Clone, Copy, Debug)]
pub struct HandMotion {
    /// Where the handle is at first, m.
    pub start_m: Vector2<f64>,
    /// A place above the floor that the hand visits first, m.
    pub above_m: Vector2<f64>,
    /// Where the target of a hand that presses is, m.
    pub press_m: Vector2<f64>,
    /// Direction away from the floor, unit length.
    pub away: Vector2<f64>,
    /// What the hand does when the disturbance begins.
    pub behaviour: Behaviour,
}

impl HandMotion {
    /// Returns the target of the hand, m, `since_start_ms` after its start. `since_onset_ms` is the time since the
    /// disturbance began; `None` before it.
    pub fn target_m(&self, since_start_ms: u64, since_onset_ms: Option<u64>) -> Vector2<f64> {
        match since_onset_ms {
            Some(ms) if self.behaviour == Behaviour::Leaves => {
                self.press_m + self.away * (LEAVE_M_PER_S * 1e-3 * ms as f64).min(LEAVE_M)
            }
            Some(_) => self.press_m,
            None => self.approach_m(since_start_ms),
        }
    }

    fn approach_m(&self, since_start_ms: u64) -> Vector2<f64> {
        let gone_m = APPROACH_M_PER_S * 1e-3 * since_start_ms as f64;
        let first_m = (self.above_m - self.start_m).norm();
        if gone_m < first_m {
            along(self.start_m, self.above_m, gone_m)
        } else {
            along(self.above_m, self.press_m, gone_m - first_m)
        }
    }
}

/// The point at this distance from `from_m` on the way to `to_m`, or `to_m` if it is nearer.
fn along(from_m: Vector2<f64>, to_m: Vector2<f64>, distance_m: f64) -> Vector2<f64> {
    let way_m = to_m - from_m;
    if way_m.norm() <= distance_m { to_m } else { from_m + way_m * (distance_m / way_m.norm()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn motion(behaviour: Behaviour) -> HandMotion {
        HandMotion {
            start_m: Vector2::new(0.01, 0.03),
            above_m: Vector2::new(0.0, 0.03),
            press_m: Vector2::new(0.0, -0.01),
            away: Vector2::y(),
            behaviour,
        }
    }

    #[test]
    fn a_hand_approaches_presses_and_leaves() {
        let leaving = motion(Behaviour::Leaves);
        assert!((leaving.target_m(50, None) - Vector2::new(0.005, 0.03)).norm() < 1e-12);
        assert!((leaving.target_m(300, None) - Vector2::new(0.0, 0.01)).norm() < 1e-12);
        assert_eq!(leaving.target_m(5000, None), leaving.press_m);
        assert_eq!(leaving.target_m(5000, Some(0)), leaving.press_m);
        assert!((leaving.target_m(5100, Some(100)) - Vector2::zeros()).norm() < 1e-12);
        assert!((leaving.target_m(9000, Some(4000)) - Vector2::new(0.0, 0.03)).norm() < 1e-12);
        assert_eq!(motion(Behaviour::Presses).target_m(9000, Some(4000)), leaving.press_m);
    }
}

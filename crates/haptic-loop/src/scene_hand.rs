//! The simulated hand of a scene: where it starts, and the path on which it demonstrates the scene.

use haptic_device::Path;
use haptic_planar::tick::TICK_S;
use nalgebra::Vector2;

/// Speed at which the hand moves to the start of its path, m/s. Ten times this would knock things over on the way.
const APPROACH_M_PER_S: f64 = 0.1;

/// Ticks per second. Tick counts are divided by this rather than multiplied by the period, so that path rows at a tick
/// are hit exactly.
const TICKS_PER_S: f64 = 1000.0;

/// The hand of a scene: the contents of `[hand]` in a scene file. Only a simulated device without a path of its own
/// uses it.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneHand {
    /// Start of the hand, world frame, m; `None` for the handle of the tool.
    pub start_m: Option<Vector2<f64>>,
    /// Path of the hand in the world frame; `None` for a hand that rests.
    pub path: Option<Path>,
    /// Time without guidance after which the path begins, s.
    pub idle_s: f64,
}

impl Default for SceneHand {
    fn default() -> Self {
        Self { start_m: None, path: None, idle_s: 10.0 }
    }
}

impl SceneHand {
    /// Returns the same hand with a path that begins at once.
    pub fn at_once(self) -> Self {
        Self { idle_s: 0.0, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// The hand rests for this many more ticks.
    Idle(u64),
    /// A user guides the hand.
    Guided,
    /// The hand moves to the start of its path.
    Approach,
    /// The hand has followed its path for this many ticks.
    Path(u64),
}

/// The motion of a scene's hand. Path time stops while a user guides the hand; the path then begins again.
#[derive(Clone, Debug)]
pub(crate) struct Demonstration {
    path: Option<Path>,
    idle_ticks: u64,
    stage: Stage,
    /// Target of the hand, world frame, m.
    position_m: Vector2<f64>,
}

impl Demonstration {
    /// Creates the motion of a hand that starts at `start_m`, world frame, m.
    pub fn new(hand: SceneHand, start_m: Vector2<f64>) -> Self {
        let idle_ticks = (hand.idle_s * TICKS_PER_S).round() as u64;
        Self { path: hand.path, idle_ticks, stage: Stage::Idle(idle_ticks), position_m: start_m }
    }

    /// Target of the hand, or its start before the first tick, world frame, m.
    pub fn position_m(&self) -> Vector2<f64> {
        self.position_m
    }

    /// Interrupts the path: a user moves the hand to `target_m`, world frame, m; `None` if the user releases it.
    /// Real-time: constant.
    pub fn guide(&mut self, target_m: Option<Vector2<f64>>) {
        match target_m {
            Some(target_m) => (self.stage, self.position_m) = (Stage::Guided, target_m),
            None if self.stage == Stage::Guided => self.stage = Stage::Idle(self.idle_ticks),
            None => {}
        }
    }

    /// Continues the guidance of the hand by a user, if it is guided in `other`. Real-time: constant.
    pub fn continue_guidance(&mut self, other: &Self) {
        if other.stage == Stage::Guided {
            self.guide(Some(other.position_m));
        }
    }

    /// Advances the hand by one tick and returns its target, world frame, m; `None` while it rests or a user guides it.
    /// Real-time: one evaluation of the path.
    pub fn advance(&mut self) -> Option<Vector2<f64>> {
        let path = self.path.as_mut()?;
        match self.stage {
            Stage::Guided => return None,
            Stage::Idle(ticks @ 1..) => {
                self.stage = Stage::Idle(ticks - 1);
                return None;
            }
            Stage::Idle(0) | Stage::Approach => {
                let start_m = path.follow(0.0);
                if self.position_m == start_m {
                    self.stage = Stage::Path(1);
                    self.position_m = path.follow(1.0 / TICKS_PER_S);
                } else {
                    self.stage = Stage::Approach;
                    self.position_m = moved_towards(self.position_m, start_m);
                }
            }
            Stage::Path(ticks) => {
                self.stage = Stage::Path(ticks + 1);
                self.position_m = path.follow((ticks + 1) as f64 / TICKS_PER_S);
            }
        }
        Some(self.position_m)
    }
}

fn moved_towards(from_m: Vector2<f64>, to_m: Vector2<f64>) -> Vector2<f64> {
    let displacement = to_m - from_m;
    let (distance, reach) = (displacement.norm(), APPROACH_M_PER_S * TICK_S);
    if distance <= reach { to_m } else { from_m + displacement * (reach / distance) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demonstration(idle_s: f64, start_m: Vector2<f64>) -> Demonstration {
        let path = Path::new(vec![[0.0, 0.01, 0.0], [1.0, 0.02, 0.0], [2.0, 0.01, 0.0]], true).ok();
        Demonstration::new(SceneHand { start_m: None, path, idle_s }, start_m)
    }

    fn advance(demonstration: &mut Demonstration, ticks: usize) -> Option<Vector2<f64>> {
        (0..ticks).map(|_| demonstration.advance()).last().flatten()
    }

    #[test]
    fn the_path_begins_after_the_idle_time() {
        let mut hand = demonstration(0.5, Vector2::new(0.01, 0.0));
        assert_eq!(advance(&mut hand, 500), None);
        assert_eq!(advance(&mut hand, 500), Some(Vector2::new(0.015, 0.0)));
        let mut at_once = demonstration(0.0, Vector2::new(0.01, 0.0));
        assert_eq!(advance(&mut at_once, 500), Some(Vector2::new(0.015, 0.0)));
        assert_eq!(advance(&mut at_once, 2000), Some(Vector2::new(0.015, 0.0)), "and repeats");
    }

    #[test]
    fn the_hand_moves_slowly_to_the_start_of_its_path() {
        let mut hand = demonstration(0.0, Vector2::new(0.0, 0.0));
        let half_way = advance(&mut hand, 50).unwrap();
        assert!((half_way - Vector2::new(0.005, 0.0)).norm() < 1e-12, "{half_way}");
        assert!((advance(&mut hand, 160).unwrap().x - 0.0111).abs() < 2e-5, "and then follows it");
    }

    #[test]
    fn guidance_interrupts_the_path_which_begins_again_after_the_idle_time() {
        let mut hand = demonstration(0.5, Vector2::new(0.01, 0.0));
        advance(&mut hand, 1200);
        hand.guide(Some(Vector2::new(0.011, 0.0)));
        assert_eq!(advance(&mut hand, 5000), None);
        hand.guide(None);
        assert_eq!(advance(&mut hand, 300), None);
        hand.guide(None);
        assert_eq!(advance(&mut hand, 200), None, "a second release changes nothing");
        assert!((advance(&mut hand, 1).unwrap().x - 0.0109).abs() < 1e-12, "from where the user left it");
        assert!(advance(&mut hand, 10).unwrap().x < 0.0101, "to the start of the path");
    }

    #[test]
    fn a_hand_that_is_guided_stays_guided_in_another_scene() {
        let (mut old, mut new) = (demonstration(0.0, Vector2::zeros()), demonstration(0.0, Vector2::zeros()));
        old.guide(Some(Vector2::new(0.03, 0.0)));
        new.continue_guidance(&old);
        assert_eq!(advance(&mut new, 100), None);
    }

    #[test]
    fn a_hand_without_a_path_rests() {
        let mut hand = Demonstration::new(SceneHand::default().at_once(), Vector2::new(0.01, 0.0));
        assert_eq!(advance(&mut hand, 100), None);
    }
}

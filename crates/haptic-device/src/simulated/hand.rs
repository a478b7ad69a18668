//! Target of the simulated hand: on its path, led along the path of a scene, at the mouse, or at rest.

use crate::path::Path;
use nalgebra::Vector2;

/// Maximum speed of a target dragged by the mouse, m/s. Ten times this would feel like an impact.
const DRAG_SPEED_M_PER_S: f64 = 1.0;

/// Time from releasing the mouse until the target returns to the path of a device file, s.
pub const PATH_RESUMES_S: f64 = 2.0;

/// [`PATH_RESUMES_S`] in ticks.
const WAIT_TICKS: u32 = (PATH_RESUMES_S * super::TICKS_PER_S) as u32;

/// Time at the start of a new scene before the target moves to the start of the path, ticks (1 s). Meanwhile the force
/// ramps up.
const TAKE_HOLD_TICKS: u32 = 1000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum TargetSource {
    /// The path; its time advances.
    Path,
    /// The mouse, at this position.
    Mouse(Vector2<f64>),
    /// The path of a scene, at this position. Only for a hand without a path of its own.
    Scene(Vector2<f64>),
    /// No source: the target rests for this many more ticks.
    Rest(u32),
    /// The path, while the target is still returning to it.
    Return,
}

/// Moving target of the simulated hand. Path time stops while the target is away from the path, so that no part of the
/// path is skipped and the target returns to a fixed point.
#[derive(Clone, Debug)]
pub(super) struct HandTarget {
    path: Option<Path>,
    path_ticks: u64,
    source: TargetSource,
    position_m: Vector2<f64>,
}

impl HandTarget {
    /// Creates a target on the path at time zero; without a path, it rests at the origin until it is moved.
    pub fn new(path: Option<Path>) -> Self {
        let position_m = path.as_ref().map_or(Vector2::zeros(), |path| path.at(0.0));
        Self { path, path_ticks: 0, source: TargetSource::Path, position_m }
    }

    /// Position of the target, device frame, m.
    pub fn position_m(&self) -> Vector2<f64> {
        self.position_m
    }

    /// Whether the hand has a path of its own.
    pub fn has_path(&self) -> bool {
        self.path.is_some()
    }

    /// Makes the target move to `place_m` on the path of a scene, device frame, m, unless the hand has a path of its
    /// own or the mouse controls it.
    ///
    /// Real-time: one comparison.
    pub fn lead(&mut self, place_m: Vector2<f64>) {
        let is_free = self.path.is_none() && !matches!(self.source, TargetSource::Mouse(_));
        if is_free && place_m.x.is_finite() && place_m.y.is_finite() {
            self.source = TargetSource::Scene(place_m);
        }
    }

    /// Makes the target move towards the mouse at `request_m`, device frame, m; `None` releases it.
    ///
    /// Real-time: one comparison.
    pub fn guide(&mut self, request_m: Option<Vector2<f64>>) {
        match request_m {
            Some(place) if place.x.is_finite() && place.y.is_finite() => self.source = TargetSource::Mouse(place),
            Some(_) => {}
            None if matches!(self.source, TargetSource::Mouse(_)) => self.source = TargetSource::Rest(WAIT_TICKS),
            None => {}
        }
    }

    /// Restarts the path. Unless the mouse controls the target, or the path has not begun yet, the target is placed at
    /// the start of a new scene first. Returns whether it is.
    ///
    /// Real-time: one comparison.
    pub fn call(&mut self, start_m: Vector2<f64>) -> bool {
        let has_begun = self.path_ticks > 0 || self.source != TargetSource::Path || self.path.is_none();
        self.path_ticks = 0;
        let is_placed = has_begun && !matches!(self.source, TargetSource::Mouse(_));
        if is_placed {
            (self.source, self.position_m) = (TargetSource::Rest(TAKE_HOLD_TICKS), start_m);
        }
        is_placed
    }

    /// Advances the target by a tick and returns its new position, m.
    ///
    /// Real-time: one evaluation of the path.
    pub fn advance(&mut self) -> Vector2<f64> {
        match self.source {
            TargetSource::Path => self.follow_path(),
            TargetSource::Mouse(place) | TargetSource::Scene(place) => self.drag_towards(place),
            TargetSource::Rest(0) => self.return_to_path(),
            TargetSource::Rest(ticks) => self.source = TargetSource::Rest(ticks - 1),
            TargetSource::Return => self.return_to_path(),
        }
        self.position_m
    }

    fn follow_path(&mut self) {
        self.path_ticks += 1;
        self.position_m = self.position_on_path();
    }

    fn return_to_path(&mut self) {
        let place = self.position_on_path();
        self.drag_towards(place);
        self.source = if self.position_m == place { TargetSource::Path } else { TargetSource::Return };
    }

    fn position_on_path(&self) -> Vector2<f64> {
        self.path.as_ref().map_or(self.position_m, |path| path.at(super::seconds(self.path_ticks)))
    }

    fn drag_towards(&mut self, place: Vector2<f64>) {
        let displacement = place - self.position_m;
        let (distance, reach) = (libm::hypot(displacement.x, displacement.y), DRAG_SPEED_M_PER_S * super::TICK_S);
        self.position_m = if distance <= reach { place } else { self.position_m + displacement * (reach / distance) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow_path() -> Path {
        Path::new(vec![[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [2.0, 0.0, 0.0]], true).unwrap()
    }

    fn advance(target: &mut HandTarget, ticks: usize) -> Vector2<f64> {
        (0..ticks).map(|_| target.advance()).last().unwrap()
    }

    #[test]
    fn the_path_is_followed_on_the_tick() {
        let mut target = HandTarget::new(Some(slow_path()));
        assert!((advance(&mut target, 250).x - 0.025).abs() < 1e-15);
        assert!((advance(&mut target, 2000).x - 0.025).abs() < 1e-15);
    }

    #[test]
    fn the_mouse_drags_at_one_metre_a_second_and_arrives() {
        let mut target = HandTarget::new(Some(slow_path()));
        target.guide(Some(Vector2::new(0.0, 0.05)));
        assert!((advance(&mut target, 20) - Vector2::new(0.0, 0.02)).norm() < 1e-12);
        assert_eq!(advance(&mut target, 40), Vector2::new(0.0, 0.05));
    }

    #[test]
    fn the_path_resumes_where_it_was_left_two_seconds_after_release() {
        let mut target = HandTarget::new(Some(slow_path()));
        let left_at = advance(&mut target, 300);
        target.guide(Some(Vector2::new(0.03, 0.05)));
        let held_at = advance(&mut target, 100);
        target.guide(None);
        target.guide(None);
        assert_eq!(advance(&mut target, 2000), held_at, "it rests for two seconds");
        assert!((advance(&mut target, 1) - held_at).norm() > 0.0009, "then it moves");
        assert_eq!(advance(&mut target, 49), left_at, "back to the path in 50 mm at 1 m/s");
        assert!((advance(&mut target, 1).x - 0.0301).abs() < 1e-15, "and on");
    }

    #[test]
    fn a_hand_is_placed_at_the_handle_of_a_new_tool_and_restarts_its_path() {
        let mut target = HandTarget::new(Some(slow_path()));
        advance(&mut target, 300);
        assert!(target.call(Vector2::new(0.03, 0.05)));
        assert_eq!(advance(&mut target, 1000), Vector2::new(0.03, 0.05), "it waits a second");
        advance(&mut target, 60);
        assert!((advance(&mut target, 100).x - 0.01).abs() < 2e-3, "and begins at the start of its path");
    }

    #[test]
    fn a_hand_with_a_path_of_its_own_begins_it_at_once_and_is_not_led() {
        let mut target = HandTarget::new(Some(slow_path()));
        assert!(!target.call(Vector2::new(0.03, 0.05)), "the path begins in the first tick");
        target.lead(Vector2::new(0.03, 0.05));
        assert!((advance(&mut target, 250).x - 0.025).abs() < 1e-15);
    }

    #[test]
    fn a_hand_without_a_path_is_led_unless_the_mouse_controls_it() {
        let mut target = HandTarget::new(None);
        assert!(target.call(Vector2::new(0.03, 0.05)));
        assert_eq!(advance(&mut target, 5000), Vector2::new(0.03, 0.05), "it rests at the start");
        target.lead(Vector2::new(0.0305, 0.05));
        assert_eq!(advance(&mut target, 1), Vector2::new(0.0305, 0.05));
        target.guide(Some(Vector2::new(0.02, 0.05)));
        target.lead(Vector2::new(0.04, 0.05));
        assert_eq!(advance(&mut target, 100), Vector2::new(0.02, 0.05), "the mouse takes over");
        target.guide(None);
        assert_eq!(advance(&mut target, 5000), Vector2::new(0.02, 0.05), "and leaves it where it is");
        target.lead(Vector2::new(0.0205, 0.05));
        assert_eq!(advance(&mut target, 1), Vector2::new(0.0205, 0.05));
    }

    #[test]
    fn a_hand_that_the_mouse_leads_does_not_move_to_a_new_tool() {
        let mut target = HandTarget::new(Some(slow_path()));
        target.guide(Some(Vector2::new(0.02, 0.0)));
        assert!(!target.call(Vector2::new(0.03, 0.05)));
        assert_eq!(advance(&mut target, 100), Vector2::new(0.02, 0.0));
    }

    #[test]
    fn the_target_never_jumps() {
        let mut target = HandTarget::new(Some(slow_path()));
        let mut before = target.position_m();
        for tick in 0..10_000 {
            match tick {
                700 => target.guide(Some(Vector2::new(-0.2, 0.1))),
                800 => target.guide(Some(Vector2::new(0.2, f64::NAN))),
                900 => target.guide(None),
                3000 => target.guide(Some(Vector2::new(0.3, 0.3))),
                4000 => target.guide(None),
                _ => {}
            }
            let now = target.advance();
            assert!((now - before).norm() <= 0.001 + 1e-12, "tick {tick}");
            before = now;
        }
    }
}

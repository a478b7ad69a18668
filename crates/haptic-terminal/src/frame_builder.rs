//! Builds frames from snapshots: poses, caption, tick rate and figures.

use crate::frame::{Figures, Frame};
use haptic_draw::bounds::Bounds;
use haptic_draw::follower::SceneFollower;
use haptic_draw::view::SceneView;
use haptic_loop::report::TickReport;
use haptic_loop::snapshot::Snapshot;
use haptic_realtime::runner::LoopTiming;

/// Margin around the world, as a fraction of its size.
const MARGIN: f64 = 0.02;
/// Shortest time over which the tick rate is measured, ns.
const RATE_SPAN_NS: u64 = 500_000_000;

/// Builds the frames of one scene.
#[derive(Clone, Debug)]
pub struct FrameBuilder {
    follower: SceneFollower,
    bounds: Bounds,
    pace: Pace,
    penetration_max_m: f64,
}

impl FrameBuilder {
    /// Creates a builder with the scene in its initial state.
    pub fn new(view: SceneView) -> Self {
        Self { bounds: view.bounds, follower: SceneFollower::new(view), pace: Pace::default(), penetration_max_m: 0.0 }
    }

    /// Returns the appearance of the scene.
    pub fn view(&self) -> &SceneView {
        self.follower.view()
    }

    /// Builds a frame from the newest snapshot.
    pub fn observe(&mut self, snapshot: &Snapshot, figures: &LoopTiming, notice: Option<String>) -> Frame {
        let report = &snapshot.report;
        let caption = self.follower.update(snapshot);
        self.keep_tool_visible();
        self.pace.update(report);
        self.penetration_max_m = self.penetration_max_m.max(report.felt.penetration_m);
        let has_hand = self.view().tool.is_some() && report.tick > 0;
        Frame {
            caption,
            placements: self.follower.placements().to_vec(),
            bounds: self.bounds.widened(MARGIN * self.bounds.size_m().amax()),
            hand_m: has_hand.then_some(report.hand_m),
            force_n: report.force_n,
            phase: report.phase.name(),
            figures: self.figures(report, figures),
            address: None,
            notice,
        }
    }

    fn figures(&self, report: &TickReport, figures: &LoopTiming) -> Figures {
        Figures {
            elapsed_s: self.pace.elapsed_s(),
            rate_hz: self.pace.rate_hz,
            tick_p50_ns: figures.compute.per_mille_ns(500),
            tick_p99_ns: figures.compute.per_mille_ns(990),
            overruns: figures.overruns,
            energy_gain_j: report.felt.energy.gain_max_j,
            tank_j: report.tank_j,
            penetration_m: self.penetration_max_m,
        }
    }

    /// Enlarges the visible part of the world to keep the tool visible, up to three times the size of the scene. The
    /// visible part never shrinks, so that the scale stays readable.
    fn keep_tool_visible(&mut self) {
        let (view, placements) = (self.follower.view(), self.follower.placements());
        let Some((tool, _)) = view.tool else { return };
        let limit = view.bounds.widened(view.bounds.size_m().amax());
        let seen = view.bodies[tool].bounds(&placements[tool]).common(&limit);
        if !seen.is_empty() {
            self.bounds = self.bounds.joined(&seen);
        }
    }
}

/// Measures the tick rate.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Tick number and time, ns, of the first snapshot.
    first: Option<(u64, u64)>,
    /// Tick number and time, ns, at the start of the current measurement.
    mark: (u64, u64),
    now_ns: u64,
    rate_hz: f64,
}

impl Pace {
    fn update(&mut self, report: &TickReport) {
        let here = (report.tick, report.now.0);
        if report.tick == 0 {
            return;
        }
        if self.first.is_none() {
            (self.first, self.mark) = (Some(here), here);
        }
        self.now_ns = here.1;
        let span_ns = here.1.saturating_sub(self.mark.1);
        if span_ns >= RATE_SPAN_NS {
            self.rate_hz = here.0.saturating_sub(self.mark.0) as f64 / (span_ns as f64 * 1e-9);
            self.mark = here;
        }
    }

    fn elapsed_s(&self) -> f64 {
        self.first.map_or(0.0, |(_, start_ns)| self.now_ns.saturating_sub(start_ns) as f64 * 1e-9)
    }
}

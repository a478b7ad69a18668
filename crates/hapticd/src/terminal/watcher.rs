//! Makes frames of snapshots: follows the bodies, the pace and the words.

use super::frame::{Figures, Frame};
use crate::follower::follow;
use crate::follower::narrator::Narrator;
use haptic_draw::bounds::Bounds;
use haptic_draw::placement::Placement;
use haptic_draw::view::SceneView;
use haptic_loop::report::TickReport;
use haptic_loop::snapshot::Snapshot;
use haptic_realtime::runner::LoopTiming;
use nalgebra::Vector2;

/// Free room around the world, a share of its size.
const MARGIN: f64 = 0.02;
/// The rate is measured over at least so long, ns.
const RATE_SPAN_NS: u64 = 500_000_000;

/// Looks at a world for as long as it is shown.
#[derive(Clone, Debug)]
pub struct FrameBuilder {
    view: SceneView,
    centres_m: Vec<Vector2<f64>>,
    placements: Vec<Placement>,
    bounds: Bounds,
    narrator: Narrator,
    pace: Pace,
    penetration_max_m: f64,
}

impl FrameBuilder {
    /// A watcher of a world at its start.
    pub fn new(view: SceneView) -> Self {
        Self {
            centres_m: view.bodies.iter().map(|body| body.centre_m).collect(),
            placements: view.start().to_vec(),
            bounds: view.bounds,
            narrator: Narrator::default(),
            pace: Pace::default(),
            penetration_max_m: 0.0,
            view,
        }
    }

    /// What the scene looks like.
    pub fn view(&self) -> &SceneView {
        &self.view
    }

    /// The newest state as a frame.
    pub fn observe(&mut self, snapshot: &Snapshot, figures: &LoopTiming, notice: Option<String>) -> Frame {
        let report = &snapshot.report;
        follow(&mut self.placements, snapshot, &self.centres_m);
        self.keep_tool_in_sight();
        self.pace.take_in(report);
        self.penetration_max_m = self.penetration_max_m.max(report.felt.penetration_m);
        let is_held = self.view.tool.is_some() && report.tick > 0;
        Frame {
            caption: self.narrator.narrate(&self.view, &self.placements, report),
            placements: self.placements.clone(),
            bounds: self.bounds.widened(MARGIN * self.bounds.size_m().amax()),
            hand_m: is_held.then_some(report.hand_m),
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

    /// The picture grows to keep the tool in sight, to no more than three times the world, and never shrinks: a scale
    /// that breathes is no scale.
    fn keep_tool_in_sight(&mut self) {
        let Some((tool, _)) = self.view.tool else { return };
        let seen = self.view.bodies[tool].bounds(&self.placements[tool]);
        let limit = self.view.bounds.widened(self.view.bounds.size_m().amax());
        let seen = seen.common(&limit);
        if !seen.is_empty() {
            self.bounds = self.bounds.joined(&seen);
        }
    }
}

/// How fast ticks come.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Tick and time of the first snapshot.
    first: Option<(u64, u64)>,
    /// Tick and time that the rate counts from.
    mark: (u64, u64),
    now_ns: u64,
    rate_hz: f64,
}

impl Pace {
    fn take_in(&mut self, report: &TickReport) {
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

//! Data of one picture.

use haptic_draw::bounds::Bounds;
use haptic_draw::placement::Placement;
use haptic_draw::quantity::quantity;
use nalgebra::Vector2;

/// Data for rendering one picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Poses of the bodies, in file order.
    pub placements: Vec<Placement>,
    /// Visible part of the world, m.
    pub bounds: Bounds,
    /// Position of the hand, world frame, m; `None` before the first reading or without a tool.
    pub hand_m: Option<Vector2<f64>>,
    /// Force on the hand, world frame, N.
    pub force_n: Vector2<f64>,
    /// Description of the hand's activity.
    pub caption: String,
    /// Engagement phase.
    pub phase: &'static str,
    /// Figures beside or below the picture.
    pub figures: Figures,
    /// Address of the viewer, if it is running. The picture shows it because the log line with the address is held
    /// back.
    pub address: Option<String>,
    /// Newest log line, if any.
    pub notice: Option<String>,
}

/// Figures beside or below the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Time since the first snapshot of the scene, s.
    pub elapsed_s: f64,
    /// Measured tick rate, Hz.
    pub rate_hz: f64,
    /// Median tick duration, ns.
    pub tick_p50_ns: u64,
    /// 99th percentile of the tick duration, ns.
    pub tick_p99_ns: u64,
    /// Number of ticks that ended after the next deadline.
    pub overruns: u64,
    /// Largest energy gain, J: energy that the balance cannot explain.
    pub energy_gain_j: f64,
    /// Tank level, J.
    pub tank_j: f64,
    /// Deepest penetration of any pair so far, m.
    pub penetration_m: f64,
}

impl Frame {
    /// Returns the force and the figures as text, most important first.
    pub fn table(&self) -> [Entry; FIGURES] {
        let figures = &self.figures;
        let entry = |name, short_name, value| Entry { name, short_name, value };
        [
            entry("force", "force", quantity(self.force_n.norm(), "N")),
            entry("rate", "rate", format!("{:.0} Hz", figures.rate_hz)),
            entry("overruns", "overruns", figures.overruns.to_string()),
            entry("energy gain", "gain", quantity(figures.energy_gain_j, "J")),
            entry("tick p50", "tick p50", quantity(figures.tick_p50_ns as f64 * 1e-9, "s")),
            entry("tick p99", "tick p99", quantity(figures.tick_p99_ns as f64 * 1e-9, "s")),
            entry("tank", "tank", quantity(figures.tank_j, "J")),
            entry("penetration", "depth", quantity(figures.penetration_m, "m")),
        ]
    }
}

/// Number of figures.
pub const FIGURES: usize = 8;

/// One figure as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Full name.
    pub name: &'static str,
    /// Name for narrow terminals.
    pub short_name: &'static str,
    /// Value with its unit.
    pub value: String,
}

//! One picture's worth of measurements.

use haptic_draw::bounds::Bounds;
use haptic_draw::placement::Placement;
use haptic_draw::quantity::quantity;
use nalgebra::Vector2;

/// What is shown at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Where the bodies are, in file order.
    pub placements: Vec<Placement>,
    /// The part of the world that is shown.
    pub bounds: Bounds,
    /// Where the hand is, world, m; none before the first reading or without a tool.
    pub hand_m: Option<Vector2<f64>>,
    /// Force on the hand, world, N.
    pub force_n: Vector2<f64>,
    /// What the hand does, in words.
    pub caption: String,
    /// How far the engagement is, in a word.
    pub phase: &'static str,
    /// The figures beside the picture.
    pub figures: Figures,
    /// Where the page is served, if it is: the line that told it is covered by the picture.
    pub address: Option<String>,
    /// The newest log line, if there is one.
    pub notice: Option<String>,
}

/// The figures beside the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Since the start, s.
    pub elapsed_s: f64,
    /// Ticks a second, as they were run.
    pub rate_hz: f64,
    /// Half of the ticks took no longer, ns.
    pub tick_p50_ns: u64,
    /// 99 of 100 ticks took no longer, ns.
    pub tick_p99_ns: u64,
    /// Ticks that ended after the next deadline.
    pub overruns: u64,
    /// Energy that nothing explains, J.
    pub energy_gain_j: f64,
    /// Energy on account, J.
    pub tank_j: f64,
    /// Deepest penetration of any pair, m.
    pub penetration_m: f64,
}

impl Frame {
    /// Names, short names and values, most telling first.
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

/// How many figures there are.
pub const FIGURES: usize = 8;

/// One figure in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where there is room.
    pub name: &'static str,
    /// Where there is not.
    pub short_name: &'static str,
    /// With its unit.
    pub value: String,
}

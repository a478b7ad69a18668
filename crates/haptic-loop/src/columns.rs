//! Columns of a tick: the names and values of traces, exported tables, black boxes and recorded ticks.
//!
//! The name of a column ends with its unit. In traces, the position and velocity of the tool refer to the origin of its
//! frame, so that the velocity is the derivative of the position; in black boxes, they refer to its centre of mass.

use crate::report::TickReport;
use haptic_planar::scene::Scene;
use haptic_planar::scene::body_state::BodyState;
use haptic_planar::tick::TICKS_PER_S;
use nalgebra::Vector2;
use std::fmt;

/// A column of a table whose rows are of type `T`.
#[derive(Clone, Copy, Debug)]
pub struct Column<T: ?Sized> {
    /// Name of the column, with the unit at its end.
    pub name: &'static str,
    /// Returns the value of the column in a row.
    pub value: fn(&T) -> Cell,
}

/// A value in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A quantity.
    Number(f64),
    /// A count.
    Count(u64),
    /// A word, or quoted text.
    Text(String),
}

impl Cell {
    /// The value as a number; zero for text.
    pub fn number(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Count(count) => *count as f64,
            Self::Text(_) => 0.0,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// A tick with the values that a trace shows, world frame. Without a tool, the values of hand and tool are zero.
#[derive(Clone, Copy, Debug)]
pub struct TickView {
    /// Report of the tick.
    pub report: TickReport,
    /// Position of the hand, m.
    pub hand_m: Vector2<f64>,
    /// Origin of the tool's frame, m.
    pub tool_m: Vector2<f64>,
    /// State of the tool, with the velocity of the origin of its frame.
    pub tool: BodyState,
}

impl TickView {
    /// Creates the view of a tick in a scene.
    pub fn new(report: &TickReport, scene: &Scene) -> Self {
        let tool = scene.tool.map(|tool| report.tool.at_origin(&scene.bodies[tool.body]));
        let (tool_m, tool) = tool.unwrap_or_else(|| (Vector2::zeros(), BodyState::AT_REST));
        Self { report: *report, hand_m: scene.tool.map_or(Vector2::zeros(), |_| report.hand_m), tool_m, tool }
    }
}

const fn column<T: ?Sized>(name: &'static str, value: fn(&T) -> Cell) -> Column<T> {
    Column { name, value }
}

/// Columns of `--trace` and of exported tables.
pub const TRACE: [Column<TickView>; 17] = [
    column("t_s", |view| Cell::Number(view.report.tick as f64 / TICKS_PER_S as f64)),
    column("hand_x_m", |view| Cell::Number(view.hand_m.x)),
    column("hand_y_m", |view| Cell::Number(view.hand_m.y)),
    column("tool_x_m", |view| Cell::Number(view.tool_m.x)),
    column("tool_y_m", |view| Cell::Number(view.tool_m.y)),
    column("tool_angle_rad", |view| Cell::Number(view.tool.angle_rad)),
    column("tool_vx_m_per_s", |view| Cell::Number(view.tool.velocity_m_per_s.x)),
    column("tool_vy_m_per_s", |view| Cell::Number(view.tool.velocity_m_per_s.y)),
    column("tool_spin_rad_per_s", |view| Cell::Number(view.tool.angular_velocity_rad_per_s)),
    column("force_x_n", |view| Cell::Number(view.report.force_n.x)),
    column("force_y_n", |view| Cell::Number(view.report.force_n.y)),
    column("contacts", |view| Cell::Count(u64::from(view.report.felt.tool_contacts))),
    column("penetration_m", |view| Cell::Number(view.report.felt.tool_penetration_m)),
    column("normal_force_n", |view| Cell::Number(view.report.felt.tool_normal_n)),
    column("tangent_force_n", |view| Cell::Number(view.report.felt.tool_tangent_n)),
    column("energy_j", |view| Cell::Number(view.report.felt.energy.stored_j())),
    column("tank_j", |view| Cell::Number(view.report.tank_j)),
];

/// Columns of a black box.
pub const BLACK_BOX: [Column<TickReport>; 34] = [
    column("tick", |report| Cell::Count(report.tick)),
    column("t_ns", |report| Cell::Count(report.now.0)),
    column("skipped", |report| Cell::Count(u64::from(report.skipped))),
    column("health", |report| Cell::Text(format!("{:?}", report.reading.health))),
    column("fresh", |report| Cell::Text(report.reading.fresh.to_string())),
    column("age_ns", |report| Cell::Count(report.reading.age_ns)),
    column("sequence", |report| Cell::Count(u64::from(report.reading.sequence))),
    column("reading_x_m", |report| Cell::Number(report.reading.position_m.x)),
    column("reading_y_m", |report| Cell::Number(report.reading.position_m.y)),
    column("hand_x_m", |report| Cell::Number(report.hand_m.x)),
    column("hand_y_m", |report| Cell::Number(report.hand_m.y)),
    column("tool_centre_x_m", |report| Cell::Number(report.tool.centre_m.x)),
    column("tool_centre_y_m", |report| Cell::Number(report.tool.centre_m.y)),
    column("tool_angle_rad", |report| Cell::Number(report.tool.angle_rad)),
    column("tool_vx_m_per_s", |report| Cell::Number(report.tool.velocity_m_per_s.x)),
    column("tool_vy_m_per_s", |report| Cell::Number(report.tool.velocity_m_per_s.y)),
    column("tool_spin_rad_per_s", |report| Cell::Number(report.tool.angular_velocity_rad_per_s)),
    column("wanted_x_n", |report| Cell::Number(report.felt.force_on_hand_n.x)),
    column("wanted_y_n", |report| Cell::Number(report.felt.force_on_hand_n.y)),
    column("force_x_n", |report| Cell::Number(report.force_n.x)),
    column("force_y_n", |report| Cell::Number(report.force_n.y)),
    column("effort_x_n", |report| Cell::Number(report.effort_n.x)),
    column("effort_y_n", |report| Cell::Number(report.effort_n.y)),
    column("sent", |report| Cell::Text(format!("{:?}", report.sent))),
    column("contacts", |report| Cell::Count(u64::from(report.felt.contacts))),
    column("penetration_m", |report| Cell::Number(report.felt.penetration_m)),
    column("impacts", |report| Cell::Count(u64::from(report.felt.impacts))),
    column("energy_j", |report| Cell::Number(report.felt.energy.stored_j())),
    column("tank_j", |report| Cell::Number(report.tank_j)),
    column("share", |report| Cell::Number(report.fraction)),
    column("phase", |report| Cell::Text(report.phase.name().to_owned())),
    column("stale", |report| Cell::Text(report.stale.to_string())),
    column("paused", |report| Cell::Text(report.paused.to_string())),
    column("fault", |report| Cell::Text(report.fault.map_or(String::new(), |fault| format!("\"{fault}\"")))),
];

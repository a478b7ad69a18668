//! Captions that describe the hand's activity, derived from measured values.

use crate::placement::Placement;
use crate::touch::touched;
use crate::view::SceneView;
use haptic_loop::engagement::Phase;
use haptic_loop::report::TickReport;

/// Longest contact that counts as a tap, ticks.
const TAP_TICKS: u64 = 350;
/// Time for which a finished contact is still reported, ticks.
const REMEMBERED_TICKS: u64 = 350;
/// Speed below which the tool is considered at rest, m/s.
const STILL_M_PER_S: f64 = 0.004;
/// Smallest normal force on the tool at which sliding is reported, N.
const LIGHT_N: f64 = 0.05;

/// Smallest weight of the tool that is reported, N.
const FELT_WEIGHT_N: f64 = 0.005;

/// Writes captions. Tracks the last contact of the tool, to distinguish a tap from a longer contact, and pulling off
/// from free motion.
#[derive(Clone, Debug, Default)]
pub struct Narrator {
    /// Bodies that the tool touches, or last touched.
    bodies: Vec<usize>,
    /// First tick of the current or last contact.
    began: u64,
    /// Last tick with contact; `None` before the first contact.
    last: Option<u64>,
    is_touching: bool,
}

impl Narrator {
    /// Updates the tracked contact and returns the caption for the tick of `report`.
    pub fn narrate(&mut self, view: &SceneView, placements: &[Placement], report: &TickReport) -> String {
        self.update(view, placements, report);
        match report.phase {
            _ if view.tool.is_none() => "this scene has no tool".to_owned(),
            Phase::Stopped => "emergency stop: release it to feel again".to_owned(),
            _ if report.paused => "paused: resume to feel".to_owned(),
            _ if report.stale => "no reading from the device: check its cable and power".to_owned(),
            Phase::Waiting => "force off: hold the handle still for a moment".to_owned(),
            Phase::Ramping => format!("force ramping up: {:.0} %", report.fraction * 100.0),
            Phase::Engaged => self.describe_engaged(view, report),
        }
    }

    fn update(&mut self, view: &SceneView, placements: &[Placement], report: &TickReport) {
        let was_touching = self.is_touching;
        self.is_touching = report.felt.tool_contacts > 0;
        if !self.is_touching {
            return;
        }
        let bodies = touched(view, placements);
        if !bodies.is_empty() {
            self.bodies = bodies;
        }
        if !was_touching {
            self.began = report.tick;
        }
        self.last = Some(report.tick);
    }

    fn describe_engaged(&self, view: &SceneView, report: &TickReport) -> String {
        let names = names(view, &self.bodies);
        let Some(last) = self.last.filter(|_| !names.is_empty()) else { return free(view) };
        let is_tap = last - self.began < TAP_TICKS;
        if self.is_touching {
            self.describe_contact(view, report, &names)
        } else if report.tick - last > REMEMBERED_TICKS {
            free(view)
        } else if is_tap {
            format!("tapped {names}")
        } else {
            format!("pulled off {names}")
        }
    }

    fn describe_contact(&self, view: &SceneView, report: &TickReport, names: &str) -> String {
        let felt = &report.felt;
        let moved: Vec<usize> = self.bodies.iter().copied().filter(|&body| !view.bodies[body].fixed).collect();
        if !moved.is_empty() {
            return format!("pushing {}", self::names(view, &moved));
        }
        let is_moving = report.tool.velocity_m_per_s.norm() > STILL_M_PER_S;
        match self.bodies[..] {
            [body] if is_moving && felt.tool_normal_n > LIGHT_N && self.is_slipping(view, body, report) => format!(
                "sliding on {names}: Ft/Fn {:.2}, μ {:.2}",
                (felt.tool_tangent_n / felt.tool_normal_n).abs(),
                view.bodies[body].friction_with_tool
            ),
            _ if report.tick - self.began < TAP_TICKS => format!("tapping {names}"),
            [_] => format!("pressing on {names}: {:.2} N", felt.tool_normal_n),
            _ => format!("touching {names}"),
        }
    }

    /// Whether the friction between tool and body is close to its limit. Speed alone does not show this, because a
    /// sticking tool also moves slightly with the hand.
    fn is_slipping(&self, view: &SceneView, body: usize, report: &TickReport) -> bool {
        let (tangent_n, normal_n) = (report.felt.tool_tangent_n.abs(), report.felt.tool_normal_n);
        tangent_n > 0.95 * view.bodies[body].friction_with_tool * normal_n
    }
}

/// Returns the caption of a tool that touches nothing. Its weight is the force that the hand then feels.
fn free(view: &SceneView) -> String {
    if view.tool_weight_n < FELT_WEIGHT_N {
        return "free".to_owned();
    }
    format!("free: the tool weighs {:.2} N", view.tool_weight_n)
}

fn names(view: &SceneView, bodies: &[usize]) -> String {
    let names: Vec<&str> = bodies.iter().filter_map(|&body| view.bodies.get(body)).map(|body| &*body.name).collect();
    match names[..] {
        [] => String::new(),
        [one] => one.to_owned(),
        [ref some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

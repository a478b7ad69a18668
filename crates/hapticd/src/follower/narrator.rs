//! Says in words what the hand does, from what was measured.

use haptic_draw::placement::Placement;
use haptic_draw::touch::touched;
use haptic_draw::view::SceneView;
use haptic_loop::engagement::Phase;
use haptic_loop::report::TickReport;

/// A contact shorter than this is a tap, ticks.
const TAP_TICKS: u64 = 350;
/// What is over stays worth telling for so long, ticks.
const REMEMBERED_TICKS: u64 = 350;
/// A tool slower than this lies still, m/s.
const STILL_M_PER_S: f64 = 0.004;
/// A load below this has no friction worth telling, N.
const LIGHT_N: f64 = 0.05;

/// Remembers just enough to tell a tap from a hold, and a pull-off from free air.
#[derive(Clone, Debug, Default)]
pub struct Narrator {
    /// What the tool touches, or touched last.
    bodies: Vec<usize>,
    /// The tick in which the contact began.
    began: u64,
    /// The last tick with contact; none before the first.
    last: Option<u64>,
    is_touching: bool,
}

impl Narrator {
    /// Takes in a tick and says what the hand does.
    pub fn narrate(&mut self, view: &SceneView, placements: &[Placement], report: &TickReport) -> String {
        self.take_in(view, placements, report);
        match report.phase {
            _ if view.tool.is_none() => "nothing is held".to_owned(),
            _ if report.paused => "the world stands still".to_owned(),
            _ if report.stale => "no reading from the device".to_owned(),
            Phase::Waiting => "waiting until the world is quiet in the hand".to_owned(),
            Phase::Ramping => format!("force comes on: {:.0} %", report.share * 100.0),
            Phase::Engaged => self.told(view, report),
        }
    }

    fn take_in(&mut self, view: &SceneView, placements: &[Placement], report: &TickReport) {
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

    fn told(&self, view: &SceneView, report: &TickReport) -> String {
        let names = names(view, &self.bodies);
        let Some(last) = self.last.filter(|_| !names.is_empty()) else { return "free".to_owned() };
        let is_tap = last - self.began < TAP_TICKS;
        if self.is_touching {
            self.told_of_contact(view, report, &names)
        } else if report.tick - last > REMEMBERED_TICKS {
            "free".to_owned()
        } else if is_tap {
            format!("tapped {names}")
        } else {
            format!("pulled off {names}")
        }
    }

    fn told_of_contact(&self, view: &SceneView, report: &TickReport, names: &str) -> String {
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

    /// Friction at its limit; a tool that sticks moves too, a little, while the hand moves.
    fn is_slipping(&self, view: &SceneView, body: usize, report: &TickReport) -> bool {
        let (tangent_n, normal_n) = (report.felt.tool_tangent_n.abs(), report.felt.tool_normal_n);
        tangent_n > 0.95 * view.bodies[body].friction_with_tool * normal_n
    }
}

fn names(view: &SceneView, bodies: &[usize]) -> String {
    let names: Vec<&str> = bodies.iter().filter_map(|&body| view.bodies.get(body)).map(|body| &*body.name).collect();
    match names[..] {
        [] => String::new(),
        [one] => one.to_owned(),
        [ref some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

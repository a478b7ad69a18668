//! One axis of the simulated device: a mass with viscous and dry friction on the hand's spring and damper.
//!
//! M·a = f + K·(p − x) + B·(p' − v) − b·v − (dry friction), where f is constant and the target p moves evenly over the
//! time asked for. Between changes of direction this is a linear equation, and its solution's own Taylor series is
//! summed to the last bit. One series covers free, damped and sprung axes alike, where closed forms would need a case
//! each and lose digits between them, and it uses no library function whose bits could differ between machines.

/// Terms of the series. With [`SPAN`] the first one left out is below 0.5¹⁸/18! ≈ 10⁻²¹ of the motion.
const TERMS: usize = 18;

/// Longest time that one series covers, in units of the fastest time constant. Also far below half a swing (π), so
/// that velocity turns at most once in a span.
const SPAN: f64 = 0.5;

/// Most spans a tick may take; a model that would need more is refused at load.
pub(super) const MAX_SPANS: u32 = 64;

/// Stops and reversals looked for in one span. Two can happen; more would be rounding, and the axis then rests until
/// the span's end.
const MAX_STOPS: usize = 4;

/// Halvings in the search for the instant of a stop: the span shrinks below its last bit.
const HALVINGS: usize = 60;

/// What an axis is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AxisModel {
    /// Device and hand together, kg, above zero.
    pub mass_kg: f64,
    /// Damping to the ground, N·s/m.
    pub damping_n_s_per_m: f64,
    /// Dry friction, N.
    pub coulomb_n: f64,
    /// Spring to the target, N/m.
    pub hand_stiffness_n_per_m: f64,
    /// Damper to the target, N·s/m.
    pub hand_damping_n_s_per_m: f64,
}

/// What moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct AxisState {
    /// Position, m.
    pub position_m: f64,
    /// Velocity, m/s.
    pub velocity_m_per_s: f64,
}

/// What acts on the axis: a constant force and a target that moves evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drive {
    /// Force of the motor, N.
    pub force_n: f64,
    /// Where the hand wants to be, m.
    pub target_m: f64,
    /// How fast that moves, m/s.
    pub target_m_per_s: f64,
}

impl Drive {
    fn later(self, by_s: f64) -> Self {
        Self { target_m: self.target_m + self.target_m_per_s * by_s, ..self }
    }
}

/// The motion from now on, as a polynomial in time.
struct Series([f64; TERMS]);

impl Series {
    fn position(&self, time_s: f64) -> f64 {
        self.0.iter().rev().fold(0.0, |sum, term| sum * time_s + term)
    }

    fn velocity(&self, time_s: f64) -> f64 {
        (1..TERMS).rev().fold(0.0, |sum, n| sum * time_s + n as f64 * self.0[n])
    }

    fn acceleration(&self, time_s: f64) -> f64 {
        (2..TERMS).rev().fold(0.0, |sum, n| sum * time_s + (n * (n - 1)) as f64 * self.0[n])
    }

    fn state(&self, time_s: f64) -> AxisState {
        AxisState { position_m: self.position(time_s), velocity_m_per_s: self.velocity(time_s) }
    }
}

impl AxisModel {
    /// Spans of series that `duration_s` takes.
    pub fn spans(&self, duration_s: f64) -> f64 {
        let spring_rate = (self.hand_stiffness_n_per_m / self.mass_kg).sqrt();
        let damper_rate = (self.damping_n_s_per_m + self.hand_damping_n_s_per_m) / self.mass_kg;
        (spring_rate.max(damper_rate) * duration_s / SPAN).ceil().max(1.0)
    }

    /// Moves the axis through `duration_s`.
    ///
    /// Real-time: at most [`MAX_SPANS`] series of [`TERMS`] terms, each with at most [`MAX_STOPS`] stops.
    pub fn advance(&self, state: &mut AxisState, mut drive: Drive, duration_s: f64) {
        if duration_s <= 0.0 {
            return;
        }
        let spans = self.spans(duration_s).min(f64::from(MAX_SPANS));
        let span_s = duration_s / spans;
        for _ in 0..spans as u32 {
            self.advance_span(state, drive, span_s);
            drive = drive.later(span_s);
        }
    }

    fn advance_span(&self, state: &mut AxisState, drive: Drive, span_s: f64) {
        if self.coulomb_n > 0.0 {
            self.advance_with_friction(state, drive, span_s);
        } else {
            *state = self.series(state, drive, 0.0).state(span_s);
        }
    }

    fn advance_with_friction(&self, state: &mut AxisState, mut drive: Drive, mut left_s: f64) {
        for _ in 0..MAX_STOPS {
            let Some((start_s, direction)) = self.start_of_slide(state, drive, left_s) else { return };
            drive = drive.later(start_s);
            left_s -= start_s;
            let Some(stop_s) = self.slide(state, drive, direction, left_s) else { return };
            drive = drive.later(stop_s);
            left_s -= stop_s;
        }
    }

    /// When the axis begins to slide, and which way; none if friction holds it all the time.
    fn start_of_slide(&self, state: &AxisState, drive: Drive, left_s: f64) -> Option<(f64, f64)> {
        if state.velocity_m_per_s != 0.0 {
            return Some((0.0, state.velocity_m_per_s.signum()));
        }
        let (load_n, load_n_per_s) = self.load_at_rest(state, drive);
        if load_n.abs() > self.coulomb_n {
            return Some((0.0, load_n.signum()));
        }
        let direction = load_n_per_s.signum();
        let breakaway_s = (direction * self.coulomb_n - load_n) / load_n_per_s;
        // Written so that no load rate at all (a division by zero) counts as held.
        (breakaway_s < left_s).then_some((breakaway_s, direction))
    }

    /// The force that friction must hold on an axis at rest, and how it grows.
    fn load_at_rest(&self, state: &AxisState, drive: Drive) -> (f64, f64) {
        let spring_n = self.hand_stiffness_n_per_m * (drive.target_m - state.position_m);
        let damper_n = self.hand_damping_n_s_per_m * drive.target_m_per_s;
        (drive.force_n + spring_n + damper_n, self.hand_stiffness_n_per_m * drive.target_m_per_s)
    }

    /// Slides until the axis stops, and says when; none if it slides to the end.
    fn slide(&self, state: &mut AxisState, drive: Drive, direction: f64, left_s: f64) -> Option<f64> {
        let series = self.series(state, drive, -direction * self.coulomb_n);
        let stop_s = first_stop(&series, direction, left_s);
        *state = match stop_s {
            Some(stop_s) => AxisState { position_m: series.position(stop_s), velocity_m_per_s: 0.0 },
            None => series.state(left_s),
        };
        stop_s
    }

    fn series(&self, state: &AxisState, drive: Drive, friction_n: f64) -> Series {
        let (stiffness, damping) = (self.hand_stiffness_n_per_m, self.damping_n_s_per_m + self.hand_damping_n_s_per_m);
        let (load_n, load_n_per_s) = self.load_at_rest(state, drive);
        let mut terms = [0.0; TERMS];
        terms[0] = state.position_m;
        terms[1] = state.velocity_m_per_s;
        terms[2] = (load_n + friction_n - damping * terms[1]) / (2.0 * self.mass_kg);
        terms[3] = (load_n_per_s - stiffness * terms[1] - 2.0 * damping * terms[2]) / (6.0 * self.mass_kg);
        for n in 2..TERMS - 2 {
            let (next, after) = ((n + 1) as f64, (n + 2) as f64);
            terms[n + 2] = -(stiffness * terms[n] + damping * next * terms[n + 1]) / (self.mass_kg * next * after);
        }
        Series(terms)
    }
}

/// The first instant at which motion in `direction` comes to rest. Within a span velocity turns at most once, so it
/// either ends below zero, or dips below zero at its turn.
fn first_stop(series: &Series, direction: f64, left_s: f64) -> Option<f64> {
    let speed = |time_s: f64| direction * series.velocity(time_s);
    let push = |time_s: f64| direction * series.acceleration(time_s);
    let (from_rest, ends_reversed) = (speed(0.0) <= 0.0, speed(left_s) < 0.0);
    match (from_rest, ends_reversed) {
        (true, false) => None,
        (true, true) if push(0.0) > 0.0 => Some(falling_zero(speed, falling_zero(push, 0.0, left_s), left_s)),
        (true, true) => Some(0.0),
        (false, true) => Some(falling_zero(speed, 0.0, left_s)),
        (false, false) if push(0.0) < 0.0 && push(left_s) > 0.0 => {
            let turn_s = falling_zero(|time_s| -push(time_s), 0.0, left_s);
            (speed(turn_s) < 0.0).then(|| falling_zero(speed, 0.0, turn_s))
        }
        (false, false) => None,
    }
}

/// Where `value` falls through zero between `low` (above zero) and `high` (below).
fn falling_zero(value: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if value(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_in_the_midst_of_a_span_is_found_even_if_the_axis_moves_on_before_its_end() {
        let model = AxisModel {
            mass_kg: 0.1,
            damping_n_s_per_m: 0.0,
            coulomb_n: 0.3,
            hand_stiffness_n_per_m: 1000.0,
            hand_damping_n_s_per_m: 0.0,
        };
        // Creeping forwards against friction while the target, 0.1 mm behind, rushes past at 1 m/s: the axis stops after
        // 0.155 ms and breaks away at about 0.4 ms, when the spring is stretched by 0.3 mm.
        let mut state = AxisState { position_m: 0.0, velocity_m_per_s: 0.5e-3 };
        let drive = Drive { force_n: 0.0, target_m: -1e-4, target_m_per_s: 1.0 };
        assert_eq!(model.spans(0.001), 1.0, "all of it in one span");
        model.advance(&mut state, drive, 0.001);
        let breakaway_s = 0.4e-3;
        let since_breakaway = 1.0 - libm::cos(100.0 * (0.001 - breakaway_s));
        assert!(
            (state.velocity_m_per_s - since_breakaway).abs() < 1e-6,
            "{} {since_breakaway}",
            state.velocity_m_per_s
        );
    }

    #[test]
    fn an_axis_on_the_verge_of_slipping_rests_without_chatter() {
        let model = AxisModel {
            mass_kg: 0.1,
            damping_n_s_per_m: 0.5,
            coulomb_n: 0.3,
            hand_stiffness_n_per_m: 300.0,
            hand_damping_n_s_per_m: 3.0,
        };
        let mut state = AxisState::default();
        for tick in 0..1000 {
            let sign = if tick % 2 == 0 { 1.0 } else { -1.0 };
            model.advance(&mut state, Drive { force_n: sign * 0.3, target_m: 0.0, target_m_per_s: 0.0 }, 0.001);
        }
        assert_eq!(state, AxisState::default());
    }
}

//! One axis of the simulated device: a mass with viscous and dry friction on the hand's spring and damper.
//!
//! M·a = f + K·(p − x) + B·(p' − v) − b·v − (dry friction), where f is constant and the target p moves at constant
//! velocity over the requested time. Between changes of direction this is a linear equation, and the Taylor series of
//! its solution is summed to the last bit. One series covers free, damped and sprung axes alike, whereas closed forms
//! would need a separate case for each and lose digits near the boundaries between the cases. The series also uses no
//! library function whose bits could differ between machines.

/// Number of terms of the series. With [`SPAN`], the first omitted term is below 0.5¹⁸/18! ≈ 10⁻²¹ of the motion.
const TERMS: usize = 18;

/// Maximum length of a span, the time that one series covers, in units of the fastest time constant. It is far below
/// half an oscillation (π), so that the velocity has at most one extremum in a span.
const SPAN: f64 = 0.5;

/// Maximum number of spans per tick; a model that would need more is rejected when it is built.
pub(super) const MAX_SPANS: u32 = 64;

/// Maximum number of stops and reversals per span. Two are possible. Any more are due to rounding, and the axis then
/// rests until the end of the span.
const MAX_STOPS: usize = 4;

/// Number of bisections at the start of the search for the time of a stop. They narrow the search to 1/1024 of a span,
/// where the relative curvature of the motion is also at most 1/1024.
const HALVINGS: usize = 10;

/// Number of steps in the search for the time of a stop, bisections included. Each secant step after the bisections
/// reduces the error a thousandfold, so the third one reaches the last bits.
const SEARCH_STEPS: usize = HALVINGS + 4;

/// Parameters of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AxisModel {
    /// Mass of device and hand together, kg, above zero.
    pub mass_kg: f64,
    /// Damping to the ground, N·s/m.
    pub damping_n_s_per_m: f64,
    /// Dry friction, N.
    pub coulomb_n: f64,
    /// Stiffness of the spring between the axis and the target of the hand, N/m.
    pub hand_stiffness_n_per_m: f64,
    /// Damping between the axis and the target of the hand, N·s/m.
    pub hand_damping_n_s_per_m: f64,
}

/// State of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct AxisState {
    /// Position, m.
    pub position_m: f64,
    /// Velocity, m/s.
    pub velocity_m_per_s: f64,
}

/// Inputs of an axis: a constant force and a target that moves at constant velocity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drive {
    /// Motor force, N.
    pub force_n: f64,
    /// Position of the hand's target, m.
    pub target_m: f64,
    /// Velocity of the hand's target, m/s.
    pub target_m_per_s: f64,
}

impl Drive {
    fn later(self, by_s: f64) -> Self {
        Self { target_m: self.target_m + self.target_m_per_s * by_s, ..self }
    }
}

/// Initial conditions of a span.
#[derive(Clone, Copy, Debug)]
struct Push {
    /// Initial velocity, m/s.
    velocity_m_per_s: f64,
    /// Sum of the forces of motor, hand and dry friction at the start of the span, N, as if the axis were at rest.
    load_n: f64,
    /// Rate of change of `load_n`, N/s.
    load_n_per_s: f64,
}

impl Push {
    /// For each component, the push in which that component is one and the others are zero.
    const UNITS: [Self; 3] = [
        Self { velocity_m_per_s: 1.0, load_n: 0.0, load_n_per_s: 0.0 },
        Self { velocity_m_per_s: 0.0, load_n: 1.0, load_n_per_s: 0.0 },
        Self { velocity_m_per_s: 0.0, load_n: 0.0, load_n_per_s: 1.0 },
    ];

    fn weighed(&self, [of_velocity, of_load, of_growth]: [f64; 3]) -> f64 {
        self.velocity_m_per_s * of_velocity + self.load_n * of_load + self.load_n_per_s * of_growth
    }
}

/// Displacement within a span as a polynomial in time: the coefficient of each power.
struct Series([f64; TERMS]);

impl Series {
    fn travel(&self, time_s: f64) -> f64 {
        self.0.iter().rev().fold(0.0, |sum, term| sum * time_s + term)
    }

    fn velocity(&self, time_s: f64) -> f64 {
        (1..TERMS).rev().fold(0.0, |sum, n| sum * time_s + n as f64 * self.0[n])
    }

    fn acceleration(&self, time_s: f64) -> f64 {
        (2..TERMS).rev().fold(0.0, |sum, n| sum * time_s + (n * (n - 1)) as f64 * self.0[n])
    }
}

/// Precomputed motion over a part of a tick, divided into equal spans. The motion over a span is linear in the push, so
/// the series for each component of a push is summed only once, when the propagator is created.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpanPropagator {
    spans: u32,
    /// Length of one span, s.
    span_s: f64,
    /// Displacement over a span per unit of each component of the push.
    travel: [f64; 3],
    /// Velocity after a span per unit of each component of the push.
    velocity: [f64; 3],
}

impl AxisModel {
    /// Number of spans needed to cover `duration_s`, at least one.
    pub fn spans(&self, duration_s: f64) -> f64 {
        let spring_rate = (self.hand_stiffness_n_per_m / self.mass_kg).sqrt();
        let damper_rate = self.total_damping() / self.mass_kg;
        (spring_rate.max(damper_rate) * duration_s / SPAN).ceil().max(1.0)
    }

    /// Precomputes the motion over `duration_s`, which is at most one tick.
    pub fn passage(&self, duration_s: f64) -> SpanPropagator {
        let spans = if duration_s > 0.0 { self.spans(duration_s).min(f64::from(MAX_SPANS)) } else { 0.0 };
        let span_s = duration_s / spans.max(1.0);
        let parts = Push::UNITS.map(|unit| self.series(&unit));
        SpanPropagator {
            spans: spans as u32,
            span_s,
            travel: parts.each_ref().map(|part| part.travel(span_s)),
            velocity: parts.each_ref().map(|part| part.velocity(span_s)),
        }
    }

    /// Advances the axis over the duration for which `passage` was computed.
    ///
    /// Real-time: at most [`MAX_SPANS`] spans, each with at most [`MAX_STOPS`] stops; a stop costs one series of
    /// [`TERMS`] terms and two searches of [`SEARCH_STEPS`] steps.
    pub fn advance(&self, state: &mut AxisState, mut drive: Drive, passage: &SpanPropagator) {
        for _ in 0..passage.spans {
            self.advance_span(state, drive, passage);
            drive = drive.later(passage.span_s);
        }
    }

    fn advance_span(&self, state: &mut AxisState, mut drive: Drive, passage: &SpanPropagator) {
        if self.coulomb_n == 0.0 {
            *state = passage.end(state, &self.push(state, drive, 0.0));
            return;
        }
        let mut left_s = passage.span_s;
        for _ in 0..MAX_STOPS {
            let Some((start_s, direction)) = self.start_of_slide(state, drive, left_s) else { return };
            drive = drive.later(start_s);
            left_s -= start_s;
            let push = self.push(state, drive, direction);
            if left_s == passage.span_s && self.slides_through(state, &push, direction, passage) {
                return;
            }
            let Some(stop_s) = self.slide(state, &push, direction, left_s) else { return };
            drive = drive.later(stop_s);
            left_s -= stop_s;
        }
    }

    /// Time at which the axis starts to slide, s, and the direction of sliding; `None` if friction holds the axis for
    /// `left_s`.
    fn start_of_slide(&self, state: &AxisState, drive: Drive, left_s: f64) -> Option<(f64, f64)> {
        if state.velocity_m_per_s != 0.0 {
            return Some((0.0, state.velocity_m_per_s.signum()));
        }
        let Push { load_n, load_n_per_s, .. } = self.push(state, drive, 0.0);
        if load_n.abs() > self.coulomb_n {
            return Some((0.0, load_n.signum()));
        }
        let direction = load_n_per_s.signum();
        let breakaway_s = (direction * self.coulomb_n - load_n) / load_n_per_s;
        // With a load rate of zero, the quotient is infinite or NaN, and the axis counts as held.
        (breakaway_s < left_s).then_some((breakaway_s, direction))
    }

    /// Initial conditions of an axis that slides in `direction` (1 or −1). A direction of zero omits dry friction.
    fn push(&self, state: &AxisState, drive: Drive, direction: f64) -> Push {
        let spring_n = self.hand_stiffness_n_per_m * (drive.target_m - state.position_m);
        let damper_n = self.hand_damping_n_s_per_m * drive.target_m_per_s;
        Push {
            velocity_m_per_s: state.velocity_m_per_s,
            load_n: drive.force_n + spring_n + damper_n - direction * self.coulomb_n,
            load_n_per_s: self.hand_stiffness_n_per_m * drive.target_m_per_s,
        }
    }

    /// Advances by a whole span and returns true if the axis does not stop within it; otherwise leaves the state
    /// unchanged.
    fn slides_through(&self, state: &mut AxisState, push: &Push, direction: f64, passage: &SpanPropagator) -> bool {
        let end = passage.end(state, push);
        let acceleration = |time_s: f64, at: &AxisState| {
            let spring_n = self.hand_stiffness_n_per_m * (at.position_m - state.position_m);
            let damper_n = self.total_damping() * at.velocity_m_per_s;
            (push.load_n + push.load_n_per_s * time_s - spring_n - damper_n) / self.mass_kg
        };
        let dips = direction * acceleration(0.0, state) < 0.0 && direction * acceleration(passage.span_s, &end) > 0.0;
        let passes = direction * end.velocity_m_per_s >= 0.0 && (push.velocity_m_per_s == 0.0 || !dips);
        if passes {
            *state = end;
        }
        passes
    }

    /// Advances the axis until it stops and returns the time of the stop, s; `None` if it slides throughout `left_s`.
    fn slide(&self, state: &mut AxisState, push: &Push, direction: f64, left_s: f64) -> Option<f64> {
        let series = self.series(push);
        let stop_s = first_stop(&series, direction, left_s);
        state.position_m += series.travel(stop_s.unwrap_or(left_s));
        state.velocity_m_per_s = if stop_s.is_some() { 0.0 } else { series.velocity(left_s) };
        stop_s
    }

    fn series(&self, push: &Push) -> Series {
        let (stiffness, damping) = (self.hand_stiffness_n_per_m, self.total_damping());
        let mut terms = [0.0; TERMS];
        terms[1] = push.velocity_m_per_s;
        terms[2] = (push.load_n - damping * terms[1]) / (2.0 * self.mass_kg);
        terms[3] = (push.load_n_per_s - stiffness * terms[1] - 2.0 * damping * terms[2]) / (6.0 * self.mass_kg);
        for n in 2..TERMS - 2 {
            let (next, after) = ((n + 1) as f64, (n + 2) as f64);
            terms[n + 2] = -(stiffness * terms[n] + damping * next * terms[n + 1]) / (self.mass_kg * next * after);
        }
        Series(terms)
    }

    fn total_damping(&self) -> f64 {
        self.damping_n_s_per_m + self.hand_damping_n_s_per_m
    }
}

impl SpanPropagator {
    /// State after one span.
    fn end(&self, state: &AxisState, push: &Push) -> AxisState {
        AxisState {
            position_m: state.position_m + push.weighed(self.travel),
            velocity_m_per_s: push.weighed(self.velocity),
        }
    }
}

/// First time at which motion in `direction` stops, s; `None` if it does not stop within `left_s`. The velocity has at
/// most one extremum in a span, so if the motion stops, its velocity is reversed at the end of the span or at the
/// extremum.
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

/// Returns the time between `low` and `high` at which `value` falls through zero. `value` is positive at `low` and
/// negative at `high`.
///
/// Bisects until the curve between the bounds is almost straight, then uses the zero of its secant.
fn falling_zero(value: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let (mut low, mut high) = ((low, value(low)), (high, value(high)));
    let mut best = low.0;
    for step in 0..SEARCH_STEPS {
        let chord = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
        best = if step < HALVINGS { 0.5 * (low.0 + high.0) } else { chord };
        // Also reached if the secant has no slope.
        if !(low.0 < best && best < high.0) {
            return best.min(high.0).max(low.0);
        }
        let here = (best, value(best));
        if here.1 > 0.0 { low = here } else { high = here }
    }
    best
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
        // The axis creeps forwards against friction while the target, 0.1 mm behind it, passes it at 1 m/s. It stops
        // after 0.155 ms and breaks away at about 0.4 ms, when the spring is stretched by 0.3 mm.
        let mut state = AxisState { position_m: 0.0, velocity_m_per_s: 0.5e-3 };
        let drive = Drive { force_n: 0.0, target_m: -1e-4, target_m_per_s: 1.0 };
        assert_eq!(model.spans(0.001), 1.0, "all of it in one span");
        model.advance(&mut state, drive, &model.passage(0.001));
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
        let (mut state, passage) = (AxisState::default(), model.passage(0.001));
        for tick in 0..1000 {
            let sign = if tick % 2 == 0 { 1.0 } else { -1.0 };
            model.advance(&mut state, Drive { force_n: sign * 0.3, target_m: 0.0, target_m_per_s: 0.0 }, &passage);
        }
        assert_eq!(state, AxisState::default());
    }

    #[test]
    fn a_passage_leads_where_many_short_ones_lead() {
        let free = AxisModel {
            mass_kg: 0.1,
            damping_n_s_per_m: 0.0,
            coulomb_n: 0.0,
            hand_stiffness_n_per_m: 0.0,
            hand_damping_n_s_per_m: 0.0,
        };
        let held = AxisModel { hand_stiffness_n_per_m: 800.0, hand_damping_n_s_per_m: 4.0, ..free };
        let stiff = AxisModel { damping_n_s_per_m: 300.0, hand_stiffness_n_per_m: 4e5, ..free };
        let rough = AxisModel { coulomb_n: 0.4, ..held };
        for model in [free, held, stiff, rough] {
            let start = AxisState { position_m: 0.01, velocity_m_per_s: 0.2 };
            let (mut whole, mut parts) = (start, start);
            let mut drive = Drive { force_n: -0.7, target_m: 0.009, target_m_per_s: 0.3 };
            model.advance(&mut whole, drive, &model.passage(0.001));
            let short = model.passage(0.001 / 128.0);
            for _ in 0..128 {
                model.advance(&mut parts, drive, &short);
                drive = drive.later(0.001 / 128.0);
            }
            assert!((whole.position_m - parts.position_m).abs() < 1e-16, "{model:?} {whole:?} {parts:?}");
            assert!((whole.velocity_m_per_s - parts.velocity_m_per_s).abs() < 1e-13, "{model:?} {whole:?} {parts:?}");
        }
    }

    #[test]
    fn an_axis_that_friction_brakes_stops_where_it_should() {
        let model = AxisModel {
            mass_kg: 0.1,
            damping_n_s_per_m: 0.0,
            coulomb_n: 0.3,
            hand_stiffness_n_per_m: 0.0,
            hand_damping_n_s_per_m: 0.0,
        };
        // The deceleration is 3 m/s²: the axis stops after 0.2 ms and 0.06 µm.
        let mut state = AxisState { position_m: 0.0, velocity_m_per_s: 0.6e-3 };
        let drive = Drive { force_n: 0.0, target_m: 0.0, target_m_per_s: 0.0 };
        model.advance(&mut state, drive, &model.passage(0.001));
        assert_eq!(state.velocity_m_per_s, 0.0);
        assert!((state.position_m - 0.06e-6).abs() < 1e-20, "{}", state.position_m);
    }

    #[test]
    fn a_falling_zero_is_found_to_the_last_bits_wherever_it_is_and_however_the_curve_bends() {
        for zero in [1e-9, 0.1, 0.5, 0.7, 0.999_999] {
            for bend in [-0.5, 0.0, 0.5] {
                let curve = |time: f64| (zero - time) * (1.0 + bend * time);
                let found = falling_zero(curve, 0.0, 1.0);
                assert!((found - zero).abs() < 1e-14, "{zero} {bend}: {found}");
            }
        }
    }
}

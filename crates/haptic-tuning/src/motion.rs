//! The fitted device model: a mass with viscous and dry friction, driven by a delayed force.
//!
//! The equation of motion is m·v' = u(t − d) + c − b·v − f_c·sign v, with mass m, velocity v, command u (held over each
//! tick), delay d, constant force c, damping b and dry friction f_c. Between changes of force and direction the
//! solution is an exponential, so each tick is computed exactly for any delay: the older force acts for part of the
//! tick, and the newer one for the rest. The implementation is deliberately independent of the simulated device, so
//! that each verifies the other.

use crate::TICK_S;

/// Model parameters of one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisModel {
    /// Moving mass, kg.
    pub mass_kg: f64,
    /// Viscous damping, N·s/m.
    pub damping_n_s_per_m: f64,
    /// Dry friction, N.
    pub coulomb_n: f64,
    /// Delay from command to effect, s.
    pub delay_s: f64,
    /// Constant force in addition to the commanded force, such as a weight, N.
    pub bias_n: f64,
}

/// Position and velocity of the axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AxisState {
    /// Position, m.
    pub position_m: f64,
    /// Velocity, m/s.
    pub velocity_m_per_s: f64,
}

/// Response over a fixed duration: the remaining fraction of the initial velocity, and the displacement per unit of
/// initial velocity and of acceleration.
#[derive(Clone, Copy, Debug)]
struct Span {
    duration_s: f64,
    kept: f64,
    way_s: f64,
    way_s2: f64,
}

impl Span {
    /// Computes the response over `duration_s`; `rate` is b/m, 1/s.
    fn new(rate: f64, duration_s: f64) -> Self {
        let exponent = rate * duration_s;
        if exponent < 1e-4 {
            // Use a series, because the closed forms lose precision for small damping.
            let way_s = duration_s * (1.0 - exponent / 2.0 + exponent * exponent / 6.0);
            let way_s2 = duration_s * duration_s * (0.5 - exponent / 6.0 + exponent * exponent / 24.0);
            return Self { duration_s, kept: 1.0 - rate * way_s, way_s, way_s2 };
        }
        let way_s = -libm::expm1(-exponent) / rate;
        Self { duration_s, kept: 1.0 - rate * way_s, way_s, way_s2: (duration_s - way_s) / rate }
    }

    fn advance(&self, state: &mut AxisState, acceleration: f64) {
        state.position_m += state.velocity_m_per_s * self.way_s + acceleration * self.way_s2;
        state.velocity_m_per_s = state.velocity_m_per_s * self.kept + acceleration * self.way_s;
    }
}

/// Advances a model tick by tick, with precomputed responses.
#[derive(Clone, Copy, Debug)]
pub struct Stepper {
    model: AxisModel,
    whole_ticks: usize,
    early: Span,
    late: Span,
}

impl Stepper {
    /// Creates a stepper for a model.
    pub fn new(model: AxisModel) -> Self {
        let ticks = (model.delay_s / TICK_S).floor().max(0.0);
        let fraction_s = (model.delay_s - ticks * TICK_S).clamp(0.0, TICK_S);
        let rate = model.damping_n_s_per_m / model.mass_kg;
        let (early, late) = (Span::new(rate, fraction_s), Span::new(rate, TICK_S - fraction_s));
        Self { model, whole_ticks: ticks as usize, early, late }
    }

    /// Advances the state from `tick` to the next tick under the commands so far. Commands before tick zero are taken
    /// as zero.
    pub fn tick(&self, state: &mut AxisState, commands_n: &[f64], tick: usize) {
        let command = |age: usize| tick.checked_sub(age).map_or(0.0, |index| commands_n[index]);
        self.advance(state, command(self.whole_ticks + 1), &self.early);
        self.advance(state, command(self.whole_ticks), &self.late);
    }

    fn advance(&self, state: &mut AxisState, command_n: f64, span: &Span) {
        let force_n = command_n + self.model.bias_n;
        if span.duration_s <= 0.0 {
            return;
        }
        if self.model.coulomb_n <= 0.0 {
            span.advance(state, force_n / self.model.mass_kg);
            return;
        }
        self.advance_with_friction(state, force_n, span);
    }

    fn advance_with_friction(&self, state: &mut AxisState, force_n: f64, span: &Span) {
        let Some(direction) = self.direction(state, force_n) else { return };
        let acceleration = (force_n - direction * self.model.coulomb_n) / self.model.mass_kg;
        let start = *state;
        span.advance(state, acceleration);
        if state.velocity_m_per_s * direction >= 0.0 {
            return;
        }
        let rate = self.model.damping_n_s_per_m / self.model.mass_kg;
        let stop_s = time_to_stop(start.velocity_m_per_s, acceleration, rate).clamp(0.0, span.duration_s);
        *state = start;
        Span::new(rate, stop_s).advance(state, acceleration);
        state.velocity_m_per_s = 0.0;
        // The force is constant, so after a stop the axis rests, or reverses and does not stop again.
        if let Some(direction) = self.direction(state, force_n) {
            let acceleration = (force_n - direction * self.model.coulomb_n) / self.model.mass_kg;
            Span::new(rate, span.duration_s - stop_s).advance(state, acceleration);
        }
    }

    /// Returns the direction of sliding, +1 or −1; `None` if friction holds the axis.
    fn direction(&self, state: &AxisState, force_n: f64) -> Option<f64> {
        if state.velocity_m_per_s != 0.0 {
            Some(state.velocity_m_per_s.signum())
        } else {
            (force_n.abs() > self.model.coulomb_n).then_some(force_n.signum())
        }
    }
}

/// Returns the time until the velocity reaches zero under constant acceleration and damping rate, s.
fn time_to_stop(velocity: f64, acceleration: f64, rate: f64) -> f64 {
    let straight_s = -velocity / acceleration;
    let fraction = rate * straight_s;
    if fraction < 1e-6 { straight_s * (1.0 - fraction / 2.0) } else { libm::log1p(fraction) / rate }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_device::{Device, DeviceModel, Effort, MonotonicNs, SimulatedDevice};
    use nalgebra::Vector2;

    /// Returns a force that starts, stops and reverses the axis, N.
    fn force_n(tick: usize) -> f64 {
        let time_s = tick as f64 * TICK_S;
        0.6 * libm::sin(40.0 * time_s) + 0.3 * libm::sin(170.0 * time_s)
    }

    #[test]
    fn the_model_and_the_simulated_device_move_alike() {
        for (damping, coulomb_n, delay_s) in
            [(0.5, 0.1, 0.0003), (3.0, 0.3, 0.0017), (0.0, 0.0, 0.0), (0.05, 0.02, 0.002)]
        {
            let model = AxisModel { mass_kg: 0.05, damping_n_s_per_m: damping, coulomb_n, delay_s, bias_n: 0.0 };
            let device = DeviceModel {
                mass_kg: [0.05; 2],
                damping_n_s_per_m: [damping; 2],
                coulomb_n: [coulomb_n; 2],
                encoder_step_m: [0.0; 2],
                delay_s: [delay_s; 2],
                max_force_n: [10.0; 2],
            };
            let mut simulated = SimulatedDevice::new(1, &device, None).unwrap();
            let (stepper, mut state) = (Stepper::new(model), AxisState::default());
            let commands: Vec<f64> = (0..1000).map(force_n).collect();
            for (tick, &command_n) in commands.iter().enumerate() {
                simulated.write(Effort { force_n: Vector2::new(command_n, 0.0) }, MonotonicNs(0));
                let read_m = simulated.read(MonotonicNs(0)).position_m.x;
                stepper.tick(&mut state, &commands, tick);
                assert!((state.position_m - read_m).abs() < 1e-9, "tick {tick}: {} {read_m}", state.position_m);
            }
        }
    }

    #[test]
    fn a_bias_below_the_dry_friction_moves_nothing() {
        let model = AxisModel { mass_kg: 0.1, damping_n_s_per_m: 0.5, coulomb_n: 0.1, delay_s: 0.0, bias_n: 0.09 };
        let mut state = AxisState::default();
        Stepper::new(model).tick(&mut state, &[0.0], 0);
        assert_eq!(state, AxisState::default());
        Stepper::new(AxisModel { bias_n: 0.11, ..model }).tick(&mut state, &[0.0], 0);
        assert!(state.position_m > 0.0);
    }
}

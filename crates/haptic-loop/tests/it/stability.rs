//! Stability limit of a device that is pressed against a wall, by simulation and by formula.

use crate::common::{floor_and_tool, hand, world};
use haptic_coupling::coupling::Gains;
use haptic_coupling::tank::Passivity;
use haptic_device::MonotonicNs;
use haptic_device::simulated::{DeviceModel, HandModel, SimulatedDevice};
use haptic_loop::settings::{Safety, Settings, worst_axis};
use haptic_loop::tick::HapticLoop;
use nalgebra::Vector2;

const PERIOD_S: f64 = 0.001;

/// Stiffness of the hand, N/m. Its target is 10 mm deeper than the tool can go.
const HAND_N_PER_M: f64 = 200.0;

/// Depth of the hand at which its spring and the coupling balance, m.
fn depth_at_rest_m(stiffness_n_per_m: f64) -> f64 {
    0.01 * HAND_N_PER_M / (stiffness_n_per_m + HAND_N_PER_M)
}

/// Parameters of the formula.
#[derive(Clone, Copy, Debug)]
struct Case {
    device_damping: f64,
    hand_damping: f64,
    coupling_damping: f64,
    delay_s: f64,
}

impl Case {
    /// Stability limit by the formula K < (b + b_h + B)/(T/2 + t_d).
    fn limit_n_per_m(&self) -> f64 {
        (self.device_damping + self.hand_damping + self.coupling_damping) / (PERIOD_S / 2.0 + self.delay_s)
    }

    /// Returns a loop without dry friction, encoder steps or force limit, whose guard does not change the force.
    fn rendering(&self, stiffness_n_per_m: f64) -> HapticLoop {
        let model = DeviceModel {
            damping_n_s_per_m: [self.device_damping; 2],
            coulomb_n: [0.0; 2],
            encoder_step_m: [0.0; 2],
            delay_s: [self.delay_s; 2],
            max_force_n: [1e6; 2],
            ..DeviceModel::default()
        };
        let pressing = [[0.0, 0.0, 0.0]];
        let held =
            HandModel { damping_n_s_per_m: self.hand_damping, stiffness_n_per_m: HAND_N_PER_M, ..hand(&pressing) };
        let mut device = SimulatedDevice::new(2, &model, Some(&held)).unwrap();
        // The tool touches the floor when its centre is at 10 mm. Starting at half the depth of rest, it oscillates
        // without lifting off.
        let depth_m = 0.5 * depth_at_rest_m(stiffness_n_per_m);
        device.place(Vector2::new(0.0, 0.01 - depth_m), Vector2::zeros());
        let safety = Safety {
            engage_ramp_s: 0.0,
            slew_n_per_s: 0.0,
            passivity: Passivity::Observer,
            max_force_n: 1e6,
            ..Safety::default()
        };
        let damping_n_s_per_m = self.coupling_damping;
        let coupling = Gains { stiffness_n_per_m, damping_n_s_per_m, ..Gains::default() };
        let settings = Settings { coupling, safety, ..Settings::default() };
        let mut scene = floor_and_tool(0.0);
        scene.bodies[1].position_m = Vector2::new(0.0, 0.01);
        HapticLoop::new(Box::new(device), &worst_axis(&model, 2, PERIOD_S), world(&scene), &settings).unwrap()
    }

    /// Whether an oscillation decays.
    fn comes_to_rest(&self, stiffness_n_per_m: f64) -> bool {
        let mut rendering = self.rendering(stiffness_n_per_m);
        let mut swing = |ticks: u32| {
            let (mut low_m, mut high_m) = (f64::INFINITY, f64::NEG_INFINITY);
            for _ in 0..ticks {
                let height_m = rendering.tick(MonotonicNs(0), 0).hand_m.y;
                (low_m, high_m) = (low_m.min(height_m), high_m.max(height_m));
            }
            high_m - low_m
        };
        let (_, early_m, _, late_m) = (swing(1000), swing(200), swing(600), swing(200));
        late_m < early_m && late_m < 2.0 * depth_at_rest_m(stiffness_n_per_m)
    }

    /// Stability limit by bisection, to one percent.
    fn measured_n_per_m(&self) -> f64 {
        let (mut stable, mut unstable) = (0.1 * self.limit_n_per_m(), 4.0 * self.limit_n_per_m());
        assert!(self.comes_to_rest(stable) && !self.comes_to_rest(unstable), "{self:?}");
        while unstable / stable > 1.01 {
            let middle = 0.5 * (stable + unstable);
            if self.comes_to_rest(middle) { stable = middle } else { unstable = middle }
        }
        stable
    }
}

#[test]
fn the_stability_limit_in_simulation_is_that_of_the_formula() {
    let cases = [
        Case { device_damping: 0.5, hand_damping: 0.5, coupling_damping: 0.1, delay_s: 0.0003 },
        Case { device_damping: 0.5, hand_damping: 1.0, coupling_damping: 0.5, delay_s: 0.0 },
        Case { device_damping: 2.0, hand_damping: 0.5, coupling_damping: 0.1, delay_s: 0.0005 },
        Case { device_damping: 0.2, hand_damping: 1.0, coupling_damping: 1.0, delay_s: 0.001 },
    ];
    for case in cases {
        let (measured, expected) = (case.measured_n_per_m(), case.limit_n_per_m());
        assert!((measured / expected - 1.0).abs() < 0.15, "{case:?}: {measured:.0} N/m, by formula {expected:.0}");
    }
}

//! Limit cycles of a virtual spring with an encoder on a device with dry friction.
//!
//! The spring's rest position is midway between two encoder readings. This is the worst case, because no reading gives
//! zero force.

/// Device of 0.1 kg on a virtual spring, damped so that the stiffness is 0.75·2b/T. Its encoder rounds down.
struct Device {
    stiffness_n_per_m: f64,
    damping_n_s_per_m: f64,
    coulomb_n: f64,
    encoder_step_m: f64,
    position_m: f64,
    velocity_m_per_s: f64,
}

const MASS_KG: f64 = 0.1;
const PERIOD_S: f64 = 0.001;
const SUBSTEPS: u32 = 20;

impl Device {
    /// Creates a device at rest, about a millimetre from the spring's rest position.
    fn displaced(stiffness_n_per_m: f64, coulomb_n: f64, encoder_step_m: f64) -> Self {
        let damping_n_s_per_m = stiffness_n_per_m * PERIOD_S / 1.5;
        Self {
            stiffness_n_per_m,
            damping_n_s_per_m,
            coulomb_n,
            encoder_step_m,
            position_m: 1e-3,
            velocity_m_per_s: 0.0,
        }
    }

    /// Advances by one period with the force held. Dry friction can stop the device but not reverse it.
    fn tick(&mut self) {
        let read_m = (self.position_m / self.encoder_step_m).floor() * self.encoder_step_m;
        let force_n = -self.stiffness_n_per_m * (read_m + self.encoder_step_m / 2.0);
        let step_s = PERIOD_S / f64::from(SUBSTEPS);
        for _ in 0..SUBSTEPS {
            let pushed = self.velocity_m_per_s + step_s * force_n / MASS_KG;
            let damped = pushed / (1.0 + step_s * self.damping_n_s_per_m / MASS_KG);
            let stopped = step_s * self.coulomb_n / MASS_KG;
            self.velocity_m_per_s = damped.signum() * (damped.abs() - stopped).max(0.0);
            self.position_m += step_s * self.velocity_m_per_s;
        }
    }

    /// Returns the peak-to-peak motion over two seconds, m, after a settling time of `settle_s`.
    fn swing_after(&mut self, settle_s: u32) -> f64 {
        (0..settle_s * 1000).for_each(|_| self.tick());
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for _ in 0..2000 {
            self.tick();
            (low, high) = (low.min(self.position_m), high.max(self.position_m));
        }
        high - low
    }
}

#[test]
fn no_limit_cycle_if_dry_friction_covers_half_an_encoder_step() {
    for stiffness_n_per_m in [100.0, 300.0, 750.0, 2000.0] {
        for encoder_step_m in [5e-6, 20e-6] {
            let coulomb_n = stiffness_n_per_m * encoder_step_m / 2.0;
            let mut device = Device::displaced(stiffness_n_per_m, coulomb_n, encoder_step_m);
            let swing_m = device.swing_after(20);
            assert!(swing_m < 1e-12, "{stiffness_n_per_m} N/m, {encoder_step_m} m: swings {swing_m} m");
        }
    }
}

#[test]
fn a_limit_cycle_persists_without_dry_friction() {
    let mut device = Device::displaced(300.0, 0.0, 20e-6);
    let swing_m = device.swing_after(100);
    assert!((15e-6..60e-6).contains(&swing_m), "swings {swing_m} m");
}

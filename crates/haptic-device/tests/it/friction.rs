//! Compares the simulated device with a plain integrator at a thousand times finer steps, over many random models.

use haptic_device::xorshift::Xorshift;
use haptic_device::{Device, DeviceModel, Effort, HandModel, MonotonicNs, SimulatedDevice};
use nalgebra::Vector2;

const NOW: MonotonicNs = MonotonicNs(0);
const FINE_STEPS: u32 = 1000;
const FINE_S: f64 = 1e-6;

/// One axis, integrated with Moreau's time stepping: friction removes speed up to its limit.
struct Reference {
    mass_kg: f64,
    damping: f64,
    dry_n: f64,
    hand_stiffness: f64,
    hand_damping: f64,
    position_m: f64,
    velocity: f64,
}

impl Reference {
    fn step(&mut self, force_n: f64, target_m: f64, target_velocity: f64) {
        let spring = self.hand_stiffness * (target_m - self.position_m);
        let dampers = self.hand_damping * (target_velocity - self.velocity) - self.damping * self.velocity;
        let free = self.velocity + FINE_S / self.mass_kg * (force_n + spring + dampers);
        let friction = (self.dry_n * FINE_S / self.mass_kg).min(free.abs());
        self.velocity = free - friction * free.signum();
        self.position_m += FINE_S * self.velocity;
    }

    /// Advances by one tick. The force changes from `before` to `after` at `delay_s`.
    fn tick(&mut self, before: f64, after: f64, delay_s: f64, from_m: f64, to_m: f64) {
        for step in 0..FINE_STEPS {
            let time_s = f64::from(step) * FINE_S;
            let force = if time_s < delay_s - 1e-9 { before } else { after };
            let speed = (to_m - from_m) / 0.001;
            self.step(force, from_m + speed * time_s, speed);
        }
    }
}

struct Case {
    model: DeviceModel,
    hand: HandModel,
}

fn random_case(random: &mut Xorshift) -> Case {
    let path: Vec<[f64; 3]> = (0..20).map(|row| [f64::from(row) * 0.01, random.between(-0.003, 0.003), 0.0]).collect();
    let model = DeviceModel {
        mass_kg: [random.between(0.02, 0.2); 2],
        damping_n_s_per_m: [random.between(0.0, 2.0); 2],
        coulomb_n: [random.between(0.05, 0.8); 2],
        encoder_step_m: [0.0; 2],
        delay_s: [f64::from((random.unit() * 1000.0) as u32) * 1e-6; 2],
        max_force_n: [f64::INFINITY; 2],
    };
    let hand = HandModel {
        stiffness_n_per_m: random.between(0.0, 1000.0),
        damping_n_s_per_m: random.between(0.0, 5.0),
        mass_kg: random.between(0.0, 0.2),
        path,
        looped: false,
    };
    Case { model, hand }
}

fn reference(case: &Case) -> Reference {
    Reference {
        mass_kg: case.model.mass_kg[0] + case.hand.mass_kg,
        damping: case.model.damping_n_s_per_m[0],
        dry_n: case.model.coulomb_n[0],
        hand_stiffness: case.hand.stiffness_n_per_m,
        hand_damping: case.hand.damping_n_s_per_m,
        position_m: case.hand.path[0][1],
        velocity: 0.0,
    }
}

fn target_m(case: &Case, tick: usize) -> f64 {
    let (row, fraction) = (tick / 10, (tick % 10) as f64 / 10.0);
    let last = case.hand.path.len() - 1;
    let (from, to) = (case.hand.path[row.min(last)][1], case.hand.path[(row + 1).min(last)][1]);
    from + (to - from) * fraction
}

/// Maximum distance between device and reference over a run, m, and the number of ticks in which the device rested.
fn compare(case: &Case, random: &mut Xorshift) -> (f64, usize) {
    let mut device = SimulatedDevice::new(1, &case.model, Some(&case.hand)).unwrap();
    let mut reference = reference(case);
    let (mut before, mut after) = (0.0, 0.0);
    let (mut worst, mut still) = (0.0f64, 0);
    for tick in 0..190 {
        device.read(NOW);
        reference.tick(before, after, case.model.delay_s[0], target_m(case, tick), target_m(case, tick + 1));
        let state = device.true_state();
        worst = worst.max((state.position_m.x - reference.position_m).abs());
        still += usize::from(state.velocity_m_per_s.x == 0.0);
        let command = if tick % 5 == 0 { random.between(-1.0, 1.0) } else { after };
        (before, after) = (after, command);
        device.write(Effort { force_n: Vector2::new(command, 0.0) }, NOW);
    }
    (worst, still)
}

#[test]
fn sticking_sliding_and_reversing_agree_with_fine_steps() {
    let mut random = Xorshift::new(11);
    let mut still = 0;
    for index in 0..40 {
        let case = random_case(&mut random);
        let (worst, still_here) = compare(&case, &mut random);
        assert!(worst < 1e-6, "case {index}: {worst} m apart, {:?}", case.model);
        still += still_here;
    }
    assert!((500..7000).contains(&still), "the cases both stick and slide: {still} ticks at rest of 7600");
}

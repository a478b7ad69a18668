//! Hands against the tank: how much energy a hand can extract from a device with delay, encoder steps, dry friction and
//! a disturbed link, and what the account says about it.

pub mod adversary;
pub mod device;
pub mod friendly;

use adversary::Adversary;
use device::{Device, Handle, Motor};
use haptic_coupling::tank::{Passivity, RESERVE_J, StoredEnergy, Tank, TankSettings};
use haptic_testing::Random;
use nalgebra::Vector2;

pub const TICK_S: f64 = 0.001;
/// Force limit of the guard, N.
const MAX_FORCE_N: f64 = 20.0;
/// Energy in the account at the start, J, if the world pretends to store any amount later.
const START_J: f64 = 0.02;

/// The world behind the tank.
#[derive(Clone, Copy, Debug)]
pub enum World {
    /// A spring and a damper to a fixed point: it stores only what the hand has put in.
    Spring { stiffness_n_per_m: f64, damping_n_s_per_m: f64 },
    /// Any force, and a stored energy that is pretended.
    Lying,
}

/// One hand on one device.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    pub device: Device,
    pub world: World,
    pub hand: usize,
    pub ticks: u32,
    pub seed: u64,
}

/// What a hand achieved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Most energy extracted beyond the promise, J; negative if the promise was kept.
    pub excess_j: f64,
    /// Most energy extracted beyond what the account knows of, J; positive if the account was wrong.
    pub unknown_j: f64,
    /// Most energy by which the level fell short of what is promised to the acting commands, J; zero on a link with
    /// late ticks or busy writes, on which forces act for longer than was paid for.
    pub uncovered_j: f64,
    /// Lowest level, J.
    pub lowest_j: f64,
    /// Energy that was exchanged in total, in both directions, J, as a measure of the rounding.
    pub moved_j: f64,
}

impl Outcome {
    /// Largest error of a sum over all ticks that rounding explains, J.
    pub fn rounding_j(&self, trial: &Trial) -> f64 {
        f64::EPSILON * f64::from(trial.ticks) * (1.0 + self.moved_j)
    }
}

pub fn tank_settings(device: &Device) -> TankSettings {
    TankSettings {
        passivity: Passivity::Tank,
        damping_n_s_per_m: device.damping_n_s_per_m,
        coulomb_n: device.coulomb_n,
        encoder_step_m: device.encoder_step_m,
        period_s: f64::from(device.every_ticks) * TICK_S,
        delay_s: device.delay_s,
        reserve_j: RESERVE_J,
    }
}

impl World {
    fn start_j(&self) -> f64 {
        if matches!(self, Self::Lying) { START_J } else { 0.0 }
    }

    /// Returns the requested force and the stored energy for a reading.
    fn respond(
        &self,
        reading_m: Vector2<f64>,
        moved_m: Vector2<f64>,
        tick: u32,
        random: &mut Random,
    ) -> (Vector2<f64>, StoredEnergy) {
        match *self {
            Self::Spring { stiffness_n_per_m, damping_n_s_per_m } => {
                let force_n = -reading_m * stiffness_n_per_m - moved_m * (damping_n_s_per_m / TICK_S);
                let total_j = 0.5 * stiffness_n_per_m * reading_m.norm_squared();
                (force_n, StoredEnergy { total_j, height_j: 0.0 })
            }
            Self::Lying => {
                let random_n = Vector2::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0)) * MAX_FORCE_N;
                let turning_n = Vector2::new(if (tick / 3).is_multiple_of(2) { 6.0 } else { -6.0 }, 2.0);
                let force_n = if (tick / 500).is_multiple_of(2) { random_n } else { turning_n };
                (force_n, StoredEnergy { total_j: 1e6, height_j: 0.0 })
            }
        }
    }
}

/// Runs a trial. The true energy is compared with the account at every reading.
pub fn run(trial: &Trial) -> Outcome {
    let Trial { device, world, hand, ticks, seed } = *trial;
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    (0..20).for_each(|_| _ = random.bits());
    let start_j = world.start_j();
    let promised_j = start_j + RESERVE_J;
    let mut tank = Tank::new(&tank_settings(&device), StoredEnergy { total_j: start_j, height_j: 0.0 });
    let mut adversary = Adversary::new(hand, &mut random);
    let mut motor = Motor::new(&device);
    let mut segments = Vec::with_capacity(8);
    let offset_m = Vector2::new(random.between(0.0, 1.0), random.between(0.0, 1.0)) * device.encoder_step_m;
    let mut handle = Handle { position_m: Vector2::zeros(), offset_m, extracted_j: 0.0, most_j: 0.0 };
    let (mut read_m, mut sent_n, mut elapsed_s) = (handle.reading_m(&device), Vector2::zeros(), TICK_S);
    let mut outcome = Outcome { excess_j: f64::NEG_INFINITY, unknown_j: f64::NEG_INFINITY, ..Outcome::default() };
    // Energy of forces that acted for longer than was paid for, J.
    let mut overtime_j = 0.0;
    for tick in 0..ticks {
        let is_due = tick.is_multiple_of(device.every_ticks);
        let is_read = is_due && random.between(0.0, 1.0) >= device.link.lost;
        let moved_m = if is_read { handle.reading_m(&device) - read_m } else { Vector2::zeros() };
        read_m += moved_m;
        let (wanted_n, stored) = world.respond(read_m, moved_m, tick, &mut random);
        let wanted_n = wanted_n.map(|force_n| force_n.clamp(-MAX_FORCE_N, MAX_FORCE_N));
        tank.expect(wanted_n);
        if is_read {
            tank.observe(handle.reading_m(&device), elapsed_s, stored, true);
            let unknown_j = handle.extracted_j - (promised_j - tank.level_j());
            outcome.unknown_j = if unknown_j <= outcome.unknown_j { outcome.unknown_j } else { unknown_j };
            if device.link.late == 0.0 && device.link.busy == 0.0 && device.link.lost == 0.0 {
                outcome.uncovered_j = outcome.uncovered_j.max(tank.promised_j() - tank.level_j());
            }
            if tank.level_j() >= tank.promised_j() {
                overtime_j = 0.0;
            }
        } else {
            tank.skip_reading(elapsed_s);
            overtime_j += if is_due { price_j(&device, sent_n, f64::from(device.every_ticks)) } else { 0.0 };
        }
        let force_n = tank.admit(wanted_n, Vector2::zeros());
        let is_busy = random.between(0.0, 1.0) < device.link.busy;
        let ends_a_force = sent_n != Vector2::zeros() && force_n == Vector2::zeros();
        if (is_due || ends_a_force) && !is_busy {
            motor.send(force_n, &mut random);
            sent_n = force_n;
        } else {
            tank.hold(sent_n);
            overtime_j += if is_due { price_j(&device, sent_n, f64::from(device.every_ticks)) } else { 0.0 };
        }
        let skipped = if random.between(0.0, 1.0) < device.link.late { 1 + random.index(4) } else { 0 };
        overtime_j += price_j(&device, sent_n, skipped as f64);
        elapsed_s = (1 + skipped) as f64 * TICK_S;
        motor.advance(elapsed_s, &mut segments);
        let (before_j, most_j) = (handle.extracted_j, handle.most_j);
        handle.most_j = handle.extracted_j;
        adversary.act(&device, &mut handle, &segments, &mut random);
        outcome.moved_j += (handle.extracted_j - before_j).abs();
        outcome.excess_j = outcome.excess_j.max(handle.most_j - promised_j - overtime_j);
        handle.most_j = handle.most_j.max(most_j);
    }
    outcome.lowest_j = tank.lowest_j();
    outcome
}

/// Most energy that a hand can extract from a force within some ticks, J.
fn price_j(device: &Device, force_n: Vector2<f64>, ticks: f64) -> f64 {
    force_n.norm_squared() * ticks * TICK_S / (4.0 * device.damping_n_s_per_m)
}

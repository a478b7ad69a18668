//! Hands that try to extract energy. They know everything: the true position, the phase of the encoder, the delay of
//! each command, and the force of the interval that begins.

use super::device::{Device, Handle, Segment};
use haptic_testing::Random;
use nalgebra::Vector2;

/// Number of kinds of hands.
pub const KINDS: usize = 12;
/// Share of an encoder step by which a hand stays clear of an edge.
const CLEAR: f64 = 1e-3;

/// A hand that tries to extract energy.
#[derive(Clone, Debug)]
pub struct Adversary {
    kind: usize,
    /// Kind that a changing hand follows now, and the ticks until it changes.
    now: usize,
    left: u32,
    ticks: u32,
    /// Duration of each phase of a patient hand, ticks, and the depth to which it presses, m.
    phase_ticks: u32,
    depth_m: f64,
    frequency: f64,
}

/// Force of an interval along one axis.
struct Interval {
    lasting_s: f64,
    mean_n: f64,
}

impl Adversary {
    pub fn new(kind: usize, random: &mut Random) -> Self {
        Self {
            kind,
            now: kind,
            left: 0,
            ticks: 0,
            phase_ticks: 200 << random.index(6),
            depth_m: 10f64.powf(random.between(-4.0, -2.0)),
            frequency: 10f64.powf(random.between(-3.0, 0.5)),
        }
    }

    /// Moves the handle over an interval.
    pub fn act(&mut self, device: &Device, handle: &mut Handle, segments: &[Segment], random: &mut Random) {
        self.ticks += 1;
        self.choose(random);
        let lasting_s: f64 = segments.iter().map(|segment| segment.lasting_s).sum();
        let impulse: Vector2<f64> = segments.iter().map(|segment| segment.force_n * segment.lasting_s).sum();
        let moved_m = Vector2::from_fn(|axis, _| {
            let interval = Interval { lasting_s, mean_n: impulse[axis] / lasting_s };
            self.displacement_m(device, handle, &interval, axis, random)
        });
        // The best path to the end: the speed follows the force.
        let follows = self.now != 0 || self.ticks.is_multiple_of(2);
        let mean_n = impulse / lasting_s;
        for segment in segments {
            let follow = (segment.force_n - mean_n) / (2.0 * device.damping_n_s_per_m);
            let speed = moved_m / lasting_s + if follows { follow } else { Vector2::zeros() };
            handle.pass(device, segment, speed * segment.lasting_s);
        }
    }

    fn choose(&mut self, random: &mut Random) {
        if self.kind != 11 {
            return;
        }
        if self.left == 0 {
            self.now = random.index(11);
            self.left = 1 << random.index(11);
        }
        self.left -= 1;
    }

    fn displacement_m(
        &self,
        device: &Device,
        handle: &Handle,
        interval: &Interval,
        axis: usize,
        random: &mut Random,
    ) -> f64 {
        let step_m = device.encoder_step_m.max(1e-6);
        let above_m = if device.encoder_step_m > 0.0 { handle.above_edge_m(device, axis) } else { 0.5 * step_m };
        let greedy_m = greedy_m(device, interval);
        let clear_m = CLEAR * step_m;
        let within_cell =
            |moved_m: f64| moved_m.clamp(clear_m - above_m, (step_m - above_m - clear_m).max(clear_m - above_m));
        match self.now {
            0 => random.between(-1.0, 1.0) * [1e-6, 1e-5, 1e-4, 1e-3][random.index(4)],
            1 => greedy_m,
            2 => [greedy_m, random.between(-2.0, 2.0) * greedy_m, random.between(-3.0, 3.0) * step_m][random.index(3)],
            // Presses and releases, fast or slowly.
            3 => {
                let phase = |ticks: u32| self.depth_m * libm::sin(self.frequency * f64::from(ticks));
                phase(self.ticks) - phase(self.ticks - 1)
            }
            // Over an edge and back, just so far that the reading changes.
            4 => over_edge_m(above_m, step_m, clear_m),
            // Over an edge if the force helps, else it waits inside the step.
            5 => {
                let over_m = over_edge_m(above_m, step_m, clear_m);
                if over_m * interval.mean_n > 0.0 { over_m } else { within_cell(greedy_m) }
            }
            // Never leaves the step.
            6 => within_cell(if random.index(4) == 0 { random.between(-1.0, 1.0) * step_m } else { greedy_m }),
            // Stays, and reverses within the delay.
            7 => 0.0,
            // The displacement whose reading understates the extracted energy most.
            8 => deceiving_m(device, interval, above_m, greedy_m),
            // Presses slowly, moves over one edge for a long time, and releases slowly.
            9 => self.patient_m(over_edge_m(above_m, step_m, clear_m), axis),
            10 => self.patient_m(deceiving_m(device, interval, above_m, within_cell(greedy_m)), axis),
            _ => unreachable!("a changing hand follows another kind"),
        }
    }

    fn patient_m(&self, toggled_m: f64, axis: usize) -> f64 {
        let slowly_m = self.depth_m / f64::from(self.phase_ticks) * if axis == 0 { 1.0 } else { -0.3 };
        match self.ticks / self.phase_ticks % 6 {
            0 => slowly_m,
            1..=4 => toggled_m,
            _ => -slowly_m,
        }
    }
}

/// The displacement that extracts most in one interval.
fn greedy_m(device: &Device, interval: &Interval) -> f64 {
    let driving_n = (interval.mean_n.abs() - device.coulomb_n).max(0.0).copysign(interval.mean_n);
    driving_n * interval.lasting_s / (2.0 * device.damping_n_s_per_m)
}

fn over_edge_m(above_m: f64, step_m: f64, clear_m: f64) -> f64 {
    if above_m > 0.5 * step_m { step_m - above_m + clear_m } else { -above_m - clear_m }
}

/// The displacement at which the extracted energy exceeds the energy computed from the readings by most.
fn deceiving_m(device: &Device, interval: &Interval, above_m: f64, or_else_m: f64) -> f64 {
    let step_m = device.encoder_step_m;
    if step_m == 0.0 {
        return or_else_m;
    }
    let energy_j =
        |moved_m: f64| interval.mean_n * moved_m - device.damping_n_s_per_m / interval.lasting_s * moved_m * moved_m;
    let advantage_j = |moved_m: f64| {
        let read_m = ((above_m + moved_m) / step_m).floor() * step_m;
        energy_j(moved_m) - device.coulomb_n * moved_m.abs() - energy_j(read_m)
    };
    let edges =
        (-2..=2).flat_map(|edge| [CLEAR, 0.5, 1.0 - CLEAR].map(|share| (f64::from(edge) + share) * step_m - above_m));
    edges.chain([or_else_m]).max_by(|a, b| advantage_j(*a).total_cmp(&advantage_j(*b))).unwrap_or(0.0)
}

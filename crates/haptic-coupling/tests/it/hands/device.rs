//! A device that a hand moves at will: the true force over time, and the energy that the hand extracts.

use haptic_testing::Random;
use nalgebra::Vector2;
use std::collections::VecDeque;

/// Properties of a device, the same in both axes, and the disturbances of its link.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    pub damping_n_s_per_m: f64,
    pub coulomb_n: f64,
    pub encoder_step_m: f64,
    pub delay_s: f64,
    /// Ticks between two services.
    pub every_ticks: u32,
    pub link: Link,
}

/// Disturbances of a link: probabilities for each tick, and whether the delay varies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    pub has_jitter: bool,
    pub lost: f64,
    pub late: f64,
    pub busy: f64,
}

/// Part of an interval with a constant force.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub force_n: Vector2<f64>,
    pub lasting_s: f64,
}

/// The motor behind a delay: commands that are on their way, and the force that acts.
#[derive(Clone, Debug)]
pub struct Motor {
    delay_s: f64,
    has_jitter: bool,
    acting_n: Vector2<f64>,
    /// Commands on their way with the time until they act.
    on_the_way: VecDeque<(f64, Vector2<f64>)>,
}

impl Motor {
    pub fn new(device: &Device) -> Self {
        let (delay_s, has_jitter) = (device.delay_s, device.link.has_jitter);
        Self { delay_s, has_jitter, acting_n: Vector2::zeros(), on_the_way: VecDeque::new() }
    }

    /// Sends a command. It does not overtake earlier ones.
    pub fn send(&mut self, force_n: Vector2<f64>, random: &mut Random) {
        let share = match (self.has_jitter, random.index(3)) {
            (true, 0) => 0.0,
            (true, 1) => random.between(0.0, 1.0),
            _ => 1.0,
        };
        let earliest_s = self.on_the_way.back().map_or(0.0, |(until_s, _)| *until_s);
        self.on_the_way.push_back(((share * self.delay_s).max(earliest_s), force_n));
    }

    /// Returns the force over the next `lasting_s`, in parts.
    pub fn advance(&mut self, lasting_s: f64, segments: &mut Vec<Segment>) {
        segments.clear();
        let mut done_s = 0.0;
        while let Some((until_s, force_n)) =
            self.on_the_way.front().copied().filter(|(until_s, _)| *until_s < lasting_s)
        {
            if until_s > done_s {
                segments.push(Segment { force_n: self.acting_n, lasting_s: until_s - done_s });
                done_s = until_s;
            }
            self.acting_n = force_n;
            self.on_the_way.pop_front();
        }
        segments.push(Segment { force_n: self.acting_n, lasting_s: lasting_s - done_s });
        self.on_the_way.iter_mut().for_each(|(until_s, _)| *until_s -= lasting_s);
    }
}

/// A handle that the hand holds, and what the hand has extracted.
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    /// True position, m.
    pub position_m: Vector2<f64>,
    /// Offset of the encoder, m, which the host does not know.
    pub offset_m: Vector2<f64>,
    /// Energy that motor and friction have given to the hand so far, J.
    pub extracted_j: f64,
    /// Largest value of `extracted_j` so far, J.
    pub most_j: f64,
}

impl Handle {
    pub fn reading_m(&self, device: &Device) -> Vector2<f64> {
        let step_m = device.encoder_step_m;
        self.position_m.zip_map(&self.offset_m, |position_m, offset_m| {
            if step_m > 0.0 { ((position_m + offset_m) / step_m).floor() * step_m } else { position_m }
        })
    }

    /// Position of the handle above the lower edge of its encoder step, m.
    pub fn above_edge_m(&self, device: &Device, axis: usize) -> f64 {
        self.position_m[axis] + self.offset_m[axis] - self.reading_m(device)[axis]
    }

    /// Moves the handle at constant speed during a segment.
    pub fn pass(&mut self, device: &Device, segment: &Segment, moved_m: Vector2<f64>) {
        let damped_j = device.damping_n_s_per_m / segment.lasting_s * moved_m.norm_squared();
        let rubbed_j = device.coulomb_n * (moved_m.x.abs() + moved_m.y.abs());
        self.position_m += moved_m;
        self.extracted_j += segment.force_n.dot(&moved_m) - damped_j - rubbed_j;
        self.most_j = self.most_j.max(self.extracted_j);
    }
}

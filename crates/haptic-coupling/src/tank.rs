//! Energy tank: the device never delivers more energy to the hand than the world stores and the hand has put in.
//!
//! S is the energy that is left of what the world stored at the start, plus the reserve, after subtracting the most
//! that any hand can have extracted (see `account.rs`): every path that agrees with the readings, every delay up to the
//! bound and every position within an encoder step is covered. It is at most E + S_res, where E is the energy that the
//! world still stores: energy that the world has dissipated must not be delivered again. Without delay, encoder steps
//! and dry friction it is S_k = min(S_{k−1} − f_{k−1}·Δx_k + (b/T)|Δx_k|², E + S_res).
//!
//! A force f can deliver at most f²/4b per second, because f·v − b|v|² ≤ f²/4b for every velocity. A command is
//! sent only if S covers this for all commands that may still act (see `sent.rs`): for a constant force, f²(T +
//! t_d)/4b. The level therefore never falls below zero, for any hand. A spring of stiffness up to 2b/(T + t_d) stores
//! just enough energy for its own force, so it is never limited. A stiffer one is displayed as that.
//!
//! Four things are not covered beforehand: a missing reading, a late tick, a command that is not sent, and a new world
//! while a force still acts. Each lets a force act for longer than was paid for, by at most f²/4b per second, until the
//! guard ends it after `stale_after_s`. The level falls by the most that this can have delivered, even below zero. When
//! the force returns, the guard raises it again ([`Tank::raise_to`]), because a hand that pressed on all the time would
//! otherwise feel no force before it moves away. A force that was reduced in each gap would protect no better: its variance
//! costs a hand that rests all its force within seconds.
//!
//! Gravitational potential energy is a large reserve that is unrelated to the hand: with S alone, a heap on a shelf
//! could feed a limit cycle for a long time. A second level, N, therefore excludes it. Potential energy that the world
//! loses is added to N, potential energy that it gains is subtracted, and N is capped at the kinetic and elastic
//! energy. Forces beyond the weight that the hand carries must be covered by N as well. A carried weight is exempt: a
//! constant force, held between samples, delivers exactly the potential energy that is lost. N does not weaken the
//! guarantee, which S alone provides. It is therefore updated with the most likely work: the newest force times the
//! displacement, and the damping scaled by (T/2)/(T/2 + t_d) to allow for the delay. An account as strict as that of S
//! would suppress the force of walls under a hand that trembles in a world with gravity.

mod account;
mod checkpoint;
mod sent;
mod settings;

pub use settings::{Passivity, StoredEnergy, TankSettings};

use account::{AccountSettings, AxisLine, AxisWork};
use haptic_planar::math::{equal, larger, smaller};
use nalgebra::Vector2;
use sent::SentForces;

/// Energy in the tank in addition to the energy stored in the world, J. It covers errors from rounding and from the
/// warm start of the contact solver (up to 9e-6 J observed). 50 mJ would be enough to sustain a limit cycle.
pub const RESERVE_J: f64 = 1e-4;

/// Energy for which no reduced force is sent, J. A smaller one would cover less than a micronewton, and the squares of
/// ever smaller forces would lose their precision.
const NEGLIGIBLE_J: f64 = 1e-15;

/// Energy tank between the device and the hand. All quantities are in the device frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tank {
    passivity: Passivity,
    account: AccountSettings,
    /// Damping that the level without gravity relies on, N·s/m.
    counted_damping_n_s_per_m: f64,
    reserve_j: f64,
    /// Tank level S, J.
    level_j: f64,
    lowest_j: f64,
    /// Level N without gravitational potential energy, J.
    non_gravity_j: f64,
    /// Gravitational potential energy at the last update, J.
    height_j: f64,
    /// Hand position at the last reading, m; `None` before the first.
    position_m: Option<Vector2<f64>>,
    lines: [AxisLine; 2],
    sent: SentForces,
    /// Integral of the newest force since the last reading, N·s, for N.
    impulse_n_s: Vector2<f64>,
    /// Force that the world is expected to request next, N: as announced, or the last one that was admitted.
    expected_n: Vector2<f64>,
    /// Fraction of the expected force that was sent in the last tick.
    passed: f64,
}

impl Tank {
    /// Creates a tank that holds the energy of the world at the start, plus the reserve.
    pub fn new(settings: &TankSettings, stored: StoredEnergy) -> Self {
        let mut tank = Self {
            passivity: settings.passivity,
            account: settings.account(),
            counted_damping_n_s_per_m: settings.counted_damping_n_s_per_m(),
            reserve_j: settings.reserve_j,
            level_j: 0.0,
            lowest_j: 0.0,
            non_gravity_j: 0.0,
            height_j: 0.0,
            position_m: None,
            lines: [AxisLine::default(); 2],
            sent: SentForces::none(settings.period_s, settings.delay_s),
            impulse_n_s: Vector2::zeros(),
            expected_n: Vector2::zeros(),
            passed: 1.0,
        };
        tank.refill(stored);
        tank
    }

    /// Resets the tank for a new world. A force that still acts stays in the account: the new energy must cover it,
    /// whatever the hand does, because a simulated hand may be placed elsewhere. Real-time: constant.
    pub fn refill(&mut self, stored: StoredEnergy) {
        self.set_levels(self.cap_j(stored.total_j), self.cap_j(stored.total_j - stored.height_j));
        self.lowest_j = self.level_j;
        self.height_j = stored.height_j;
        self.lines.iter_mut().for_each(|line| line.slope_n = 0.0);
        self.position_m = None;
        self.impulse_n_s = Vector2::zeros();
    }

    /// Applies new settings, keeping the levels. Real-time: constant.
    pub fn set_limits(&mut self, settings: &TankSettings) {
        self.passivity = settings.passivity;
        self.account = settings.account();
        self.counted_damping_n_s_per_m = settings.counted_damping_n_s_per_m();
        self.sent.set_delay(settings.period_s, settings.delay_s);
        self.reserve_j = settings.reserve_j;
    }

    /// Announces the force that the world requests in this tick, before [`Self::observe`]. It may be wrong: it affects
    /// how much energy is lost to the unknown position of the hand, not the guarantee. Real-time: constant.
    pub fn expect(&mut self, force_n: Vector2<f64>) {
        self.expected_n = force_n;
    }

    /// Updates the levels with the energy exchanged since the last reading. The hand is now at `position_m`, and
    /// `elapsed_s` have passed since the last call. `stored` is the energy that the world could still deliver. An
    /// untrusted reading, such as a jump, may lower a level but never raises it. Returns the displacement of the hand
    /// since the last reading, m. Real-time: constant.
    pub fn observe(
        &mut self,
        position_m: Vector2<f64>,
        elapsed_s: f64,
        stored: StoredEnergy,
        is_trusted: bool,
    ) -> Vector2<f64> {
        self.skip_reading(elapsed_s);
        let before_m = self.position_m.replace(position_m);
        let moved_m = before_m.map_or_else(Vector2::zeros, |before_m| position_m - before_m);
        let work_j = self.likely_change_j(moved_m);
        let near_j = if is_trusted { work_j } else { smaller(work_j, 0.0) };
        let level_j = if !is_trusted || before_m.is_none() {
            self.book_unknown()
        } else if self.is_work_known() {
            self.sent.span.clear();
            self.level_j + work_j
        } else {
            self.book(moved_m)
        };
        self.cap_levels(level_j, near_j, stored);
        moved_m
    }

    /// Records that `elapsed_s` passed without a new reading. The force continues to act, and the next reading accounts
    /// for it. Real-time: constant.
    #[inline]
    pub fn skip_reading(&mut self, elapsed_s: f64) {
        self.sent.advance(elapsed_s);
        self.impulse_n_s += self.sent.newest_n * elapsed_s;
    }

    /// Returns the part of a force that the energy covers and stores it as the acting force. `load_n` is the weight of
    /// the tool: the force is first reduced towards the part of the weight that the hand carries, then towards zero.
    /// Real-time: constant.
    #[inline(always)]
    pub fn admit(&mut self, force_n: Vector2<f64>, load_n: Vector2<f64>) -> Vector2<f64> {
        let admitted_n = match self.passivity {
            Passivity::Tank => self.limit_by_level(self.limit_by_near(force_n, load_n)),
            Passivity::Observer | Passivity::Off => force_n,
        };
        self.passed = if equal(admitted_n, self.expected_n) { 1.0 } else { fraction_of(admitted_n, self.expected_n) };
        self.expected_n = admitted_n;
        self.sent.send(admitted_n);
        admitted_n
    }

    /// Returns the force that the device applies now, N.
    pub fn acting_force_n(&self) -> Vector2<f64> {
        self.sent.next_n
    }

    /// Sets the force that the device still applies because the last admitted force was not written. Real-time:
    /// constant.
    pub fn hold(&mut self, force_n: Vector2<f64>) {
        self.sent.hold(force_n);
    }

    /// Limits the part of a force beyond the carried weight to what N covers.
    fn limit_by_near(&self, force_n: Vector2<f64>, load_n: Vector2<f64>) -> Vector2<f64> {
        let squared = self.near_limit_squared();
        // The excess is at most the force itself.
        if force_n.norm_squared() <= squared {
            return force_n;
        }
        let carried_n = project_onto_segment(load_n, force_n);
        let excess_n = force_n - carried_n;
        if excess_n.norm_squared() <= squared { force_n } else { carried_n + clamp_norm(excess_n, squared.sqrt()) }
    }

    /// Returns the square of the largest force that N covers, N². A gap in the readings does not lower it: S covers the
    /// force for the longer time, and a force that dips in each gap would lose energy to its own variance.
    fn near_limit_squared(&self) -> f64 {
        4.0 * self.counted_damping_n_s_per_m * larger(self.non_gravity_j, 0.0) / self.sent.period_s
    }

    /// Scales a force down to what S covers. Beyond the price of the force, S must cover Δ|f|₁, as a reserve for the
    /// unknown position. An almost empty tank then leaves a small constant force instead of losing all energy to the
    /// encoder steps.
    #[inline(always)]
    fn limit_by_level(&self, force_n: Vector2<f64>) -> Vector2<f64> {
        let position_j = self.account.encoder_step_m * (force_n.x.abs() + force_n.y.abs());
        if self.price_j(force_n) + position_j <= self.level_j {
            return force_n;
        }
        self.scale_by_level(force_n, position_j)
    }

    #[cold]
    fn scale_by_level(&self, force_n: Vector2<f64>, position_j: f64) -> Vector2<f64> {
        let left_j = self.level_j - self.sent.remaining_n2_s() * self.account.per_square;
        if left_j <= NEGLIGIBLE_J || self.account.damping_n_s_per_m <= settings::MIN_DAMPING_N_S_PER_M {
            return Vector2::zeros();
        }
        // The price is αs² + βs if no acting command is larger.
        let squared_j = force_n.norm_squared() * (self.sent.period_s + self.sent.kept_s) * self.account.per_square;
        let free_j = self.level_j;
        let root = (position_j * position_j + 4.0 * squared_j * free_j).sqrt();
        let fraction = smaller(2.0 * free_j / (position_j + root), 1.0);
        let scaled_n = force_n * fraction;
        let acting = self.sent.largest_squares();
        if acting.x <= scaled_n.x * scaled_n.x && acting.y <= scaled_n.y * scaled_n.y {
            return scaled_n;
        }
        // Otherwise the price is convex in s and at most that of a zero force at zero: a chord lies above it.
        let nothing_j = self.price_j(Vector2::zeros());
        let cost_j = self.price_j(scaled_n) + position_j * fraction - nothing_j;
        scaled_n * smaller((self.level_j - nothing_j) / cost_j, 1.0)
    }

    /// Returns the most that any hand can extract until a force that is sent now has ended, J.
    #[inline(always)]
    fn price_j(&self, force_n: Vector2<f64>) -> f64 {
        self.sent.price_n2_s(force_n) * self.account.per_square
    }

    /// Returns the most that any hand can extract from the commands that still act, J. The level covers it, except
    /// after a force has acted for longer than was paid for. Real-time: constant.
    pub fn promised_j(&self) -> f64 {
        (self.sent.span.squares_n2_s + self.sent.remaining_n2_s()) * self.account.per_square
    }

    /// Returns the energy available beyond the energy needed for the acting force, J.
    pub fn available_j(&self) -> f64 {
        match self.passivity {
            Passivity::Tank => {
                let force_n = self.sent.next_n;
                let position_j = self.account.encoder_step_m * (force_n.x.abs() + force_n.y.abs());
                let near_j = force_n.norm_squared() * self.sent.period_s / (4.0 * self.counted_damping_n_s_per_m);
                let level_j = self.level_j - self.price_j(force_n) - position_j;
                level_j.min(self.non_gravity_j - near_j).max(0.0)
            }
            Passivity::Observer | Passivity::Off => f64::INFINITY,
        }
    }

    /// Withdraws energy for a purpose other than a force, such as a stiffer spring. Real-time: constant.
    pub fn draw(&mut self, energy_j: f64) {
        if self.passivity != Passivity::Off {
            self.set_levels(self.level_j - energy_j, self.non_gravity_j - energy_j);
        }
    }

    /// Adds energy that was put into the coupling without work of the hand, zero or more: an engagement stretches the
    /// spring while the force on the hand is still small. The guarantee grows by this energy, so each engagement may
    /// add at most what its ramp has put into the spring. The caps apply at the next reading. Real-time: constant.
    pub fn deposit(&mut self, energy_j: f64) {
        if self.passivity != Passivity::Off {
            let energy_j = larger(energy_j, 0.0);
            self.set_levels(self.level_j + energy_j, self.non_gravity_j + energy_j);
        }
    }

    /// Raises a lower level to `level_j`, before the force returns after an interruption or a fault. The level has
    /// fallen by the most that a hand can have extracted while the force acted for longer than was paid for, f²/4b per
    /// second of that time. The guarantee grows by what is added. Real-time: constant.
    pub fn raise_to(&mut self, level_j: f64) {
        self.set_levels(larger(self.level_j, level_j), self.non_gravity_j);
    }

    /// Returns the energy that covers a constant force of this magnitude, J. Real-time: constant.
    pub fn cost_j(&self, force_n: f64) -> f64 {
        let squared_j = force_n * force_n * (self.sent.period_s + self.sent.kept_s) * self.account.per_square;
        // The sum of the components is at most √2 times the magnitude.
        squared_j + std::f64::consts::SQRT_2 * self.account.encoder_step_m * force_n
    }

    /// Resets N to the kinetic and elastic energy. While the hand receives only part of the force, it lifts the tool
    /// and stretches the spring without doing the full work. That deficit would suppress the force of every wall, and a
    /// hand that feels no force cannot make up for it. Real-time: constant.
    pub fn reset_near(&mut self, stored: StoredEnergy) {
        self.set_levels(self.level_j, self.cap_j(stored.total_j - stored.height_j));
    }

    /// Returns the tank level, J; zero when passivity is off.
    pub fn level_j(&self) -> f64 {
        self.level_j
    }

    /// Returns the lowest level since the last refill, J. A level below zero means that the observer has detected an
    /// active device.
    pub fn lowest_j(&self) -> f64 {
        self.lowest_j
    }

    /// Returns the cap of a level for the energy that the world stores, J.
    fn cap_j(&self, stored_j: f64) -> f64 {
        larger(stored_j, 0.0) + self.reserve_j
    }

    /// Returns the energy probably gained since the last reading, J: work of the hand against the newest force, plus
    /// dissipation in the device.
    fn likely_change_j(&mut self, moved_m: Vector2<f64>) -> f64 {
        let lasted_s = larger(self.sent.span.elapsed_s, self.sent.period_s);
        let impulse_n_s = std::mem::replace(&mut self.impulse_n_s, Vector2::zeros());
        (self.counted_damping_n_s_per_m * moved_m.norm_squared() - impulse_n_s.dot(&moved_m)) / lasted_s
    }

    /// Whether the likely work is the largest possible one: one force acted since the last reading, without delay,
    /// encoder steps or dry friction.
    #[inline(always)]
    fn is_work_known(&self) -> bool {
        self.account.is_exact && self.sent.kept_s == 0.0 && equal(self.sent.span.low_n, self.sent.span.high_n)
    }

    /// Returns the level after a reading that differs by `moved_m` from the last one, J, and starts a new span.
    fn book(&mut self, moved_m: Vector2<f64>) -> f64 {
        let next_n = self.next_force_n();
        let (x_slope_n, x_change_j) = self.book_axis(0, moved_m.x, next_n.x);
        let (y_slope_n, y_change_j) = self.book_axis(1, moved_m.y, next_n.y);
        let (mut level_j, mut slopes_n) = (self.level_j + x_change_j + y_change_j, Vector2::new(x_slope_n, y_slope_n));
        let promised_j = self.sent.remaining_n2_s() * self.account.per_square;
        if level_j < promised_j {
            let kept;
            (level_j, kept) = self.keep_promise(moved_m, level_j, promised_j);
            slopes_n *= kept;
        }
        self.lines = [self.lines[0].next(slopes_n.x, moved_m.x), self.lines[1].next(slopes_n.y, moved_m.y)];
        self.sent.span.clear();
        level_j
    }

    /// Returns the new slope of the line of an axis, N, and the change of the level, J.
    #[inline(always)]
    fn book_axis(&self, axis: usize, moved_m: f64, next_n: f64) -> (f64, f64) {
        let (line, work, step_m) = (&self.lines[axis], self.work(axis, moved_m), self.account.encoder_step_m);
        if step_m > 0.0 {
            let slope_n = line.choose_slope(&self.account, &work, moved_m, next_n);
            (slope_n, line.change_j(&work, moved_m, slope_n, step_m))
        } else {
            (0.0, -work.energy_j(moved_m))
        }
    }

    /// Returns the energy that the force can have delivered along an axis since the last reading, in the form that
    /// suits a displacement of `moved_m`; it holds for every displacement.
    #[inline(always)]
    fn work(&self, axis: usize, moved_m: f64) -> AxisWork {
        let lasted_s = larger(self.sent.span.elapsed_s, self.sent.period_s);
        let work = AxisWork::new(&self.account, &self.sent.span, axis, self.sent.newest_n[axis], lasted_s);
        if moved_m == 0.0 { work.for_a_resting_hand() } else { work }
    }

    /// Raises a level that is lower than what is promised to the acting commands, by flatter lines. Returns the level
    /// and the fraction of the slopes that remains. The level is concave in the slopes, so a mixture of two pairs of
    /// slopes has at least the mixture of their levels. With a slope of zero, the level falls by no more than the
    /// largest energy that the force can have delivered, so that the promise holds if the force did not act for longer
    /// than was paid for.
    #[cold]
    fn keep_promise(&self, moved_m: Vector2<f64>, level_j: f64, promised_j: f64) -> (f64, f64) {
        let step_m = self.account.encoder_step_m;
        let change_j =
            |axis: usize| self.lines[axis].change_j(&self.work(axis, moved_m[axis]), moved_m[axis], 0.0, step_m);
        let flat_j = larger(self.level_j + change_j(0) + change_j(1), self.level_at_worst_j());
        if flat_j <= promised_j { (flat_j, 0.0) } else { (promised_j, (flat_j - promised_j) / (flat_j - level_j)) }
    }

    /// Returns the level if the hand has extracted the most that the force can have delivered since the last reading,
    /// J.
    fn level_at_worst_j(&self) -> f64 {
        self.level_j - self.sent.span.squares_n2_s * self.account.per_square
    }

    /// Returns the level after a reading that says nothing about the displacement, J, and starts a new span: any hand
    /// may have moved so as to extract the most.
    fn book_unknown(&mut self) -> f64 {
        let level_j = self.level_at_worst_j();
        self.lines = [AxisLine::default(); 2];
        self.sent.span.clear();
        level_j
    }

    /// Returns the force that will probably be sent next, N: the expected force times the fraction that was sent in the
    /// last tick, reduced to what the level covers; the newest force if that is not finite.
    fn next_force_n(&self) -> Vector2<f64> {
        let next_n = self.expected_n * self.passed;
        let price_j = next_n.norm_squared() * (self.sent.period_s + self.sent.kept_s) * self.account.per_square;
        let level_j = larger(self.level_j, 0.0);
        if price_j <= level_j {
            next_n
        } else if price_j < f64::INFINITY {
            next_n * (level_j / price_j).sqrt()
        } else {
            self.sent.newest_n
        }
    }

    /// Applies the caps. What is promised to the acting commands must not be taken away: the level would otherwise fall
    /// below zero although nothing is wrong.
    fn cap_levels(&mut self, level_j: f64, near_j: f64, stored: StoredEnergy) {
        let fallen_j = self.height_j - stored.height_j;
        self.height_j = stored.height_j;
        let cap_j = self.cap_j(stored.total_j);
        let level_j = if level_j > cap_j { smaller(level_j, larger(cap_j, self.promised_j())) } else { level_j };
        let non_gravity_j =
            smaller(self.non_gravity_j + near_j + fallen_j, self.cap_j(stored.total_j - stored.height_j));
        self.set_levels(level_j, non_gravity_j);
    }

    /// Sets the levels; both are zero without passivity.
    fn set_levels(&mut self, level_j: f64, non_gravity_j: f64) {
        (self.level_j, self.non_gravity_j) =
            if self.passivity == Passivity::Off { (0.0, 0.0) } else { (level_j, non_gravity_j) };
        self.lowest_j = smaller(self.lowest_j, self.level_j);
    }
}

/// Returns the length of `part` as a fraction of the length of `whole`, at most one.
fn fraction_of(part: Vector2<f64>, whole: Vector2<f64>) -> f64 {
    let (part_squared, whole_squared) = (part.norm_squared(), whole.norm_squared());
    if part_squared >= whole_squared { 1.0 } else { (part_squared / whole_squared).sqrt() }
}

/// Returns the point of the segment from zero to `end` that is nearest to `point`. Real-time: constant.
pub fn project_onto_segment(end: Vector2<f64>, point: Vector2<f64>) -> Vector2<f64> {
    let (along, length_squared) = (point.dot(&end), end.norm_squared());
    if along >= length_squared {
        end
    } else if along > 0.0 {
        end * (along / length_squared)
    } else {
        Vector2::zeros()
    }
}

/// Scales a vector to `length`.
#[cold]
fn scale_to_norm(vector: Vector2<f64>, length: f64) -> Vector2<f64> {
    vector * (length / vector.norm_squared().sqrt())
}

/// Limits the length of a vector to `longest`, keeping its direction. Real-time: constant.
pub fn clamp_norm(vector: Vector2<f64>, longest: f64) -> Vector2<f64> {
    if vector.norm_squared() <= longest * longest { vector } else { scale_to_norm(vector, longest) }
}

#[cfg(test)]
mod tests;

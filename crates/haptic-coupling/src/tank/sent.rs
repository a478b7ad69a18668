//! Forces that may act on the hand: the newest command, and older ones that the delay has not ended yet.
//!
//! A command acts from at most t_d after it was sent until at most t_d after the next one was sent. Within these limits
//! the delay may be anything and may vary. Every replaced command therefore stays in the account for t_d. At each
//! instant the force lies in the range of the commands that may act, and its square is at most their largest square.

use haptic_planar::math::{equal, larger, smaller};
use nalgebra::Vector2;

/// Largest number of groups of replaced commands. Up to four periods of delay, each command has a group of its own.
/// With a longer delay, commands that are replaced within a quarter of it share a group, and every command counts for a
/// quarter longer.
pub(super) const MAX_GROUPS: usize = 5;

/// Rest of a delay that is only rounding, s. A sum of up to 126 ticks is exact to 1e-16 s.
const ROUNDING_S: f64 = 1e-14;

/// Commands that were replaced at about the same time. They may act for another `left_s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) low_n: Vector2<f64>,
    pub(super) high_n: Vector2<f64>,
    pub(super) left_s: f64,
    /// Time since the first command of the group was replaced, s.
    pub(super) age_s: f64,
}

impl Group {
    pub(super) const EMPTY: Self =
        Self { low_n: Vector2::new(0.0, 0.0), high_n: Vector2::new(0.0, 0.0), left_s: 0.0, age_s: 0.0 };

    /// Returns the largest square of each component, N².
    fn squares(&self) -> Vector2<f64> {
        highest(&square(&self.low_n), &square(&self.high_n))
    }
}

/// The force over an interval between two readings, per axis: its range, the range of its mean, and the largest
/// integral of its square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) elapsed_s: f64,
    pub(super) low_n: Vector2<f64>,
    pub(super) high_n: Vector2<f64>,
    /// Smallest possible integral of the force over time, N·s.
    pub(super) low_n_s: Vector2<f64>,
    /// Largest possible integral of the force over time, N·s.
    pub(super) high_n_s: Vector2<f64>,
    /// Largest possible integral of the squared force over time, both axes, N²·s.
    pub(super) squares_n2_s: f64,
}

impl Span {
    pub(super) const EMPTY: Self = Self {
        elapsed_s: 0.0,
        low_n: Vector2::new(0.0, 0.0),
        high_n: Vector2::new(0.0, 0.0),
        low_n_s: Vector2::new(0.0, 0.0),
        high_n_s: Vector2::new(0.0, 0.0),
        squares_n2_s: 0.0,
    };

    /// Returns the span of one force.
    #[inline(always)]
    fn constant(force_n: Vector2<f64>, elapsed_s: f64) -> Self {
        let (impulse_n_s, squares_n2_s) = (force_n * elapsed_s, square(&force_n).sum() * elapsed_s);
        Self { elapsed_s, low_n: force_n, high_n: force_n, low_n_s: impulse_n_s, high_n_s: impulse_n_s, squares_n2_s }
    }

    /// Starts a new span, without forgetting the ranges of an empty one, which are not used.
    pub(super) fn clear(&mut self) {
        (self.elapsed_s, self.squares_n2_s) = (0.0, 0.0);
    }

    /// Extends the span by the next interval, after a tick without a reading.
    #[cold]
    fn append(&mut self, next: &Self) {
        self.elapsed_s += next.elapsed_s;
        self.low_n = lowest(&self.low_n, &next.low_n);
        self.high_n = highest(&self.high_n, &next.high_n);
        self.low_n_s += next.low_n_s;
        self.high_n_s += next.high_n_s;
        self.squares_n2_s += next.squares_n2_s;
    }
}

/// Forces that may act on the hand, device frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SentForces {
    /// Time for which a command acts if the next one follows on schedule and at once, s.
    pub(super) period_s: f64,
    /// Time for which a command may act after it was replaced, s: the upper bound on the delay, or more if commands
    /// share groups.
    pub(super) kept_s: f64,
    /// Time within which replaced commands share a group, s.
    pub(super) spacing_s: f64,
    /// Force that is to be sent in this tick, N; it counts as sent when time advances.
    pub(super) next_n: Vector2<f64>,
    /// Whether `next_n` was not sent in this tick but is the force of an earlier command.
    pub(super) is_held: bool,
    /// Newest command that was sent, N.
    pub(super) newest_n: Vector2<f64>,
    /// Time until the device accepts the next command, s.
    pub(super) due_s: f64,
    /// Replaced commands that may still act, newest first, and so with falling `left_s`; the first `groups` count.
    pub(super) replaced: [Group; MAX_GROUPS],
    pub(super) groups: usize,
    /// What the replaced commands may add to the integral of the squared newest command from now on, N²·s.
    pub(super) excess_n2_s: f64,
    /// What has acted since the last reading.
    pub(super) span: Span,
}

impl SentForces {
    pub(super) fn none(period_s: f64, delay_s: f64) -> Self {
        let mut forces = Self {
            period_s,
            kept_s: 0.0,
            spacing_s: 0.0,
            next_n: Vector2::zeros(),
            is_held: true,
            newest_n: Vector2::zeros(),
            due_s: 0.0,
            replaced: [Group::EMPTY; MAX_GROUPS],
            groups: 0,
            excess_n2_s: 0.0,
            span: Span::EMPTY,
        };
        forces.set_delay(period_s, delay_s);
        forces
    }

    /// Sets the service period and the upper bound on the delay, s. Real-time: constant.
    pub(super) fn set_delay(&mut self, period_s: f64, delay_s: f64) {
        const SHARES: f64 = (MAX_GROUPS - 1) as f64;
        self.period_s = period_s;
        self.spacing_s = if delay_s > SHARES * period_s { delay_s / SHARES } else { 0.0 };
        self.kept_s = delay_s + self.spacing_s;
    }

    /// Sets the force that is sent in this tick. Real-time: constant.
    pub(super) fn send(&mut self, force_n: Vector2<f64>) {
        self.next_n = force_n;
        self.is_held = false;
    }

    /// Sets the force that acts on because nothing was sent in this tick. Real-time: constant.
    pub(super) fn hold(&mut self, force_n: Vector2<f64>) {
        self.next_n = force_n;
        self.is_held = true;
    }

    /// Lets `elapsed_s` pass. Real-time: at most [`MAX_GROUPS`] groups.
    #[inline(always)]
    pub(super) fn advance(&mut self, elapsed_s: f64) {
        self.commit();
        self.due_s = larger(self.due_s - elapsed_s, 0.0);
        self.excess_n2_s = 0.0;
        if self.groups > 0 || self.span.elapsed_s > 0.0 {
            self.extend_span(elapsed_s);
        } else {
            self.span = Span::constant(self.newest_n, elapsed_s);
        }
    }

    /// Extends the span by an interval in which the newest command acted, and perhaps replaced ones.
    #[inline(never)]
    fn extend_span(&mut self, elapsed_s: f64) {
        let mut span = Span::constant(self.newest_n, elapsed_s);
        if self.groups > 0 {
            self.add_replaced(&mut span);
        }
        if self.span.elapsed_s > 0.0 {
            self.span.append(&span);
        } else {
            self.span = span;
        }
    }

    /// Adds the replaced commands to a span of the newest one. Each older group widens the range of the force for as
    /// long as it may act.
    #[inline(never)]
    fn add_replaced(&mut self, span: &mut Span) {
        let elapsed_s = span.elapsed_s;
        let mut squares = square(&self.newest_n);
        let mut groups = 0;
        for group in &mut self.replaced[..self.groups] {
            let acting_s = smaller(group.left_s, elapsed_s);
            let (low_n, high_n) = (lowest(&span.low_n, &group.low_n), highest(&span.high_n, &group.high_n));
            let wider = highest(&squares, &group.squares());
            let added_n2 = (wider - squares).sum();
            span.low_n_s += (low_n - span.low_n) * acting_s;
            span.high_n_s += (high_n - span.high_n) * acting_s;
            span.squares_n2_s += added_n2 * acting_s;
            (span.low_n, span.high_n, squares) = (low_n, high_n, wider);
            group.left_s -= acting_s;
            group.age_s += elapsed_s;
            self.excess_n2_s += added_n2 * group.left_s;
            groups += usize::from(group.left_s > ROUNDING_S);
        }
        self.groups = groups;
    }

    /// Makes the force of this tick the newest command. A device that is served less often than every tick holds a
    /// command until it is due; a command that is due but not sent leaves the last one for another period.
    #[inline(always)]
    fn commit(&mut self) {
        if !self.is_held || self.due_s <= ROUNDING_S {
            self.due_s = self.period_s;
        }
        self.is_held = true;
        if !equal(self.next_n, self.newest_n) {
            if self.kept_s > 0.0 {
                self.replace(self.newest_n);
            }
            self.newest_n = self.next_n;
        }
    }

    /// Keeps a command that is being replaced for as long as it may act.
    fn replace(&mut self, force_n: Vector2<f64>) {
        let is_shared = self.groups > 0 && self.replaced[0].age_s < self.spacing_s;
        if is_shared || self.groups == MAX_GROUPS {
            let group = &mut self.replaced[0];
            group.low_n = lowest(&group.low_n, &force_n);
            group.high_n = highest(&group.high_n, &force_n);
            // Groups run out only if commands follow each other faster than the service period.
            group.left_s = if is_shared { group.left_s } else { self.kept_s };
        } else {
            if self.groups > 0 {
                self.replaced.copy_within(0..self.groups, 1);
            }
            self.replaced[0] = Group { low_n: force_n, high_n: force_n, left_s: self.kept_s, age_s: 0.0 };
            self.groups += 1;
        }
    }

    /// Returns the largest integral of the squared force from now to the end of all commands if zero is sent as soon as
    /// the device accepts it, N²·s. Real-time: constant.
    pub(super) fn remaining_n2_s(&self) -> f64 {
        self.newest_n.norm_squared() * (self.due_s + self.kept_s) + self.excess_n2_s
    }

    /// Returns the largest integral of the squared force from now to the end of all commands if `force_n` is sent now
    /// and zero after it, N²·s. Real-time: at most [`MAX_GROUPS`] groups.
    #[inline(always)]
    pub(super) fn price_n2_s(&self, force_n: Vector2<f64>) -> f64 {
        let mut squares = square(&force_n);
        let mut price_n2_s = squares.sum() * (self.period_s + self.kept_s);
        if self.kept_s > 0.0 {
            let wider = highest(&squares, &square(&self.newest_n));
            price_n2_s += (wider - squares).sum() * self.kept_s;
            squares = wider;
        }
        for group in &self.replaced[..self.groups] {
            let wider = highest(&squares, &group.squares());
            price_n2_s += (wider - squares).sum() * group.left_s;
            squares = wider;
        }
        price_n2_s
    }

    /// Returns the largest square of each component of all commands that may act, N².
    pub(super) fn largest_squares(&self) -> Vector2<f64> {
        let newest = square(&self.newest_n);
        self.replaced[..self.groups].iter().fold(newest, |squares, group| highest(&squares, &group.squares()))
    }
}

fn square(vector: &Vector2<f64>) -> Vector2<f64> {
    Vector2::new(vector.x * vector.x, vector.y * vector.y)
}

fn lowest(a: &Vector2<f64>, b: &Vector2<f64>) -> Vector2<f64> {
    Vector2::new(smaller(a.x, b.x), smaller(a.y, b.y))
}

fn highest(a: &Vector2<f64>, b: &Vector2<f64>) -> Vector2<f64> {
    Vector2::new(larger(a.x, b.x), larger(a.y, b.y))
}

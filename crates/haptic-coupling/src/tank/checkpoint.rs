//! Checkpoint of the tank.

use super::account::AxisLine;
use super::sent::{Group, SentForces, Span};
use super::{Passivity, Tank};
use haptic_planar::checkpoint::Archive;
use nalgebra::Vector2;

impl Tank {
    /// Archives or restores all values except the settings ([`Tank::set_limits`]). Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let Self {
            passivity: _,
            account: _,
            counted_damping_n_s_per_m: _,
            reserve_j: _,
            level_j,
            lowest_j,
            non_gravity_j,
            height_j,
            position_m,
            lines,
            sent,
            impulse_n_s,
            expected_n,
            passed,
        } = self;
        archive.numbers([level_j, lowest_j, non_gravity_j, height_j, passed]);
        archive.optional(position_m, Vector2::zeros(), |archive, place_m| archive.vector(place_m));
        lines
            .iter_mut()
            .for_each(|AxisLine { slope_n, moved_m, crossed_m }| archive.numbers([slope_n, moved_m, crossed_m]));
        sent.carry(archive);
        archive.vector(impulse_n_s);
        archive.vector(expected_n);
    }
}

impl SentForces {
    /// Archives or restores all values except the settings. Groups that are not in use are archived as empty, so that
    /// the checkpoint depends only on what matters. Real-time: at most [`super::sent::MAX_GROUPS`] groups.
    fn carry(&mut self, archive: &mut impl Archive) {
        let Self {
            period_s: _,
            kept_s: _,
            spacing_s: _,
            next_n,
            is_held,
            newest_n,
            due_s,
            replaced,
            groups,
            excess_n2_s,
            span,
        } = self;
        archive.vector(next_n);
        archive.flag(is_held);
        archive.vector(newest_n);
        archive.numbers([due_s, excess_n2_s]);
        let mut count = *groups as u32;
        archive.count(&mut count);
        *groups = replaced.len().min(count as usize);
        for (index, group) in replaced.iter_mut().enumerate() {
            if index >= *groups {
                *group = Group::EMPTY;
            }
            let Group { low_n, high_n, left_s, age_s } = group;
            archive.vector(low_n);
            archive.vector(high_n);
            archive.numbers([left_s, age_s]);
        }
        let Span { elapsed_s, low_n, high_n, low_n_s, high_n_s, squares_n2_s } = span;
        archive.numbers([elapsed_s, squares_n2_s]);
        [low_n, high_n, low_n_s, high_n_s].into_iter().for_each(|vector| archive.vector(vector));
    }
}

impl Passivity {
    /// Archives or restores the mode as a number. Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let mut number = match self {
            Self::Tank => 0,
            Self::Observer => 1,
            Self::Off => 2,
        };
        archive.count(&mut number);
        *self = match number {
            1 => Self::Observer,
            2 => Self::Off,
            _ => Self::Tank,
        };
    }
}

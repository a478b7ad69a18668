//! Limits of the ODrive that hapticd reads but does not change: they protect motor, mechanics and bystanders.
//!
//! In torque control, the firmware limits the torque to `(vel_limit - v) * vel_gain` in one direction and to
//! `(-vel_limit - v) * vel_gain` in the other, `v` being the velocity, and switches the motor off above `vel_limit *
//! vel_limit_tolerance`. A torque against the motion is therefore never reduced.

use super::OdriveSettings;

/// Limits as read from the ODrive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MotorLimits {
    /// Largest current, A.
    pub current_a: f64,
    /// Torque per current, N·m/A.
    pub torque_constant_n_m_per_a: f64,
    /// Velocity limit, turns/s.
    pub velocity_turns_per_s: f64,
    /// Slope of the torque limit over the velocity, N·m per turn/s.
    pub gain_n_m_s_per_turn: f64,
    /// Velocity at which the motor is switched off, as a multiple of the velocity limit.
    pub tolerance: f64,
    /// Whether the velocity limit reduces the torque.
    pub reduces_torque: bool,
    /// Whether the motor is switched off above the velocity limit.
    pub switches_off: bool,
}

impl MotorLimits {
    /// Returns the reason for which the ODrive is rejected if its limits permit no force or no motion at all.
    pub fn rejection(&self) -> Option<String> {
        let Self { velocity_turns_per_s: velocity, gain_n_m_s_per_turn: gain, tolerance, .. } = *self;
        let names = "in axis0.controller.config with odrivetool";
        // A product that is not a number permits nothing either.
        let permits = |product: f64| product > 0.0;
        if self.reduces_torque && !permits(velocity * gain) {
            Some(format!("its vel_limit of {velocity} and vel_gain of {gain} permit no torque; set both {names}"))
        } else if self.switches_off && !permits(velocity * tolerance) {
            Some(format!(
                "its vel_limit of {velocity} and vel_limit_tolerance of {tolerance} permit no motion; set both {names}"
            ))
        } else {
            None
        }
    }

    /// Returns a warning for each limit that reduces a force or switches the motor off within the device's maximum
    /// force and speed.
    pub fn warnings(&self, settings: &OdriveSettings) -> Vec<String> {
        self.current_warning(settings).into_iter().chain(self.velocity_warning(settings)).collect()
    }

    fn current_warning(&self, settings: &OdriveSettings) -> Option<String> {
        let torque_n_m = self.current_a * self.torque_constant_n_m_per_a;
        (torque_n_m < 0.99 * settings.max_torque_n_m).then(|| {
            format!(
                "its current limit of {} A permits {:.2} N of {:.2} N; write max_force_n = {:.2} into [model] of the \
                 device file, or raise the limit with odrivetool if the motor permits it",
                self.current_a,
                settings.force_n(torque_n_m),
                settings.force_n(settings.max_torque_n_m),
                settings.force_n(torque_n_m),
            )
        })
    }

    fn velocity_warning(&self, settings: &OdriveSettings) -> Option<String> {
        let fastest = settings.max_speed_m_per_s / settings.m_per_turn();
        let slack = settings.max_torque_n_m / self.gain_n_m_s_per_turn;
        let reduction =
            self.reduces_torque.then_some(fastest + slack).filter(|&needed| self.velocity_turns_per_s < needed);
        let shutdown =
            self.switches_off.then_some(fastest / self.tolerance).filter(|&needed| self.velocity_turns_per_s < needed);
        let needed = reduction.into_iter().chain(shutdown).reduce(f64::max)?;
        let effects: Vec<String> = [
            reduction.map(|_| self.describe_reduction(settings)),
            shutdown.map(|_| {
                let speed = self.velocity_turns_per_s * self.tolerance * settings.m_per_turn();
                format!("switches the motor off at {speed:.2} m/s")
            }),
        ]
        .into_iter()
        .flatten()
        .collect();
        Some(format!(
            "its velocity limit of {} turns/s {}; for {} m/s, set axis0.controller.config.vel_limit to {:.1} with \
             odrivetool",
            self.velocity_turns_per_s,
            effects.join(" and "),
            settings.max_speed_m_per_s,
            (needed * 10.0).ceil() / 10.0,
        ))
    }

    /// Describes by how much a force in the direction of motion is reduced.
    fn describe_reduction(&self, settings: &OdriveSettings) -> String {
        let force_n = settings.force_n(settings.max_torque_n_m);
        let zero_m_per_s = self.velocity_turns_per_s * settings.m_per_turn();
        let at_rest_n_m = self.velocity_turns_per_s * self.gain_n_m_s_per_turn;
        let from = if at_rest_n_m < settings.max_torque_n_m {
            format!("to {:.2} N at rest", settings.force_n(at_rest_n_m))
        } else {
            format!("above {:.2} m/s", zero_m_per_s * (1.0 - settings.max_torque_n_m / at_rest_n_m))
        };
        format!("reduces a force of {force_n:.2} N along the motion {from} (to zero at {zero_m_per_s:.2} m/s)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: OdriveSettings =
        OdriveSettings { lever_m: 0.05, max_torque_n_m: 0.2, max_speed_m_per_s: 3.0, watchdog_s: 0.1, baud: None };

    /// The defaults of the firmware.
    const DEFAULT: MotorLimits = MotorLimits {
        current_a: 10.0,
        torque_constant_n_m_per_a: 0.04,
        velocity_turns_per_s: 2.0,
        gain_n_m_s_per_turn: 1.0 / 6.0,
        tolerance: 1.2,
        reduces_torque: true,
        switches_off: true,
    };

    fn warnings(limits: MotorLimits) -> String {
        limits.warnings(&SETTINGS).join("\n")
    }

    #[test]
    fn the_defaults_cut_4_n_above_a_quarter_of_a_metre_per_second_and_switch_off_at_three_quarters() {
        assert_eq!(
            warnings(DEFAULT),
            "its velocity limit of 2 turns/s reduces a force of 4.00 N along the motion above 0.25 m/s (to zero at \
             0.63 m/s) and switches the motor off at 0.75 m/s; for 3 m/s, set axis0.controller.config.vel_limit to \
             10.8 with odrivetool"
        );
    }

    #[test]
    fn the_advice_is_sufficient_and_hardly_more_than_necessary() {
        let at = |velocity_turns_per_s| warnings(MotorLimits { velocity_turns_per_s, ..DEFAULT });
        assert_eq!(at(10.8), "");
        assert!(!at(10.7).is_empty());
        assert_eq!(at(f64::INFINITY), "");
    }

    #[test]
    fn each_limit_is_reported_by_itself() {
        let only_off = warnings(MotorLimits { reduces_torque: false, ..DEFAULT });
        assert!(only_off.contains("2 turns/s switches the motor off at 0.75 m/s; for 3 m/s"), "{only_off}");
        let only_reduced = warnings(MotorLimits { switches_off: false, ..DEFAULT });
        assert!(only_reduced.contains("above 0.25 m/s (to zero at 0.63 m/s); for 3 m/s"), "{only_reduced}");
        let weak = warnings(MotorLimits { gain_n_m_s_per_turn: 0.05, ..DEFAULT });
        assert!(weak.contains("a force of 4.00 N along the motion to 2.00 N at rest (to zero at 0.63 m/s)"), "{weak}");
        let current = warnings(MotorLimits { current_a: 2.5, velocity_turns_per_s: 100.0, ..DEFAULT });
        assert!(current.starts_with("its current limit of 2.5 A permits 2.00 N of 4.00 N; write max_force_n = 2.00"));
        assert_eq!(warnings(MotorLimits { reduces_torque: false, switches_off: false, ..DEFAULT }), "");
    }

    #[test]
    fn limits_that_permit_nothing_are_rejected() {
        let no_torque = MotorLimits { gain_n_m_s_per_turn: 0.0, ..DEFAULT };
        assert!(no_torque.rejection().unwrap().contains("permit no torque; set both"));
        let no_motion = MotorLimits { tolerance: 0.0, reduces_torque: false, ..DEFAULT };
        assert!(no_motion.rejection().unwrap().contains("permit no motion; set both"));
        assert_eq!(MotorLimits { reduces_torque: false, switches_off: false, ..no_motion }.rejection(), None);
        assert_eq!(DEFAULT.rejection(), None);
    }
}

//! Statistics of a run, for comparison with other runs.

use haptic_loop::tick::HapticLoop;
use serde::Serialize;
use std::fmt::Write;

/// Statistics of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RunStatistics {
    /// Number of ticks.
    pub ticks: u64,
    /// Largest force on the hand, N.
    pub force_max_n: f64,
    /// Mean force magnitude on the hand, N.
    pub force_mean_n: f64,
    /// Root mean square of the force magnitude on the hand, N.
    pub force_rms_n: f64,
    /// Fraction of ticks with the tool in contact.
    pub contact_share: f64,
    /// Mean normal force on the tool during contact, N.
    pub normal_force_mean_n: f64,
    /// Mean friction force magnitude on the tool during contact, N.
    pub tangent_force_mean_n: f64,
    /// Deepest penetration of the tool, m.
    pub penetration_max_m: f64,
    /// Energy lost to friction, J.
    pub friction_j: f64,
    /// Energy lost in impacts, J.
    pub impact_j: f64,
    /// Work done by the hand, J.
    pub work_in_j: f64,
    /// Largest energy gain, J: energy that the balance cannot explain.
    pub energy_gain_max_j: f64,
    /// Lowest tank level, J.
    pub tank_lowest_j: f64,
    /// Number of ticks in which the tank limited the force.
    pub tank_cuts: u64,
    /// Number of ticks without force because the reading was stale.
    pub stale: u64,
    /// Number of faults.
    pub faults: u64,
}

/// Running sums for computing [`RunStatistics`].
#[derive(Clone, Copy, Debug, Default)]
pub struct FeltSums {
    figures: RunStatistics,
    force_n: f64,
    force_squared: f64,
    contacts: u64,
    normal_n: f64,
    tangent_n: f64,
}

impl FeltSums {
    /// Adds the newest tick of a loop.
    pub fn add(&mut self, rendering: &HapticLoop) {
        let report = rendering.last();
        let (felt, force_n) = (&report.felt, report.force_n.norm());
        let figures = &mut self.figures;
        figures.ticks += 1;
        figures.force_max_n = figures.force_max_n.max(force_n);
        figures.penetration_max_m = figures.penetration_max_m.max(felt.tool_penetration_m);
        self.force_n += force_n;
        self.force_squared += force_n * force_n;
        if felt.tool_contacts > 0 {
            self.contacts += 1;
            self.normal_n += felt.tool_normal_n;
            self.tangent_n += felt.tool_tangent_n.abs();
        }
    }

    /// Returns the statistics at the end of a run.
    pub fn figures(&self, rendering: &HapticLoop) -> RunStatistics {
        let (ticks, contacts) = (self.figures.ticks.max(1) as f64, self.contacts.max(1) as f64);
        let (energy, counters) = (&rendering.last().felt.energy, rendering.counters());
        RunStatistics {
            force_mean_n: self.force_n / ticks,
            force_rms_n: (self.force_squared / ticks).sqrt(),
            contact_share: self.contacts as f64 / ticks,
            normal_force_mean_n: self.normal_n / contacts,
            tangent_force_mean_n: self.tangent_n / contacts,
            friction_j: energy.friction_j,
            impact_j: energy.impact_j,
            work_in_j: energy.work_in_j,
            energy_gain_max_j: energy.gain_max_j,
            tank_lowest_j: rendering.tank_lowest_j(),
            tank_cuts: counters.cut,
            stale: counters.stale,
            faults: counters.faults,
            ..self.figures
        }
    }
}

/// Formats the statistics of two runs side by side, one quantity per line.
pub fn side_by_side(recorded: &RunStatistics, instead: &RunStatistics) -> String {
    let rows = [
        ("largest force", "N", recorded.force_max_n, instead.force_max_n),
        ("mean force", "N", recorded.force_mean_n, instead.force_mean_n),
        ("RMS force", "N", recorded.force_rms_n, instead.force_rms_n),
        ("tool in contact", "%", recorded.contact_share * 100.0, instead.contact_share * 100.0),
        ("mean normal force in contact", "N", recorded.normal_force_mean_n, instead.normal_force_mean_n),
        ("mean friction in contact", "N", recorded.tangent_force_mean_n, instead.tangent_force_mean_n),
        ("deepest penetration", "µm", recorded.penetration_max_m * 1e6, instead.penetration_max_m * 1e6),
        ("lost to friction", "mJ", recorded.friction_j * 1e3, instead.friction_j * 1e3),
        ("lost in impacts", "mJ", recorded.impact_j * 1e3, instead.impact_j * 1e3),
        ("work of the hand", "mJ", recorded.work_in_j * 1e3, instead.work_in_j * 1e3),
        ("ticks cut by the tank", "", recorded.tank_cuts as f64, instead.tank_cuts as f64),
        ("faults", "", recorded.faults as f64, instead.faults as f64),
    ];
    let mut table = format!("{:<30} {:>12} {:>12}\n", "", "as recorded", "instead");
    for (what, unit, then, now) in rows {
        // Writing into a string cannot fail.
        let _ = writeln!(table, "{what:<30} {then:>12.4} {now:>12.4} {unit}");
    }
    table + "The hand moves as it was recorded: it does not yield to the other force as a real one would."
}

//! Golden files: hash and figures of a reference run, for comparison with later runs.

use crate::failure::Failure;
use crate::summary::Summary;
use crate::tuning::atomic_write;
use haptic_loop::fault::FaultRecord;
use haptic_planar::bits::{OFFSET_BASIS, mix_fnv, number_bits};
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::path::Path;

/// Results of a run that are the same on every machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of the summary")]
pub struct Golden {
    pub ticks: u64,
    pub state_hash: String,
    pub force_hash: String,
    pub energy_gain_max_j: f64,
    pub penetration_max_m: f64,
    pub force_max_n: f64,
    pub contacts_max: u32,
    pub pairs_dropped: u64,
    /// Number of ticks without force because the reading was stale; None in older files, where it is not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<u64>,
    /// Faults of the run; None in older files, where they are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Vec<FaultRecord>>,
}

/// A 64-bit hash over the force of every tick (FNV-1a); equal hashes mean equal force traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForceHash(u64);

impl Default for ForceHash {
    fn default() -> Self {
        Self(OFFSET_BASIS)
    }
}

impl ForceHash {
    /// Adds the force of one tick; −0 is treated as +0.
    pub fn add(&mut self, force_n: Vector2<f64>) {
        for part in [force_n.x, force_n.y] {
            self.0 = mix_fnv(self.0, number_bits(part));
        }
    }
}

impl Golden {
    /// Collects the values to compare from a summary and the force hash.
    pub fn of(summary: &Summary, forces: &ForceHash) -> Self {
        Self {
            ticks: summary.ticks,
            state_hash: summary.state_hash.clone(),
            force_hash: format!("{:016x}", forces.0),
            energy_gain_max_j: summary.energy_gain_max_j,
            penetration_max_m: summary.penetration_max_m,
            force_max_n: summary.force_max_n,
            contacts_max: summary.contacts_max,
            pairs_dropped: summary.pairs_dropped,
            stale: Some(summary.stale),
            faults: Some(summary.faults.clone()),
        }
    }

    /// Reads a golden file.
    ///
    /// # Errors
    /// If the file cannot be read or is not a golden file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::BadInput(format!("{name}: cannot be read: {error}; write it first with --update-golden"))
        })?;
        serde_json::from_str(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            Failure::BadInput(format!(
                "{name}:{line}:{column}: is not a golden file: {error}; write it with --update-golden"
            ))
        })
    }

    /// Rejects a path where no golden file can be written. Called before the run starts.
    ///
    /// # Errors
    /// If the file or its directory is not writable.
    pub fn refuse_unwritable(path: &Path) -> Result<(), Failure> {
        if !path.exists() {
            return atomic_write::check_writable(path);
        }
        OpenOptions::new().write(true).open(path).map(drop).map_err(|error| Failure::unwritable(path, &error))
    }

    /// Writes a golden file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(self).map_err(std::io::Error::from)?;
        std::fs::write(path, json + "\n").map_err(|error| Failure::unwritable(path, &error))
    }

    /// Compares the results of a new run with these, bit for bit. Messages start with `path`.
    ///
    /// # Errors
    /// If the runs differ; the failure lists all differences.
    pub fn compare(&self, new: &Self, path: &Path) -> Result<(), Failure> {
        let differences = [
            difference("ticks", self.ticks, new.ticks),
            difference("state_hash", &self.state_hash, &new.state_hash),
            difference("force_hash", &self.force_hash, &new.force_hash),
            difference("energy_gain_max_j", self.energy_gain_max_j, new.energy_gain_max_j),
            difference("penetration_max_m", self.penetration_max_m, new.penetration_max_m),
            difference("force_max_n", self.force_max_n, new.force_max_n),
            difference("contacts_max", self.contacts_max, new.contacts_max),
            difference("pairs_dropped", self.pairs_dropped, new.pairs_dropped),
            self.stale.zip(new.stale).and_then(|(kept, new)| difference("stale", kept, new)),
            self.faults.as_ref().zip(new.faults.as_ref()).and_then(|(kept, new)| difference("faults", kept, new)),
        ];
        let lines: Vec<String> =
            differences.into_iter().flatten().map(|text| format!("{}: {text}", path.display())).collect();
        if lines.is_empty() { Ok(()) } else { Err(Failure::Mismatch(lines.join("\n"))) }
    }
}

fn difference<T: PartialEq + std::fmt::Debug>(key: &str, kept: T, new: T) -> Option<String> {
    (kept != new).then(|| format!("{key}: was {kept:?}, is {new:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden() -> Golden {
        Golden {
            ticks: 10,
            state_hash: "00".to_owned(),
            force_hash: "00".to_owned(),
            energy_gain_max_j: 0.0,
            penetration_max_m: 0.0,
            force_max_n: 1.0,
            contacts_max: 1,
            pairs_dropped: 0,
            stale: Some(0),
            faults: Some(Vec::new()),
        }
    }

    #[test]
    fn faults_and_stale_readings_are_compared_if_they_were_kept() {
        let fault = FaultRecord { tick: 3, kind: "lost".to_owned(), text: "gone".to_owned() };
        let faulty = Golden { stale: Some(7), faults: Some(vec![fault]), ..golden() };
        let told = golden().compare(&faulty, Path::new("g.json")).unwrap_err();
        assert_eq!(told.exit_code(), 4);
        assert!(told.to_string().starts_with("g.json: stale: was 0, is 7\ng.json: faults: was [], is ["), "{told}");
        let old = Golden { stale: None, faults: None, ..golden() };
        assert_eq!(old.compare(&faulty, Path::new("g.json")), Ok(()));
    }
}

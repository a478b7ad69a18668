//! Summary of a run.

use crate::failure::Failure;
use crate::figures::RunExtremes;
use haptic_device::LinkStatistics;
use haptic_loop::fault::{FaultRecord, REVERSED_AXIS};
use haptic_loop::sign_check::Sign;
use haptic_loop::tick::HapticLoop;
use haptic_realtime::histogram::Percentiles;
use haptic_realtime::memory::PageFaults;
use haptic_record::recorder::Ended;
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// Summary of `run` and `simulate`. Field names are the same as in the JSON output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of ticks that ran.
    pub ticks: u64,
    /// Number of overruns: ticks that ended after the next deadline.
    pub overruns: u64,
    /// Number of skipped periods.
    pub skipped: u64,
    /// Compute time of a tick, ns; absent if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_ns: Option<Percentiles>,
    /// Wake-up latency, ns; `run` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_ns: Option<Percentiles>,
    /// Page faults of the real-time thread after its start; `run` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_faults: Option<PageFaults>,
    /// Run delay of the real-time thread, ns; `run` only, if the kernel measures it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
    /// Statistics of the link to the device; absent for devices without a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Link>,
    /// Largest energy gain, J: energy that the balance cannot explain.
    pub energy_gain_max_j: f64,
    /// Deepest penetration of any pair, m.
    pub penetration_max_m: f64,
    /// Largest force on the hand, N.
    pub force_max_n: f64,
    /// Largest number of loaded contact points in one tick.
    pub contacts_max: u32,
    /// Number of near pairs dropped because the pair table was full.
    pub pairs_dropped: u64,
    /// Number of ticks without force because the reading was stale; ticks with a fault are not counted.
    pub stale: u64,
    /// Number of ticks with an engagement fraction above zero.
    pub engaged: u64,
    /// Faults in the order in which they started; `run` lists only the first 1000.
    pub faults: Vec<FaultRecord>,
    /// Sign of each motor relative to its encoder: `right`, `reversed` or `unknown`; absent if they were not checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<&'static str>,
    /// Hash of the final state, hexadecimal.
    pub state_hash: String,
    /// Physics version; state hashes are comparable only within one version.
    pub physics: u32,
    /// Outcome of the recording; absent if there was none. If a run had several, that of the last one, or of the first
    /// incomplete one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingOutcome>,
}

/// Outcome of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordingOutcome {
    /// Path of the file, or of the first one.
    pub file: String,
    /// Number of ticks recorded. An incomplete file may contain fewer.
    pub ticks: u64,
    /// Number of ticks dropped because the disk was too slow.
    pub dropped: u64,
    /// Whether the files contain everything from the start to the end of the recording.
    pub complete: bool,
}

impl RecordingOutcome {
    /// Returns the outcome of a recording to `file`.
    pub fn new(file: &Path, Ended { summary, error }: &Ended) -> Self {
        let complete = error.is_none() && summary.dropped == [0; 3];
        Self { file: file.display().to_string(), ticks: summary.ticks, dropped: summary.dropped[0], complete }
    }

    /// Returns an error if the recording is incomplete.
    ///
    /// # Errors
    /// If it is.
    pub fn require_complete(&self) -> Result<(), Failure> {
        let Self { file, ticks, dropped, complete } = self;
        let text = || format!("{file}: the recording is incomplete: {ticks} ticks recorded, {dropped} dropped");
        if *complete { Ok(()) } else { Err(Failure::Runtime(text())) }
    }
}

/// Statistics of a device link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Round-trip times from a command to its answer, ns.
    pub round_trip_ns: RoundTripNs,
    /// Number of commands that were never answered.
    pub frames_lost: u64,
    /// Number of corrupted answers.
    pub crc_errors: u64,
    /// Number of reconnections after a loss of the link.
    pub reconnects: u32,
    /// Service rate of the device, Hz.
    pub rate_hz: f64,
}

/// Round-trip times of commands, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct RoundTripNs {
    pub p50: u64,
    pub p99: u64,
    pub max: u64,
}

impl From<LinkStatistics> for Link {
    fn from(link: LinkStatistics) -> Self {
        let LinkStatistics { round_trip, frames_lost, crc_errors, reconnects, rate_hz } = link;
        let round_trip_ns = RoundTripNs { p50: round_trip.p50_ns, p99: round_trip.p99_ns, max: round_trip.max_ns };
        Self { round_trip_ns, frames_lost, crc_errors, reconnects, rate_hz }
    }
}

impl Summary {
    /// Creates the summary of a loop, without measured times.
    pub fn of(rendering: &HapticLoop, figures: &RunExtremes, faults: Vec<FaultRecord>) -> Self {
        Self {
            ticks: figures.ticks,
            overruns: 0,
            skipped: 0,
            compute_ns: None,
            wake_ns: None,
            page_faults: None,
            waited_ns: None,
            device: rendering.device().link_statistics().map(Link::from),
            energy_gain_max_j: figures.energy_gain_max_j,
            penetration_max_m: figures.penetration_max_m,
            force_max_n: figures.force_max_n(),
            contacts_max: figures.contacts_max,
            pairs_dropped: figures.pairs_dropped,
            stale: rendering.counters().stale,
            engaged: figures.engaged,
            faults,
            signs: rendering.sign_check().signs().map(Sign::name).collect(),
            state_hash: format!("{:016x}", rendering.world().state.hash()),
            physics: haptic_planar::PHYSICS_VERSION,
            recording: None,
        }
    }
}

impl Summary {
    /// Returns an error if a motor is reversed. `device` names the device file.
    ///
    /// # Errors
    /// If one is.
    pub fn require_right_signs(&self, device: &str) -> Result<(), Failure> {
        let reversed = self.faults.iter().find(|fault| fault.kind == REVERSED_AXIS);
        reversed.map_or(Ok(()), |fault| Err(Failure::Runtime(format!("{device}: {}", fault.text))))
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} ticks, {} overruns, {} skipped, {} stale",
            self.ticks, self.overruns, self.skipped, self.stale
        )?;
        for (what, figures) in [("compute", self.compute_ns), ("wake-up", self.wake_ns)] {
            if let Some(Percentiles { p50, p99, p999, max }) = figures {
                writeln!(f, "{what}: p50 {p50} ns, p99 {p99} ns, p99.9 {p999} ns, max {max} ns")?;
            }
        }
        if let Some(waited_ns) = self.waited_ns {
            writeln!(f, "ready, but another had the core: {waited_ns} ns in all")?;
        }
        writeln!(f, "force up to {:.4} N, contacts up to {}", self.force_max_n, self.contacts_max)?;
        writeln!(
            f,
            "penetration up to {:.3e} m, energy gain up to {:.3e} J",
            self.penetration_max_m, self.energy_gain_max_j
        )?;
        if let Some(Link {
            round_trip_ns: RoundTripNs { p50, p99, max },
            frames_lost,
            crc_errors,
            reconnects,
            rate_hz,
        }) = self.device
        {
            writeln!(f, "device at {rate_hz} Hz, round trip p50 {p50} ns, p99 {p99} ns, max {max} ns")?;
            writeln!(f, "{frames_lost} frames lost, {crc_errors} damaged, {reconnects} reconnects")?;
        }
        if self.pairs_dropped > 0 {
            writeln!(f, "{} near pairs dropped: the pair table is full", self.pairs_dropped)?;
        }
        for fault in &self.faults {
            writeln!(f, "fault in tick {}: {}: {}", fault.tick, fault.kind, fault.text)?;
        }
        write!(f, "state hash {}", self.state_hash)
    }
}

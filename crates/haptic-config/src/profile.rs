//! Profile files: a scene, a device, and settings.

use crate::builtin::Library;
use crate::error::{FileErrors, Problem};
use crate::include;
use crate::keys::{Key, profile as keys, toml_number};
use crate::kind::FileKind;
use crate::section::{Document, Section};
use crate::source::Source;
use haptic_coupling::coupling::{GAIN_KEYS, Gains};
use haptic_coupling::key::KeyError;
use haptic_coupling::tank::Passivity;
use haptic_loop::settings::{
    MAPPING_KEYS, MappingSettings, SAFETY_KEYS, SIMULATED_ENGAGE_RAMP_S, Safety, SimulationOnly,
};
use nalgebra::Vector2;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Contents of a profile file.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Scene named in the profile.
    pub scene: Reference,
    /// Device named in the profile.
    pub device: Reference,
    /// Gains of the coupling between hand and tool.
    pub coupling: Gains,
    /// Locations of the gains in the profile.
    pub coupling_at: GainLocations,
    /// Mapping from the device frame to the world frame.
    pub mapping: MappingSettings,
    /// Limits that protect the hand and the device.
    pub safety: Protection,
    /// Settings that are not permitted on hardware.
    pub simulation_only: SimulationOnlySettings,
    /// Settings of the real-time thread, and the service rate.
    pub realtime: Realtime,
    /// Address on which the viewer listens.
    pub view_listen: SocketAddr,
    /// Text of the profile.
    pub source: Source,
    /// Warnings about unusual values.
    pub warnings: Vec<Problem>,
}

/// A reference to a file or a built-in.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Path of the file or name of the built-in.
    pub name: String,
    /// Folder for relative paths; `None` for the working directory.
    pub folder: Option<PathBuf>,
    /// Location of the key in the profile; `None` if the name comes from a flag or a default.
    location: Option<Problem>,
}

/// Locations of the linear gains in a profile, as problems without a description.
#[derive(Clone, Debug, PartialEq)]
pub struct GainLocations {
    /// Location of `stiffness_n_per_m`.
    pub stiffness: Problem,
    /// Location of `damping_n_s_per_m`.
    pub damping: Problem,
}

/// Limits that protect the hand and the device: the keys of `[safety]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Protection {
    /// Limits, with the default ramp for hardware if the profile gives no ramp.
    limits: Safety,
    /// Whether the profile specifies the engagement ramp.
    ramp_is_given: bool,
}

impl Protection {
    /// Returns the limits for a simulated device or for hardware; only the default ramp differs.
    pub fn limits(&self, simulated: bool) -> Safety {
        let shorter = simulated && !self.ramp_is_given;
        let engage_ramp_s = if shorter { SIMULATED_ENGAGE_RAMP_S } else { self.limits.engage_ramp_s };
        Safety { engage_ramp_s, ..self.limits }
    }
}

/// Settings permitted only on simulated devices, with their locations in the profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulationOnlySettings(Vec<(SimulationOnly, Problem)>);

impl SimulationOnlySettings {
    fn new(section: &Section<'_>, limits: &Safety) -> Self {
        let located = |rule: SimulationOnly| {
            let (problem, remedy) = (rule.problem.to_owned(), rule.remedy.to_owned());
            (rule, Problem { problem, remedy, ..section.location_of(rule.key) })
        };
        Self(limits.simulation_only().map(located).collect())
    }

    /// Rejects a profile that must not drive hardware; `i_know` permits running without the tank.
    ///
    /// # Errors
    /// If a setting removes a protection of the hand; every such setting is listed.
    pub fn reject_on_hardware(&self, i_know: bool) -> Result<(), FileErrors> {
        let refused = self.0.iter().filter(|(rule, _)| !(rule.can_be_confirmed && i_know));
        let refused: Vec<Problem> = refused.map(|(_, problem)| problem.clone()).collect();
        if refused.is_empty() { Ok(()) } else { Err(FileErrors(refused)) }
    }
}

/// Settings of the real-time thread, and the service rate: the keys of `[realtime]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Realtime {
    /// Service rate of the device, Hz; a divisor of 1000.
    pub rate_hz: u32,
    /// Core to pin the loop to; `None` to let the daemon choose.
    pub cpu: Option<u32>,
    /// Priority of the real-time thread, 1 to 99.
    pub priority: u8,
    /// Whether to lock the process memory.
    pub lock_memory: bool,
    /// Duration of the busy wait before each tick, ns.
    pub wake_early_ns: u64,
}

/// Reads a profile file.
///
/// # Errors
/// If the text has problems; the error lists all of them.
pub fn load(source: &Source) -> Result<Profile, FileErrors> {
    load_profile(source).map_err(|errors| FileKind::Profile.explain(source, errors))
}

fn load_profile(source: &Source) -> Result<Profile, FileErrors> {
    let document = Document::parse(source, &keys::PROFILE)?;
    let profile = profile(&document.root(), source);
    let warnings = document.warnings();
    document.finish(Some(Profile { warnings, ..profile }))
}

impl Reference {
    /// Creates a reference from a command-line flag.
    pub fn from_flag(name: &str) -> Self {
        Self { name: name.to_owned(), folder: None, location: None }
    }

    /// Whether the reference names a different file than `other`; the location of the key is ignored.
    pub fn differs_from(&self, other: &Self) -> bool {
        (&self.name, &self.folder) != (&other.name, &other.folder)
    }

    /// Opens the file, or the built-in of the library.
    ///
    /// # Errors
    /// If it cannot be opened. If the name comes from a profile, the error gives the location of the key.
    pub fn open(&self, library: &Library) -> Result<Source, FileErrors> {
        library.open(&self.name, self.folder.as_deref()).map_err(|errors| self.locate(errors))
    }

    /// Opens the scene, with the files that it includes.
    ///
    /// # Errors
    /// As [`Self::open`], and if a file cannot be included.
    pub fn open_scene(&self) -> Result<Source, FileErrors> {
        include::open_scene(&self.name, self.folder.as_deref()).map_err(|errors| self.locate(errors))
    }

    /// Adds to errors of the file where the profile names it.
    pub fn named_in(&self, errors: FileErrors) -> FileErrors {
        let place = self.place();
        let named = |problem: Problem| Problem { named_in: problem.named_in.or_else(|| place.clone()), ..problem };
        FileErrors(errors.0.into_iter().map(named).collect())
    }

    /// Returns where the profile names the file; `None` if a flag names it.
    fn place(&self) -> Option<String> {
        let Problem { file, position, .. } = self.location.as_ref()?;
        position.map(|position| format!("{file}:{}:{}", position.line, position.column))
    }

    /// Returns a problem of the file or built-in, at the key that names it if the name comes from a profile.
    pub fn problem(&self, problem: String, remedy: String) -> Problem {
        let location = self.location.clone().unwrap_or_else(|| Problem::in_file(&self.name, "", ""));
        Problem { problem, remedy, ..location }
    }

    fn locate(&self, errors: FileErrors) -> FileErrors {
        let Some(location) = &self.location else { return errors };
        let locate_one = |inner: Problem| {
            if inner.position.is_some() {
                return Problem { named_in: inner.named_in.or_else(|| self.place()), ..inner };
            }
            let problem = format!("'{}': {}", inner.file, inner.problem);
            // In a profile, a name is written rather than given with a flag.
            let name =
                inner.remedy.strip_prefix(&format!("give --{} ", location.key)).and_then(|rest| rest.split_once(';'));
            let remedy = name.map(|(name, rest)| format!("write {} = \"{name}\";{rest}", location.key));
            Problem { problem, remedy: remedy.unwrap_or(inner.remedy), ..location.clone() }
        };
        FileErrors(errors.0.into_iter().map(locate_one).collect())
    }
}

fn profile(root: &Section<'_>, source: &Source) -> Profile {
    let safety_section = root.section(&keys::SAFETY);
    let safety = protection(&safety_section);
    let coupling_section = root.section(&keys::COUPLING);
    let profile = Profile {
        scene: reference(root, &keys::SCENE, source),
        device: reference(root, &keys::DEVICE, source),
        coupling: coupling(&coupling_section),
        coupling_at: GainLocations::new(&coupling_section),
        mapping: mapping(&root.section(&keys::MAPPING)),
        simulation_only: SimulationOnlySettings::new(&safety_section, &safety.limits),
        safety,
        realtime: realtime(&root.section(&keys::REALTIME)),
        view_listen: view(&root.section(&keys::VIEW)),
        source: source.clone(),
        warnings: Vec::new(),
    };
    root.reject_unknown_keys();
    profile
}

fn reference(root: &Section<'_>, key: &'static Key, source: &Source) -> Reference {
    match root.text(key) {
        None => Reference::from_flag(key.example_text().trim_matches('"')),
        Some(name) => {
            Reference { name: name.to_owned(), folder: source.folder.clone(), location: Some(root.location(key)) }
        }
    }
}

impl GainLocations {
    fn new(section: &Section<'_>) -> Self {
        let location = |name| Problem { key: format!("coupling.{name}"), ..section.location_of(name) };
        Self { stiffness: location("stiffness_n_per_m"), damping: location("damping_n_s_per_m") }
    }
}

fn coupling(section: &Section<'_>) -> Gains {
    let coupling = section.settings(&GAIN_KEYS);
    section.reject_unknown_keys();
    coupling
}

fn mapping(section: &Section<'_>) -> MappingSettings {
    let numbers = section.settings(&MAPPING_KEYS);
    let (offset_m, rail) = (section.vector(&keys::OFFSET), section.flag(&keys::RAIL));
    let mapping = MappingSettings { offset_m, axis: axis(section), rail, ..numbers };
    section.reject_unknown_keys();
    mapping
}

fn axis(section: &Section<'_>) -> Vector2<f64> {
    section.vector(&keys::AXIS).try_normalize(f64::MIN_POSITIVE).unwrap_or_else(|| {
        let remedy = format!("write {}", keys::AXIS.example_line());
        section.error(&keys::AXIS, "has no direction: its length is zero", remedy);
        Vector2::x()
    })
}

fn protection(section: &Section<'_>) -> Protection {
    let numbers = section.settings(&SAFETY_KEYS);
    let passivity = section.choice(&keys::PASSIVITY, &Passivity::NAMES).unwrap_or(numbers.passivity);
    let limits = Safety { passivity, ..numbers };
    if let Err(KeyError { key, problem }) = limits.checked() {
        let shorter = format!("write {} = {}", keys::STALE_AFTER.name, toml_number(limits.lost_after_s));
        section.error_at(key, problem, shorter);
    }
    section.reject_unknown_keys();
    Protection { limits, ramp_is_given: section.has(&keys::ENGAGE_RAMP) }
}

fn realtime(section: &Section<'_>) -> Realtime {
    let realtime = Realtime {
        rate_hz: rate_hz(section),
        cpu: cpu(section),
        priority: section.whole(&keys::PRIORITY) as u8,
        lock_memory: section.flag(&keys::LOCK_MEMORY),
        wake_early_ns: (section.number(&keys::WAKE_EARLY) * 1e9).round() as u64,
    };
    section.reject_unknown_keys();
    realtime
}

/// Reads the service rate, Hz. The tick is fixed at 1 ms, but a device can be served every n-th tick.
fn rate_hz(section: &Section<'_>) -> u32 {
    let rate = section.whole(&keys::RATE);
    if 1000 % rate != 0 {
        let divisor = (1..=rate).rev().find(|divisor| 1000 % divisor == 0).unwrap_or(1000);
        section.error(&keys::RATE, format!("{rate} Hz does not divide 1000 Hz"), format!("write rate_hz = {divisor}"));
    }
    rate as u32
}

fn cpu(section: &Section<'_>) -> Option<u32> {
    if section.text_is(&keys::CPU, "auto") {
        return None;
    }
    section.optional_whole(&keys::CPU).map(|cpu| cpu as u32)
}

/// Default address of the viewer, `listen` in `[view]`.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8520);

fn view(section: &Section<'_>) -> SocketAddr {
    let text = section.text(&keys::LISTEN);
    section.reject_unknown_keys();
    let Some(text) = text else { return DEFAULT_LISTEN };
    text.parse().unwrap_or_else(|_| {
        let remedy = format!("write an address and a port, e.g. write {}", keys::LISTEN.example_line());
        section.error(&keys::LISTEN, format!("is not an address: {text:?}"), remedy);
        DEFAULT_LISTEN
    })
}

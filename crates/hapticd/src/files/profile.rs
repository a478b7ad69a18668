//! The profile file: which scene, which device, and how they are joined.

use super::builtin::{DEVICES, Library, SCENES};
use super::error::{FileErrors, Problem};
use super::rule::{ANY, NOT_ZERO, POSITIVE, ZERO_OR_MORE};
use super::section::{Document, Section};
use super::source::Source;
use nalgebra::Vector2;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A whole profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The scene.
    pub scene: Reference,
    /// The device.
    pub device: Reference,
    /// How the hand holds the tool.
    pub coupling: Coupling,
    /// From the device's frame to the world's.
    pub mapping: Mapping,
    /// What protects the hand and the device.
    pub safety: Safety,
    /// What of it is for models only.
    pub bareness: Bareness,
    /// How the loop runs.
    pub realtime: Realtime,
    /// Where the viewer listens.
    pub view_listen: SocketAddr,
}

/// A file or a built-in, as a profile names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// A path, or a built-in's name.
    pub name: String,
    /// The folder that a relative path starts from; `None`: the working directory.
    pub folder: Option<PathBuf>,
    /// Where it was said; `None` for a flag or a default.
    said_at: Option<Problem>,
}

/// How the hand holds the tool; the keys of `[coupling]`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the keys of the file, unit included")]
pub struct Coupling {
    pub stiffness_n_per_m: f64,
    pub damping_n_s_per_m: f64,
    pub angular_stiffness_n_m_per_rad: f64,
    pub angular_damping_n_m_s_per_rad: f64,
}

/// From the device's frame to the world's: x_world = offset + scale·R·x_device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mapping {
    /// World metres per device metre, not zero.
    pub scale: f64,
    /// Angle of R, rad, anticlockwise.
    pub rotation_rad: f64,
    /// Where the device's origin is in the world, m.
    pub offset_m: Vector2<f64>,
    /// Unit direction of a one-axis device in the world.
    pub axis: Vector2<f64>,
    /// With one axis: the handle stays on that line.
    pub rail: bool,
}

/// What protects the hand and the device; the keys of `[safety]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Safety {
    /// Largest force on the hand, N.
    pub max_force_n: f64,
    /// Fastest change of force, N/s; zero for no limit.
    pub slew_n_per_s: f64,
    /// How long the force takes to come up, s; `None`: the device decides ([`Safety::engage_ramp_or_default_s`]).
    pub engage_ramp_s: Option<f64>,
    /// No new reading for so long: zero force, s.
    pub stale_after_s: f64,
    /// No new reading for so long: a fault, s.
    pub lost_after_s: f64,
    /// Fastest hand that is believed, m/s.
    pub max_speed_m_per_s: f64,
    /// How energy is watched.
    pub passivity: Passivity,
}

/// The settings that are for models only, and where the profile makes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bareness(Vec<Problem>);

impl Bareness {
    /// Why the profile must not drive hardware.
    ///
    /// # Errors
    /// Every setting that takes away what protects a hand.
    pub fn refuse_on_hardware(&self) -> Result<(), FileErrors> {
        if self.0.is_empty() { Ok(()) } else { Err(FileErrors(self.0.clone())) }
    }
}

impl Safety {
    /// The ramp as given, else 0.2 s for a simulated device and 2 s for hardware.
    pub fn engage_ramp_or_default_s(&self, simulated: bool) -> f64 {
        self.engage_ramp_s.unwrap_or(if simulated { 0.2 } else { 2.0 })
    }
}

/// How energy is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passivity {
    /// The tank pays for every joule that goes out.
    Tank,
    /// Watched and reported only.
    Observer,
    /// Not at all.
    Off,
}

/// How the loop runs; the keys of `[realtime]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Realtime {
    /// How often the device is served, Hz; a divisor of 1000.
    pub rate_hz: u32,
    /// The processor that the loop is pinned to; `None`: chosen by the daemon.
    pub cpu: Option<u32>,
    /// Priority of the real-time thread, 1 to 99.
    pub priority: u8,
    /// Whether memory is locked.
    pub lock_memory: bool,
}

/// Reads a profile file.
///
/// # Errors
/// Everything that is wrong in the text.
pub fn load(source: &Source) -> Result<Profile, FileErrors> {
    let document = Document::parse(source)?;
    let profile = profile(&document.root(), source);
    document.conclude(Some(profile))
}

impl Reference {
    /// What a flag names.
    pub fn from_flag(name: &str) -> Self {
        Self { name: name.to_owned(), folder: None, said_at: None }
    }

    /// Opens it in the library of its kind.
    ///
    /// # Errors
    /// When it cannot be opened; told with the place where it was named, if that was in a file.
    pub fn open(&self, library: &Library) -> Result<Source, FileErrors> {
        library.open(&self.name, self.folder.as_deref()).map_err(|errors| self.blame(errors))
    }

    fn blame(&self, errors: FileErrors) -> FileErrors {
        let Some(place) = &self.said_at else { return errors };
        let blame_one = |inner: Problem| {
            let problem = format!("'{}': {}", inner.file, inner.problem);
            Problem { problem, remedy: inner.remedy, ..place.clone() }
        };
        FileErrors(errors.0.into_iter().map(blame_one).collect())
    }
}

fn profile(root: &Section<'_>, source: &Source) -> Profile {
    let safety_section = root.section("safety");
    let safety = safety(&safety_section);
    let profile = Profile {
        scene: reference(root, "scene", SCENES.entries[0].0, source),
        device: reference(root, "device", DEVICES.entries[0].0, source),
        coupling: coupling(&root.section("coupling")),
        mapping: mapping(&root.section("mapping")),
        bareness: bareness(&safety_section, &safety),
        safety,
        realtime: realtime(&root.section("realtime")),
        view_listen: view(&root.section("view")),
    };
    root.refuse_unknown();
    profile
}

fn reference(root: &Section<'_>, key: &'static str, default: &str, source: &Source) -> Reference {
    match root.text(key, default) {
        None => Reference::from_flag(default),
        Some(name) => {
            Reference { name: name.to_owned(), folder: source.folder.clone(), said_at: Some(root.place_of(key)) }
        }
    }
}

fn coupling(section: &Section<'_>) -> Coupling {
    let coupling = Coupling {
        stiffness_n_per_m: section.number("stiffness_n_per_m", 400.0, ZERO_OR_MORE),
        damping_n_s_per_m: section.number("damping_n_s_per_m", 0.1, ZERO_OR_MORE),
        angular_stiffness_n_m_per_rad: section.number("angular_stiffness_n_m_per_rad", 0.0, ZERO_OR_MORE),
        angular_damping_n_m_s_per_rad: section.number("angular_damping_n_m_s_per_rad", 0.0, ZERO_OR_MORE),
    };
    section.refuse_unknown();
    coupling
}

fn mapping(section: &Section<'_>) -> Mapping {
    let mapping = Mapping {
        scale: section.number("scale", 1.0, NOT_ZERO),
        rotation_rad: section.number("rotation_rad", 0.0, ANY),
        offset_m: section.vector("offset_m", Vector2::zeros(), ANY),
        axis: axis(section),
        rail: section.flag("rail", true),
    };
    section.refuse_unknown();
    mapping
}

fn axis(section: &Section<'_>) -> Vector2<f64> {
    let given = section.vector("axis", Vector2::x(), ANY);
    given.try_normalize(f64::MIN_POSITIVE).unwrap_or_else(|| {
        section.complain("axis", "has no direction: its length is zero", "write e.g. axis = [1.0, 0.0]");
        Vector2::x()
    })
}

fn safety(section: &Section<'_>) -> Safety {
    let passivities = [("tank", Passivity::Tank), ("observer", Passivity::Observer), ("off", Passivity::Off)];
    let safety = Safety {
        max_force_n: section.number("max_force_n", 4.0, POSITIVE),
        slew_n_per_s: section.number("slew_n_per_s", 2000.0, ZERO_OR_MORE),
        engage_ramp_s: section.optional_number("engage_ramp_s", 2.0, ZERO_OR_MORE),
        stale_after_s: section.number("stale_after_s", 0.005, POSITIVE),
        lost_after_s: section.number("lost_after_s", 0.1, POSITIVE),
        max_speed_m_per_s: section.number("max_speed_m_per_s", 3.0, POSITIVE),
        passivity: section.choice("passivity", &passivities, Passivity::Tank),
    };
    if safety.lost_after_s < safety.stale_after_s {
        let problem = format!("must not be less than stale_after_s, {}", safety.stale_after_s);
        section.complain("lost_after_s", problem, "write e.g. lost_after_s = 0.1");
    }
    section.refuse_unknown();
    safety
}

fn bareness(section: &Section<'_>, safety: &Safety) -> Bareness {
    let bare = |key: &str, problem: &str, remedy: &str| {
        let problem = format!("{problem} is for a simulated device or a prescribed hand only");
        Problem { problem, remedy: remedy.to_owned(), ..section.place_of(key) }
    };
    let no_ramp = safety.engage_ramp_s == Some(0.0);
    let no_slew = safety.slew_n_per_s == 0.0;
    let watching = safety.passivity == Passivity::Observer;
    let settings = [
        no_ramp.then(|| bare("engage_ramp_s", "no ramp", "write e.g. engage_ramp_s = 2.0")),
        no_slew.then(|| bare("slew_n_per_s", "no limit on the change of force", "write e.g. slew_n_per_s = 2000.0")),
        watching.then(|| bare("passivity", "only watching the energy", "write passivity = \"tank\"")),
    ];
    Bareness(settings.into_iter().flatten().collect())
}

fn realtime(section: &Section<'_>) -> Realtime {
    let realtime = Realtime {
        rate_hz: rate_hz(section),
        cpu: cpu(section),
        priority: section.whole("priority", 80, 1..=99) as u8,
        lock_memory: section.flag("lock_memory", true),
    };
    section.refuse_unknown();
    realtime
}

/// The simulation's step is fixed at 1 ms; a device may be served every n-th step.
fn rate_hz(section: &Section<'_>) -> u32 {
    let rate = section.whole("rate_hz", 1000, 1..=1000);
    if 1000 % rate != 0 {
        let remedy = "write a rate that divides 1000: 1000, 500, 250, 200, 125 or 100";
        section.complain("rate_hz", format!("{rate} Hz is not served every n-th millisecond"), remedy);
    }
    rate as u32
}

fn cpu(section: &Section<'_>) -> Option<u32> {
    if section.text_is("cpu", "auto") {
        return None;
    }
    section.optional_whole("cpu", 1, 0..=1023).map(|cpu| cpu as u32)
}

fn view(section: &Section<'_>) -> SocketAddr {
    const DEFAULT: &str = "127.0.0.1:8520";
    let text = section.text("listen", DEFAULT).unwrap_or(DEFAULT);
    section.refuse_unknown();
    text.parse().unwrap_or_else(|_| {
        let remedy = format!("write an address and a port, e.g. listen = \"{DEFAULT}\"");
        section.complain("listen", format!("is not an address: {text:?}"), remedy);
        SocketAddr::from(([127, 0, 0, 1], 8520))
    })
}

//! `hapticd check`: validates files and reports facts about them.

mod objections;
mod picture;
pub mod warnings;

use super::{print_json, print_line};
use crate::admission::{Judgement, WorstTick};
use crate::cli::CheckArguments;
use crate::failure::Failure;
use haptic_backends::KINDS;
use haptic_config::error::{FileErrors, Problem};
use haptic_config::kind::FileKind;
use haptic_config::proposals::Proposals;
use haptic_config::scene::{About, SceneFile};
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use haptic_config::stability::Stability;
use haptic_config::{device, hand, include, profile, scene};
use haptic_device::DeviceConfig;
use haptic_loop::settings::worst_axis;
use haptic_planar::scene::{Body, Scene};
use haptic_planar::tick::TICK_S;
use objections::Objections;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;
use warnings::{device_warnings, scene_warnings, unusual};

/// Time limit for measuring the worst-case tick of a scene.
const WORST_TICK_BUDGET: Duration = Duration::from_secs(2);

/// Runs the command.
///
/// # Errors
/// If a file is invalid, or a profile is not valid for its hardware; the failure lists all problems in all files. If the
/// only problem is that the machine is busy, it is not one of the input. If the picture cannot be written.
pub fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let draw = arguments.picture.as_deref().map(|out| picture::prepare(&arguments.files, out)).transpose()?;
    let findings: Vec<Finding> = arguments.files.iter().map(|path| Finding::new(path)).collect();
    if arguments.json {
        print_json(&serde_json::json!({ "files": findings }))?;
    } else {
        findings.iter().filter_map(Finding::text).try_for_each(|text| print_line(text.trim_end()))?;
    }
    draw.map_or(Ok(()), |draw| draw.write())?;
    let is_only_busy = findings.iter().all(|finding| finding.errors.is_empty() || finding.may_be_busy);
    let problems: Vec<Problem> = findings.into_iter().flat_map(|finding| finding.errors).collect();
    if problems.is_empty() {
        return Ok(());
    }
    let text = FileErrors(problems).to_string();
    Err(if is_only_busy { Failure::Runtime(text) } else { Failure::BadInput(text) })
}

/// Result of checking one file.
#[derive(Clone, Debug, Serialize)]
struct Finding {
    file: String,
    kind: Option<FileKind>,
    ok: bool,
    errors: Vec<Problem>,
    #[serde(skip)]
    may_be_busy: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(flatten)]
    facts: Option<Facts>,
}

/// Facts about a valid file.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Facts {
    Scene(SceneFacts),
    Profile(Box<ProfileFacts>),
    Device(DeviceFacts),
    Hand { seconds: f64, rows: usize },
}

#[derive(Clone, Debug, Serialize)]
struct SceneFacts {
    #[serde(flatten)]
    about: About,
    bodies: usize,
    fixed: usize,
    dynamic: usize,
    pieces: usize,
    near_pair_capacity: usize,
    tool: Option<String>,
    masses: Vec<Mass>,
    worst_tick: WorstTick,
}

#[derive(Clone, Debug, Serialize)]
struct Mass {
    body: String,
    mass_kg: f64,
    inertia_kg_m2: f64,
    centre_m: [f64; 2],
}

#[derive(Clone, Debug, Serialize)]
struct ProfileFacts {
    scene: String,
    device: String,
    stiffness_n_per_m: f64,
    damping_n_s_per_m: f64,
    max_force_n: f64,
    engage_ramp_s: f64,
    world: SceneFacts,
    stability: Stability,
}

#[derive(Clone, Debug, Serialize)]
struct DeviceFacts {
    device_kind: &'static str,
    axes: usize,
    mass_kg: Vec<f64>,
    damping_n_s_per_m: Vec<f64>,
    max_force_n: Vec<f64>,
    simulated_hand: bool,
    /// Gains proposed for a service rate of 1 kHz.
    proposals: Proposals,
}

impl Finding {
    fn new(path: &Path) -> Self {
        let blank = Self {
            file: path.display().to_string(),
            kind: None,
            ok: false,
            errors: Vec::new(),
            may_be_busy: false,
            warnings: Vec::new(),
            facts: None,
        };
        let source = match Source::read(path) {
            Ok(source) => source,
            Err(errors) => return Self { errors: errors.0, ..blank },
        };
        let kind = match FileKind::detect(&source) {
            Ok(kind) => kind,
            Err(errors) => return Self { errors: errors.0, ..blank },
        };
        let blank = Self { kind: Some(kind), ..blank };
        let source = if kind == FileKind::Scene { include::expanded(source) } else { Ok(source) };
        match source.and_then(|source| verdict(kind, &source)) {
            Ok(Verdict { facts, warnings, errors, may_be_busy }) => {
                Self { ok: errors.is_empty(), facts: Some(facts), warnings, errors, may_be_busy, ..blank }
            }
            Err(errors) => Self { errors: errors.0, ..blank },
        }
    }

    /// Describes a valid file; `None` for a file with errors, which are reported separately.
    fn text(&self) -> Option<String> {
        let facts = self.facts.as_ref().filter(|_| self.ok)?;
        let mut text = format!("{}: valid {}{}\n", self.file, facts.kind(), warning_count(self.warnings.len()));
        match facts {
            Facts::Scene(facts) => write_scene(&mut text, facts),
            Facts::Profile(facts) => write_profile(&mut text, facts),
            Facts::Device(facts) => write_device(&mut text, facts),
            Facts::Hand { seconds, rows } => writeln!(text, "  {rows} rows, {seconds} s"),
        }
        .ok()?;
        self.warnings.iter().try_for_each(|warning| writeln!(text, "  warning: {warning}")).ok()?;
        Some(text)
    }
}

impl Facts {
    fn kind(&self) -> &'static str {
        match self {
            Self::Scene(_) => "scene",
            Self::Profile(_) => "profile",
            Self::Device(_) => "device",
            Self::Hand { .. } => "hand",
        }
    }
}

fn warning_count(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        _ => format!(", {count} warnings"),
    }
}

/// What was found in a file that could be read.
struct Verdict {
    facts: Facts,
    warnings: Vec<String>,
    /// Reasons why a profile is not valid for its hardware.
    errors: Vec<Problem>,
    /// Whether the only reason may be that the machine was busy.
    may_be_busy: bool,
}

impl Verdict {
    fn valid(facts: Facts, warnings: Vec<String>) -> Self {
        Self { facts, warnings, errors: Vec::new(), may_be_busy: false }
    }
}

fn verdict(kind: FileKind, source: &Source) -> Result<Verdict, FileErrors> {
    match kind {
        FileKind::Scene => {
            let SceneFile { scene, about, warnings, .. } = scene::load_file(source)?;
            let facts = scene_facts(&scene, about);
            let cost = match facts.worst_tick.judgement() {
                Judgement::TooLong(text) => Some(format!("not valid for hardware: {text}")),
                Judgement::Fits | Judgement::Busy(_) => None,
            };
            let warnings = unusual(&warnings).chain(scene_warnings(&scene)).chain(cost).collect();
            Ok(Verdict::valid(Facts::Scene(facts), warnings))
        }
        FileKind::Profile => Ok(profile_verdict(&Setup::from_profile(profile::load(source)?, None, KINDS)?)),
        FileKind::Device => {
            let device = device::load(source, KINDS)?;
            Ok(Verdict::valid(Facts::Device(device_facts(&device)), device_warnings(&device)))
        }
        FileKind::Hand => {
            let hand = hand::load(source)?;
            let seconds = hand.rows().last().map_or(0.0, |row| row[0]);
            Ok(Verdict::valid(Facts::Hand { seconds, rows: hand.rows().len() }, Vec::new()))
        }
    }
}

fn profile_verdict(setup: &Setup) -> Verdict {
    let facts = profile_facts(setup);
    let Objections { problems, may_be_busy } = Objections::new(setup, &facts.world.worst_tick, &facts.stability);
    let mut warnings: Vec<String> = unusual(&setup.warnings)
        .chain(scene_warnings(&setup.scene))
        .chain(device_warnings(&setup.device))
        .chain(unusual(&facts.stability.warnings(&setup.profile.coupling_at)))
        .collect();
    let mut errors = Vec::new();
    match setup.is_simulated() {
        // A busy machine says nothing about a simulated device.
        true if may_be_busy => {}
        true => warnings.extend(problems.iter().map(|problem| format!("not valid for hardware: {problem}"))),
        false => errors = problems,
    }
    Verdict { facts: Facts::Profile(Box::new(facts)), warnings, errors, may_be_busy }
}

fn scene_facts(scene: &Scene, about: About) -> SceneFacts {
    let fixed = scene.bodies.iter().filter(|body| body.fixed).count();
    SceneFacts {
        about,
        bodies: scene.bodies.len(),
        fixed,
        dynamic: scene.bodies.len() - fixed,
        pieces: scene.pieces.len(),
        near_pair_capacity: scene.pair_capacity,
        tool: scene.tool.map(|tool| scene.bodies[tool.body].name.clone()),
        masses: scene.bodies.iter().filter(|body| !body.fixed).map(mass).collect(),
        worst_tick: WorstTick::measure(scene, WORST_TICK_BUDGET),
    }
}

fn mass(body: &Body) -> Mass {
    let Body { name, mass_kg, inertia_kg_m2, centre_m, .. } = body;
    Mass { body: name.clone(), mass_kg: *mass_kg, inertia_kg_m2: *inertia_kg_m2, centre_m: (*centre_m).into() }
}

fn profile_facts(setup: &Setup) -> ProfileFacts {
    ProfileFacts {
        scene: setup.profile.scene.name.clone(),
        device: setup.profile.device.name.clone(),
        stiffness_n_per_m: setup.profile.coupling.stiffness_n_per_m,
        damping_n_s_per_m: setup.profile.coupling.damping_n_s_per_m,
        max_force_n: setup.max_force_n(),
        engage_ramp_s: setup.settings().safety.engage_ramp_s,
        world: scene_facts(&setup.scene, setup.about.clone()),
        stability: Stability::new(setup),
    }
}

fn device_facts(device: &DeviceConfig) -> DeviceFacts {
    let of_axes = |values: [f64; 2]| values[..device.axes].to_vec();
    DeviceFacts {
        device_kind: device.kind.name,
        axes: device.axes,
        mass_kg: of_axes(device.model.mass_kg),
        damping_n_s_per_m: of_axes(device.model.damping_n_s_per_m),
        max_force_n: of_axes(device.model.max_force_n),
        simulated_hand: device.hand.is_some(),
        proposals: Proposals::new(&worst_axis(&device.model, device.axes as u8, TICK_S), 1.0),
    }
}

fn write_scene(text: &mut String, facts: &SceneFacts) -> std::fmt::Result {
    let SceneFacts { about, bodies, fixed, dynamic, pieces, near_pair_capacity, .. } = facts;
    for line in [&about.title, &about.description].into_iter().filter(|line| !line.is_empty()) {
        writeln!(text, "  {line}")?;
    }
    writeln!(text, "  bodies: {bodies} ({fixed} fixed, {dynamic} dynamic), convex pieces: {pieces}")?;
    writeln!(text, "  contact-pair capacity: {near_pair_capacity}")?;
    writeln!(text, "  {}", facts.worst_tick)?;
    writeln!(text, "  tool: {}", facts.tool.as_deref().unwrap_or("none"))?;
    writeln!(text, "  {:<24} {:>12} {:>14}  centre_m", "body", "mass_kg", "inertia_kg_m2")?;
    facts.masses.iter().try_for_each(|mass| {
        let Mass { body, mass_kg, inertia_kg_m2, centre_m: [x, y] } = mass;
        writeln!(text, "  {body:<24} {mass_kg:>12.6} {inertia_kg_m2:>14.4e}  [{x:.6}, {y:.6}]")
    })
}

fn write_profile(text: &mut String, facts: &ProfileFacts) -> std::fmt::Result {
    writeln!(text, "  scene {}, device {}", facts.scene, facts.device)?;
    writeln!(text, "  coupling {} N/m, {} N·s/m", facts.stiffness_n_per_m, facts.damping_n_s_per_m)?;
    writeln!(text, "  force up to {} N, ramp {} s", facts.max_force_n, facts.engage_ramp_s)?;
    let SceneFacts { bodies, pieces, near_pair_capacity, .. } = &facts.world;
    writeln!(text, "  bodies: {bodies}, convex pieces: {pieces}, contact-pair capacity: {near_pair_capacity}")?;
    writeln!(text, "  {}", facts.world.worst_tick)?;
    facts.stability.text.lines().try_for_each(|line| writeln!(text, "  {line}"))
}

fn write_device(text: &mut String, facts: &DeviceFacts) -> std::fmt::Result {
    let hand = if facts.simulated_hand { ", with a simulated hand" } else { "" };
    writeln!(text, "  {}, axes: {}{hand}", facts.device_kind, facts.axes)?;
    writeln!(text, "  mass {:?} kg, damping {:?} N·s/m", facts.mass_kg, facts.damping_n_s_per_m)?;
    writeln!(text, "  force up to {:?} N", facts.max_force_n)?;
    facts.proposals.to_string().lines().try_for_each(|line| writeln!(text, "  {line}"))
}

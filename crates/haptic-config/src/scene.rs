//! Scene files: bodies, pairs, the tool and its hand, from text to a checked [`SceneFile`].

use crate::error::FileErrors;
use crate::hand_path;
use crate::kind::FileKind;
use crate::overlap::{self, Overlap};
use crate::rule::{ANY, FRACTION, POSITIVE, ZERO_OR_MORE};
use crate::section::{Document, Section};
use crate::source::Source;
use haptic_device::Path;
use haptic_loop::scene_hand::SceneHand;
use haptic_planar::scene::description::{
    BodyDescription, ImpactState, PairDescription, RestitutionLaw, SceneDescription, ShapeDescription, ToolDescription,
};
use haptic_planar::scene::{Place, Scene, SceneError, UnknownName};
use nalgebra::Vector2;

/// Maximum number of overlaps reported; a grid with a wrong pitch can have thousands.
const MAX_OVERLAPS_REPORTED: usize = 10;

/// Contents of a scene file.
#[derive(Clone, Debug)]
pub struct SceneFile {
    /// The scene.
    pub scene: Scene,
    /// The scene's simulated hand.
    pub hand: SceneHand,
}

/// Reads a scene file and builds the scene, without its simulated hand.
///
/// # Errors
/// If the text has problems, which the error lists, or if the scene cannot be built.
pub fn load(source: &Source) -> Result<Scene, FileErrors> {
    load_file(source).map(|file| file.scene)
}

/// Reads a scene file and builds the scene.
///
/// # Errors
/// If the text has problems, which the error lists, or if the scene cannot be built.
pub fn load_file(source: &Source) -> Result<SceneFile, FileErrors> {
    parse(source).map_err(|errors| FileKind::Scene.explain(source, errors))
}

fn parse(source: &Source) -> Result<SceneFile, FileErrors> {
    let document = Document::parse(source)?;
    let file = {
        let sections = SceneSections::new(&document);
        let (description, hand) = (sections.describe(), hand(&sections.hand));
        let scene = if document.is_clean() { sections.build(&description) } else { None };
        scene.map(|scene| SceneFile { scene, hand })
    };
    document.finish(file)
}

/// Returns the permitted top-level keys of scene files, for the test that compares them with the table in
/// [`crate::kind`].
#[cfg(test)]
pub(crate) fn keys(empty: &Document<'_>) -> Vec<&'static str> {
    SceneSections::new(empty).root.asked_keys()
}

/// Reads a scene file without building the scene, so overlaps, for example, are not checked.
///
/// # Errors
/// If the text has problems; the error lists all of them.
pub fn describe(source: &Source) -> Result<SceneDescription, FileErrors> {
    let document = Document::parse(source)?;
    let description = {
        let sections = SceneSections::new(&document);
        hand(&sections.hand);
        sections.describe()
    };
    document.finish(Some(description))
}

const RESTITUTION_LAWS: [(&str, RestitutionLaw); 2] =
    [("stronge", RestitutionLaw::Stronge), ("poisson", RestitutionLaw::Poisson)];

const IMPACT_STATES: [(&str, ImpactState); 7] = [
    ("inter-state", ImpactState::InterState),
    ("inter-state-as-printed", ImpactState::InterStateAsPrinted),
    ("exact", ImpactState::Exact),
    ("previous", ImpactState::Previous),
    ("previous-position", ImpactState::PreviousPosition),
    ("limited-search", ImpactState::LimitedSearch),
    ("force-impulse", ImpactState::ForceImpulse),
];

#[derive(Clone, Copy, PartialEq)]
enum Order {
    First,
    Second,
}

/// Sections of a scene file, kept so that errors found while building the scene can be reported at their locations.
struct SceneSections<'d> {
    root: Section<'d>,
    world: Section<'d>,
    bodies: Vec<Section<'d>>,
    pairs: Vec<Section<'d>>,
    tool: Section<'d>,
    hand: Section<'d>,
}

impl<'d> SceneSections<'d> {
    fn new(document: &'d Document<'_>) -> Self {
        let root = document.root();
        let world = root.section("world");
        let (bodies, pairs) = (root.sections("body"), root.sections("pair"));
        let (tool, hand) = (root.section("tool"), root.section("hand"));
        if root.has("joint") {
            root.error("joint", "joints are not yet supported", "remove the [[joint]] sections");
        }
        root.reject_unknown_keys();
        Self { root, world, bodies, pairs, tool, hand }
    }

    fn describe(&self) -> SceneDescription {
        if self.bodies.is_empty() && !self.root.has("body") {
            self.root.error("body", "a scene needs at least one body", "write [[body]] with a name and a shape");
        }
        let bodies = self.bodies.iter().filter_map(body).collect();
        let pairs = self.pairs.iter().filter_map(pair).collect();
        let tool = self.tool.is_present().then(|| tool(&self.tool)).flatten();
        SceneDescription { bodies, pairs, tool, ..world(&self.world) }
    }

    fn build(&self, description: &SceneDescription) -> Option<Scene> {
        let scene = Scene::build(description).map_err(|error| self.scene_error(&error)).ok()?;
        for overlap in overlap::find(&scene, MAX_OVERLAPS_REPORTED) {
            self.overlap_error(&scene, &overlap);
        }
        Some(scene)
    }

    fn overlap_error(&self, scene: &Scene, overlap: &Overlap) {
        let [first, second] = [overlap.first, overlap.second].map(|body| &scene.bodies[body].name);
        let problem = format!("`{second}` starts {:.2} mm inside `{first}`", overlap.depth_m * 1e3);
        let remedy = "move them apart, or put them on different layers";
        self.bodies[overlap.second].error("position_m", problem, remedy);
    }

    fn scene_error(&self, error: &SceneError) {
        let (section, key) = match error.place {
            Place::World(key) => (Some(&self.world), key),
            Place::Body(index, key) => (self.bodies.get(index), key),
            Place::Pair(index, key) => (self.pairs.get(index), key),
            Place::Tool(key) => (Some(&self.tool), key),
        };
        let suggestion = error.unknown_name.as_deref().and_then(suggestion);
        let remedy = suggestion.as_ref().unwrap_or(&error.remedy);
        section.unwrap_or(&self.root).error(key, &error.problem, remedy);
    }
}

/// Suggests the body whose name is closest to an unknown name, if at most two letters, or a third of the letters of a
/// longer name, differ. Ties are broken alphabetically.
fn suggestion(unknown: &UnknownName) -> Option<String> {
    let max_edits = (unknown.name.chars().count() / 3).max(2);
    let edits = |candidate: &str| strsim::osa_distance(&unknown.name.to_lowercase(), &candidate.to_lowercase());
    let scored = unknown.candidates.iter().map(|candidate| (edits(candidate), candidate));
    let near = scored.filter(|&(edits, candidate)| edits <= max_edits && edits < candidate.chars().count());
    near.min_by_key(|&(edits, _)| edits).map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

fn world(section: &Section<'_>) -> SceneDescription {
    let default = SceneDescription::default();
    let description = SceneDescription {
        gravity_m_per_s2: section.vector("gravity_m_per_s2", default.gravity_m_per_s2, ANY),
        restitution_law: section.choice("restitution_law", &RESTITUTION_LAWS, default.restitution_law),
        impact_state: section.choice("impact_state", &IMPACT_STATES, default.impact_state),
        rolling_friction: section.number("rolling_friction", default.rolling_friction, ZERO_OR_MORE),
        air_drag_n_m_s_per_rad: section.number("air_drag_n_m_s_per_rad", default.air_drag_n_m_s_per_rad, ZERO_OR_MORE),
        ..default
    };
    let orders = [("second", Order::Second), ("first", Order::First)];
    if section.choice("order", &orders, Order::Second) == Order::First {
        section.error("order", "first-order worlds are not yet supported", "write order = \"second\"");
    }
    section.reject_unknown_keys();
    description
}

fn body(section: &Section<'_>) -> Option<BodyDescription> {
    if !section.is_present() {
        return None;
    }
    let name = required_text(section, "name", "probe");
    let shape = shape(section);
    let default = BodyDescription::new("", ShapeDescription::Disc { radius_m: 0.0 });
    let body = BodyDescription {
        fixed: section.flag("fixed", default.fixed),
        position_m: section.vector("position_m", default.position_m, ANY),
        angle_rad: section.number("angle_rad", default.angle_rad, ANY),
        rounding_m: section.number("rounding_m", default.rounding_m, ZERO_OR_MORE),
        density_kg_per_m2: section.number("density_kg_per_m2", default.density_kg_per_m2, POSITIVE),
        mass_kg: section.optional_number("mass_kg", 0.1, POSITIVE),
        inertia_kg_m2: section.optional_number("inertia_kg_m2", 1e-5, POSITIVE),
        friction: section.number("friction", default.friction, ZERO_OR_MORE),
        restitution: section.number("restitution", default.restitution, FRACTION),
        velocity_m_per_s: section.vector("velocity_m_per_s", default.velocity_m_per_s, ANY),
        angular_velocity_rad_per_s: section.number("spin_rad_per_s", default.angular_velocity_rad_per_s, ANY),
        layer: section.whole("layer", 0, i64::from(i32::MIN)..=i64::from(i32::MAX)) as i32,
        colour: colour(section, &default.colour),
        ..default
    };
    section.reject_unknown_keys();
    if section.has("mass_kg") && section.has("density_kg_per_m2") {
        let problem = "is given besides mass_kg, which overrides it";
        section.error("density_kg_per_m2", problem, "write mass_kg or density_kg_per_m2, not both");
    }
    Some(BodyDescription { name: name?.to_owned(), shape: shape?, ..body })
}

fn required_text<'d>(section: &Section<'d>, key: &'static str, example: &str) -> Option<&'d str> {
    if !section.has(key) {
        section.error(key, "is missing", format!("write e.g. {key} = \"{example}\""));
    }
    section.text(key, example)
}

fn colour(section: &Section<'_>, default: &str) -> String {
    let text = section.text("colour", default).unwrap_or(default);
    let digits = text.strip_prefix('#').unwrap_or_default();
    if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let remedy = format!("write # and six hexadecimal digits, e.g. colour = \"{default}\"");
        section.error("colour", format!("is not a colour: {text:?}"), remedy);
    }
    text.to_owned()
}

fn shape(body: &Section<'_>) -> Option<ShapeDescription> {
    const REMEDY: &str = "write one of shape = { box_m = [0.02, 0.01] }, { disc_radius_m = 0.01 }, \
                          { polygon_m = [[0.0, 0.0], [0.02, 0.0], [0.0, 0.02]] }, \
                          { capsule_m = { length_m = 0.02, radius_m = 0.005 } }";
    if !body.has("shape") {
        body.error("shape", "is missing", REMEDY);
        return None;
    }
    let section = body.section("shape");
    if !section.is_present() {
        return None;
    }
    let shapes = [disc(&section), box_shape(&section), polygon(&section), capsule(&section)];
    let has_unknown = section.reject_unknown_keys();
    match ["disc_radius_m", "box_m", "polygon_m", "capsule_m"].into_iter().filter(|key| section.has(key)).count() {
        1 => {}
        // The misspelt outline key has already been reported.
        0 if has_unknown => {}
        0 => body.error("shape", "has no outline", REMEDY),
        _ => body.error("shape", "has more than one outline", REMEDY),
    }
    shapes.into_iter().flatten().next()
}

fn disc(section: &Section<'_>) -> Option<ShapeDescription> {
    let radius_m = section.optional_number("disc_radius_m", 0.01, POSITIVE)?;
    Some(ShapeDescription::Disc { radius_m })
}

fn box_shape(section: &Section<'_>) -> Option<ShapeDescription> {
    let given = section.has("box_m");
    given.then(|| ShapeDescription::Box { size_m: section.vector("box_m", Vector2::new(0.02, 0.01), POSITIVE) })
}

fn polygon(section: &Section<'_>) -> Option<ShapeDescription> {
    section.points("polygon_m").map(|corners_m| ShapeDescription::Polygon { corners_m })
}

fn capsule(section: &Section<'_>) -> Option<ShapeDescription> {
    let capsule = section.section("capsule_m");
    if !capsule.is_present() {
        return None;
    }
    for key in ["length_m", "radius_m"].into_iter().filter(|key| !capsule.has(key)) {
        capsule.error(key, "is missing", "write capsule_m = { length_m = 0.02, radius_m = 0.005 }");
    }
    let length_m = capsule.number("length_m", 0.02, POSITIVE);
    let radius_m = capsule.number("radius_m", 0.005, POSITIVE);
    capsule.reject_unknown_keys();
    Some(ShapeDescription::Capsule { length_m, radius_m })
}

fn pair(section: &Section<'_>) -> Option<PairDescription> {
    const EXAMPLE: &str = "[\"table\", \"probe\"]";
    if !section.is_present() {
        return None;
    }
    if !section.has("bodies") {
        section.error("bodies", "is missing", format!("write e.g. bodies = {EXAMPLE}"));
    }
    let bodies = section.two_texts("bodies", EXAMPLE);
    let friction = section.optional_number("friction", 0.5, ZERO_OR_MORE);
    let restitution = section.optional_number("restitution", 0.2, FRACTION);
    section.reject_unknown_keys();
    Some(PairDescription { bodies: bodies?, friction, restitution })
}

fn tool(section: &Section<'_>) -> Option<ToolDescription> {
    let body = required_text(section, "body", "probe").map(str::to_owned);
    let handle_m = section.vector("handle_m", Vector2::zeros(), ANY);
    let weightless = section.flag("weightless", false);
    section.reject_unknown_keys();
    Some(ToolDescription { body: body?, handle_m, weightless })
}

/// Reads the scene's simulated hand. Its positions are in the world frame.
fn hand(section: &Section<'_>) -> SceneHand {
    let default = SceneHand::default();
    let start_m = section.has("start_m").then(|| section.vector("start_m", Vector2::new(0.0, 0.03), ANY));
    let (rows, looped) = (section.triples("path"), section.flag("loop", true));
    let idle_s = section.number("idle_s", default.idle_s, ZERO_OR_MORE);
    section.reject_unknown_keys();
    if let Some(rows) = &rows {
        hand_path::check(section, rows, looped);
    }
    SceneHand { start_m, path: rows.and_then(|rows| Path::new(rows, looped).ok()), idle_s }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(name: &str, candidates: &[&str]) -> Option<String> {
        let candidates = candidates.iter().map(|&candidate| candidate.to_owned()).collect();
        suggestion(&UnknownName { name: name.to_owned(), candidates })
    }

    #[test]
    fn typing_slips_find_the_body() {
        let bodies = ["ball", "friction pad", "table"];
        assert_eq!(suggested("tabel", &bodies).as_deref(), Some("did you mean `table`?"));
        assert_eq!(suggested("Tabel", &bodies).as_deref(), Some("did you mean `table`?"));
        assert_eq!(suggested("fricton pad", &bodies).as_deref(), Some("did you mean `friction pad`?"));
    }

    #[test]
    fn a_name_unlike_all_others_finds_none() {
        assert_eq!(suggested("sponge", &["probe", "table"]), None);
        assert_eq!(suggested("", &["probe"]), None);
    }

    #[test]
    fn the_first_wins_a_draw() {
        assert_eq!(suggested("tile3", &["tile1", "tile2"]).as_deref(), Some("did you mean `tile1`?"));
    }
}

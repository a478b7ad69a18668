//! Scene files: bodies, pairs, the tool and its hand, from text to a checked [`SceneFile`].

use crate::error::{FileErrors, Problem};
use crate::hand_path;
use crate::keys::scene as keys;
use crate::kind::FileKind;
use crate::overlap::{self, Overlap};
use crate::section::{Document, Section};
use crate::source::Source;
use haptic_device::Path;
use haptic_loop::scene_hand::SceneHand;
use haptic_planar::scene::description::{
    BodyDescription, PairDescription, SceneDescription, ShapeDescription, ToolDescription,
};
use haptic_planar::scene::{Place, Scene, SceneError, UnknownName};

/// Maximum number of overlaps reported; a grid with a wrong pitch can have thousands.
const MAX_OVERLAPS_REPORTED: usize = 10;

/// Contents of a scene file.
#[derive(Clone, Debug)]
pub struct SceneFile {
    /// The scene.
    pub scene: Scene,
    /// The scene's simulated hand.
    pub hand: SceneHand,
    /// Warnings about unusual values.
    pub warnings: Vec<Problem>,
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
    let document = Document::parse(source, &keys::SCENE)?;
    let file = {
        let sections = SceneSections::new(&document);
        let (description, hand) = (sections.describe(), hand(&sections.hand));
        let scene = if document.is_clean() { sections.build(&description) } else { None };
        scene.map(|scene| SceneFile { scene, hand, warnings: document.warnings() })
    };
    document.finish(file)
}

/// Reads a scene file without building the scene, so overlaps, for example, are not checked.
///
/// # Errors
/// If the text has problems; the error lists all of them.
pub fn describe(source: &Source) -> Result<SceneDescription, FileErrors> {
    let document = Document::parse(source, &keys::SCENE)?;
    let description = {
        let sections = SceneSections::new(&document);
        hand(&sections.hand);
        sections.describe()
    };
    document.finish(Some(description))
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
        let world = root.section(&keys::WORLD);
        let (bodies, pairs) = (root.sections(&keys::BODY), root.sections(&keys::PAIR));
        let (tool, hand) = (root.section(&keys::TOOL), root.section(&keys::HAND));
        if root.has(&keys::JOINT) {
            root.error(&keys::JOINT, "joints are not yet supported", "remove the [[joint]] sections");
        }
        root.reject_unknown_keys();
        Self { root, world, bodies, pairs, tool, hand }
    }

    fn describe(&self) -> SceneDescription {
        if self.bodies.is_empty() && !self.root.has(&keys::BODY) {
            let remedy = "write [[body]] with a name and a shape, as `hapticd new scene NAME` does";
            self.root.error(&keys::BODY, "a scene needs at least one body", remedy);
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
        self.bodies[overlap.second].error(&keys::POSITION_M, problem, remedy);
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
        section.unwrap_or(&self.root).error_at(key, &error.problem, remedy);
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
        gravity_m_per_s2: section.vector(&keys::GRAVITY),
        restitution_law: section
            .choice(&keys::RESTITUTION_LAW, &keys::RESTITUTION_LAWS)
            .unwrap_or(default.restitution_law),
        impact_state: section.choice(&keys::IMPACT_STATE, &keys::IMPACT_STATES).unwrap_or(default.impact_state),
        rolling_friction: section.number(&keys::ROLLING_FRICTION),
        air_drag_n_m_s_per_rad: section.number(&keys::AIR_DRAG),
        ..default
    };
    if section.text_is(&keys::ORDER, "first") {
        section.error(&keys::ORDER, "first-order worlds are not yet supported", "write order = \"second\"");
    } else {
        section.choice(&keys::ORDER, &[("second", ())]);
    }
    section.reject_unknown_keys();
    description
}

fn body(section: &Section<'_>) -> Option<BodyDescription> {
    if !section.is_present() {
        return None;
    }
    section.is_incomplete();
    let (name, shape) = (section.text(&keys::NAME), shape(section));
    let body = BodyDescription {
        fixed: section.flag(&keys::FIXED),
        position_m: section.vector(&keys::POSITION_M),
        angle_rad: section.number(&keys::ANGLE_RAD),
        rounding_m: section.number(&keys::ROUNDING),
        density_kg_per_m2: section.number(&keys::DENSITY),
        mass_kg: section.optional_number(&keys::MASS),
        inertia_kg_m2: section.optional_number(&keys::INERTIA),
        friction: section.number(&keys::FRICTION),
        restitution: section.number(&keys::RESTITUTION),
        velocity_m_per_s: section.vector(&keys::VELOCITY_M_PER_S),
        angular_velocity_rad_per_s: section.number(&keys::SPIN),
        layer: section.whole(&keys::LAYER) as i32,
        colour: colour(section),
        ..BodyDescription::new("", ShapeDescription::Disc { radius_m: 0.0 })
    };
    section.reject_unknown_keys();
    if section.has(&keys::MASS) && section.has(&keys::DENSITY) {
        let problem = "is given besides mass_kg, which overrides it";
        let remedy = format!("write {} or {}, not both", keys::MASS.example_line(), keys::DENSITY.example_line());
        section.error(&keys::DENSITY, problem, remedy);
    }
    Some(BodyDescription { name: name?.to_owned(), shape: shape?, ..body })
}

fn colour(section: &Section<'_>) -> String {
    let default = keys::COLOUR.example_text().trim_matches('"').to_owned();
    let Some(text) = section.text(&keys::COLOUR) else { return default };
    let digits = text.strip_prefix('#').unwrap_or_default();
    if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let remedy = format!("write # and six hexadecimal digits, e.g. write {}", keys::COLOUR.example_line());
        section.error(&keys::COLOUR, format!("is not a colour: {text:?}"), remedy);
    }
    text.to_owned()
}

fn shape(body: &Section<'_>) -> Option<ShapeDescription> {
    if !body.has(&keys::SHAPE) {
        return None;
    }
    let section = body.section(&keys::SHAPE);
    if !section.is_present() {
        return None;
    }
    let shapes = [disc(&section), box_shape(&section), polygon(&section), capsule(&section)];
    let has_unknown = section.reject_unknown_keys();
    let names: Vec<&str> = keys::SHAPE_SECTION.alternatives().map(|key| key.name).collect();
    let names = names.join(", ");
    let remedy = format!("write {}; a shape has one of {names}", keys::SHAPE.example_line());
    match keys::SHAPE_SECTION.alternatives().filter(|key| section.has(key)).count() {
        1 => {}
        // The misspelt outline key has already been reported.
        0 if has_unknown => {}
        0 => body.error(&keys::SHAPE, "has no outline", remedy),
        _ => body.error(&keys::SHAPE, "has more than one outline", remedy),
    }
    shapes.into_iter().flatten().next()
}

fn disc(section: &Section<'_>) -> Option<ShapeDescription> {
    section.optional_number(&keys::DISC_RADIUS).map(|radius_m| ShapeDescription::Disc { radius_m })
}

fn box_shape(section: &Section<'_>) -> Option<ShapeDescription> {
    section.optional_vector(&keys::BOX).map(|size_m| ShapeDescription::Box { size_m })
}

fn polygon(section: &Section<'_>) -> Option<ShapeDescription> {
    section.points(&keys::POLYGON).map(|corners_m| ShapeDescription::Polygon { corners_m })
}

fn capsule(section: &Section<'_>) -> Option<ShapeDescription> {
    let capsule = section.section(&keys::CAPSULE);
    if !capsule.is_present() {
        return None;
    }
    capsule.is_incomplete();
    let length_m = capsule.number(&keys::CAPSULE_LENGTH);
    let radius_m = capsule.number(&keys::CAPSULE_RADIUS);
    capsule.reject_unknown_keys();
    Some(ShapeDescription::Capsule { length_m, radius_m })
}

fn pair(section: &Section<'_>) -> Option<PairDescription> {
    if !section.is_present() {
        return None;
    }
    section.is_incomplete();
    let bodies = section.two_texts(&keys::PAIR_BODIES);
    let friction = section.optional_number(&keys::PAIR_FRICTION);
    let restitution = section.optional_number(&keys::PAIR_RESTITUTION);
    section.reject_unknown_keys();
    Some(PairDescription { bodies: bodies?, friction, restitution })
}

fn tool(section: &Section<'_>) -> Option<ToolDescription> {
    section.is_incomplete();
    let body = section.text(&keys::TOOL_BODY).map(str::to_owned);
    let (handle_m, weightless) = (section.vector(&keys::HANDLE), section.flag(&keys::WEIGHTLESS));
    section.reject_unknown_keys();
    Some(ToolDescription { body: body?, handle_m, weightless })
}

/// Reads the scene's simulated hand. Its positions are in the world frame.
fn hand(section: &Section<'_>) -> SceneHand {
    let start_m = section.optional_vector(&keys::HAND_START);
    let (rows, looped) = (section.triples(&keys::HAND_PATH), section.flag(&keys::HAND_LOOP));
    let idle_s = section.number(&keys::HAND_IDLE);
    section.reject_unknown_keys();
    if let Some(rows) = &rows {
        hand_path::check(section, &keys::HAND_PATH, rows, looped);
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

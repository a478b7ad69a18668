//! Scene files: bodies, pairs, the tool and its hand, from text to a checked [`SceneFile`].

mod body;
mod repeat;

use crate::error::{FileErrors, Problem};
use crate::hand_path;
use crate::keys::scene as keys;
use crate::kind::FileKind;
use crate::overlap::{self, Overlap};
use crate::section::{Document, Section};
use crate::source::Source;
use haptic_device::Path;
use haptic_loop::scene_hand::SceneHand;
use haptic_planar::scene::description::{BodyDescription, Bounds, PairDescription, SceneDescription, ToolDescription};
use haptic_planar::scene::{Place, Scene, SceneError, UnknownName};
use repeat::Repeat;

/// Maximum number of overlaps reported; a grid with a wrong pitch can have thousands.
const MAX_OVERLAPS_REPORTED: usize = 10;

/// Contents of a scene file.
#[derive(Clone, Debug)]
pub struct SceneFile {
    /// The scene.
    pub scene: Scene,
    /// Title and description.
    pub about: About,
    /// The scene's simulated hand.
    pub hand: SceneHand,
    /// Warnings about unusual values.
    pub warnings: Vec<Problem>,
}

/// What a scene file says about its scene.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct About {
    /// Short name; empty if the file gives none.
    pub title: String,
    /// What there is to feel; empty if the file does not say.
    pub description: String,
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
        let (about, description, hand) = (sections.about(), sections.describe(), hand(&sections.hand));
        let scene = if document.is_clean() { sections.build(&description) } else { None };
        scene.map(|scene| SceneFile { scene, about, hand, warnings: document.warnings() })
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

/// Reads title and description of a scene file; both are empty if the text has problems.
pub fn about(source: &Source) -> About {
    let read = |document: Document<'_>| SceneSections::new(&document).about();
    Document::parse(source, &keys::SCENE).map(read).unwrap_or_default()
}

/// Sections of a scene file, kept so that errors found while building the scene can be reported at their locations.
struct SceneSections<'d> {
    root: Section<'d>,
    about: About,
    world: Section<'d>,
    bodies: Vec<Section<'d>>,
    templates: Vec<Section<'d>>,
    repeats: Vec<Section<'d>>,
    /// Contents of the repeats, in the same order.
    rows: Vec<Repeat>,
    /// What follows from each `[[body]]` and `[[repeat]]`, in file order.
    entries: Vec<Entry>,
    pairs: Vec<Section<'d>>,
    tool: Section<'d>,
    hand: Section<'d>,
}

/// A `[[body]]` or a `[[repeat]]`.
#[derive(Clone, Copy)]
enum Entry {
    /// Index of the body in the file.
    Body(usize),
    /// Index of the repeat in the file.
    Repeat(usize),
}

impl<'d> SceneSections<'d> {
    fn new(document: &'d Document<'_>) -> Self {
        let root = document.root();
        let world = root.section(&keys::WORLD);
        let (bodies, pairs) = (root.sections(&keys::BODY), root.sections(&keys::PAIR));
        let (templates, repeats) = (root.sections(&keys::TEMPLATE), root.sections(&keys::REPEAT));
        let (tool, hand) = (root.section(&keys::TOOL), root.section(&keys::HAND));
        let text = |key| root.text(key).unwrap_or_default().to_owned();
        let about = About { title: text(&keys::TITLE), description: text(&keys::DESCRIPTION) };
        if root.has(&keys::JOINT) {
            root.error(&keys::JOINT, "joints are not yet supported", "remove the [[joint]] sections");
        }
        if root.has(&keys::INCLUDE) {
            let remedy = "remove include and write the [[body]] sections of the other file here";
            root.error(&keys::INCLUDE, "a scene without a folder cannot include files", remedy);
        }
        root.reject_unknown_keys();
        let rows = rows(&bodies, &templates, &repeats);
        let entries = entries(&bodies, &repeats);
        Self { root, about, world, bodies, templates, repeats, rows, entries, pairs, tool, hand }
    }

    fn about(&self) -> About {
        self.about.clone()
    }

    fn describe(&self) -> SceneDescription {
        let is_empty = self.bodies.is_empty() && self.repeats.is_empty();
        if is_empty && !self.root.has(&keys::BODY) && !self.root.has(&keys::REPEAT) {
            let remedy = "write [[body]] with a name and a shape, as `hapticd new scene NAME` does";
            self.root.error(&keys::BODY, "a scene needs at least one body", remedy);
        }
        let bodies = self.entries.iter().flat_map(|entry| self.bodies_of(*entry)).collect();
        let pairs = self.pairs.iter().filter_map(pair).collect();
        let tool = self.tool.is_present().then(|| tool(&self.tool)).flatten();
        SceneDescription { bodies, pairs, tool, ..world(&self.world) }
    }

    fn bodies_of(&self, entry: Entry) -> Vec<BodyDescription> {
        match entry {
            Entry::Body(index) => body::body(&self.bodies[index]).into_iter().collect(),
            Entry::Repeat(index) => self.rows[index].copies.clone(),
        }
    }

    /// Returns the section that a body of the scene comes from, by the index of the body in the scene.
    fn origin(&self, body: usize) -> Option<Entry> {
        let mut end = 0;
        self.entries.iter().copied().find(|entry| {
            end += match *entry {
                Entry::Body(_) => 1,
                Entry::Repeat(index) => self.rows[index].copies.len(),
            };
            body < end
        })
    }

    fn build(&self, description: &SceneDescription) -> Option<Scene> {
        let scene = Scene::build(description).map_err(|error| self.scene_error(&error)).ok()?;
        for overlap in overlap::find(&scene, MAX_OVERLAPS_REPORTED) {
            self.overlap_error(&scene, &overlap);
        }
        Some(scene)
    }

    fn overlap_error(&self, scene: &Scene, overlap: &Overlap) {
        let [first, second] = [overlap.first, overlap.second].map(|body| &scene.bodies[body]);
        let depth_mm = overlap.depth_m * 1e3;
        let problem = format!("`{}` starts {depth_mm:.2} mm inside `{}`", second.name, first.name);
        match [overlap.first, overlap.second].map(|body| self.origin(body)) {
            [Some(Entry::Repeat(one)), Some(Entry::Repeat(other))] if one == other => {
                let size_m = 2.0 * (second.reach_m + second.centre_m.norm());
                let remedy = repeat::longer_step(self.rows[one].step_m, size_m);
                self.repeats[one].error(&keys::STEP_M, problem, remedy);
            }
            origins => {
                let layer = if second.layer == i32::MAX { second.layer - 1 } else { second.layer + 1 };
                let remedy = format!("move them apart, or write layer = {layer} so that they do not touch");
                match origins[1] {
                    Some(Entry::Repeat(index)) => self.repeats[index].error(&keys::REPEAT_POSITION, problem, remedy),
                    Some(Entry::Body(index)) => self.bodies[index].error(&keys::POSITION_M, problem, remedy),
                    None => self.root.error(&keys::BODY, problem, remedy),
                }
            }
        }
    }

    fn scene_error(&self, error: &SceneError) {
        let (section, key) = match error.place {
            Place::World(key) => (Some(&self.world), key),
            Place::Body(index, key) => (self.section_of_body(index, key), key),
            Place::Shape(body, index, key) => return self.shape_error(body, index, key, error),
            Place::Pair(index, key) => (self.pairs.get(index), key),
            Place::Tool(key) => (Some(&self.tool), key),
        };
        let remedy = match (error.unknown_name.as_deref(), error.place) {
            (Some(unknown), Place::Tool(_)) => meant_body(unknown, |name| format!("write {key} = \"{name}\"")),
            (Some(unknown), _) => meant_body(unknown, |name| format!("write \"{name}\" instead")),
            (None, _) => error.remedy.clone(),
        };
        section.unwrap_or(&self.root).error_at(key, &error.problem, remedy);
    }

    /// Reports a problem with one of several shapes of a body.
    fn shape_error(&self, body: usize, index: usize, key: &str, error: &SceneError) {
        let Some(section) = self.section_of_body(body, key) else { return };
        match section.sections(&keys::SHAPES).get(index) {
            Some(shape) if key != keys::SHAPE.name => shape.error_at(key, &error.problem, &error.remedy),
            _ => section.row_error(&keys::SHAPES, index, &error.problem, &error.remedy),
        }
    }

    /// Returns the section that defines a key of a body of the scene: for a copy, its repeat or its template.
    fn section_of_body(&self, body: usize, key: &str) -> Option<&Section<'d>> {
        match self.origin(body)? {
            Entry::Body(index) => self.bodies.get(index),
            Entry::Repeat(index) if key == keys::REPEAT_NAME.name || key == keys::REPEAT_POSITION.name => {
                self.repeats.get(index)
            }
            Entry::Repeat(index) => self.templates.get(self.rows[index].template),
        }
    }
}

/// Reads the repeats. Together with the bodies, they make at most [`keys::MAX_BODIES`] bodies.
fn rows(bodies: &[Section<'_>], templates: &[Section<'_>], repeats: &[Section<'_>]) -> Vec<Repeat> {
    let templates = repeat::templates(templates);
    let mut room = keys::MAX_BODIES.saturating_sub(bodies.len());
    let read = |section| {
        let row = repeat::repeat(section, &templates, room);
        room -= row.copies.len();
        row
    };
    repeats.iter().map(read).collect()
}

/// Returns the bodies and repeats in file order, which is the order of the bodies in the scene.
fn entries(bodies: &[Section<'_>], repeats: &[Section<'_>]) -> Vec<Entry> {
    let bodies = bodies.iter().enumerate().map(|(index, section)| (section.start(), Entry::Body(index)));
    let repeats = repeats.iter().enumerate().map(|(index, section)| (section.start(), Entry::Repeat(index)));
    let mut entries: Vec<_> = bodies.chain(repeats).collect();
    entries.sort_by_key(|(start, _)| *start);
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// Returns the remedy for an unknown name of a body: the line with the name that was probably meant, or with one that
/// exists.
fn meant_body(unknown: &UnknownName, line: impl Fn(&str) -> String) -> String {
    match (suggestion(unknown), unknown.candidates.first()) {
        (Some(name), _) => format!("did you mean `{name}`? {}", line(name)),
        (None, Some(first)) => {
            let names: Vec<_> = unknown.candidates.iter().take(8).map(|name| format!("`{name}`")).collect();
            format!("{}; the scene's bodies are {}", line(first), names.join(", "))
        }
        (None, None) => "write [[body]] with this name".to_owned(),
    }
}

/// Returns the body whose name is closest to an unknown name, if at most two letters, or a third of the letters of a
/// longer name, differ. Ties are broken alphabetically.
fn suggestion(unknown: &UnknownName) -> Option<&str> {
    let max_edits = (unknown.name.chars().count() / 3).max(2);
    let edits = |candidate: &str| strsim::osa_distance(&unknown.name.to_lowercase(), &candidate.to_lowercase());
    let scored = unknown.candidates.iter().map(|candidate| (edits(candidate), candidate));
    let near = scored.filter(|&(edits, candidate)| edits <= max_edits && edits < candidate.chars().count());
    near.min_by_key(|&(edits, _)| edits).map(|(_, candidate)| candidate.as_str())
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
        bounds: bounds(section),
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

fn bounds(section: &Section<'_>) -> Option<Bounds> {
    let leave = section.choice(&keys::LEAVE, &keys::LEAVES).unwrap_or_default();
    let corners = section.points(&keys::BOUNDS)?;
    if let [one, other] = corners[..] {
        return Some(Bounds { corners_m: [one, other], leave });
    }
    let remedy = format!("give two opposite corners: write {}", keys::BOUNDS.example_line());
    section.error(&keys::BOUNDS, format!("must be two points, got {}", corners.len()), remedy);
    None
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
        suggestion(&UnknownName { name: name.to_owned(), candidates }).map(str::to_owned)
    }

    #[test]
    fn typing_slips_find_the_body() {
        let bodies = ["ball", "friction pad", "table"];
        assert_eq!(suggested("tabel", &bodies).as_deref(), Some("table"));
        assert_eq!(suggested("Tabel", &bodies).as_deref(), Some("table"));
        assert_eq!(suggested("fricton pad", &bodies).as_deref(), Some("friction pad"));
    }

    #[test]
    fn a_name_unlike_all_others_finds_none() {
        assert_eq!(suggested("sponge", &["probe", "table"]), None);
        assert_eq!(suggested("", &["probe"]), None);
    }

    #[test]
    fn the_first_wins_a_draw() {
        assert_eq!(suggested("tile3", &["tile1", "tile2"]).as_deref(), Some("tile1"));
    }
}

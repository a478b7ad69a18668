//! Lays out a scene on a page: bodies to scale, the paths of hand and tool, names, a scale bar and gravity.

use crate::bounds::Bounds;
use crate::colour::Rgb;
use crate::drawing::{Anchor, Area, Drawing, Line, Mark, Point, Text};
use crate::labels::{self, Block, Named};
use crate::placement::Placement;
use crate::quantity::quantity;
use crate::touch::contact_points_m;
use crate::view::{BodyView, SceneView, ShapeView};
use haptic_planar::scene::Scene;
use haptic_planar::scene::polygon::signed_area_m2;
use nalgebra::Vector2;

/// Width of the page, points.
const WIDTH: f64 = 960.0;
/// Maximum height of the scene, points.
const MAX_HEIGHT: f64 = 720.0;
/// Margin around the scene, points.
const MARGIN: f64 = 36.0;
/// Height of the footer with scale bar and gravity, points.
const FOOTER_HEIGHT: f64 = 46.0;
/// Length of the arrow for a force of 1 N, points.
const POINTS_PER_N: f64 = 42.0;

/// Minimum distance between successive vertices of a drawn path, points.
const MIN_SPACING: f64 = 0.6;
/// Maximum number of bodies for which names are written.
const MAX_NAMES: usize = 24;

const BACKGROUND: Rgb = Rgb(0xfb, 0xfb, 0xfd);
const RIM: Rgb = Rgb(0xd5, 0xdb, 0xe3);
const INK: Rgb = Rgb(0x33, 0x41, 0x55);
const FAINT: Rgb = Rgb(0x94, 0xa3, 0xb8);
const FORCE: Rgb = Rgb(0xd9, 0x48, 0x0f);
const WHITE: Rgb = Rgb(255, 255, 255);
const BLACK: Rgb = Rgb(0, 0, 0);

/// A scene to draw.
#[derive(Clone, Debug)]
pub struct Content {
    /// Appearance of the scene.
    pub view: SceneView,
    /// Poses of the bodies.
    pub placements: Vec<Placement>,
    /// Paths of hand and tool up to the poses in `placements`, if the scene was run.
    pub trail: Option<Trail>,
    /// Title of the scene; empty if it has none.
    pub title: String,
}

impl Content {
    /// Creates the content for a scene at its start.
    pub fn at_start(scene: &Scene) -> Self {
        let view = SceneView::new(scene);
        Self { placements: view.start().to_vec(), view, trail: None, title: String::new() }
    }

    /// Returns the content with a title.
    pub fn titled(self, title: &str) -> Self {
        Self { title: title.to_owned(), ..self }
    }
}

/// Paths of hand and tool during a run, and the final force.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trail {
    /// Duration of the run, s.
    pub seconds: f64,
    /// Positions of the hand, world frame, m.
    pub hand_m: Vec<Vector2<f64>>,
    /// Positions of the tool's handle, world frame, m.
    pub handle_m: Vec<Vector2<f64>>,
    /// Force on the hand at the end, world frame, N.
    pub force_n: Vector2<f64>,
}

/// Selection of annotations on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Annotations {
    /// Names of bodies, scale and gravity.
    All,
    /// Scale and gravity.
    NoNames,
    /// No text and no background, for thumbnails.
    None,
}

/// Draws a scene on a page.
pub fn compose(content: &Content, annotations: Annotations) -> Drawing {
    let page = Page::new(content, if annotations == Annotations::None { 0.0 } else { FOOTER_HEIGHT });
    let mut drawing = Drawing { size: page.size, title: title(content), marks: Vec::new() };
    if annotations != Annotations::None {
        draw_background(&mut drawing);
    }
    draw_bodies(&mut drawing, &page, content);
    if let Some(trail) = &content.trail {
        draw_paths(&mut drawing, &page, content, trail);
    }
    draw_tool(&mut drawing, &page, content);
    if let Some(trail) = &content.trail {
        draw_hand(&mut drawing, &page, content, trail);
    }
    if annotations == Annotations::All {
        write_names(&mut drawing, &page, content);
    }
    if annotations != Annotations::None {
        draw_footer(&mut drawing, &page, content);
    }
    drawing
}

/// Projection of the world frame onto the page.
struct Page {
    size: Vector2<f64>,
    points_per_m: f64,
    /// Position of the world's origin on the page.
    origin: Point,
}

impl Page {
    fn new(content: &Content, footer: f64) -> Self {
        let bounds = shown(content);
        let size_m = bounds.size_m().sup(&Vector2::repeat(1e-6));
        let space = Vector2::new(WIDTH - 2.0 * MARGIN, MAX_HEIGHT);
        let points_per_m = (space.x / size_m.x).min(space.y / size_m.y);
        let world = size_m * points_per_m;
        let left = (WIDTH - world.x) / 2.0;
        let origin = Vector2::new(left - bounds.low_m.x * points_per_m, MARGIN + bounds.high_m.y * points_per_m);
        Self { size: Vector2::new(WIDTH, (world.y + 2.0 * MARGIN + footer).ceil()), points_per_m, origin }
    }

    fn to_page(&self, point_m: Vector2<f64>) -> Point {
        self.origin + Vector2::new(point_m.x, -point_m.y) * self.points_per_m
    }

    fn all_to_page(&self, points_m: &[Vector2<f64>]) -> Vec<Point> {
        points_m.iter().map(|&point_m| self.to_page(point_m)).collect()
    }

    fn block(&self, bounds: &Bounds) -> Block {
        let (low, high) = (self.to_page(bounds.low_m), self.to_page(bounds.high_m));
        Block { low: low.inf(&high), high: low.sup(&high) }
    }
}

/// Returns the extent of the bodies and paths shown on the page. Bodies that fell far out of the scene are cut off,
/// because including them would make the rest too small.
fn shown(content: &Content) -> Bounds {
    let start = &content.view.bounds;
    let limit = start.widened(start.size_m().amax());
    let mut bounds = content.view.bounds_of(&content.placements).common(&limit).joined(start);
    for &point_m in content.trail.iter().flat_map(|trail| trail.hand_m.iter().chain(&trail.handle_m)) {
        bounds.add(point_m, 0.0);
    }
    bounds
}

fn title(content: &Content) -> String {
    if !content.title.is_empty() {
        return content.title.clone();
    }
    let names: Vec<&str> = content.view.bodies.iter().take(12).map(|body| &*body.name).collect();
    format!("A scene with {}", names.join(", "))
}

fn draw_background(drawing: &mut Drawing) {
    let (width, height) = (drawing.size.x, drawing.size.y);
    let corners = [[8.0, 8.0], [width - 8.0, 8.0], [width - 8.0, height - 8.0], [8.0, height - 8.0]];
    let outlines = vec![corners.iter().map(|&corner| Point::from(corner)).collect()];
    drawing.area(Area { outlines, grown_by: 7.0, fill: BACKGROUND, edge: RIM, edge_width: 1.0 });
}

/// Draws all bodies except the tool: fixed bodies first, then dynamic ones.
fn draw_bodies(drawing: &mut Drawing, page: &Page, content: &Content) {
    for fixed in [true, false] {
        let view = &content.view;
        let bodies = view.bodies.iter().zip(&content.placements).enumerate();
        let is_drawn = |index: usize, body: &BodyView, placement: &Placement| {
            body.fixed == fixed && !view.is_tool(index) && !placement.is_removed
        };
        for (index, _) in bodies.filter(|(index, (body, placement))| is_drawn(*index, body, placement)) {
            draw_areas(drawing, &body_areas(page, content, index));
        }
    }
}

/// Returns the areas of the shapes of a body.
fn body_areas(page: &Page, content: &Content, index: usize) -> Vec<Area> {
    let (body, placement) = (&content.view.bodies[index], &content.placements[index]);
    let area = |shape: &ShapeView| Area {
        outlines: shape.outlines_in_world(placement).iter().map(|outline| page.all_to_page(outline)).collect(),
        grown_by: shape.radius_m * page.points_per_m,
        fill: body.colour,
        edge: body.colour.mixed(BLACK, 0.35),
        edge_width: 1.5,
    };
    body.shapes.iter().map(area).collect()
}

/// Draws the areas of one body. Those of several shapes are filled again, so that no edge is left inside the body.
fn draw_areas(drawing: &mut Drawing, areas: &[Area]) {
    areas.iter().for_each(|area| drawing.area(area.clone()));
    if areas.len() > 1 {
        for area in areas {
            let grown_by = (area.grown_by - area.edge_width / 2.0).max(0.0);
            drawing.area(Area { grown_by, edge_width: 0.0, ..area.clone() });
        }
    }
}

fn draw_paths(drawing: &mut Drawing, page: &Page, content: &Content, trail: &Trail) {
    let tool_colour = content.view.tool.map_or(INK, |(tool, _)| content.view.bodies[tool].colour);
    let paths = [(&trail.hand_m, FAINT, Some(5.0), 1.4, 0.9), (&trail.handle_m, tool_colour, None, 2.0, 0.6)];
    for (path_m, colour, dash, width, opacity) in paths {
        if path_m.len() > 1 {
            let points = thinned(page.all_to_page(path_m));
            drawing.marks.push(Mark::Line(Line { points, colour, width, dash, opacity }));
        }
    }
}

/// Removes points that are too close together to be distinguished.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::with_capacity(points.len());
    for point in points {
        if kept.last().is_none_or(|last| (last - point).norm() >= MIN_SPACING) {
            kept.push(point);
        }
    }
    kept
}

/// Draws the tool with a halo, so that it stands out from the bodies it touches.
fn draw_tool(drawing: &mut Drawing, page: &Page, content: &Content) {
    let Some((tool, _)) = content.view.tool else { return };
    let areas = body_areas(page, content, tool);
    areas.iter().for_each(|area| drawing.area(Area { edge: WHITE, edge_width: 6.0, ..area.clone() }));
    let areas: Vec<Area> = areas.into_iter().map(|area| Area { edge_width: 2.2, ..area }).collect();
    draw_areas(drawing, &areas);
    if let Some(handle_m) = content.view.handle_m(&content.placements) {
        drawing.disc(page.to_page(handle_m), 4.0, WHITE, INK);
    }
}

/// Draws contact points, the coupling, the hand and the force on it.
fn draw_hand(drawing: &mut Drawing, page: &Page, content: &Content, trail: &Trail) {
    for point_m in contact_points_m(&content.view, &content.placements) {
        drawing.disc(page.to_page(point_m), 3.0, FORCE, WHITE);
    }
    let (Some(&hand_m), Some(handle_m)) = (trail.hand_m.last(), content.view.handle_m(&content.placements)) else {
        return;
    };
    let hand = page.to_page(hand_m);
    drawing.line(vec![page.to_page(handle_m), hand], INK, 1.5);
    drawing.disc(hand, 5.5, FAINT, INK);
    let force = Vector2::new(trail.force_n.x, -trail.force_n.y) * POINTS_PER_N;
    drawing.arrow(hand, hand + force, FORCE, 3.0);
}

/// Writes the names, unless there are so many that they would hide the bodies.
fn write_names(drawing: &mut Drawing, page: &Page, content: &Content) {
    let view = &content.view;
    if view.bodies.len() > MAX_NAMES {
        return;
    }
    let drawn = (0..view.bodies.len()).filter(|&index| !content.placements[index].is_removed);
    let mut named: Vec<Named> = drawn.map(|index| named(page, content, index)).collect();
    // Dynamic bodies are named first; the names of fixed ones use the remaining space.
    named.sort_by_key(|one| !one.moves);
    let taken: Vec<Block> = busy_blocks(page, content);
    let whole = Block { low: Point::repeat(14.0), high: page.size - Vector2::new(14.0, FOOTER_HEIGHT + 4.0) };
    labels::write_names(drawing, &whole, &named, &taken, INK);
}

/// Returns the name of a body and its position on the page. The name of solid ground includes the coefficient of
/// friction with the tool.
fn named(page: &Page, content: &Content, index: usize) -> Named {
    let body = &content.view.bodies[index];
    let bounds = body.bounds(&content.placements[index]);
    let covered_m2: f64 =
        body.shapes.iter().flat_map(|shape| &shape.outlines).map(|outline| signed_area_m2(outline).abs()).sum();
    let is_solid = body.fixed && covered_m2 > 0.9 * bounds.size_m().product();
    let is_ground = is_solid && bounds.size_m().x > bounds.size_m().y && content.view.tool.is_some();
    let friction = if is_ground { format!(" · μ {:.2}", body.friction_with_tool) } else { String::new() };
    let areas = body_areas(page, content, index);
    let (text, block) = (body.name.clone() + &friction, page.block(&bounds));
    Named { text, block, areas, colour: body.colour, is_solid, moves: !body.fixed }
}

/// Returns the blocks that names must not cover: the hand, the force, and the paths of hand and tool.
fn busy_blocks(page: &Page, content: &Content) -> Vec<Block> {
    let Some(trail) = &content.trail else { return Vec::new() };
    let Some(&hand_m) = trail.hand_m.last() else { return Vec::new() };
    let hand = page.to_page(hand_m);
    let tip = hand + Vector2::new(trail.force_n.x, -trail.force_n.y) * POINTS_PER_N;
    let gap = Vector2::repeat(8.0);
    let arrow = Block { low: hand.inf(&tip) - gap, high: hand.sup(&tip) + gap };
    let points = trail.hand_m.iter().chain(&trail.handle_m);
    points.map(|&point_m| Block::around(page.to_page(point_m), Vector2::repeat(2.0))).chain([arrow]).collect()
}

fn draw_footer(drawing: &mut Drawing, page: &Page, content: &Content) {
    let line = page.size.y - 30.0;
    draw_scale_bar(drawing, page, Point::new(MARGIN, line));
    draw_gravity(drawing, content, Point::new(WIDTH - MARGIN, line));
    let run = content
        .trail
        .as_ref()
        .map(|trail| format!("after {} s · force on the hand {}", trail.seconds, quantity(trail.force_n.norm(), "N")));
    let title = Some(content.title.clone()).filter(|title| !title.is_empty());
    let text = title.into_iter().chain(run).collect::<Vec<_>>().join(" · ");
    if !text.is_empty() {
        write(drawing, Point::new(WIDTH / 2.0, line + 4.0), Anchor::Middle, text);
    }
}

fn draw_scale_bar(drawing: &mut Drawing, page: &Page, at: Point) {
    let length_m = round_length_m(WIDTH / 7.0 / page.points_per_m);
    let length = length_m * page.points_per_m;
    let end = at + Vector2::new(length, 0.0);
    drawing.line(vec![at, end], INK, 2.0);
    for tick in [at, end] {
        drawing.line(vec![tick - Vector2::new(0.0, 5.0), tick + Vector2::new(0.0, 5.0)], INK, 2.0);
    }
    write(drawing, end + Vector2::new(10.0, 4.0), Anchor::Start, length_text(length_m));
}

/// Returns the largest number that is 1, 2 or 5 times a power of ten and not above `max_m`, m.
fn round_length_m(max_m: f64) -> f64 {
    let decade = libm::pow(10.0, max_m.log10().floor());
    [5.0, 2.0, 1.0].iter().map(|step| step * decade).find(|length_m| *length_m <= max_m * 1.0001).unwrap_or(decade)
}

fn length_text(length_m: f64) -> String {
    match length_m {
        _ if length_m >= 0.9995 => format!("{length_m:.0} m"),
        _ if length_m >= 0.000_999_5 => format!("{:.0} mm", length_m * 1e3),
        _ => format!("{:.0} µm", length_m * 1e6),
    }
}

fn draw_gravity(drawing: &mut Drawing, content: &Content, at: Point) {
    let pull = content.view.gravity_m_per_s2;
    let Some(direction) = Vector2::new(pull.x, -pull.y).try_normalize(1e-12) else {
        return write(drawing, at + Vector2::new(0.0, 4.0), Anchor::End, "no gravity".to_owned());
    };
    let middle = at - Vector2::new(6.0, 0.0);
    drawing.arrow(middle - direction * 14.0, middle + direction * 14.0, INK, 2.0);
    write(
        drawing,
        at + Vector2::new(-26.0, 4.0),
        Anchor::End,
        format!("{} m/s²", (pull.norm() * 100.0).round() / 100.0),
    );
}

fn write(drawing: &mut Drawing, at: Point, anchor: Anchor, text: String) {
    drawing.text(Text { at, anchor, text, size: labels::SIZE, colour: INK });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_bars_have_round_lengths() {
        let lengths = [0.0449, 0.05, 0.0199, 0.013, 1.7].map(|longest| length_text(round_length_m(longest)));
        assert_eq!(lengths, ["20 mm", "50 mm", "10 mm", "10 mm", "1 m"]);
        assert_eq!(length_text(round_length_m(0.000_03)), "20 µm");
    }
}

//! Writes drawings as PNG.

use crate::colour::Rgb;
use crate::drawing::{Area, Drawing, Line, Mark, Point, Text};
use crate::letters::Letters;
use std::fmt;
use tiny_skia::{FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

/// Pixels per point; more than one, so that pictures are sharp on high-density screens.
const PIXELS_PER_POINT: f32 = 2.0;

/// Encodes a drawing as a PNG file.
///
/// # Errors
/// If the page is too large or cannot be encoded.
pub fn write(drawing: &Drawing) -> Result<Vec<u8>, PngError> {
    let pixels = drawing.size * f64::from(PIXELS_PER_POINT);
    let (width, height) = (pixels.x.ceil() as u32, pixels.y.ceil() as u32);
    let failed = |problem: String| PngError { width, height, problem };
    let pixmap = Pixmap::new(width, height).ok_or_else(|| failed("is too large; write .svg instead".to_owned()))?;
    let mut page = Page { pixmap, letters: Letters::new() };
    for mark in &drawing.marks {
        match mark {
            Mark::Area(area) => page.area(area),
            Mark::Line(line) => page.line(line),
            Mark::Text(text) => page.text(text),
        }
    }
    page.pixmap.encode_png().map_err(|error| failed(format!("cannot be encoded: {error}")))
}

/// Error for a drawing that cannot be written as PNG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PngError {
    /// Width of the picture, pixels.
    pub width: u32,
    /// Height of the picture, pixels.
    pub height: u32,
    /// Description of the problem, with a remedy if there is one.
    pub problem: String,
}

impl fmt::Display for PngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a picture of {}×{} pixels {}", self.width, self.height, self.problem)
    }
}

impl std::error::Error for PngError {}

struct Page {
    pixmap: Pixmap,
    letters: Letters,
}

impl Page {
    /// Draws an area. A grown area is drawn by stroking its outlines twice: first with a wider pen in the edge colour,
    /// then with a narrower one in the fill colour.
    fn area(&mut self, area: &Area) {
        let half_edge = area.edge_width / 2.0;
        if area.grown_by > 0.0 {
            self.pen_strokes(&area.outlines, area.grown_by + half_edge, area.edge);
            self.pen_strokes(&area.outlines, area.grown_by - half_edge, area.fill);
            return;
        }
        let Some(path) = closed_path(&area.outlines) else { return };
        self.fill(&path, area.fill, FillRule::Winding);
        if area.edge_width > 0.0 {
            self.stroke(&path, area.edge, area.edge_width, None, 1.0);
        }
    }

    /// Draws outlines with a round pen. A hole is an outline of its own, so all of them are one path.
    fn pen_strokes(&mut self, outlines: &[Vec<Point>], radius: f64, colour: Rgb) {
        let (points, lines): (Vec<_>, Vec<_>) = outlines.iter().cloned().partition(|outline| outline.len() == 1);
        for centre in points.into_iter().flatten() {
            let circle = PathBuilder::from_circle(centre.x as f32, centre.y as f32, radius.max(1e-3) as f32);
            circle.iter().for_each(|path| self.fill(path, colour, FillRule::Winding));
        }
        if let Some(path) = closed_path(&lines) {
            self.fill(&path, colour, FillRule::Winding);
            self.stroke(&path, colour, 2.0 * radius.max(0.0), None, 1.0);
        }
    }

    fn line(&mut self, line: &Line) {
        let mut builder = PathBuilder::new();
        for (index, point) in line.points.iter().enumerate() {
            match index {
                0 => builder.move_to(point.x as f32, point.y as f32),
                _ => builder.line_to(point.x as f32, point.y as f32),
            }
        }
        if let Some(path) = builder.finish() {
            self.stroke(&path, line.colour, line.width, line.dash, line.opacity);
        }
    }

    fn text(&mut self, text: &Text) {
        let before = self.letters.width(&text.text, text.size) * text.anchor.fraction();
        if let Some(path) = self.letters.outline(&text.text, text.size, text.at.x - before, text.at.y) {
            self.fill(&path, text.colour, FillRule::Winding);
        }
    }

    fn fill(&mut self, path: &Path, colour: Rgb, rule: FillRule) {
        self.pixmap.fill_path(path, &paint(colour, 1.0), rule, to_pixels(), None);
    }

    fn stroke(&mut self, path: &Path, colour: Rgb, width: f64, dash: Option<f64>, opacity: f64) {
        let dash = dash.and_then(|length| StrokeDash::new(vec![length as f32, length as f32], 0.0));
        let (line_cap, line_join) = (LineCap::Round, LineJoin::Round);
        let stroke = Stroke { width: width as f32, line_cap, line_join, dash, ..Stroke::default() };
        self.pixmap.stroke_path(path, &paint(colour, opacity), &stroke, to_pixels(), None);
    }
}

fn to_pixels() -> Transform {
    Transform::from_scale(PIXELS_PER_POINT, PIXELS_PER_POINT)
}

fn paint(Rgb(red, green, blue): Rgb, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, (opacity * 255.0).round() as u8);
    paint
}

fn closed_path(outlines: &[Vec<Point>]) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for outline in outlines {
        for (index, point) in outline.iter().enumerate() {
            match index {
                0 => builder.move_to(point.x as f32, point.y as f32),
                _ => builder.line_to(point.x as f32, point.y as f32),
            }
        }
        builder.close();
    }
    builder.finish()
}

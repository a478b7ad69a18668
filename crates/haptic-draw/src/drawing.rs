//! A drawing on a page, independent of the file format: marks stacked on each other, in points, with y downwards.

use crate::colour::Rgb;
use nalgebra::Vector2;

/// Position on the page, in points from the upper left corner.
pub type Point = Vector2<f64>;

/// A page with marks on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Width and height, points.
    pub size: Vector2<f64>,
    /// Description for screen readers.
    pub title: String,
    /// Marks, from bottom to top.
    pub marks: Vec<Mark>,
}

/// A mark on the page.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A filled area.
    Area(Area),
    /// A line through points.
    Line(Line),
    /// A short text.
    Text(Text),
}

/// A filled area with an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    /// Closed outlines. A single point is the core of a disc; two points are the core of a capsule.
    pub outlines: Vec<Vec<Point>>,
    /// Radius by which the outlines are grown, points.
    pub grown_by: f64,
    /// Colour of the area.
    pub fill: Rgb,
    /// Colour of the edge.
    pub edge: Rgb,
    /// Width of the edge, points; zero for none.
    pub edge_width: f64,
}

/// A line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Points of the line; at least two.
    pub points: Vec<Point>,
    /// Colour.
    pub colour: Rgb,
    /// Width, points.
    pub width: f64,
    /// Length of each dash and of each gap, points; `None` for a solid line.
    pub dash: Option<f64>,
    /// Opacity, 0 to 1.
    pub opacity: f64,
}

/// A short text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Position of the anchor on the baseline.
    pub at: Point,
    /// Which part of the text lies at `at`.
    pub anchor: Anchor,
    /// The text itself.
    pub text: String,
    /// Font size, points.
    pub size: f64,
    /// Colour.
    pub colour: Rgb,
}

/// Part of a text that is placed at the given position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Start of the text.
    Start,
    /// Middle of the text.
    Middle,
    /// End of the text.
    End,
}

impl Anchor {
    /// Returns the fraction of a text's width that precedes the anchor.
    pub fn fraction(self) -> f64 {
        match self {
            Self::Start => 0.0,
            Self::Middle => 0.5,
            Self::End => 1.0,
        }
    }
}

impl Drawing {
    /// Adds an area.
    pub fn area(&mut self, area: Area) {
        self.marks.push(Mark::Area(area));
    }

    /// Adds a solid, opaque line.
    pub fn line(&mut self, points: Vec<Point>, colour: Rgb, width: f64) {
        self.marks.push(Mark::Line(Line { points, colour, width, dash: None, opacity: 1.0 }));
    }

    /// Adds a text.
    pub fn text(&mut self, text: Text) {
        self.marks.push(Mark::Text(text));
    }

    /// Adds a disc.
    pub fn disc(&mut self, centre: Point, radius: f64, fill: Rgb, edge: Rgb) {
        self.area(Area { outlines: vec![vec![centre]], grown_by: radius, fill, edge, edge_width: 1.5 });
    }

    /// Adds an arrow, unless it would be shorter than its head.
    pub fn arrow(&mut self, from: Point, to: Point, colour: Rgb, width: f64) {
        let head = width * 3.2;
        let along = to - from;
        let Some(direction) = along.try_normalize(1e-9).filter(|_| along.norm() > head) else { return };
        let neck = to - direction * head;
        let aside = Vector2::new(-direction.y, direction.x) * (head * 0.48);
        self.line(vec![from, neck], colour, width);
        let outlines = vec![vec![to, neck + aside, neck - aside]];
        self.area(Area { outlines, grown_by: 0.0, fill: colour, edge: colour, edge_width: 0.0 });
    }
}

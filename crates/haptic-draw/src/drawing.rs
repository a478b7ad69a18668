//! A drawing on a page, before it is known how it will be written: marks one over the other, in points, y down.

use crate::colour::Rgb;
use nalgebra::Vector2;

/// A place on the page, points from the upper left.
pub type Point = Vector2<f64>;

/// A page with marks.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Width and height, points.
    pub size: Vector2<f64>,
    /// What it shows, for those who cannot see it.
    pub title: String,
    /// From the bottom up.
    pub marks: Vec<Mark>,
}

/// One thing on the page.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A filled area.
    Area(Area),
    /// A line through points.
    Line(Line),
    /// A word or two.
    Text(Text),
}

/// A filled area with an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    /// Closed outlines; one point and two points are the cores of discs and capsules.
    pub outlines: Vec<Vec<Point>>,
    /// By how much the outlines are grown, points.
    pub grown_by: f64,
    /// Inside.
    pub fill: Rgb,
    /// The line around it.
    pub edge: Rgb,
    /// Its width, points; zero for none.
    pub edge_width: f64,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Two or more.
    pub points: Vec<Point>,
    /// Its colour.
    pub colour: Rgb,
    /// Its width, points.
    pub width: f64,
    /// Length of dashes and gaps, points; none for an unbroken line.
    pub dash: Option<f64>,
    /// 0 to 1.
    pub opacity: f64,
}

/// A word or two.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Where the base line begins, has its middle, or ends.
    pub at: Point,
    /// Which of the three.
    pub anchor: Anchor,
    /// What is written.
    pub text: String,
    /// Size of the letters, points.
    pub size: f64,
    /// Their colour.
    pub colour: Rgb,
}

/// Where a text is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// At its beginning.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

impl Anchor {
    /// The share of a text's width that lies before the anchor.
    pub fn share(self) -> f64 {
        match self {
            Self::Start => 0.0,
            Self::Middle => 0.5,
            Self::End => 1.0,
        }
    }
}

impl Drawing {
    /// Puts an area on the page.
    pub fn area(&mut self, area: Area) {
        self.marks.push(Mark::Area(area));
    }

    /// Puts a line on the page.
    pub fn line(&mut self, points: Vec<Point>, colour: Rgb, width: f64) {
        self.marks.push(Mark::Line(Line { points, colour, width, dash: None, opacity: 1.0 }));
    }

    /// Puts a text on the page.
    pub fn text(&mut self, text: Text) {
        self.marks.push(Mark::Text(text));
    }

    /// Puts a disc on the page.
    pub fn disc(&mut self, centre: Point, radius: f64, fill: Rgb, edge: Rgb) {
        self.area(Area { outlines: vec![vec![centre]], grown_by: radius, fill, edge, edge_width: 1.5 });
    }

    /// Puts an arrow on the page; one that is too short for a head has none.
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

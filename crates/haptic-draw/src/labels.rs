//! Places the names of bodies: inside a body if the name fits, otherwise beside it in a free area.

use crate::colour::Rgb;
use crate::drawing::{Anchor, Area, Drawing, Point, Text};
use crate::letters::Letters;
use nalgebra::Vector2;

/// Font size, points.
pub const SIZE: f64 = 12.0;
/// Gap around a name, points.
const GAP: f64 = 5.0;
/// Distances to try between a body and its name, in order, points.
const ASIDE: [f64; 3] = [10.0, 26.0, 48.0];
/// Brightness of a body below which its name is written in white.
const DARK: f64 = 0.55;

/// A rectangle on the page, points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Upper left corner.
    pub low: Point,
    /// Lower right corner.
    pub high: Point,
}

impl Block {
    /// Creates a rectangle with the given centre and size.
    pub fn around(middle: Point, size: Vector2<f64>) -> Self {
        Self { low: middle - size / 2.0, high: middle + size / 2.0 }
    }

    fn size(&self) -> Vector2<f64> {
        self.high - self.low
    }

    fn middle(&self) -> Point {
        (self.low + self.high) / 2.0
    }

    fn overlaps(&self, other: &Self) -> bool {
        let apart = |axis: usize| self.high[axis] <= other.low[axis] || other.high[axis] <= self.low[axis];
        !apart(0) && !apart(1)
    }

    fn contains(&self, other: &Self) -> bool {
        let within = |axis: usize| self.low[axis] <= other.low[axis] && other.high[axis] <= self.high[axis];
        within(0) && within(1)
    }
}

/// A body to name.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Name to write.
    pub text: String,
    /// Bounding box of the body.
    pub block: Block,
    /// Areas of the shapes of the body.
    pub areas: Vec<Area>,
    /// Colour of the body.
    pub colour: Rgb,
    /// Whether the body fills its bounding box, so that a name may fit on it.
    pub is_solid: bool,
    /// Whether the body is dynamic.
    pub moves: bool,
}

/// Writes names on a page without covering the blocks in `taken`; a name without a free position is omitted. `ink` is
/// the colour of names beside their bodies.
pub fn write_names(drawing: &mut Drawing, page: &Block, named: &[Named], taken: &[Block], ink: Rgb) {
    let letters = Letters::new();
    let mut busy: Vec<Block> = named.iter().map(|one| one.block).chain(taken.iter().copied()).collect();
    for (index, one) in named.iter().enumerate() {
        let size = Vector2::new(letters.width(&one.text, SIZE) + 2.0 * GAP, SIZE + GAP);
        let inside = Block::around(one.block.middle(), size);
        if one.is_solid && one.block.contains(&inside) && !taken.iter().any(|block| block.overlaps(&inside)) {
            write(drawing, &inside, &one.text, contrast(one.colour));
        } else if let Some((beside, leader)) = free_position(one, size, page, &others(&busy, index)) {
            drawing.line(leader.to_vec(), ink.mixed(Rgb(255, 255, 255), 0.4), 0.8);
            write(drawing, &beside, &one.text, ink);
            busy.extend([beside, covered(&leader)]);
        }
    }
}

/// Returns all blocks except the block of the body with index `own`, which its leader line may touch.
fn others(busy: &[Block], own: usize) -> Vec<Block> {
    busy.iter().enumerate().filter(|(index, _)| *index != own).map(|(_, block)| *block).collect()
}

/// Returns the first free position for a name beside its body, with the leader line to it; `None` if no position is
/// free.
fn free_position(one: &Named, size: Vector2<f64>, page: &Block, busy: &[Block]) -> Option<(Block, [Point; 2])> {
    let reach = (one.block.size() + size) / 2.0;
    let offsets = |aside: f64| {
        let (x, y) = (reach.x + aside, reach.y + aside);
        [[0.0, -y], [x, 0.0], [-x, 0.0], [x, -y], [-x, -y]].map(Vector2::from)
    };
    let middle = one.block.middle();
    let positions = ASIDE.iter().flat_map(|&aside| offsets(aside)).map(|offset| Block::around(middle + offset, size));
    let led = positions.map(|position| (position, leader(one, &position)));
    let is_free = |block: &Block| !busy.iter().any(|other| other.overlaps(block));
    led.into_iter().find(|(position, leader)| page.contains(position) && is_free(position) && is_free(&covered(leader)))
}

/// Returns the leader line from the nearest point of a body's outline to its name.
fn leader(one: &Named, name: &Block) -> [Point; 2] {
    let end = one.block.middle().sup(&name.low).inf(&name.high);
    let outlines = one.areas.iter().flat_map(|area| area.outlines.iter().map(|outline| (outline, area.grown_by)));
    let edges = outlines.flat_map(|(outline, grown_by)| {
        let edge = |index: usize| nearest_on_edge(end, outline[index], outline[(index + 1) % outline.len()]);
        (0..outline.len()).map(move |index| (edge(index), grown_by))
    });
    let distance = |(point, grown_by): &(Point, f64)| (point - end).norm() - grown_by;
    let (nearest, grown_by) = edges.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or((end, 0.0));
    let outwards = (end - nearest).try_normalize(1e-9).unwrap_or_default();
    [nearest + outwards * grown_by, end]
}

fn nearest_on_edge(point: Point, from: Point, to: Point) -> Point {
    let along = to - from;
    let fraction = (point - from).dot(&along) / along.norm_squared().max(1e-12);
    from + along * fraction.clamp(0.0, 1.0)
}

/// Returns the block that a leader line covers, without its end at the name.
fn covered([from, to]: &[Point; 2]) -> Block {
    let to = to + (from - to) * 0.01;
    let half_width = Vector2::repeat(0.4);
    Block { low: from.inf(&to) - half_width, high: from.sup(&to) + half_width }
}

fn write(drawing: &mut Drawing, block: &Block, text: &str, colour: Rgb) {
    let at = block.middle() + Vector2::new(0.0, SIZE * 0.36);
    drawing.text(Text { at, anchor: Anchor::Middle, text: text.to_owned(), size: SIZE, colour });
}

fn contrast(colour: Rgb) -> Rgb {
    if colour.brightness() < DARK { Rgb(255, 255, 255) } else { Rgb(0x1b, 0x26, 0x3b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> (Drawing, Block) {
        let size = Vector2::new(300.0, 200.0);
        let drawing = Drawing { size, title: String::new(), marks: Vec::new() };
        (drawing, Block { low: Point::zeros(), high: size })
    }

    fn named(text: &str, middle: [f64; 2], size: [f64; 2]) -> Named {
        let block = Block::around(middle.into(), size.into());
        let Block { low, high } = block;
        let outlines = vec![vec![low, Point::new(high.x, low.y), high, Point::new(low.x, high.y)]];
        let colour = Rgb(0, 0, 0);
        Named {
            text: text.to_owned(),
            block,
            areas: vec![Area { outlines, grown_by: 0.0, fill: colour, edge: colour, edge_width: 0.0 }],
            colour,
            is_solid: true,
            moves: false,
        }
    }

    fn texts(drawing: &Drawing) -> Vec<Point> {
        let position = |mark: &crate::drawing::Mark| match mark {
            crate::drawing::Mark::Text(text) => Some(text.at),
            _ => None,
        };
        drawing.marks.iter().filter_map(position).collect()
    }

    #[test]
    fn a_name_that_fits_stands_inside() {
        let (mut drawing, page) = page();
        write_names(&mut drawing, &page, &[named("wood", [150.0, 100.0], [100.0, 40.0])], &[], Rgb(0, 0, 0));
        let [at] = texts(&drawing)[..] else { panic!("one name") };
        assert!((at.x - 150.0).abs() < 1e-9 && (at.y - 100.0).abs() < SIZE);
        assert_eq!(drawing.marks.len(), 1, "no line to it");
    }

    #[test]
    fn names_that_do_not_fit_stand_beside_and_apart() {
        let (mut drawing, page) = page();
        let boxes = [named("first", [150.0, 100.0], [10.0, 10.0]), named("second", [165.0, 100.0], [10.0, 10.0])];
        write_names(&mut drawing, &page, &boxes, &[], Rgb(0, 0, 0));
        let places = texts(&drawing);
        assert_eq!(places.len(), 2);
        assert!((places[0] - places[1]).norm() > SIZE);
    }

    #[test]
    fn a_name_without_room_is_left_out() {
        let (mut drawing, page) = page();
        write_names(&mut drawing, &page, &[named("x", [150.0, 100.0], [4.0, 4.0])], &[page], Rgb(0, 0, 0));
        assert!(drawing.marks.is_empty());
    }
}

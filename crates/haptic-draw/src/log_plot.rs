//! Plots with two logarithmic axes.

use crate::colour::Rgb;
use crate::drawing::{Anchor, Area, Drawing, Line, Mark, Point, Text};
use nalgebra::Vector2;

const INK: Rgb = Rgb(0x1b, 0x26, 0x3b);
const FAINT: Rgb = Rgb(0xe4, 0xe8, 0xee);
const FINE: Rgb = Rgb(0xc6, 0xcd, 0xd7);
/// Font size, points.
pub const FONT_SIZE: f64 = 12.0;

/// The range of one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end; greater than zero.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Range {
    /// Returns the position of a value on the axis: 0 at the lower end of the range, 1 at the upper end.
    fn fraction(&self, value: f64) -> f64 {
        libm::log10(value / self.low) / libm::log10(self.high / self.low)
    }

    /// Returns the grid lines within the range, at 1, 2, … 9 times each power of ten, with true for the powers
    /// themselves.
    fn lines(&self) -> Vec<(f64, bool)> {
        let (first, last) = (libm::floor(libm::log10(self.low)) as i32, libm::ceil(libm::log10(self.high)) as i32);
        let all = (first..=last).flat_map(|power| {
            (1..10).map(move |count| (f64::from(count) * libm::pow(10.0, f64::from(power)), count == 1))
        });
        all.filter(|(value, _)| (-1e-9..=1.0 + 1e-9).contains(&self.fraction(*value))).collect()
    }
}

/// A plot with two logarithmic axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogPlot {
    /// Upper left and lower right corners of the frame, points.
    pub corners: [Point; 2],
    /// Range of the horizontal axis, left to right.
    pub x: Range,
    /// Range of the vertical axis, bottom to top.
    pub y: Range,
}

impl LogPlot {
    /// Returns the position of a pair of values on the page. Values outside their range are clamped to the frame.
    pub fn to_page(&self, x: f64, y: f64) -> Point {
        let [low, high] = self.corners;
        let (right, up) = (self.x.fraction(x).clamp(0.0, 1.0), self.y.fraction(y).clamp(0.0, 1.0));
        Point::new(low.x + right * (high.x - low.x), high.y - up * (high.y - low.y))
    }

    /// Draws the grid lines.
    pub fn draw_grid(&self, drawing: &mut Drawing) {
        for (is_ten_wanted, colour) in [(false, FAINT), (true, FINE)] {
            let wanted =
                |lines: Vec<(f64, bool)>| lines.into_iter().filter(move |(_, is_ten)| *is_ten == is_ten_wanted);
            for (x, _) in wanted(self.x.lines()) {
                drawing.line(vec![self.to_page(x, self.y.low), self.to_page(x, self.y.high)], colour, 1.0);
            }
            for (y, _) in wanted(self.y.lines()) {
                drawing.line(vec![self.to_page(self.x.low, y), self.to_page(self.x.high, y)], colour, 1.0);
            }
        }
    }

    /// Draws the frame, the tick labels and the axis titles.
    pub fn draw_axes(&self, drawing: &mut Drawing, x_title: &str, y_title: &str) {
        let [low, high] = self.corners;
        let frame = vec![low, Point::new(high.x, low.y), high, Point::new(low.x, high.y), low];
        drawing.line(frame, INK, 1.2);
        for (x, _) in self.x.lines().into_iter().filter(|(_, is_ten)| *is_ten) {
            write(drawing, self.to_page(x, self.y.low) + Vector2::new(0.0, 18.0), Anchor::Middle, &number(x));
        }
        for (y, _) in self.y.lines().into_iter().filter(|(_, is_ten)| *is_ten) {
            write(drawing, self.to_page(self.x.low, y) + Vector2::new(-8.0, 4.0), Anchor::End, &number(y));
        }
        write(drawing, Point::new((low.x + high.x) / 2.0, high.y + 38.0), Anchor::Middle, x_title);
        write(drawing, Point::new(low.x - 46.0, low.y - 12.0), Anchor::Start, y_title);
    }

    /// Fills the area below a curve.
    pub fn fill_below(&self, drawing: &mut Drawing, curve: &[(f64, f64)], fill: Rgb) {
        let seen: Vec<(f64, f64)> = curve.iter().copied().filter(|(_, y)| *y > self.y.low).collect();
        let ([first, ..], [.., last]) = (&seen[..], &seen[..]) else { return };
        let ends = [self.to_page(last.0, self.y.low), self.to_page(first.0, self.y.low)];
        let outline: Vec<Point> = seen.iter().map(|&(x, y)| self.to_page(x, y)).chain(ends).collect();
        drawing.area(Area { outlines: vec![outline], grown_by: 0.0, fill, edge: fill, edge_width: 0.0 });
    }

    /// Draws a curve. If it falls below the range, it ends in a vertical line down to the frame.
    pub fn curve(&self, drawing: &mut Drawing, curve: &[(f64, f64)], colour: Rgb, width: f64, dash: Option<f64>) {
        let seen: Vec<(f64, f64)> = curve.iter().copied().filter(|(_, y)| *y > self.y.low).collect();
        let mut points: Vec<Point> = seen.iter().map(|&(x, y)| self.to_page(x, y)).collect();
        let falls = seen.len() < curve.len();
        if let Some((x, _)) = seen.last().filter(|_| falls) {
            points.push(self.to_page(*x, self.y.low));
        }
        drawing.marks.push(Mark::Line(Line { points, colour, width, dash, opacity: 1.0 }));
    }
}

/// Writes text in the font size and colour of plots.
pub fn write(drawing: &mut Drawing, at: Point, anchor: Anchor, text: &str) {
    drawing.text(Text { at, anchor, text: text.to_owned(), size: FONT_SIZE, colour: INK });
}

/// Formats a power of ten, with a space between groups of three digits from 10 000 upwards.
fn number(value: f64) -> String {
    let power = libm::round(libm::log10(value));
    if power < 0.0 {
        return format!("{value:.*}", -power as usize);
    }
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && digits.len() > 4 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot() -> LogPlot {
        let corners = [Point::new(100.0, 50.0), Point::new(300.0, 250.0)];
        LogPlot { corners, x: Range { low: 0.01, high: 100.0 }, y: Range { low: 10.0, high: 1e5 } }
    }

    #[test]
    fn each_power_of_ten_takes_the_same_room_and_y_goes_up() {
        assert!((plot().to_page(1.0, 1000.0) - Point::new(200.0, 150.0)).norm() < 1e-9);
        assert!((plot().to_page(0.01, 10.0) - Point::new(100.0, 250.0)).norm() < 1e-9);
        assert!((plot().to_page(1e9, 1e9) - Point::new(300.0, 50.0)).norm() < 1e-9);
    }

    #[test]
    fn numbers_are_plain() {
        assert_eq!([0.01, 1.0, 1000.0, 10_000.0, 1e6].map(number), ["0.01", "1", "1000", "10 000", "1 000 000"]);
    }

    #[test]
    fn a_curve_that_falls_to_nothing_goes_down_to_the_frame() {
        let mut drawing = Drawing { size: Vector2::new(400.0, 300.0), title: String::new(), marks: Vec::new() };
        plot().curve(&mut drawing, &[(0.1, 100.0), (1.0, 100.0), (2.0, 0.0)], INK, 1.0, None);
        let [Mark::Line(line)] = &drawing.marks[..] else { panic!("one line") };
        assert_eq!(line.points.len(), 3);
        assert!((line.points[2].y - 250.0).abs() < 1e-9);
    }
}

//! Writes drawings as SVG.

use crate::colour::Rgb;
use crate::drawing::{Anchor, Area, Drawing, Line, Mark, Point, Text};

/// Encodes a drawing as a self-contained SVG file.
pub fn write(drawing: &Drawing) -> String {
    let (width, height) = (number(drawing.size.x), number(drawing.size.y));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" font-family=\"'DejaVu Sans', Verdana, sans-serif\" \
         stroke-linejoin=\"round\" stroke-linecap=\"round\">\n<title>{}</title>\n",
        escaped(&drawing.title)
    );
    for mark in &drawing.marks {
        out.push_str(&match mark {
            Mark::Area(area) => self::area(area),
            Mark::Line(line) => self::line(line),
            Mark::Text(text) => self::text(text),
        });
    }
    out.push_str("</svg>\n");
    out
}

/// Encodes an area. A grown area is drawn by stroking its outlines twice: first with a wider pen in the edge colour,
/// then with a narrower one in the fill colour.
fn area(area: &Area) -> String {
    let half_edge = area.edge_width / 2.0;
    if area.grown_by > 0.0 {
        let outer = pen_strokes(&area.outlines, area.grown_by + half_edge, area.edge);
        return outer + &pen_strokes(&area.outlines, area.grown_by - half_edge, area.fill);
    }
    let edge = match area.edge_width > 0.0 {
        true => format!(" stroke=\"{}\" stroke-width=\"{}\"", area.edge, number(area.edge_width)),
        false => String::new(),
    };
    format!("<path d=\"{}\" fill=\"{}\"{edge}/>\n", path(&area.outlines), area.fill)
}

/// Encodes outlines drawn with a round pen. A hole is an outline of its own, so all of them are one path.
fn pen_strokes(outlines: &[Vec<Point>], radius: f64, colour: Rgb) -> String {
    let radius = radius.max(0.0);
    let (points, lines): (Vec<_>, Vec<_>) = outlines.iter().cloned().partition(|outline| outline.len() == 1);
    let circles = points.into_iter().flatten().map(|centre| {
        let (x, y, radius) = (number(centre.x), number(centre.y), number(radius));
        format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{colour}\"/>\n")
    });
    let all: String = circles.collect();
    if lines.is_empty() {
        return all;
    }
    let (data, width) = (path(&lines), number(2.0 * radius));
    let paint = format!("fill=\"{colour}\" stroke=\"{colour}\" stroke-width=\"{width}\"");
    format!("{all}<path d=\"{data}\" {paint}/>\n")
}

fn line(line: &Line) -> String {
    let points: Vec<String> = line.points.iter().map(|point| coordinates(*point)).collect();
    let dash = line.dash.map_or(String::new(), |dash| format!(" stroke-dasharray=\"{}\"", number(dash)));
    let opacity = match line.opacity < 1.0 {
        true => format!(" opacity=\"{}\"", number(line.opacity)),
        false => String::new(),
    };
    format!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{dash}{opacity}/>\n",
        points.join(" "),
        line.colour,
        number(line.width)
    )
}

fn text(text: &Text) -> String {
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    format!(
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{anchor}>{}</text>\n",
        number(text.at.x),
        number(text.at.y),
        number(text.size),
        text.colour,
        escaped(&text.text)
    )
}

fn path(outlines: &[Vec<Point>]) -> String {
    let closed = |outline: &Vec<Point>| {
        let points: Vec<String> = outline.iter().map(|point| coordinates(*point)).collect();
        format!("M{}Z", points.join("L"))
    };
    outlines.iter().map(closed).collect()
}

fn coordinates(point: Point) -> String {
    format!("{},{}", number(point.x), number(point.y))
}

/// Formats a number with up to two decimals and without trailing zeros; a hundredth of a point is precise enough.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ if character.is_control() => out.push(' '),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_minus_nothing() {
        assert_eq!([1.0, 0.125, -0.001, 10.0, -2.5].map(number), ["1", "0.12", "0", "10", "-2.5"]);
    }

    #[test]
    fn names_cannot_break_the_file() {
        assert_eq!(escaped("a<b>&\"c\"\u{7}"), "a&lt;b&gt;&amp;&quot;c&quot; ");
    }

    #[test]
    fn a_disc_is_a_circle_with_its_edge_half_in_and_half_out() {
        let red = Rgb(255, 0, 0);
        let disc = Area {
            outlines: vec![vec![Point::new(5.0, 6.0)]],
            grown_by: 3.0,
            fill: red,
            edge: Rgb(0, 0, 0),
            edge_width: 1.0,
        };
        assert_eq!(
            area(&disc),
            "<circle cx=\"5\" cy=\"6\" r=\"3.5\" fill=\"#000000\"/>\n\
             <circle cx=\"5\" cy=\"6\" r=\"2.5\" fill=\"#ff0000\"/>\n"
        );
    }
    #[test]
    fn the_hole_of_a_rounded_ring_stays_open() {
        let square = |half: f64| [[-half, -half], [half, -half], [half, half], [-half, half]].map(Point::from).to_vec();
        let hole = square(4.0).into_iter().rev().collect();
        let ring = Area {
            outlines: vec![square(5.0), hole],
            grown_by: 1.0,
            fill: Rgb(255, 0, 0),
            edge: Rgb(0, 0, 0),
            edge_width: 1.0,
        };
        let svg = area(&ring);
        assert_eq!((svg.matches("<path").count(), svg.matches('Z').count()), (2, 4), "{svg}");
    }
}

//! Templates and repeats: rows of bodies that are copies of a template.
//!
//! Copy i, counted from 0, is at `position_m` + i·`step_m`, at the angle of the template plus i·`step_rad`. Its name is
//! that of the repeat with `{}` replaced by i + 1.

use super::body::pattern;
use crate::keys::scene as keys;
use crate::keys::toml_vector;
use crate::remedy::nearest;
use crate::section::Section;
use haptic_planar::scene::description::BodyDescription;
use nalgebra::Vector2;

/// A `[[template]]`.
pub struct Template<'d> {
    /// Name, if the file gives it.
    name: Option<&'d str>,
    /// The body, without name and position; `None` if it has problems, which have been reported.
    body: Option<BodyDescription>,
}

/// A `[[repeat]]` that has been read.
pub struct Repeat {
    /// Index of the template in the file.
    pub template: usize,
    /// Displacement from each copy to the next, m.
    pub step_m: Vector2<f64>,
    /// The copies; empty if the repeat or its template has problems, which have been reported.
    pub copies: Vec<BodyDescription>,
}

/// Reads the templates and reports names that are used twice.
pub fn templates<'d>(sections: &[Section<'d>]) -> Vec<Template<'d>> {
    let mut templates: Vec<Template<'d>> = Vec::with_capacity(sections.len());
    for section in sections {
        let read = || pattern(section, &keys::TEMPLATE_NAME);
        let (name, body) = if section.is_present() { read() } else { (None, None) };
        let is_known = name.is_some() && templates.iter().any(|other| other.name == name);
        if let Some(name) = name.filter(|_| is_known) {
            let remedy = format!("write name = \"{name}_2\"");
            section.error(&keys::TEMPLATE_NAME, format!("there are two templates named `{name}`"), remedy);
        }
        templates.push(Template { name, body });
    }
    templates
}

/// Reads a repeat and makes its copies. `room` is the number of bodies that the scene can still have.
pub fn repeat(section: &Section<'_>, templates: &[Template<'_>], room: usize) -> Repeat {
    let none = Repeat { template: 0, step_m: Vector2::zeros(), copies: Vec::new() };
    if !section.is_present() {
        return none;
    }
    let is_incomplete = section.is_incomplete();
    let (template, count) = (template(section, templates), section.optional_whole(&keys::COUNT));
    let row = Row {
        position_m: section.vector(&keys::REPEAT_POSITION),
        step_m: section.vector(&keys::STEP_M),
        step_rad: section.number(&keys::STEP_RAD),
        name: section.text(&keys::REPEAT_NAME),
    };
    section.reject_unknown_keys();
    let (Some(template), Some(count), false) = (template, count, is_incomplete) else { return none };
    let count = count as usize;
    if count > room {
        let problem = format!("with {count} copies, the scene has more than {} bodies", keys::MAX_BODIES);
        section.error(&keys::COUNT, problem, format!("write count = {}", room.max(1)));
        return none;
    }
    row.check_extent(section, count);
    let Template { name, body } = &templates[template];
    let name = row.name.or(*name).unwrap_or_default();
    let copies = body.as_ref().map(|body| row.copies(body, name, count)).unwrap_or_default();
    Repeat { template, step_m: row.step_m, copies }
}

/// Placement and names of the copies.
struct Row<'d> {
    position_m: Vector2<f64>,
    step_m: Vector2<f64>,
    step_rad: f64,
    name: Option<&'d str>,
}

impl Row<'_> {
    fn place(&self, index: usize) -> Vector2<f64> {
        self.position_m + self.step_m * index as f64
    }

    fn copies(&self, body: &BodyDescription, name: &str, count: usize) -> Vec<BodyDescription> {
        let copy = |index: usize| BodyDescription {
            name: numbered(name, index + 1),
            position_m: self.place(index),
            angle_rad: body.angle_rad + self.step_rad * index as f64,
            ..body.clone()
        };
        (0..count).map(copy).collect()
    }

    /// Reports a row that ends outside the permitted positions.
    fn check_extent(&self, section: &Section<'_>, count: usize) {
        let accepted = keys::POSITION.accepted;
        let (last_m, steps) = (self.place(count - 1), (count - 1).max(1) as f64);
        if accepted.contains(last_m.x) && accepted.contains(last_m.y) {
            return;
        }
        let problem = format!("the last of {count} copies is at {}, outside the world", toml_vector(last_m.as_slice()));
        // From anywhere in the world, a row of this length stays inside it.
        let step_m = -self.position_m.map(f64::signum) * (1.0 / steps);
        section.error(&keys::STEP_M, problem, format!("write step_m = {}", toml_vector(step_m.as_slice())));
    }
}

/// Replaces `{}` by a number, or appends it.
fn numbered(name: &str, number: usize) -> String {
    if name.contains("{}") { name.replace("{}", &number.to_string()) } else { format!("{name}{number}") }
}

/// Returns the index of the template that a repeat names, and reports a name that no template has.
fn template(section: &Section<'_>, templates: &[Template<'_>]) -> Option<usize> {
    let wanted = section.text(&keys::REPEAT_TEMPLATE)?;
    let found = templates.iter().position(|template| template.name == Some(wanted));
    if found.is_none() {
        let names: Vec<&str> = templates.iter().filter_map(|template| template.name).collect();
        let remedy = match nearest(wanted, &names) {
            Some(name) => format!("write template = \"{name}\""),
            None => format!("write [[template]] with name = \"{wanted}\" and a shape"),
        };
        section.error(&keys::REPEAT_TEMPLATE, format!("there is no template named `{wanted}`"), remedy);
    }
    found
}

/// Returns the remedy for copies that overlap: a step in the same direction that is longer than a copy.
pub fn longer_step(step_m: Vector2<f64>, size_m: f64) -> String {
    let direction = step_m.try_normalize(0.0).unwrap_or_else(Vector2::x);
    // Rounded up, to a tenth of a millimetre.
    let length_m = ((size_m.max(step_m.norm()) * 1e4).floor() + 1.0) * 1e-4;
    let round = |number: f64| (number * 1e7).round() / 1e7;
    format!("write step_m = {}", toml_vector((direction * length_m).map(round).as_slice()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_take_the_number_and_it_is_appended_without_them() {
        assert_eq!(numbered("domino{}", 3), "domino3");
        assert_eq!(numbered("domino", 12), "domino12");
        assert_eq!(numbered("{} of {}", 2), "2 of 2");
    }
}

//! Pictures of the reference, in `docs/images`.

use crate::keys::SectionSpec;
use crate::keys::profile::{COUPLING_SECTION, MAPPING_SECTION};
use crate::keys::scene::{BODY_SECTION, SHAPE_SECTION};

/// Section, file name and description of each picture.
static PICTURES: [(&SectionSpec, &str, &str); 4] = [
    (&BODY_SECTION, "frames.svg", "Frame of the world, frame of a body's shape, position, angle and handle"),
    (&SHAPE_SECTION, "shapes.svg", "The outlines and the origins of their frames"),
    (&COUPLING_SECTION, "coupling.svg", "Hand, spring and damper, tool, wall"),
    (&MAPPING_SECTION, "mapping.svg", "The frame of the device in the frame of the world"),
];

/// File names of all pictures.
pub const NAMES: [&str; 4] = ["frames.svg", "shapes.svg", "coupling.svg", "mapping.svg"];

/// Returns the picture of a section as Markdown; empty if there is none.
pub fn of(spec: &SectionSpec) -> String {
    let found = PICTURES.iter().find(|(section, ..)| std::ptr::eq(*section, spec));
    found.map_or(String::new(), |(_, file, about)| format!("![{about}](images/{file})\n\n"))
}

//! Computes the width of a text, and its outline for raster images. The font is compiled in, so that pictures look the
//! same on every machine.

use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Latin letters of DejaVu Sans; the licence is in `font/LICENSE.txt`.
static FONT: &[u8] = include_bytes!("font/dejavu-sans-latin.ttf");

/// Font for measuring and drawing text.
pub struct Letters {
    face: Face<'static>,
}

impl Letters {
    /// Parses the compiled-in font.
    ///
    /// # Panics
    /// Never: the font is compiled in and tested.
    pub fn new() -> Self {
        Self { face: Face::parse(FONT, 0).expect("the compiled-in font is whole") }
    }

    /// Returns the width of a text, points; `size` is the font size, points.
    pub fn width(&self, text: &str, size: f64) -> f64 {
        let units: u32 = self.glyphs(text).map(|glyph| u32::from(self.advance(glyph))).sum();
        f64::from(units) * self.scale(size)
    }

    /// Returns the outline of a text whose baseline starts at (x, y); `None` if the text has no visible letters.
    pub fn outline(&self, text: &str, size: f64, x: f64, y: f64) -> Option<Path> {
        let scale = self.scale(size) as f32;
        let mut builder = Ink { builder: PathBuilder::new(), along: 0.0 };
        for glyph in self.glyphs(text) {
            self.face.outline_glyph(glyph, &mut builder);
            builder.along += f32::from(self.advance(glyph));
        }
        // In fonts y points up; on pages it points down.
        builder.builder.finish()?.transform(Transform::from_row(scale, 0.0, 0.0, -scale, x as f32, y as f32))
    }

    fn glyphs<'t>(&'t self, text: &'t str) -> impl Iterator<Item = GlyphId> + 't {
        text.chars().map(|letter| self.face.glyph_index(letter).unwrap_or_default())
    }

    fn advance(&self, glyph: GlyphId) -> u16 {
        self.face.glyph_hor_advance(glyph).unwrap_or_default()
    }

    fn scale(&self, size: f64) -> f64 {
        size / f64::from(self.face.units_per_em())
    }
}

impl Default for Letters {
    fn default() -> Self {
        Self::new()
    }
}

struct Ink {
    builder: PathBuilder,
    /// Start of the next letter along the baseline, font units.
    along: f32,
}

impl OutlineBuilder for Ink {
    fn move_to(&mut self, x: f32, y: f32) {
        self.builder.move_to(x + self.along, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.builder.line_to(x + self.along, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.builder.quad_to(x1 + self.along, y1, x + self.along, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.builder.cubic_to(x1 + self.along, y1, x2 + self.along, y2, x + self.along, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiled_in_font_has_the_letters_that_pictures_need() {
        let letters = Letters::new();
        for letter in "abcxyzABCXYZ0123456789 .,-+%()/µμ²·äßé".chars() {
            assert!(letters.face.glyph_index(letter).is_some(), "{letter}");
        }
    }

    #[test]
    fn width_grows_with_letters_and_size() {
        let letters = Letters::new();
        let width = letters.width("wood", 10.0);
        assert!(width > 20.0 && width < 40.0, "{width}");
        assert!((letters.width("wood", 20.0) - 2.0 * width).abs() < 1e-9);
        assert!((letters.width("woodwood", 10.0) - 2.0 * width).abs() < 1e-9);
    }

    #[test]
    fn a_blank_has_width_but_no_ink() {
        let letters = Letters::new();
        assert!(letters.width(" ", 10.0) > 0.0);
        assert!(letters.outline(" ", 10.0, 0.0, 0.0).is_none() && letters.outline("o", 10.0, 0.0, 0.0).is_some());
    }
}

//! RGB colours.

use std::fmt;

/// An RGB colour, displayed as `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// Colour used when a body's colour is invalid: the default of scene files.
const GREY: Rgb = Rgb(0x88, 0x99, 0xaa);

impl Rgb {
    /// Parses `#rrggbb`; any other text gives grey. Colours in scene files have already been checked by the parser.
    pub fn from_hexadecimal(text: &str) -> Self {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6);
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        number.map_or(GREY, |number| Self((number >> 16) as u8, (number >> 8) as u8, number as u8))
    }

    /// Returns the colour mixed with a fraction (0 to 1) of another.
    pub fn mixed(self, other: Self, fraction: f64) -> Self {
        let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * fraction).round() as u8;
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }

    /// Returns the index (16 to 231) of the nearest colour in the 256-colour terminal palette.
    pub fn indexed(self) -> u8 {
        let level = |value: u8| match value {
            0..48 => 0,
            48..115 => 1,
            _ => (value - 35) / 40,
        };
        16 + 36 * level(self.0) + 6 * level(self.1) + level(self.2)
    }

    /// Returns the perceived brightness, 0 to 1.
    pub fn brightness(self) -> f64 {
        (0.299 * f64::from(self.0) + 0.587 * f64::from(self.1) + 0.114 * f64::from(self.2)) / 255.0
    }
}

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_reads_and_writes_alike() {
        assert_eq!(Rgb::from_hexadecimal("#1e90ff"), Rgb(0x1e, 0x90, 0xff));
        assert_eq!(Rgb(0x1e, 0x90, 0xff).to_string(), "#1e90ff");
        assert_eq!(Rgb::from_hexadecimal("blue"), GREY);
    }

    #[test]
    fn mixing_goes_from_one_to_the_other() {
        let (black, white) = (Rgb(0, 0, 0), Rgb(255, 255, 255));
        assert_eq!([0.0, 0.5, 1.0].map(|fraction| black.mixed(white, fraction)), [black, Rgb(128, 128, 128), white]);
    }

    #[test]
    fn the_colour_cube_keeps_its_corners() {
        assert_eq!([Rgb(0, 0, 0), Rgb(255, 0, 0), Rgb(255, 255, 255)].map(Rgb::indexed), [16, 196, 231]);
        assert_eq!(Rgb(95, 135, 175).indexed(), 67);
    }
}

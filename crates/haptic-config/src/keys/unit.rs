//! Units, which are part of the names of keys.

/// Unit of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Ending of the names of keys with this unit.
    suffix: &'static str,
    /// Symbol; empty for a number without a unit.
    pub symbol: &'static str,
    /// Unit in which users often give the number by mistake: its plural name and its value in this unit.
    pub slip: Option<(&'static str, f64)>,
}

const DEGREE: f64 = std::f64::consts::PI / 180.0;
const MILLI: f64 = 1e-3;

const fn unit(suffix: &'static str, symbol: &'static str) -> Unit {
    Unit { suffix, symbol, slip: None }
}

const fn with_slip(suffix: &'static str, symbol: &'static str, name: &'static str, value: f64) -> Unit {
    Unit { suffix, symbol, slip: Some((name, value)) }
}

/// All units; a longer ending is before a shorter one that it contains.
const UNITS: [Unit; 19] = [
    unit("_n_m_s_per_rad", "N·m·s/rad"),
    unit("_n_m_per_rad", "N·m/rad"),
    unit("_n_s_per_m", "N·s/m"),
    unit("_n_per_m", "N/m"),
    unit("_n_per_s", "N/s"),
    unit("_n_m", "N·m"),
    unit("_kg_per_m2", "kg/m²"),
    unit("_kg_m2", "kg·m²"),
    unit("_m_per_s2", "m/s²"),
    with_slip("_m_per_s", "m/s", "millimetres per second", MILLI),
    with_slip("_rad_per_s", "rad/s", "degrees per second", DEGREE),
    with_slip("_rad", "rad", "degrees", DEGREE),
    unit("_counts", "counts"),
    with_slip("_kg", "kg", "grams", MILLI),
    unit("_hz", "Hz"),
    with_slip("_m", "m", "millimetres", MILLI),
    unit("_n", "N"),
    with_slip("_s", "s", "milliseconds", MILLI),
    unit("", ""),
];

impl Unit {
    /// Returns the unit of the key with the given name.
    pub fn of(name: &str) -> Self {
        UNITS.into_iter().find(|unit| name.ends_with(unit.suffix)).unwrap_or(unit("", ""))
    }

    /// Returns the name of a quantity without its unit.
    pub fn quantity(name: &str) -> &str {
        name.strip_suffix(Self::of(name).suffix).unwrap_or(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_the_end_of_the_name() {
        let symbols =
            ["gravity_m_per_s2", "mass_kg", "angular_damping_n_m_s_per_rad", "angle_rad", "friction", "box_m"];
        assert_eq!(symbols.map(|name| Unit::of(name).symbol), ["m/s²", "kg", "N·m·s/rad", "rad", "", "m"]);
        assert_eq!(symbols.map(Unit::quantity), ["gravity", "mass", "angular_damping", "angle", "friction", "box"]);
    }
}

//! Formats quantities as text.

/// Formats a value with a suitable SI prefix and up to one decimal. Forces have two decimals and no prefix; magnitudes
/// below 1e-9 are written as zero.
pub fn quantity(value: f64, unit: &str) -> String {
    const PREFIXES: [(f64, &str); 4] = [(1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
    let size = value.abs();
    if unit == "N" {
        return format!("{value:.2} N");
    }
    match PREFIXES.iter().find(|(scale, _)| size >= *scale) {
        None => format!("0 {unit}"),
        Some((scale, prefix)) => {
            let scaled = value / scale;
            let decimals = if scaled.abs() >= 99.95 { 0 } else { 1 };
            format!("{scaled:.decimals$} {prefix}{unit}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_take_the_prefix_that_suits_them() {
        let texts = [0.0, 1e-13, 6.2e-6, 0.00123, 0.25, 1.0].map(|value| quantity(value, "J"));
        assert_eq!(texts, ["0 J", "0 J", "6.2 µJ", "1.2 mJ", "250 mJ", "1.0 J"]);
        assert_eq!(quantity(0.05, "N"), "0.05 N");
    }
}

//! The udev rules that give ordinary users access to haptic devices.

/// Text of the rules.
pub const RULES: &str = include_str!("70-hapticd.rules");

/// Path at which udev reads the rules.
pub const RULES_PATH: &str = "/etc/udev/rules.d/70-hapticd.rules";

/// Remedy for a device that the user lacks permission to open, or whose FTDI chip holds bytes back.
pub const REMEDY: &str = "run `sudo hapticd install-udev` and plug it in again";

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a rule into its conditions and assignments: key, operator, value.
    fn terms(rule: &str) -> Vec<(&str, &str, &str)> {
        rule.split(", ").map(|term| split(term).unwrap_or_else(|| panic!("{term}: {rule}"))).collect()
    }

    fn split(term: &str) -> Option<(&str, &str, &str)> {
        let (left, value) = term.strip_suffix('"')?.split_once('"')?;
        let key = left.trim_end_matches(['=', '+', '!']);
        Some((key, &left[key.len()..], value)).filter(|_| !value.contains('"'))
    }

    fn rules() -> impl Iterator<Item = Vec<(&'static str, &'static str, &'static str)>> {
        RULES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(terms)
    }

    #[test]
    fn every_rule_compares_or_assigns_in_the_syntax_of_udev() {
        for (key, operator, value) in rules().flatten() {
            let name = key.split('{').next().unwrap_or_default();
            let is_compared = ["SUBSYSTEM", "KERNEL", "ACTION", "DRIVER", "TEST", "ATTRS"].contains(&name);
            let operators: &[&str] = match name {
                "TAG" => &["+="],
                "ATTR" => &["==", "="],
                "ENV" | "GOTO" | "LABEL" => &["="],
                _ if is_compared => &["=="],
                _ => panic!("udev has no key {key}"),
            };
            assert!(operators.contains(&operator) && !value.is_empty(), "{key}{operator}{value:?}");
            assert_eq!(key.contains('{'), matches!(name, "ATTR" | "ATTRS" | "ENV"), "{key}");
        }
    }

    #[test]
    fn the_nodes_of_every_backend_are_opened_to_the_user() {
        for node in ["tty", "hidraw", "input"] {
            let opens =
                |rule: &Vec<_>| rule.contains(&("SUBSYSTEM", "==", node)) && rule.contains(&("TAG", "+=", "uaccess"));
            assert!(rules().any(|rule| opens(&rule)), "{node}");
        }
    }
}

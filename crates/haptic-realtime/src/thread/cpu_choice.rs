//! Choice of the core for the loop.

use std::str::FromStr;

/// Choice of a core, as written in a profile: `"auto"`, `"any"` or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CpuChoice {
    /// An isolated core if there is one, otherwise the core with the highest number; core 0 only if there is no other.
    #[default]
    Auto,
    /// Any core; the thread is not pinned.
    Any,
    /// The core with this number.
    Number(usize),
}

/// Error for text that does not name a core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuChoiceError(String);

impl std::fmt::Display for CpuChoiceError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "'{}' is not a core: write \"auto\", \"any\" or a core's number such as \"1\"", self.0)
    }
}

impl std::error::Error for CpuChoiceError {}

impl FromStr for CpuChoice {
    type Err = CpuChoiceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "any" => Ok(Self::Any),
            number => number.parse().map(Self::Number).map_err(|_| CpuChoiceError(text.to_owned())),
        }
    }
}

/// Returns the cores to try for `"auto"`, best first.
///
/// Isolated cores come first. Isolation removes them from the usual affinity mask, but pinning to them is still
/// allowed. Core 0 comes last because Linux puts timekeeping and most interrupts there. The remaining cores come in
/// descending order: with the usual numbering, the highest is farthest from the hyperthread sibling of core 0.
pub(super) fn candidates(allowed: &[usize], isolated: &[usize]) -> Vec<usize> {
    let mut ordinary: Vec<usize> = allowed.iter().copied().filter(|cpu| !isolated.contains(cpu)).collect();
    ordinary.sort_unstable_by_key(|cpu| (*cpu == 0, std::cmp::Reverse(*cpu)));
    let mut best_first: Vec<usize> = isolated.to_vec();
    best_first.sort_unstable_by_key(|cpu| std::cmp::Reverse(*cpu));
    best_first.extend(ordinary);
    best_first
}

/// Parses a list of cores in the kernel's notation, such as `0-3,8,10-11`; malformed parts are ignored.
pub fn parse_cpu_list(text: &str) -> Vec<usize> {
    text.trim().split(',').filter_map(parse_range).flatten().collect()
}

/// Upper bound on core numbers, which limits the length of a malformed range.
const MOST_CPUS: usize = 8192;

fn parse_range(part: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (last < MOST_CPUS).then_some(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_zero_is_taken_only_if_there_is_no_other() {
        assert_eq!(candidates(&[0, 1, 2, 3], &[]), [3, 2, 1, 0]);
        assert_eq!(candidates(&[0], &[]), [0]);
    }

    #[test]
    fn isolated_cores_are_preferred_even_if_the_mask_leaves_them_out() {
        assert_eq!(candidates(&[0, 1], &[2, 3]), [3, 2, 1, 0]);
        assert_eq!(candidates(&[0, 1, 2, 3], &[1]), [1, 3, 2, 0]);
    }

    #[test]
    fn the_kernel_list_notation_is_read() {
        assert_eq!(parse_cpu_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(parse_cpu_list("\n"), []);
        assert_eq!(parse_cpu_list("1,rubbish,3"), [1, 3]);
        assert_eq!(parse_cpu_list("0-99999999999"), []);
    }

    #[test]
    fn a_profile_text_is_auto_any_or_a_number() {
        assert_eq!("auto".parse(), Ok(CpuChoice::Auto));
        assert_eq!("any".parse(), Ok(CpuChoice::Any));
        assert_eq!("3".parse(), Ok(CpuChoice::Number(3)));
        let error = "first".parse::<CpuChoice>().unwrap_err().to_string();
        assert!(error.contains("'first'") && error.contains("auto"), "{error}");
    }
}

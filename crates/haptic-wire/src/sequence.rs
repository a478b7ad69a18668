//! Sequence numbers increase by one per frame and wrap at 256. The newest frame wins; nothing is retransmitted.

/// Whether `candidate` was sent after `reference`, as long as they are fewer than 128 frames apart.
///
/// The 127 numbers after `reference` are newer; all others, including the one exactly 128 ahead, are not. Real-time:
/// two instructions.
pub fn is_newer(candidate: u8, reference: u8) -> bool {
    (candidate.wrapping_sub(reference) as i8) > 0
}

/// Returns the number of frames lost between two consecutively received frames, or zero if `candidate` is not newer
/// than `reference`. Real-time: a few instructions.
pub fn lost_between(reference: u8, candidate: u8) -> u8 {
    if is_newer(candidate, reference) { candidate.wrapping_sub(reference) - 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_next_127_numbers_are_newer() {
        for reference in 0..=255u8 {
            let newer = (0..=255u8).filter(|candidate| is_newer(*candidate, reference));
            let ahead = (1..=127).map(|step| reference.wrapping_add(step));
            assert!(newer.clone().count() == 127 && ahead.clone().all(|number| is_newer(number, reference)));
        }
    }

    #[test]
    fn counting_continues_across_the_wrap() {
        assert!(is_newer(0, 255));
        assert!(!is_newer(255, 0));
        assert!(!is_newer(9, 9));
    }

    #[test]
    fn gaps_are_counted() {
        assert_eq!(lost_between(254, 255), 0);
        assert_eq!(lost_between(254, 2), 3);
        assert_eq!(lost_between(2, 254), 0);
    }
}

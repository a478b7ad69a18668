//! Decodes ten million random bytes and ten million bytes of mutated frames: no panic, no frame with a wrong checksum,
//! and recovery within one frame. `examples/soak` does the same for any number of bytes.

#[path = "../../examples/soak/hostile.rs"]
mod hostile;

#[test]
fn ten_million_random_bytes_never_pass_a_wrong_checksum() {
    let report = hostile::random_bytes(10_000_000, 1);
    assert_eq!(report.wrongly_accepted, 0);
    assert_eq!(report.wrongly_dropped, 0);
    assert!(report.dropped > 10_000, "too few damaged frames: {report:?}");
}

#[test]
fn ten_million_mutated_bytes_never_pass_a_wrong_checksum_and_cost_one_frame_at_most() {
    let report = hostile::mutated_frames(10_000_000, 2);
    assert_eq!(report.wrongly_accepted, 0);
    assert_eq!(report.wrongly_dropped, 0);
    assert_eq!(report.late_recoveries, 0);
    assert!(report.dropped > 10_000 && report.accepted > 10_000, "too few damaged frames: {report:?}");
}

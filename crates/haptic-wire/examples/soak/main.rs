//! Feeds hostile bytes to the decoder: `cargo run --release -p haptic-wire --example soak -- 100000000`.
//!
//! Half of the bytes are random; the other half are damaged frames. The exit code is 1 if any frame was wrongly
//! accepted or dropped, or if recovery took longer than one frame.

mod hostile;

use std::{process::ExitCode, time::Instant};

fn main() -> ExitCode {
    let Some(bytes) = std::env::args().nth(1).map_or(Some(100_000_000), |text| text.parse::<u64>().ok()) else {
        eprintln!("the argument is the number of bytes, for example 100000000");
        return ExitCode::from(2);
    };
    let started = Instant::now();
    let reports = [hostile::random_bytes(bytes / 2, 0x5EED), hostile::mutated_frames(bytes - bytes / 2, 0x5EED)];
    println!("random  {:?}\nmutated {:?}\n{:.1} s", reports[0], reports[1], started.elapsed().as_secs_f64());
    let failed =
        reports.iter().any(|report| report.wrongly_accepted + report.wrongly_dropped + report.late_recoveries > 0);
    ExitCode::from(u8::from(failed))
}

//! Prints every finding about this machine: `cargo run --release -p haptic-realtime --example fitness -- [SECONDS]`

use std::time::Duration;

use haptic_realtime::fitness::{Machine, inspect_and_measure};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: f64 = std::env::args().nth(1).map_or(Ok(10.0), |text| text.parse())?;
    for finding in inspect_and_measure(&Machine::this(), Duration::try_from_secs_f64(seconds)?) {
        println!("{:5} {:20} {}", format!("{:?}", finding.verdict), finding.id, finding.measured);
        finding.remedy.iter().for_each(|remedy| println!("      {:20} -> {remedy}", ""));
    }
    Ok(())
}

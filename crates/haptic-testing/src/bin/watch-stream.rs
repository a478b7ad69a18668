//! Reads the stream of a running daemon like the page does, until the daemon ends, and prints the age of the states.
//!
//!     watch-stream [--stalled] [--lead] ADDRESS:PORT
//!
//! Opens four streams of 60 frames per second. With `--stalled`, these four clients never read their streams, and a
//! fifth, which reads one frame per second, waits for the end. With `--lead`, the first stream sets the hand's target
//! like a mouse. Prints one JSON object, with times in ms:
//!
//! - `tick_to_client`: time from the start of a tick to the arrival of its state at a client. The daemon sends the
//!   start time of the tick; daemon and client use the same clock.
//! - `mouse_to_hand`: time from sending a mouse position to the first sampled tick in which the hand has moved. It
//!   includes the time that a hand with mass needs to move two encoder steps, and up to 8 ms between two samples.

use haptic_testing::viewer_client::{Stream, monotonic_ns, request_stream};
use serde_json::{Value, json};
use std::error::Error;
use std::time::Duration;

/// Number of clients that read or, with `--stalled`, that never read.
const CLIENTS: usize = 4;
/// Frame rate that the page requests, Hz.
const HZ: u32 = 60;
/// Time without a message after which the daemon is considered gone.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Successive mouse targets, world frame, m; above everything in the default scene.
const TARGETS_M: [[f64; 2]; 2] = [[0.0, 0.08], [0.01, 0.08]];
/// Time at each target, s; enough for the hand to come to rest.
const REST_S: f64 = 0.7;
/// Displacement above which the hand counts as moved, m: two encoder steps of the simulated device, which is more than
/// its position varies at rest.
const MOVED_M: f64 = 2e-5;

fn main() -> Result<(), Box<dyn Error>> {
    let (flags, addresses): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|text| text.starts_with("--"));
    let [address] = &addresses[..] else { return Err("usage: watch-stream [--stalled] [--lead] ADDRESS:PORT".into()) };
    let has = |name: &str| flags.iter().any(|flag| flag == name);
    let (stalled, streams, hz) = if has("--stalled") { (CLIENTS, 1, 1) } else { (0, CLIENTS, HZ) };
    let _never_read = (0..stalled).map(|_| request_stream(address, HZ)).collect::<Result<Vec<_>, _>>()?;
    let readers: Vec<_> = (0..streams)
        .map(|number| {
            let (address, leads) = (address.clone(), number == 0 && has("--lead"));
            std::thread::spawn(move || read_stream(&address, hz, leads).map_err(|error| error.to_string()))
        })
        .collect();
    let (mut ages, mut delays) = (Vec::new(), Vec::new());
    for reader in readers {
        let measured = reader.join().map_err(|_| "a client panicked")??;
        ages.extend(measured.ages_ns);
        delays.extend(measured.delays_ns);
    }
    println!(
        "{}",
        json!({
            "streams": streams, "stalled": stalled,
            "tick_to_client": percentiles_ms(ages), "mouse_to_hand": percentiles_ms(delays),
        })
    );
    Ok(())
}

/// Times measured by one client.
#[derive(Default)]
struct Measured {
    ages_ns: Vec<f64>,
    delays_ns: Vec<f64>,
}

fn read_stream(address: &str, hz: u32, leads: bool) -> Result<Measured, Box<dyn Error>> {
    let mut stream = Stream::open(address, hz, TIMEOUT)?;
    let (mut measured, mut mouse) = (Measured::default(), Mouse::default());
    while let Some(text) = stream.next_text()? {
        let now_ns = monotonic_ns();
        if !text.starts_with(r#"{"type":"state""#) {
            continue;
        }
        let state: Value = serde_json::from_str(&text)?;
        measured.ages_ns.push(now_ns - number(&state["monotonic_ns"]));
        if leads && let Some(target_m) = mouse.update(&state, &mut measured.delays_ns) {
            mouse.moved_target_ns = monotonic_ns();
            // The daemon may have ended in the meantime.
            let _ = stream.send_text(&json!({ "type": "hand", "position_m": target_m }).to_string());
        }
    }
    Ok(measured)
}

/// A mouse that repeatedly moves the hand's target once the hand is at rest, and finds the first sample in which the
/// hand has moved.
#[derive(Default)]
struct Mouse {
    moves: usize,
    moved_target_ns: f64,
    moved_target_t_s: f64,
    /// Position of the hand when its target moved; `None` once the hand has moved.
    rest_m: Option<[f64; 2]>,
}

impl Mouse {
    /// Evaluates a state and returns the next target if one is due.
    fn update(&mut self, state: &Value, delays_ns: &mut Vec<f64>) -> Option<[f64; 2]> {
        if let Some(moved_ns) = self.first_motion_ns(state) {
            delays_ns.push(moved_ns - self.moved_target_ns);
            self.rest_m = None;
        }
        let t_s = number(&state["t_s"]);
        if self.moves > 0 && t_s - self.moved_target_t_s < REST_S {
            return None;
        }
        // The first target takes the hand off its path, on which it is not at rest.
        self.rest_m = (self.moves > 0).then(|| [0, 1].map(|axis| number(&state["hand_m"][axis])));
        self.moved_target_t_s = t_s;
        self.moves += 1;
        Some(TARGETS_M[self.moves % TARGETS_M.len()])
    }

    /// Returns the start of the first sampled tick that shows motion since the last target, ns, if any.
    fn first_motion_ns(&self, state: &Value) -> Option<f64> {
        let [rest_x, rest_y] = self.rest_m?;
        let began_ns =
            |sample: &Value| number(&state["monotonic_ns"]) - 1e9 * (number(&state["t_s"]) - number(&sample[0]));
        let is_away = |sample: &&Value| (number(&sample[1]) - rest_x).hypot(number(&sample[2]) - rest_y) > MOVED_M;
        state["samples"].as_array()?.iter().filter(is_away).map(began_ns).find(|&ns| ns > self.moved_target_ns)
    }
}

/// Returns a value of a message as a number. A missing number becomes NaN, which shows up in the output.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn percentiles_ms(mut values_ns: Vec<f64>) -> Value {
    values_ns.sort_by(f64::total_cmp);
    let at = |fraction: f64| {
        let index = (fraction * values_ns.len() as f64) as usize;
        values_ns.get(index.min(values_ns.len().saturating_sub(1))).map(|ns| (ns / 1e4).round() / 100.0)
    };
    json!({ "count": values_ns.len(), "p50": at(0.5), "p99": at(0.99), "max": at(1.0) })
}

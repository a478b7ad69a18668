//! Looks on at a running daemon as pages do, until it ends, and tells how fresh what it saw was.
//!
//!     look-on [--stalled] [--lead] ADDRESS:PORT
//!
//! Opens four streams of 60 frames a second. With `--stalled` four clients ask for such streams and never read them, and a
//! fifth, which reads one frame a second, waits for the end. With `--lead` the first stream leads the hand, as a mouse does. Prints
//! one JSON object, times in ms:
//!
//! - `tick_to_client`: from the start of a tick to the moment at which a client has its state as text. The daemon tells when the
//!   tick began, on the clock that is read here too.
//! - `mouse_to_hand`: from sending a place of the mouse to the first sampled tick in which the hand has moved. It is too long by
//!   what a hand with mass takes to move two encoder steps, and by up to the 8 ms between two samples.

use haptic_onlooker::{Stream, ask_for_stream, monotonic_ns};
use serde_json::{Value, json};
use std::error::Error;
use std::time::Duration;

/// Clients that look on, or never read.
const CLIENTS: usize = 4;
/// Frames a second, as the page asks for.
const HZ: u32 = 60;
/// Nothing for so long: the daemon is gone without a word.
const PATIENCE: Duration = Duration::from_secs(5);
/// Where the mouse takes the hand, in turn, m: above everything in the default scene.
const PLACES_M: [[f64; 2]; 2] = [[0.0, 0.08], [0.01, 0.08]];
/// For so long it stays at each of them, s; time enough to come to rest.
const REST_S: f64 = 0.7;
/// What counts as motion, m: two encoder steps of the simulated device, and more than it moves at rest.
const MOVED_M: f64 = 2e-5;

fn main() -> Result<(), Box<dyn Error>> {
    let (flags, addresses): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|text| text.starts_with("--"));
    let [address] = &addresses[..] else { return Err("usage: look-on [--stalled] [--lead] ADDRESS:PORT".into()) };
    let has = |name: &str| flags.iter().any(|flag| flag == name);
    let (stalled, streams, hz) = if has("--stalled") { (CLIENTS, 1, 1) } else { (0, CLIENTS, HZ) };
    let _never_read = (0..stalled).map(|_| ask_for_stream(address, HZ)).collect::<Result<Vec<_>, _>>()?;
    let lookers: Vec<_> = (0..streams)
        .map(|number| {
            let (address, leads) = (address.clone(), number == 0 && has("--lead"));
            std::thread::spawn(move || look_on(&address, hz, leads).map_err(|error| error.to_string()))
        })
        .collect();
    let (mut ages, mut delays) = (Vec::new(), Vec::new());
    for looker in lookers {
        let seen = looker.join().map_err(|_| "a client panicked")??;
        ages.extend(seen.ages_ns);
        delays.extend(seen.delays_ns);
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

/// What one client saw.
#[derive(Default)]
struct Seen {
    ages_ns: Vec<f64>,
    delays_ns: Vec<f64>,
}

fn look_on(address: &str, hz: u32, leads: bool) -> Result<Seen, Box<dyn Error>> {
    let mut stream = Stream::open(address, hz, PATIENCE)?;
    let (mut seen, mut mouse) = (Seen::default(), Mouse::default());
    while let Some(text) = stream.next_text()? {
        let now_ns = monotonic_ns();
        if !text.starts_with(r#"{"type":"state""#) {
            continue;
        }
        let state: Value = serde_json::from_str(&text)?;
        seen.ages_ns.push(now_ns - number(&state["monotonic_ns"]));
        if leads && let Some(place_m) = mouse.follow(&state, &mut seen.delays_ns) {
            mouse.pulled_ns = monotonic_ns();
            // The daemon may have ended since.
            let _ = stream.say(&json!({ "type": "hand", "position_m": place_m }).to_string());
        }
    }
    Ok(seen)
}

/// Holds the hand, pulls it away once it rests, and looks for the first sample in which it has moved, again and again.
#[derive(Default)]
struct Mouse {
    pulls: usize,
    pulled_ns: f64,
    pulled_t_s: f64,
    /// Where the hand rested when it was pulled; none once it has been seen to move.
    rest_m: Option<[f64; 2]>,
}

impl Mouse {
    /// Takes note of what a state tells, and says where to pull the hand now, if anywhere.
    fn follow(&mut self, state: &Value, delays_ns: &mut Vec<f64>) -> Option<[f64; 2]> {
        if let Some(moved_ns) = self.first_motion_ns(state) {
            delays_ns.push(moved_ns - self.pulled_ns);
            self.rest_m = None;
        }
        let t_s = number(&state["t_s"]);
        if self.pulls > 0 && t_s - self.pulled_t_s < REST_S {
            return None;
        }
        // The first pull takes the hand from its path, where it does not rest.
        self.rest_m = (self.pulls > 0).then(|| [0, 1].map(|axis| number(&state["hand_m"][axis])));
        self.pulled_t_s = t_s;
        self.pulls += 1;
        Some(PLACES_M[self.pulls % PLACES_M.len()])
    }

    /// When the first sampled tick began that shows motion since the last pull, if one does.
    fn first_motion_ns(&self, state: &Value) -> Option<f64> {
        let [rest_x, rest_y] = self.rest_m?;
        let began_ns =
            |sample: &Value| number(&state["monotonic_ns"]) - 1e9 * (number(&state["t_s"]) - number(&sample[0]));
        let is_away = |sample: &&Value| (number(&sample[1]) - rest_x).hypot(number(&sample[2]) - rest_y) > MOVED_M;
        state["samples"].as_array()?.iter().filter(is_away).map(began_ns).find(|&ns| ns > self.pulled_ns)
    }
}

/// A number of a message; one that is not there spoils the figures visibly.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn percentiles_ms(mut values_ns: Vec<f64>) -> Value {
    values_ns.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let index = (share * values_ns.len() as f64) as usize;
        values_ns.get(index.min(values_ns.len().saturating_sub(1))).map(|ns| (ns / 1e4).round() / 100.0)
    };
    json!({ "count": values_ns.len(), "p50": at(0.5), "p99": at(0.99), "max": at(1.0) })
}

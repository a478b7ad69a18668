//! Newest message of each kind, published by the daemon for any number of clients.
//!
//! Publishing waits for a reader only while the reader copies numbers. States and timing are converted to text when a
//! client requests them; scenes and settings change rarely and are converted when they are published.

use crate::message::scene::SceneMessage;
use crate::message::settings::SettingsMessage;
use crate::message::state::Observation;
use crate::message::timing::TimingMessage;
use crate::message::{Text, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Maximum number of samples stored for the strip charts: the eight seconds that the charts show. The charts are
/// therefore full from the first frame, and a client that stalls briefly misses no samples.
const MAX_SAMPLES: usize = 1000;

/// Newest message of each kind, and recent samples. Clones share the contents.
#[derive(Clone, Debug)]
pub struct Telemetry {
    pub(crate) scene: watch::Sender<Arc<CurrentScene>>,
    pub(crate) settings: watch::Sender<Text>,
    pub(crate) timing: watch::Sender<Arc<TimingMessage>>,
    pub(crate) state: watch::Sender<Option<Arc<Observation>>>,
    samples: Arc<Mutex<Samples>>,
}

/// The running scene: its number and its message as text.
#[derive(Debug, Default)]
pub(crate) struct CurrentScene {
    pub id: u64,
    pub text: String,
}

#[derive(Debug, Default)]
struct Samples {
    /// Number of the scene that all rows belong to.
    scene_id: u64,
    /// Number of the next row.
    next: u64,
    rows: VecDeque<Row>,
}

/// One sample of the strip charts.
#[derive(Clone, Copy, Debug)]
struct Row {
    tick: u64,
    values: [f64; 10],
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            scene: watch::Sender::default(),
            settings: watch::Sender::new(Text::from("{}")),
            timing: watch::Sender::default(),
            state: watch::Sender::new(None),
            samples: Arc::default(),
        }
    }
}

impl Telemetry {
    /// Publishes a new scene. Must be called before the first observation of that scene is published.
    pub fn publish_scene(&self, scene: &SceneMessage) {
        let current = CurrentScene { id: scene.scene_id, text: json(scene) };
        self.scene.send_replace(Arc::new(current));
    }

    /// Publishes the current settings.
    pub fn publish_settings(&self, settings: &SettingsMessage) {
        self.settings.send_replace(Text::from(json(settings)));
    }

    /// Publishes the timing of the loop so far.
    pub fn publish_timing(&self, timing: TimingMessage) {
        self.timing.send_replace(Arc::new(timing));
    }

    /// Publishes the newest state and adds it to the samples.
    pub fn publish_state(&self, observation: Observation) {
        self.samples().push(&observation);
        self.state.send_replace(Some(Arc::new(observation)));
    }

    /// Returns the rows from `number` up to the tick of an observation, as a JSON list, and the number of the next row.
    pub(crate) fn samples_since(&self, number: u64, observation: &Observation) -> (String, u64) {
        let (rows, next) = self.samples().since(number, observation);
        let texts: Vec<String> = rows.iter().map(Row::text).collect();
        (format!("[{}]", texts.join(",")), next)
    }

    fn samples(&self) -> MutexGuard<'_, Samples> {
        // A panic during a push leaves complete rows, so a poisoned lock is safe to use.
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Samples {
    fn push(&mut self, observation: &Observation) {
        if std::mem::replace(&mut self.scene_id, observation.scene_id) != observation.scene_id {
            self.rows.clear();
        } else if self.rows.len() == MAX_SAMPLES {
            self.rows.pop_front();
        }
        self.rows.push_back(Row { tick: observation.snapshot.report.tick, values: observation.sample() });
        self.next += 1;
    }

    /// Returns the rows from `number` up to the tick of an observation, and the number of the next row. Rows that are
    /// newer than the observation, or belong to another scene, are left for a later call.
    fn since(&self, number: u64, observation: &Observation) -> (Vec<Row>, u64) {
        let first = self.next - self.rows.len() as u64;
        let skipped = number.saturating_sub(first).min(self.rows.len() as u64);
        let is_shown =
            |row: &&Row| row.tick <= observation.snapshot.report.tick && self.scene_id == observation.scene_id;
        let rows: Vec<Row> = self.rows.iter().skip(skipped as usize).take_while(is_shown).copied().collect();
        let next = first + skipped + rows.len() as u64;
        (rows, next)
    }
}

impl Row {
    /// Formats the row as a JSON list. Values have six significant digits, which is more than a chart shows and keeps
    /// the thousand rows of the first frame short.
    fn text(&self) -> String {
        let [time_s, values @ ..] = self.values;
        let digits = values.map(six_digits);
        format!("[{time_s},{}]", digits.join(","))
    }
}

/// Formats a number with six significant digits; a non-finite number, which JSON cannot express, becomes zero.
fn six_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(0.0);
    if rounded.is_finite() { json(&rounded) } else { "0".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_six_digits_and_no_non_finite_numbers() {
        let values = [12.008, 0.123_456_789, -1e-9, 0.0, 1_234.567_89, 1e-300, -3.0, 0.1 + 0.2, f64::NAN, 16_127.0];
        let text = Row { tick: 12_008, values }.text();
        assert_eq!(text, "[12.008,0.123457,-1e-9,0.0,1234.57,1e-300,-3.0,0.3,0,16127.0]");
    }
}

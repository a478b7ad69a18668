//! Where the daemon puts what there is to see: the newest of each kind, for as many as look on.
//!
//! Putting something in waits for no reader but for as long as one copies numbers. Nothing is made into text unless somebody asks
//! for it, except what changes rarely.

use crate::message::scene::SceneMessage;
use crate::message::settings::SettingsMessage;
use crate::message::state::Observation;
use crate::message::timing::TimingMessage;
use crate::message::{Text, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Rows of the strip charts that are kept: eight seconds, what the charts show, so that they are full from the first frame on, and a
/// client that stalls for a moment misses nothing.
const MAX_SAMPLES: usize = 1000;

/// The newest of everything; clones share it.
#[derive(Clone, Debug)]
pub struct Telemetry {
    pub(crate) scene: watch::Sender<Arc<CurrentScene>>,
    pub(crate) settings: watch::Sender<Text>,
    pub(crate) timing: watch::Sender<Arc<TimingMessage>>,
    pub(crate) state: watch::Sender<Option<Arc<Observation>>>,
    samples: Arc<Mutex<Samples>>,
}

/// The scene that runs.
#[derive(Debug, Default)]
pub(crate) struct CurrentScene {
    pub id: u64,
    pub text: String,
}

#[derive(Debug, Default)]
struct Samples {
    /// Rows are of this scene alone.
    scene_id: u64,
    /// The number of the row after the newest.
    next: u64,
    rows: VecDeque<Row>,
}

/// One tick in the strip charts.
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
            timing: watch::Sender::new(Arc::default()),
            state: watch::Sender::new(None),
            samples: Arc::default(),
        }
    }
}

impl Telemetry {
    /// Another scene runs from now on. Tell it before the first observation of it.
    pub fn publish_scene(&self, scene: &SceneMessage) {
        let current = CurrentScene { id: scene.scene_id, text: json(scene) };
        self.scene.send_replace(Arc::new(current));
    }

    /// Something was set.
    pub fn publish_settings(&self, settings: &SettingsMessage) {
        self.settings.send_replace(Text::from(json(settings)));
    }

    /// How the loop keeps its time.
    pub fn publish_timing(&self, timing: TimingMessage) {
        self.timing.send_replace(Arc::new(timing));
    }

    /// What was just seen.
    pub fn publish_state(&self, observation: Observation) {
        self.samples().push(&observation);
        self.state.send_replace(Some(Arc::new(observation)));
    }

    /// Rows since a number up to what a state shows, as a JSON list, and the number to go on from.
    pub(crate) fn samples_since(&self, number: u64, observation: &Observation) -> (String, u64) {
        let (rows, next) = self.samples().since(number, observation);
        let texts: Vec<String> = rows.iter().map(Row::text).collect();
        (format!("[{}]", texts.join(",")), next)
    }

    fn samples(&self) -> MutexGuard<'_, Samples> {
        // A panic while rows are pushed leaves them whole, so a poisoned lock is as good as any.
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

    /// A newer row than the state's may be there already, even one of another scene: it is for the next state.
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
    /// Six digits are more than a chart shows, and a first frame has a thousand rows.
    fn text(&self) -> String {
        let [time_s, values @ ..] = self.values;
        let digits = values.map(six_digits);
        format!("[{time_s},{}]", digits.join(","))
    }
}

/// A number with six significant digits; what is no number is none in JSON either, and nothing is felt then.
fn six_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(0.0);
    if rounded.is_finite() { json(&rounded) } else { "0".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_short_and_right() {
        let values = [12.008, 0.123_456_789, -1e-9, 0.0, 1_234.567_89, 1e-300, -3.0, 0.1 + 0.2, f64::NAN, 16_127.0];
        let text = Row { tick: 12_008, values }.text();
        assert_eq!(text, "[12.008,0.123457,-1e-9,0.0,1234.57,1e-300,-3.0,0.3,0,16127.0]");
    }
}

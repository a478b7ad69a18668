//! Where the daemon puts what there is to see: the newest of each kind, for as many as look on.
//!
//! Putting something in never waits for a reader. Nothing is made into text unless somebody asks for it, except what
//! changes rarely.

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
const SAMPLES_KEPT: usize = 1000;

/// The newest of everything; clones share it.
#[derive(Clone, Debug)]
pub struct Feed {
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
    rows: VecDeque<String>,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            scene: watch::Sender::default(),
            settings: watch::Sender::new(Text::from("{}")),
            timing: watch::Sender::new(Arc::new(TimingMessage::of(&Default::default()))),
            state: watch::Sender::new(None),
            samples: Arc::default(),
        }
    }
}

impl Feed {
    /// Another scene runs from now on. Tell it before the first observation of it.
    pub fn tell_scene(&self, scene: &SceneMessage) {
        let current = CurrentScene { id: scene.scene_id, text: json(scene) };
        self.scene.send_replace(Arc::new(current));
    }

    /// Something was set.
    pub fn tell_settings(&self, settings: &SettingsMessage) {
        self.settings.send_replace(Text::from(json(settings)));
    }

    /// How the loop keeps its time.
    pub fn tell_timing(&self, timing: TimingMessage) {
        self.timing.send_replace(Arc::new(timing));
    }

    /// What was just seen.
    pub fn tell_state(&self, seen: Observation) {
        self.samples().push(&seen);
        self.state.send_replace(Some(Arc::new(seen)));
    }

    /// Rows since a number, as a JSON list, and the number to go on from.
    pub(crate) fn samples_since(&self, number: u64) -> (String, u64) {
        let samples = self.samples();
        let first = samples.next - samples.rows.len() as u64;
        let skip = number.saturating_sub(first).min(samples.rows.len() as u64) as usize;
        let rows: Vec<&str> = samples.rows.iter().skip(skip).map(String::as_str).collect();
        (format!("[{}]", rows.join(",")), samples.next)
    }

    fn samples(&self) -> MutexGuard<'_, Samples> {
        // A panic while rows are pushed leaves them whole, so a poisoned lock is as good as any.
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Samples {
    fn push(&mut self, seen: &Observation) {
        if std::mem::replace(&mut self.scene_id, seen.scene_id) != seen.scene_id {
            self.rows.clear();
        } else if self.rows.len() == SAMPLES_KEPT {
            self.rows.pop_front();
        }
        self.rows.push_back(json(&seen.sample()));
        self.next += 1;
    }
}

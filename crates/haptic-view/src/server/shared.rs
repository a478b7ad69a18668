//! What all requests and streams share.

use super::gate::Policy;
use super::limits::{CHANGES_PER_S, MOST_STREAMS, Pace, REQUESTS_PER_S};
use super::refusals::Refusals;
use crate::feed::Feed;
use crate::host::{Host, Refusal};
use crate::listen::Listener;
use crate::message::state::{Observation, StateMessage};
use crate::message::{Text, json};
use nalgebra::Vector2;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::{Semaphore, watch};

/// What all requests and streams share.
pub struct Shared {
    pub feed: Feed,
    pub host: Arc<dyn Host>,
    pub policy: Policy,
    stopped: watch::Receiver<bool>,
    pub streams: Arc<Semaphore>,
    /// One scene is prepared at a time.
    pub scene_switch: Semaphore,
    /// One looks at a time for what is plugged in.
    pub device_search: Arc<Semaphore>,
    pub counters: Counters,
    pub refusals: Refusals,
    paces: Mutex<Paces>,
    guide: Mutex<Option<u64>>,
    state_text: Mutex<Option<StateText>>,
}

/// What the server counts of itself.
#[derive(Debug, Default)]
pub struct Counters {
    pub requests: AtomicU64,
    pub connections_refused: AtomicU64,
    pub streams_opened: AtomicU64,
    pub frames_sent: AtomicU64,
    pub frames_dropped: AtomicU64,
    pub slow_clients: AtomicU64,
}

struct Paces {
    requests: Pace,
    changes: Pace,
}

/// The newest state as text, made once for all who want it.
struct StateText {
    seen: Arc<Observation>,
    guided: bool,
    text: Text,
}

impl Shared {
    pub fn new(listener: &Listener, feed: Feed, host: Arc<dyn Host>, stopped: watch::Receiver<bool>) -> Self {
        let now = Instant::now();
        let paces = Paces { requests: Pace::new(REQUESTS_PER_S, now), changes: Pace::new(CHANGES_PER_S, now) };
        Self {
            feed,
            host,
            policy: Policy::of(listener),
            stopped,
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            scene_switch: Semaphore::new(1),
            device_search: Arc::new(Semaphore::new(1)),
            counters: Counters::default(),
            refusals: Refusals::default(),
            paces: Mutex::new(paces),
            guide: Mutex::new(None),
            state_text: Mutex::new(None),
        }
    }

    /// Whether one more request may pass now.
    pub fn admits(&self, changes_something: bool) -> bool {
        let (now, mut paces) = (Instant::now(), lock(&self.paces));
        paces.requests.admits(now) && (!changes_something || paces.changes.admits(now))
    }

    /// The newest state and its scene; none before the first tick.
    pub fn state_text(&self) -> Option<(Arc<Observation>, Text)> {
        let seen = self.feed.state.borrow().clone()?;
        let (guided, mut kept) = (lock(&self.guide).is_some(), lock(&self.state_text));
        let is_kept = kept.as_ref().is_some_and(|kept| Arc::ptr_eq(&kept.seen, &seen) && kept.guided == guided);
        if !is_kept {
            let text = Text::from(json(&StateMessage::of(&seen, guided)));
            *kept = Some(StateText { seen: seen.clone(), guided, text });
        }
        kept.as_ref().map(|kept| (seen, kept.text.clone()))
    }

    /// A stream leads the hand; the last one to ask has it.
    pub fn guide_hand(&self, stream: u64, target_m: Vector2<f64>) -> Result<(), Refusal> {
        self.host.guide_hand(Some(target_m))?;
        *lock(&self.guide) = Some(stream);
        Ok(())
    }

    /// A stream lets the hand go, if it has it.
    pub fn let_hand_go(&self, stream: u64) -> Result<(), Refusal> {
        let mut guide = lock(&self.guide);
        if *guide == Some(stream) {
            self.host.guide_hand(None)?;
            *guide = None;
        }
        Ok(())
    }

    /// Comes back when the viewer is told to stop.
    pub async fn until_stopped(&self) {
        // Whoever could tell us is gone: that is the end, too.
        let _ = self.stopped.clone().wait_for(|stopped| *stopped).await;
    }

    pub fn open_streams(&self) -> usize {
        MOST_STREAMS - self.streams.available_permits()
    }

    /// Tells streams apart.
    pub fn next_stream(&self) -> u64 {
        self.counters.streams_opened.fetch_add(1, Ordering::Relaxed)
    }
}

/// None of our locks guards anything that a panic could leave half done.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

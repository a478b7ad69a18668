//! State shared by all requests and streams.

use super::hand::HandControl;
use super::limits::{CHANGES_PER_S, MAX_BLOCKING_TASKS, MAX_STREAMS, REQUESTS_PER_S};
use super::lock;
use super::policy::AccessPolicy;
use super::rate_limiter::RateLimiter;
use super::rejection_log::RejectionLog;
use crate::controller::Controller;
use crate::listener::Listener;
use crate::message::state::{Observation, StateMessage};
use crate::message::{Text, json};
use crate::telemetry::Telemetry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::{Semaphore, watch};

/// State shared by all requests and streams.
pub struct Shared {
    pub telemetry: Telemetry,
    pub controller: Arc<dyn Controller>,
    pub policy: AccessPolicy,
    pub hand: HandControl,
    stopped: watch::Receiver<bool>,
    pub streams: Arc<Semaphore>,
    /// Permit for preparing a scene; only one at a time.
    pub scene_switch: Arc<Semaphore>,
    /// Permits for long tasks, one per thread. Without them, tasks would queue up for clients that may have
    /// disconnected.
    pub long_tasks: Arc<Semaphore>,
    /// Permit for searching for connected devices; only one at a time.
    pub device_search: Arc<Semaphore>,
    pub counters: Counters,
    pub rejections: RejectionLog,
    rate_limiters: Mutex<RateLimiters>,
    state_text: Mutex<Option<StateText>>,
}

/// Server counters.
#[derive(Debug, Default)]
pub struct Counters {
    pub requests: AtomicU64,
    pub connections_refused: AtomicU64,
    pub streams_opened: AtomicU64,
    pub frames_sent: AtomicU64,
    pub frames_dropped: AtomicU64,
    pub slow_clients: AtomicU64,
}

struct RateLimiters {
    requests: RateLimiter,
    changes: RateLimiter,
}

/// The newest state as text, serialised once for all clients.
struct StateText {
    observation: Arc<Observation>,
    hand_guided: bool,
    text: Text,
}

impl Shared {
    pub fn new(
        listener: &Listener,
        telemetry: Telemetry,
        controller: Arc<dyn Controller>,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        let now = Instant::now();
        let rate_limiters = RateLimiters {
            requests: RateLimiter::new(REQUESTS_PER_S, now),
            changes: RateLimiter::new(CHANGES_PER_S, now),
        };
        Self {
            telemetry,
            hand: HandControl::new(controller.clone(), now),
            controller,
            policy: AccessPolicy::new(listener),
            stopped,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            scene_switch: Arc::new(Semaphore::new(1)),
            long_tasks: Arc::new(Semaphore::new(MAX_BLOCKING_TASKS)),
            device_search: Arc::new(Semaphore::new(1)),
            counters: Counters::default(),
            rejections: RejectionLog::default(),
            rate_limiters: Mutex::new(rate_limiters),
            state_text: Mutex::new(None),
        }
    }

    /// Returns whether one more request is admitted now, and counts it if so.
    pub fn admits(&self, changes_something: bool) -> bool {
        let (now, mut limiters) = (Instant::now(), lock(&self.rate_limiters));
        limiters.requests.admits(now) && (!changes_something || limiters.changes.admits(now))
    }

    /// Returns the newest observation and its state message; `None` before the first observation.
    pub fn state_text(&self) -> Option<(Arc<Observation>, Text)> {
        let observation = self.telemetry.state.borrow().clone()?;
        let (hand_guided, mut cache) = (self.hand.is_controlled(), lock(&self.state_text));
        let is_current =
            |cached: &StateText| Arc::ptr_eq(&cached.observation, &observation) && cached.hand_guided == hand_guided;
        if let Some(cached) = cache.as_ref().filter(|cached| is_current(cached)) {
            return Some((observation, cached.text.clone()));
        }
        let text = Text::from(json(&StateMessage::new(&observation, hand_guided)));
        *cache = Some(StateText { observation: observation.clone(), hand_guided, text: text.clone() });
        Some((observation, text))
    }

    /// Completes when the viewer stops.
    pub async fn until_stopped(&self) {
        // A dropped sender also means that the viewer stops.
        let _ = self.stopped.clone().wait_for(|stopped| *stopped).await;
    }

    pub fn open_streams(&self) -> usize {
        MAX_STREAMS - self.streams.available_permits()
    }

    /// Returns a unique number for a new stream.
    pub fn next_stream(&self) -> u64 {
        self.counters.streams_opened.fetch_add(1, Ordering::Relaxed)
    }
}

//! What all requests and streams share.

use super::limits::{CHANGES_PER_S, LONG_TASKS, MAX_STREAMS, POSITIONS_PER_S, REQUESTS_PER_S, RateLimiter};
use super::policy::AccessPolicy;
use super::rejections::RejectionLog;
use crate::controller::Controller;
use crate::listen::Listener;
use crate::message::state::{Observation, StateMessage};
use crate::message::{Text, json};
use crate::telemetry::Telemetry;
use haptic_loop::control::ControlError;
use nalgebra::Vector2;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore, watch};

/// When a loop that was too busy to let the hand go is told again.
const RELEASE_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// What all requests and streams share.
pub struct Shared {
    pub telemetry: Telemetry,
    pub controller: Arc<dyn Controller>,
    pub policy: AccessPolicy,
    stopped: watch::Receiver<bool>,
    pub streams: Arc<Semaphore>,
    /// One scene is prepared at a time.
    pub scene_switch: Arc<Semaphore>,
    /// Long work under way; more than there are threads for would pile up, for clients that may be gone by then.
    pub long_tasks: Arc<Semaphore>,
    /// One looks at a time for what is plugged in.
    pub device_search: Arc<Semaphore>,
    pub counters: Counters,
    pub rejections: RejectionLog,
    rate_limiters: Mutex<RateLimiters>,
    guide: Mutex<Guide>,
    /// The loop was too busy to let the hand go.
    release_due: Notify,
    state_text: Mutex<Option<StateText>>,
}

/// Who has the hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Guide {
    #[default]
    Nobody,
    Stream(u64),
    /// Nobody wants it, but the loop has not been told.
    Releasing,
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

struct RateLimiters {
    requests: RateLimiter,
    changes: RateLimiter,
    positions: RateLimiter,
}

/// The newest state as text, made once for all who want it.
struct StateText {
    observation: Arc<Observation>,
    guided: bool,
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
            positions: RateLimiter::new(POSITIONS_PER_S, now),
        };
        Self {
            telemetry,
            controller,
            policy: AccessPolicy::of(listener),
            stopped,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            scene_switch: Arc::new(Semaphore::new(1)),
            long_tasks: Arc::new(Semaphore::new(LONG_TASKS)),
            device_search: Arc::new(Semaphore::new(1)),
            counters: Counters::default(),
            rejections: RejectionLog::default(),
            rate_limiters: Mutex::new(rate_limiters),
            guide: Mutex::default(),
            release_due: Notify::new(),
            state_text: Mutex::new(None),
        }
    }

    /// Whether one more request may pass now.
    pub fn admits(&self, changes_something: bool) -> bool {
        let (now, mut rate_limiters) = (Instant::now(), lock(&self.rate_limiters));
        rate_limiters.requests.admits(now) && (!changes_something || rate_limiters.changes.admits(now))
    }

    /// The newest state and its scene; none before the first tick.
    pub fn state_text(&self) -> Option<(Arc<Observation>, Text)> {
        let observation = self.telemetry.state.borrow().clone()?;
        let (guided, mut kept) = (*lock(&self.guide) != Guide::Nobody, lock(&self.state_text));
        let is_kept =
            kept.as_ref().is_some_and(|kept| Arc::ptr_eq(&kept.observation, &observation) && kept.guided == guided);
        if !is_kept {
            let text = Text::from(json(&StateMessage::of(&observation, guided)));
            *kept = Some(StateText { observation: observation.clone(), guided, text });
        }
        kept.as_ref().map(|kept| (observation, kept.text.clone()))
    }

    /// A stream leads the hand; the last one to ask has it. When many streams pull at once some places are left out, or the loop would
    /// have no room for any other order.
    pub fn guide_hand(&self, stream: u64, target_m: Vector2<f64>) -> Result<(), ControlError> {
        if !lock(&self.rate_limiters).positions.admits(Instant::now()) {
            return Ok(());
        }
        let mut guide = lock(&self.guide);
        self.controller.guide_hand(Some(target_m))?;
        *guide = Guide::Stream(stream);
        Ok(())
    }

    /// Whether that stream has the hand.
    pub fn is_guided_by(&self, stream: u64) -> bool {
        *lock(&self.guide) == Guide::Stream(stream)
    }

    /// A stream lets the hand go, if it has it; a loop that is busy is told later.
    pub fn release_hand(&self, stream: u64) -> Result<(), ControlError> {
        let mut guide = lock(&self.guide);
        if *guide != Guide::Stream(stream) {
            return Ok(());
        }
        let outcome = self.release(&mut guide);
        if *guide == Guide::Releasing {
            self.release_due.notify_one();
        }
        outcome
    }

    /// Lets the hand go for those who did when the loop was busy. They say it once, and may be gone since: without this the
    /// hand would be held for ever. Never comes back.
    pub async fn retry_releases(&self) {
        loop {
            self.release_due.notified().await;
            while !self.retry_release() {
                tokio::time::sleep(RELEASE_RETRY_INTERVAL).await;
            }
        }
    }

    /// Whether no release is due any more.
    fn retry_release(&self) -> bool {
        let mut guide = lock(&self.guide);
        if *guide == Guide::Releasing
            && let Err(refusal) = self.release(&mut guide)
        {
            tracing::debug!("the hand is not let go: {refusal}");
        }
        *guide != Guide::Releasing
    }

    fn release(&self, guide: &mut Guide) -> Result<(), ControlError> {
        match self.controller.guide_hand(None) {
            Err(ControlError::Busy(_)) => *guide = Guide::Releasing,
            outcome => {
                *guide = Guide::Nobody;
                return outcome;
            }
        }
        Ok(())
    }

    /// Comes back when the viewer is told to stop.
    pub async fn until_stopped(&self) {
        // Whoever could tell us is gone: that is the end, too.
        let _ = self.stopped.clone().wait_for(|stopped| *stopped).await;
    }

    pub fn open_streams(&self) -> usize {
        MAX_STREAMS - self.streams.available_permits()
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

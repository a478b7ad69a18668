//! Control of the simulated hand by at most one stream at a time.

use super::limits::TARGETS_PER_S;
use super::lock;
use super::rate_limiter::RateLimiter;
use crate::controller::Controller;
use haptic_loop::control::ControlError;
use nalgebra::Vector2;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Time between two attempts to release the hand while the loop is busy.
const RELEASE_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Passes hand targets from the streams to the daemon, and releases the hand when the stream controlling it ends.
pub struct HandControl {
    controller: Arc<dyn Controller>,
    targets: Mutex<RateLimiter>,
    owner: Mutex<Owner>,
    /// Notified when a release fails because the loop is busy.
    release_due: Notify,
}

/// The stream that controls the hand, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Owner {
    #[default]
    None,
    Stream(u64),
    /// No stream controls the hand any more, but the loop has not accepted the release yet.
    Releasing,
}

impl HandControl {
    pub fn new(controller: Arc<dyn Controller>, now: Instant) -> Self {
        Self {
            controller,
            targets: Mutex::new(RateLimiter::new(TARGETS_PER_S, now)),
            owner: Mutex::default(),
            release_due: Notify::new(),
        }
    }

    /// Whether a stream controls the hand or a release is still pending.
    pub fn is_controlled(&self) -> bool {
        *lock(&self.owner) != Owner::None
    }

    /// Whether the given stream controls the hand.
    pub fn is_controlled_by(&self, stream: u64) -> bool {
        *lock(&self.owner) == Owner::Stream(stream)
    }

    /// Moves the hand towards a position in the world frame, m, and gives control of the hand to the stream. Targets
    /// above the rate limit are skipped, so that the loop has capacity for other commands.
    pub fn set_target(&self, stream: u64, target_m: Vector2<f64>) -> Result<(), ControlError> {
        if !lock(&self.targets).admits(Instant::now()) {
            return Ok(());
        }
        let mut owner = lock(&self.owner);
        self.controller.set_hand_target(Some(target_m))?;
        *owner = Owner::Stream(stream);
        Ok(())
    }

    /// Releases the hand if the given stream controls it. If the loop is busy, [`Self::retry_releases`] releases it
    /// later.
    pub fn release(&self, stream: u64) -> Result<(), ControlError> {
        let mut owner = lock(&self.owner);
        if *owner != Owner::Stream(stream) {
            return Ok(());
        }
        let outcome = self.try_release(&mut owner);
        if *owner == Owner::Releasing {
            self.release_due.notify_one();
        }
        outcome
    }

    /// Repeats releases that failed because the loop was busy. A client sends its release only once and may have
    /// disconnected since; without a retry, the hand would remain controlled forever. Never returns.
    pub async fn retry_releases(&self) {
        loop {
            self.release_due.notified().await;
            while !self.retry_release() {
                tokio::time::sleep(RELEASE_RETRY_INTERVAL).await;
            }
        }
    }

    /// Retries a pending release, if any. Returns whether no release is pending now.
    fn retry_release(&self) -> bool {
        let mut owner = lock(&self.owner);
        if *owner == Owner::Releasing
            && let Err(error) = self.try_release(&mut owner)
        {
            tracing::debug!("cannot release the hand: {error}");
        }
        *owner != Owner::Releasing
    }

    fn try_release(&self, owner: &mut Owner) -> Result<(), ControlError> {
        match self.controller.set_hand_target(None) {
            Err(ControlError::Busy(_)) => {
                *owner = Owner::Releasing;
                Ok(())
            }
            outcome => {
                *owner = Owner::None;
                outcome
            }
        }
    }
}

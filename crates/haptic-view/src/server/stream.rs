//! WebSocket stream: sends the newest state at the requested rate and receives hand targets.
//!
//! Each client receives only the newest state; states are never queued. A slow client receives fewer frames, and a
//! client that does not read is dropped; neither affects other clients.

use super::limits::{MAX_INVALID_MESSAGES, MAX_MESSAGE_BYTES, MAX_TARGET_M, MESSAGES_PER_S, SEND_TIMEOUT};
use super::rate_limiter::RateLimiter;
use super::response::HttpError;
use super::shared::Shared;
use crate::message::state::Observation;
use crate::message::timing::TimingMessage;
use crate::message::{Text, json, with_type};
use crate::telemetry::CurrentScene;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::response::Response;
use haptic_loop::control::ControlError;
use nalgebra::Vector2;
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

/// Time between two timing messages.
const TIMING_INTERVAL: Duration = Duration::from_secs(1);

/// Error that ends a stream. Rejections have already been logged.
struct StreamEnded;

type Outcome = Result<(), StreamEnded>;

/// Upgrades a request to a stream and serves it until it ends.
pub fn open(shared: Arc<Shared>, hz: f64, upgrade: WebSocketUpgrade) -> Result<Response, HttpError> {
    let too_many = |_| HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "too many streams; close some and try again");
    let slot = shared.streams.clone().try_acquire_owned().map_err(too_many)?;
    let upgrade = upgrade.max_message_size(MAX_MESSAGE_BYTES).max_frame_size(MAX_MESSAGE_BYTES).write_buffer_size(0);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let _ = Stream::new(shared, hz, socket).serve().await;
        drop(slot);
    }))
}

/// A message from a client.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields, expecting = "an object with a type")]
enum ClientMessage {
    /// Target of the hand, world frame, m. Null releases the hand; a missing key is an error.
    Hand {
        #[serde(deserialize_with = "Option::deserialize")]
        position_m: Option<[f64; 2]>,
    },
    /// Emergency stop.
    Stop {},
}

struct Stream {
    id: u64,
    shared: Arc<Shared>,
    socket: WebSocket,
    frames: Interval,
    scene: watch::Receiver<Arc<CurrentScene>>,
    settings: watch::Receiver<Text>,
    timing: watch::Receiver<Arc<TimingMessage>>,
    state: watch::Receiver<Option<Arc<Observation>>>,
    /// Whether a frame is due and waiting for the next state.
    is_due: bool,
    timing_sent: Option<Instant>,
    /// Tick number of the last frame.
    last_tick: Option<u64>,
    last_frame: Option<Instant>,
    /// Number of the first sample not sent yet. A new client receives all stored samples.
    next_sample: u64,
    messages: RateLimiter,
    invalid_messages: u32,
}

impl Stream {
    fn new(shared: Arc<Shared>, hz: f64, socket: WebSocket) -> Self {
        let telemetry = &shared.telemetry;
        let (mut scene, mut settings) = (telemetry.scene.subscribe(), telemetry.settings.subscribe());
        scene.mark_changed();
        settings.mark_changed();
        let mut frames = interval(Duration::from_secs_f64(1.0 / hz));
        frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self {
            id: shared.next_stream(),
            timing: telemetry.timing.subscribe(),
            state: telemetry.state.subscribe(),
            is_due: false,
            next_sample: 0,
            scene,
            settings,
            frames,
            timing_sent: None,
            last_tick: None,
            last_frame: None,
            messages: RateLimiter::new(MESSAGES_PER_S, Instant::now()),
            invalid_messages: 0,
            socket,
            shared,
        }
    }

    async fn serve(mut self) -> Outcome {
        let shared = self.shared.clone();
        loop {
            tokio::select! {
                _ = self.frames.tick() => self.schedule_frame().await?,
                Ok(()) = self.state.changed(), if self.is_due => {
                    self.is_due = false;
                    self.send_updates().await?;
                }
                message = self.socket.recv() => match message {
                    Some(Ok(message)) => self.handle(message).await?,
                    Some(Err(error)) => return self.fail(&error).await,
                    None => return Ok(()),
                },
                () = shared.until_stopped() => return self.close(close_code::AWAY, "hapticd is stopping").await,
            }
        }
    }

    /// Marks a frame as due. It is sent with the next state, a few ms later, so that it is as fresh as possible. Other
    /// updates wait for at most one frame.
    async fn schedule_frame(&mut self) -> Outcome {
        let is_first = self.last_tick.is_none();
        if is_first || std::mem::replace(&mut self.is_due, true) {
            return self.send_updates().await;
        }
        self.state.mark_unchanged();
        Ok(())
    }

    /// Sends all updates. A scene is sent before its first state.
    async fn send_updates(&mut self) -> Outcome {
        if self.settings.has_changed().unwrap_or(false) {
            let text = with_type("settings", &self.settings.borrow_and_update());
            self.send(text).await?;
        }
        let state = self.shared.state_text();
        if self.scene.has_changed().unwrap_or(false) {
            let text = with_type("scene", &self.scene.borrow_and_update().text);
            self.send(text).await?;
        }
        if let Some((observation, text)) = state {
            let (scene_id, tick) = (observation.scene_id, observation.snapshot.report.tick);
            if scene_id == self.scene.borrow().id && self.last_tick != Some(tick) {
                self.last_tick = Some(tick);
                self.send_frame(&observation, &text).await?;
            }
        }
        self.send_timing().await
    }

    async fn send_frame(&mut self, observation: &Observation, state: &str) -> Outcome {
        let (samples, next) = self.shared.telemetry.samples_since(self.next_sample, observation);
        self.next_sample = next;
        let body = state.strip_suffix('}').unwrap_or(state);
        let leads = self.shared.hand.is_controlled_by(self.id);
        self.send(with_type("state", &format!("{body},\"leads\":{leads},\"samples\":{samples}}}"))).await?;
        self.count_frame();
        Ok(())
    }

    fn count_frame(&mut self) {
        let (now, counters) = (Instant::now(), &self.shared.counters);
        let periods = self
            .last_frame
            .replace(now)
            .map_or(1.0, |last| now.saturating_duration_since(last).as_secs_f64() / self.frames.period().as_secs_f64());
        counters.frames_sent.fetch_add(1, Ordering::Relaxed);
        counters.frames_dropped.fetch_add((periods.round() as u64).saturating_sub(1), Ordering::Relaxed);
    }

    async fn send_timing(&mut self) -> Outcome {
        if self.timing_sent.is_some_and(|sent| sent.elapsed() < TIMING_INTERVAL) {
            return Ok(());
        }
        self.timing_sent = Some(Instant::now());
        let text = with_type("timing", &json(&**self.timing.borrow_and_update()));
        self.send(text).await
    }

    async fn handle(&mut self, message: Message) -> Outcome {
        match message {
            Message::Text(text) => self.handle_text(&text).await,
            Message::Binary(_) => self.reject("messages are JSON text, not binary").await,
            // The library replies to pings.
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => self.finish_close().await,
        }
    }

    /// Completes the close handshake. The library has queued the reply and sends it on the next receive, which returns
    /// nothing.
    async fn finish_close(&mut self) -> Outcome {
        let _ = timeout(SEND_TIMEOUT, self.socket.recv()).await;
        Err(StreamEnded)
    }

    async fn handle_text(&mut self, text: &str) -> Outcome {
        let is_admitted = self.messages.admits(Instant::now());
        match serde_json::from_str(text) {
            // The state shows the effect. The rate limit does not apply.
            Ok(ClientMessage::Stop {}) => {
                self.shared.controller.stop();
                Ok(())
            }
            Ok(ClientMessage::Hand { position_m: None }) => self.report(self.shared.hand.release(self.id)).await,
            // Above the rate limit, a target is dropped; the next one replaces it.
            Ok(ClientMessage::Hand { .. }) if !is_admitted => Ok(()),
            Ok(ClientMessage::Hand { position_m: Some([x, y]) }) if x.abs().max(y.abs()) <= MAX_TARGET_M => {
                self.report(self.shared.hand.set_target(self.id, Vector2::new(x, y))).await
            }
            Ok(ClientMessage::Hand { .. }) => {
                self.reject(&format!("position_m must be within ±{MAX_TARGET_M} m")).await
            }
            Err(error) => {
                self.reject(&format!("{error}; send e.g. {{\"type\":\"hand\",\"position_m\":[0.0,0.02]}}")).await
            }
        }
    }

    async fn report(&mut self, outcome: Result<(), ControlError>) -> Outcome {
        match outcome {
            // If the loop is busy, the next target follows shortly, and the server repeats a release.
            Ok(()) | Err(ControlError::Busy(_)) => Ok(()),
            Err(error) => self.reject(&error.to_string()).await,
        }
    }

    /// Reports an error to the client. A client that sends too many invalid messages is dropped.
    async fn reject(&mut self, error: &str) -> Outcome {
        self.invalid_messages += 1;
        self.send(json(&serde_json::json!({ "type": "error", "error": error }))).await?;
        if self.invalid_messages < MAX_INVALID_MESSAGES {
            return Ok(());
        }
        self.shared.rejections.record("a stream: too many invalid messages");
        self.close(close_code::POLICY, "too many invalid messages").await
    }

    async fn send(&mut self, text: String) -> Outcome {
        match timeout(SEND_TIMEOUT, self.socket.send(Message::Text(text.into()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(StreamEnded),
            Err(_) => {
                self.shared.counters.slow_clients.fetch_add(1, Ordering::Relaxed);
                self.drop_client("the client reads nothing")
            }
        }
    }

    /// Ends the stream after a receive error. Nothing more can be read from the socket.
    async fn fail(&mut self, error: &axum::Error) -> Outcome {
        if !is_too_large(error) {
            return self.drop_client(&error.to_string());
        }
        self.shared.rejections.record(&format!("a stream: {error}"));
        self.close(close_code::SIZE, "a message may have at most 4 KiB").await
    }

    fn drop_client(&self, reason: &str) -> Outcome {
        self.shared.rejections.record(&format!("a stream: {reason}"));
        Err(StreamEnded)
    }

    async fn close(&mut self, code: u16, reason: &'static str) -> Outcome {
        let frame = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        let _ = timeout(SEND_TIMEOUT, self.socket.send(frame)).await;
        Err(StreamEnded)
    }
}

fn is_too_large(error: &axum::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<tungstenite::Error>());
    matches!(cause, Some(tungstenite::Error::Capacity(_)))
}

impl Drop for Stream {
    /// Releases the hand if this stream controls it.
    fn drop(&mut self) {
        if let Err(error) = self.shared.hand.release(self.id) {
            tracing::debug!("cannot release the hand: {error}");
        }
    }
}

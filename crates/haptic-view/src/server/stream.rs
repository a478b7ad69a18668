//! The WebSocket: the newest state at the pace that was asked for, and the hand's place back.
//!
//! Each client is served from the newest state, never from a queue: one that is slow gets fewer frames, one that takes
//! nothing at all is dropped, and neither costs the others anything.

use super::limits::{
    MAX_INVALID_MESSAGES, MAX_MESSAGE_BYTES, MAX_POSITION_M, MESSAGES_PER_S, RateLimiter, SEND_TIMEOUT,
};
use super::response::HttpError;
use super::shared::Shared;
use crate::message::state::Observation;
use crate::message::timing::TimingMessage;
use crate::message::{Text, json, with_kind};
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

/// How often the loop's time is told.
const TIMING_EVERY: Duration = Duration::from_secs(1);

/// Why a stream ends.
struct Ended;

type Outcome = Result<(), Ended>;

/// Answers the request for a stream, and serves it afterwards.
pub fn open(shared: Arc<Shared>, hz: f64, upgrade: WebSocketUpgrade) -> Result<Response, HttpError> {
    let all_taken = |_| HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "too many streams; close some and try again");
    let place = shared.streams.clone().try_acquire_owned().map_err(all_taken)?;
    let upgrade = upgrade.max_message_size(MAX_MESSAGE_BYTES).max_frame_size(MAX_MESSAGE_BYTES).write_buffer_size(0);
    Ok(upgrade.on_upgrade(move |socket| async move {
        // Why it ended was told where it was known.
        let _ = Stream::new(shared, hz, socket).serve().await;
        drop(place);
    }))
}

/// What a client can say.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields, expecting = "an object with a type")]
enum ClientMessage {
    /// Where the hand shall go, m; null lets it go, and nothing at all is a slip.
    Hand {
        #[serde(deserialize_with = "Option::deserialize")]
        position_m: Option<[f64; 2]>,
    },
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
    /// It is time for a frame, and nothing new has come since.
    is_due: bool,
    timing_sent: Option<Instant>,
    /// The tick of the last frame.
    shown_tick: Option<u64>,
    last_frame: Option<Instant>,
    /// The number of the first row that was not told; a new client is told all that are kept.
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
            shown_tick: None,
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
                _ = self.frames.tick() => self.on_frame_due().await?,
                Ok(()) = self.state.changed(), if self.is_due => {
                    self.is_due = false;
                    self.send_new().await?;
                }
                message = self.socket.recv() => match message {
                    Some(Ok(message)) => self.take(message).await?,
                    Some(Err(error)) => return self.fail(&error).await,
                    None => return Ok(()),
                },
                () = shared.until_stopped() => return self.close(close_code::AWAY, "hapticd ends").await,
            }
        }
    }

    /// A frame is not sent when it is due but when the next state comes, a few ms later: it is as fresh as can be then. What
    /// else is new does not wait for longer than a frame.
    async fn on_frame_due(&mut self) -> Outcome {
        let is_first = self.shown_tick.is_none();
        if is_first || std::mem::replace(&mut self.is_due, true) {
            return self.send_new().await;
        }
        self.state.mark_unchanged();
        Ok(())
    }

    /// Everything that is new: the scene before the first state of it.
    async fn send_new(&mut self) -> Outcome {
        if self.settings.has_changed().unwrap_or(false) {
            let text = with_kind("settings", &self.settings.borrow_and_update());
            self.send(text).await?;
        }
        let state = self.shared.state_text();
        if self.scene.has_changed().unwrap_or(false) {
            let text = with_kind("scene", &self.scene.borrow_and_update().text);
            self.send(text).await?;
        }
        if let Some((observation, text)) = state {
            let (scene_id, tick) = (observation.scene_id, observation.snapshot.report.tick);
            if scene_id == self.scene.borrow().id && self.shown_tick != Some(tick) {
                self.shown_tick = Some(tick);
                self.send_frame(&observation, &text).await?;
            }
        }
        self.send_timing().await
    }

    async fn send_frame(&mut self, observation: &Observation, state: &str) -> Outcome {
        let (samples, next) = self.shared.telemetry.samples_since(self.next_sample, observation);
        self.next_sample = next;
        let body = state.strip_suffix('}').unwrap_or(state);
        let leads = self.shared.is_guided_by(self.id);
        self.send(with_kind("state", &format!("{body},\"leads\":{leads},\"samples\":{samples}}}"))).await?;
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
        if self.timing_sent.is_some_and(|report| report.elapsed() < TIMING_EVERY) {
            return Ok(());
        }
        self.timing_sent = Some(Instant::now());
        let text = with_kind("timing", &json(&**self.timing.borrow_and_update()));
        self.send(text).await
    }

    async fn take(&mut self, message: Message) -> Outcome {
        match message {
            Message::Text(text) => self.handle_text(&text).await,
            Message::Binary(_) => self.object("messages are JSON text, not binary").await,
            // Answered by the library.
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => self.confirm_close().await,
        }
    }

    /// The library has put the answer aside, and sends it when it is asked for what comes next: nothing.
    async fn confirm_close(&mut self) -> Outcome {
        let _ = timeout(SEND_TIMEOUT, self.socket.recv()).await;
        Err(Ended)
    }

    async fn handle_text(&mut self, text: &str) -> Outcome {
        let has_pace = self.messages.admits(Instant::now());
        match serde_json::from_str(text) {
            Ok(ClientMessage::Hand { position_m: None }) => self.report(self.shared.release_hand(self.id)).await,
            // A mouse that is too fast: the next place says it as well.
            Ok(ClientMessage::Hand { .. }) if !has_pace => Ok(()),
            Ok(ClientMessage::Hand { position_m: Some([x, y]) }) if x.abs().max(y.abs()) <= MAX_POSITION_M => {
                self.report(self.shared.guide_hand(self.id, Vector2::new(x, y))).await
            }
            Ok(ClientMessage::Hand { .. }) => {
                self.object(&format!("position_m must be within ±{MAX_POSITION_M} m")).await
            }
            Err(error) => {
                self.object(&format!("{error}; send e.g. {{\"type\":\"hand\",\"position_m\":[0.0,0.02]}}")).await
            }
        }
    }

    async fn report(&mut self, outcome: Result<(), ControlError>) -> Outcome {
        match outcome {
            // Full: the next place of the mouse comes in a moment, and whoever lets go need not say it again.
            Ok(()) | Err(ControlError::Busy(_)) => Ok(()),
            Err(refusal) => self.object(&refusal.to_string()).await,
        }
    }

    /// Says what was wrong with a message; whoever sends nothing but nonsense is dropped.
    async fn object(&mut self, problem: &str) -> Outcome {
        self.invalid_messages += 1;
        self.send(json(&serde_json::json!({ "type": "error", "error": problem }))).await?;
        if self.invalid_messages < MAX_INVALID_MESSAGES {
            return Ok(());
        }
        self.shared.rejections.log("a stream: too many senseless messages");
        self.close(close_code::POLICY, "too many senseless messages").await
    }

    async fn send(&mut self, text: String) -> Outcome {
        match timeout(SEND_TIMEOUT, self.socket.send(Message::Text(text.into()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Ended),
            Err(_) => {
                self.shared.counters.slow_clients.fetch_add(1, Ordering::Relaxed);
                self.drop_for("the client takes nothing")
            }
        }
    }

    /// What was received cannot be taken; nor can anything after it.
    async fn fail(&mut self, error: &axum::Error) -> Outcome {
        if !is_too_large(error) {
            return self.drop_for(&error.to_string());
        }
        self.shared.rejections.log(&format!("a stream: {error}"));
        self.close(close_code::SIZE, "a message has 4 KiB at most").await
    }

    fn drop_for(&self, reason: &str) -> Outcome {
        self.shared.rejections.log(&format!("a stream: {reason}"));
        Err(Ended)
    }

    async fn close(&mut self, code: u16, reason: &'static str) -> Outcome {
        let farewell = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        let _ = timeout(SEND_TIMEOUT, self.socket.send(farewell)).await;
        Err(Ended)
    }
}

fn is_too_large(error: &axum::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<tungstenite::Error>());
    matches!(cause, Some(tungstenite::Error::Capacity(_)))
}

impl Drop for Stream {
    /// A page that is closed while it drags lets go.
    fn drop(&mut self) {
        if let Err(refusal) = self.shared.release_hand(self.id) {
            tracing::debug!("the hand is not let go: {refusal}");
        }
    }
}

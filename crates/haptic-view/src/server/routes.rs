//! HTTP API of the viewer.

use super::limits::{FRAMES_HZ, MAX_BODY_BYTES, MAX_STEP_TICKS, STOP_POLL_INTERVAL, STOP_TIMEOUT};
use super::middleware::{Gate, STOP_PATH};
use super::response::{HttpError, UniqueKeys, json, json_text, parse, text};
use super::shared::Shared;
use super::{assets, metrics, middleware, stream};
use crate::controller::{Controller, SceneChoice};
use crate::message::Text;
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::{Method, StatusCode, Uri};
use axum::response::Response;
use axum::routing::{get, patch, post};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Instant;

type Context = State<Arc<Shared>>;
type Reply = Result<Response, HttpError>;
type Body = Result<Bytes, BytesRejection>;

/// Returns the router with all routes, behind the checks of [`middleware`].
pub fn routes(gate: Gate) -> Router {
    let shared = gate.shared.clone();
    Router::new()
        .route(STOP_PATH, post(stop))
        .route("/api/stop/release", post(release_stop))
        .route("/api/scene", get(scene).post(change_scene))
        .route("/api/scenes", get(scenes))
        .route("/api/scenes/{picture}", get(thumbnail))
        .route("/api/state", get(state))
        .route("/api/settings", get(settings))
        .route("/api/timing", get(timing))
        .route("/api/devices", get(devices))
        .route("/api/coupling", patch(coupling))
        .route("/api/reset", post(reset))
        .route("/api/pause", post(pause))
        .route("/api/step", post(step))
        .route("/api/record/start", post(record_start))
        .route("/api/record/stop", post(record_stop))
        .route("/api/stream", get(open_stream))
        .route("/metrics", get(metrics))
        .fallback(page)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(axum::middleware::from_fn_with_state(gate, middleware::check_request))
        .with_state(shared)
}

async fn page(method: Method, uri: Uri) -> Reply {
    if uri.path().starts_with("/api") {
        return Err(HttpError::new(StatusCode::NOT_FOUND, "no such path; see docs/api.md"));
    }
    if !matches!(method, Method::GET | Method::HEAD) {
        return Err(wrong_method().await);
    }
    Ok(assets::asset(uri.path()))
}

async fn wrong_method() -> HttpError {
    HttpError::new(StatusCode::METHOD_NOT_ALLOWED, "this path requires another method; see docs/api.md")
}

async fn scene(State(shared): Context) -> Response {
    json_text(shared.telemetry.scene.borrow().text.clone())
}

async fn state(State(shared): Context) -> Reply {
    let not_yet = || HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "no tick has run yet; try again");
    let (_, state) = shared.state_text().ok_or_else(not_yet)?;
    Ok(json_text(state.to_string()))
}

async fn settings(State(shared): Context) -> Response {
    json_text(Text::clone(&shared.telemetry.settings.borrow()).to_string())
}

async fn timing(State(shared): Context) -> Response {
    json(&**shared.telemetry.timing.borrow())
}

async fn metrics(State(shared): Context) -> Response {
    text("text/plain; version=0.0.4; charset=utf-8", metrics::text(&shared))
}

async fn scenes(State(shared): Context) -> Response {
    json(&shared.controller.scenes())
}

async fn thumbnail(State(shared): Context, Path(picture): Path<String>) -> Reply {
    let unknown = || HttpError::new(StatusCode::NOT_FOUND, "no such picture; GET /api/scenes lists them");
    let name = picture.strip_suffix(".svg").ok_or_else(unknown)?.to_owned();
    let svg = run_blocking(&shared, move |controller| controller.thumbnail(&name)).await?.ok_or_else(unknown)?;
    Ok(text("image/svg+xml", svg))
}

async fn devices(State(shared): Context) -> Reply {
    // Run one search at a time, to completion. Other requests wait here, where they occupy no thread.
    let permit = shared.device_search.clone().acquire_owned().await.map_err(|_| stopping())?;
    let found = run_blocking(&shared, move |controller| {
        let _permit = permit;
        controller.devices()
    });
    Ok(json(&found.await?))
}

/// Returns the error response for requests that arrive while the viewer is stopping.
fn stopping() -> HttpError {
    HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "hapticd is stopping")
}

/// A request for a scene change: either the name of a built-in scene or the text of a scene file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneRequest {
    name: Option<String>,
    toml: Option<String>,
}

async fn change_scene(State(shared): Context, body: Body) -> Reply {
    const EXAMPLE: &str = r#"{"name":"tower"}"#;
    let choice = match parse(&read_body(body)?, EXAMPLE)? {
        SceneRequest { name: Some(name), toml: None } => SceneChoice::BuiltIn(name),
        SceneRequest { name: None, toml: Some(text) } => SceneChoice::Toml(text),
        _ => return Err(HttpError::invalid(format!("send either a name or a toml, e.g. {EXAMPLE}"))),
    };
    let text = "another scene is being prepared; try again in a moment";
    let busy = |_| HttpError::new(StatusCode::SERVICE_UNAVAILABLE, text);
    let permit = shared.scene_switch.clone().try_acquire_owned().map_err(busy)?;
    let switched = run_blocking(&shared, move |controller| {
        let _permit = permit;
        controller.change_scene(&choice)
    });
    let scene_id = switched.await??;
    Ok(json(&serde_json::json!({ "scene_id": scene_id })))
}

async fn coupling(State(shared): Context, body: Body) -> Reply {
    let UniqueKeys(keys) = parse(&read_body(body)?, r#"{"stiffness_n_per_m":300.0}"#)?;
    Ok(json(&shared.controller.set_gains(&keys)?))
}

/// A request without parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EmptyRequest {}

async fn reset(State(shared): Context, body: Body) -> Reply {
    let EmptyRequest {} = parse(&read_body(body)?, "{}")?;
    run_blocking(&shared, |controller| controller.reset()).await??;
    Ok(json(&serde_json::json!({})))
}

/// Stops, whatever the body of the request is, and responds once the loop has sent zero force.
async fn stop(State(shared): Context) -> Reply {
    let number = shared.controller.stop();
    let requested = Instant::now();
    while !shared.controller.is_stop_effective(number) {
        if requested.elapsed() > STOP_TIMEOUT {
            let text = "the loop does not respond; the stop takes effect in its next tick; switch the device off";
            return Err(HttpError::new(StatusCode::SERVICE_UNAVAILABLE, text));
        }
        tokio::time::sleep(STOP_POLL_INTERVAL).await;
    }
    Ok(json(&serde_json::json!({ "stopped": true })))
}

async fn release_stop(State(shared): Context, body: Body) -> Reply {
    let EmptyRequest {} = parse(&read_body(body)?, "{}")?;
    shared.controller.release_stop()?;
    Ok(json(&serde_json::json!({ "stopped": false })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PauseRequest {
    #[serde(default = "yes")]
    paused: bool,
}

fn yes() -> bool {
    true
}

async fn pause(State(shared): Context, body: Body) -> Reply {
    let PauseRequest { paused } = parse(&read_body(body)?, r#"{"paused":true}"#)?;
    shared.controller.pause(paused)?;
    Ok(json(&serde_json::json!({ "paused": paused })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepRequest {
    #[serde(default = "one")]
    ticks: u32,
}

fn one() -> u32 {
    1
}

async fn step(State(shared): Context, body: Body) -> Reply {
    let StepRequest { ticks } = parse(&read_body(body)?, r#"{"ticks":1}"#)?;
    if !(1..=MAX_STEP_TICKS).contains(&ticks) {
        return Err(HttpError::invalid(format!("ticks is {ticks}; it must be from 1 to {MAX_STEP_TICKS}")));
    }
    shared.controller.step(ticks)?;
    Ok(json(&serde_json::json!({ "ticks": ticks })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordRequest {
    file: Option<String>,
}

async fn record_start(State(shared): Context, body: Body) -> Reply {
    let RecordRequest { file } = parse(&read_body(body)?, r#"{"file":"session.mcap"}"#)?;
    let file = run_blocking(&shared, move |controller| controller.start_recording(file.as_deref())).await??;
    Ok(json(&serde_json::json!({ "file": file })))
}

async fn record_stop(State(shared): Context, body: Body) -> Reply {
    let EmptyRequest {} = parse(&read_body(body)?, "{}")?;
    let file = run_blocking(&shared, |controller| controller.stop_recording()).await??;
    Ok(json(&serde_json::json!({ "file": file })))
}

async fn open_stream(
    State(shared): Context,
    RawQuery(query): RawQuery,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Reply {
    let hz = frames_hz(query.as_deref().unwrap_or_default())?;
    let not_a_socket = |_| HttpError::new(StatusCode::UPGRADE_REQUIRED, "this path requires a WebSocket upgrade");
    stream::open(shared, hz, upgrade.map_err(not_a_socket)?)
}

fn frames_hz(query: &str) -> Result<f64, HttpError> {
    let Some(text) = query.split('&').find_map(|part| part.strip_prefix("hz=")) else { return Ok(60.0) };
    let hz = text.parse().ok().filter(|hz| FRAMES_HZ.contains(hz));
    hz.ok_or_else(|| {
        let (min, max) = (FRAMES_HZ.start(), FRAMES_HZ.end());
        HttpError::invalid(format!("hz must be a number from {min} to {max}, e.g. ?hz=60"))
    })
}

/// Returns the body, or an error if the server did not accept it.
fn read_body(body: Body) -> Result<Bytes, HttpError> {
    body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => HttpError::too_large(),
        status => HttpError::new(status, rejection.body_text()),
    })
}

/// Runs a long controller task on another thread, so that the server thread stays free. The task runs to completion
/// even if the client disconnects, and keeps its slot until then. A request without a slot waits here, where a
/// disconnect costs nothing.
async fn run_blocking<T: Send + 'static>(
    shared: &Shared,
    task: impl FnOnce(&dyn Controller) -> T + Send + 'static,
) -> Result<T, HttpError> {
    let slot = shared.long_tasks.clone().acquire_owned().await.map_err(|_| stopping())?;
    let controller = shared.controller.clone();
    let outcome = tokio::task::spawn_blocking(move || {
        let _slot = slot;
        task(&*controller)
    })
    .await;
    outcome.map_err(|error| HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("internal error: {error}")))
}

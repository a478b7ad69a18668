//! A viewer with a mock daemon, and clients that send exactly the given bytes.

use haptic_coupling::coupling::Gains;
use haptic_loop::control::ControlError;
use haptic_loop::snapshot::{Pose, Snapshot};
use haptic_loop::world::World;
use haptic_planar::scene::Scene;
use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription};
use haptic_view::controller::{DeviceInUse, DevicesMessage, SceneChoice};
use haptic_view::message::scene::{SceneMessage, ScenesMessage};
use haptic_view::message::state::Observation;
use haptic_view::{Controller, Listener, Telemetry, Viewer};
use nalgebra::Vector2;
use serde_json::{Map, Value};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// Timeout far longer than anything in the tests takes, so that only a hang reaches it.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// A mock daemon that records its requests.
#[derive(Default)]
pub struct Daemon {
    pub requests: Mutex<Vec<String>>,
    pub search_hangs: AtomicBool,
    /// Whether a scene change blocks until this flag is cleared.
    pub scene_hangs: AtomicBool,
    /// Whether an emergency stop takes no effect.
    pub stop_hangs: AtomicBool,
    /// Whether the daemon rejects releases of the hand as busy.
    pub is_busy: AtomicBool,
}

impl Daemon {
    fn record(&self, what: impl Into<String>) {
        self.requests.lock().unwrap().push(what.into());
    }

    /// Waits until the daemon has received a request.
    #[track_caller]
    pub fn wait_for(&self, what: &str) {
        wait_until(what, || self.requests.lock().unwrap().iter().any(|request| request == what));
    }
}

impl Controller for Daemon {
    fn set_hand_target(&self, target_m: Option<Vector2<f64>>) -> Result<(), ControlError> {
        if target_m.is_none() && self.is_busy.load(Ordering::Relaxed) {
            self.record("too busy to release");
            return Err(ControlError::Busy("busy".to_owned()));
        }
        self.record(target_m.map_or("release".to_owned(), |target_m| format!("move to {} {}", target_m.x, target_m.y)));
        Ok(())
    }

    fn stop(&self) -> u64 {
        self.record("stop");
        1
    }

    fn is_stop_effective(&self, _number: u64) -> bool {
        !self.stop_hangs.load(Ordering::Relaxed)
    }

    fn release_stop(&self) -> Result<(), ControlError> {
        self.record("release the stop");
        Ok(())
    }

    fn pause(&self, paused: bool) -> Result<(), ControlError> {
        self.record(format!("pause {paused}"));
        Ok(())
    }

    fn step(&self, ticks: u32) -> Result<(), ControlError> {
        self.record(format!("step {ticks}"));
        Ok(())
    }

    fn reset(&self) -> Result<(), ControlError> {
        self.record("reset");
        Err(ControlError::Busy("busy".to_owned()))
    }

    fn set_gains(&self, keys: &Map<String, Value>) -> Result<Gains, ControlError> {
        match keys.get("stiffness_n_per_m").and_then(Value::as_f64) {
            Some(stiffness_n_per_m) if stiffness_n_per_m >= 0.0 => Ok(Gains {
                stiffness_n_per_m,
                damping_n_s_per_m: 0.0,
                angular_stiffness_n_m_per_rad: 0.0,
                angular_damping_n_m_s_per_rad: 0.0,
            }),
            _ => Err(ControlError::Invalid("coupling.stiffness_n_per_m: must be from 0 to 1000000".to_owned())),
        }
    }

    fn scenes(&self) -> ScenesMessage {
        ScenesMessage { scenes: Vec::new(), current: "mock".to_owned() }
    }

    fn thumbnail(&self, name: &str) -> Option<String> {
        (name == "tower").then(|| "<svg/>".to_owned())
    }

    fn change_scene(&self, choice: &SceneChoice) -> Result<u64, ControlError> {
        self.record("prepare a scene");
        while self.scene_hangs.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        match choice {
            SceneChoice::BuiltIn(name) if name == "tower" => Ok(2),
            _ => Err(ControlError::Invalid("no such scene".to_owned())),
        }
    }

    /// Searches until the flag is cleared, like a kernel that does not respond.
    fn devices(&self) -> DevicesMessage {
        self.record("search for devices");
        while self.search_hangs.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let in_use = DeviceInUse { name: "mock".to_owned(), kind: "simulated".to_owned() };
        DevicesMessage { devices: Value::Array(Vec::new()), in_use }
    }

    fn start_recording(&self, file: Option<&str>) -> Result<String, ControlError> {
        Ok(file.unwrap_or("session.mcap").to_owned())
    }

    fn stop_recording(&self) -> Result<String, ControlError> {
        Err(ControlError::NotNow("nothing is being recorded".to_owned()))
    }
}

pub struct Server {
    pub viewer: Viewer,
    pub telemetry: Telemetry,
    pub daemon: Arc<Daemon>,
    pub address: SocketAddr,
    pub token: Option<String>,
}

/// Starts a viewer on loopback with one published tick.
pub fn server() -> Server {
    server_at([127, 0, 0, 1])
}

pub fn server_at(ip: [u8; 4]) -> Server {
    let listener = Listener::bind(SocketAddr::from((ip, 0))).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], listener.address().port()));
    let token = listener.token().map(str::to_owned);
    let (telemetry, daemon) = (Telemetry::default(), Arc::new(Daemon::default()));
    let (description, scene) = ball();
    telemetry.publish_scene(&SceneMessage::new(1, "mock", &description, &scene));
    telemetry.publish_state(observation(1, 8, 1));
    let viewer = Viewer::serve(listener, telemetry.clone(), daemon.clone(), None).unwrap();
    Server { viewer, telemetry, daemon, address, token }
}

pub fn ball() -> (SceneDescription, Scene) {
    let ball = BodyDescription::new("ball", ShapeDescription::Disc { radius_m: 0.01 });
    let description = SceneDescription { bodies: vec![ball], ..SceneDescription::default() };
    let scene = Scene::build(&description).unwrap();
    (description, scene)
}

/// Creates an observation with this many poses.
pub fn observation(scene_id: u64, tick: u64, bodies: usize) -> Observation {
    let mut snapshot = Snapshot::with_capacity_for(&World::new(ball().1));
    snapshot.report.tick = tick;
    let pose = Pose { body: 0, position_m: Vector2::new(0.123_456_789, 1.0 / 3.0), angle_rad: 0.1, is_removed: false };
    snapshot.poses = vec![pose; bodies];
    Observation {
        scene_id,
        snapshot,
        handle_m: None,
        tool: None,
        compute_ns: 9000,
        caption: Some("free".to_owned()),
        fault: None,
        faults: 0,
        stale_observations: 0,
        recording: None,
    }
}

/// A parsed response.
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Response {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }
}

impl Server {
    pub fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[], "")
    }

    pub fn post(&self, path: &str, body: &str) -> Response {
        self.request("POST", path, &[], body)
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text.push_str(&format!("Host: {}\r\n", self.address));
        }
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        self.send(&format!("{text}\r\n{body}"))
    }

    /// Sends exactly these bytes and returns the response.
    pub fn send(&self, text: &str) -> Response {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        // The server may close the connection before everything is sent.
        let _ = stream.write_all(text.as_bytes());
        response(stream)
    }

    pub fn open_stream(&self, query: &str) -> Stream {
        self.try_stream(query, &[]).unwrap()
    }

    /// Opens a stream; returns the status if it is rejected.
    pub fn try_stream(&self, query: &str, headers: &[(&'static str, &str)]) -> Result<Stream, u16> {
        let url = format!("ws://{}/api/stream{query}", self.address);
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        match tungstenite::client(request, socket) {
            Ok((socket, _)) => Ok(Stream(socket)),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
                Err(response.status().as_u16())
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn response(mut stream: TcpStream) -> Response {
    let mut bytes = Vec::new();
    // Data that arrived before a connection reset is still used.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Response { status, head: head.to_owned(), body: body.to_owned() }
}

pub struct Stream(pub WebSocket<TcpStream>);

impl Stream {
    pub fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).unwrap();
    }

    /// Returns the next message of the given type.
    #[track_caller]
    pub fn next(&mut self, kind: &str) -> Value {
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            let message = self.next_of_any_kind().expect("the stream ended");
            if message["type"] == kind {
                return message;
            }
        }
        panic!("no {kind} message arrived");
    }

    /// Returns the next message; `None` at the end of the stream.
    pub fn next_of_any_kind(&mut self) -> Option<Value> {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

#[track_caller]
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

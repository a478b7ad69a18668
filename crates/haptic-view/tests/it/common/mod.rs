//! A viewer with a made-up daemon behind it, and clients that say exactly what a test wants.

use haptic_loop::control::ControlError;
use haptic_loop::snapshot::{Pose, Snapshot};
use haptic_loop::world::World;
use haptic_planar::description::{BodyDescription, SceneDescription, ShapeDescription};
use haptic_planar::scene::Scene;
use haptic_view::controller::{DeviceInUse, DevicesMessage, SceneChoice};
use haptic_view::message::scene::{SceneMessage, ScenesMessage};
use haptic_view::message::settings::CouplingMessage;
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

/// Far longer than anything here takes, so that only what never comes is missed.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Notes what it is asked for.
#[derive(Default)]
pub struct Daemon {
    pub asked: Mutex<Vec<String>>,
    pub search_hangs: AtomicBool,
    /// A scene takes until this is over.
    pub scene_hangs: AtomicBool,
    /// It takes no release of the hand.
    pub is_busy: AtomicBool,
}

impl Daemon {
    fn note(&self, what: impl Into<String>) {
        self.asked.lock().unwrap().push(what.into());
    }

    /// Waits until something was asked for.
    #[track_caller]
    pub fn wait_for(&self, what: &str) {
        wait_until(what, || self.asked.lock().unwrap().iter().any(|asked| asked == what));
    }
}

impl Controller for Daemon {
    fn guide_hand(&self, target_m: Option<Vector2<f64>>) -> Result<(), ControlError> {
        if target_m.is_none() && self.is_busy.load(Ordering::Relaxed) {
            self.note("too busy to let go");
            return Err(ControlError::Busy("busy".to_owned()));
        }
        self.note(target_m.map_or("let go".to_owned(), |place| format!("guide {} {}", place.x, place.y)));
        Ok(())
    }

    fn pause(&self, paused: bool) -> Result<(), ControlError> {
        self.note(format!("pause {paused}"));
        Ok(())
    }

    fn step(&self, ticks: u32) -> Result<(), ControlError> {
        self.note(format!("step {ticks}"));
        Ok(())
    }

    fn reset(&self) -> Result<(), ControlError> {
        self.note("reset");
        Err(ControlError::Busy("busy".to_owned()))
    }

    fn set_gains(&self, keys: &Map<String, Value>) -> Result<CouplingMessage, ControlError> {
        match keys.get("stiffness_n_per_m").and_then(Value::as_f64) {
            Some(stiffness_n_per_m) if stiffness_n_per_m >= 0.0 => Ok(CouplingMessage {
                stiffness_n_per_m,
                damping_n_s_per_m: 0.0,
                angular_stiffness_n_m_per_rad: 0.0,
                angular_damping_n_m_s_per_rad: 0.0,
            }),
            _ => Err(ControlError::Invalid("coupling.stiffness_n_per_m: must be zero or more".to_owned())),
        }
    }

    fn scenes(&self) -> ScenesMessage {
        ScenesMessage { scenes: Vec::new(), current: "made up".to_owned() }
    }

    fn thumbnail(&self, name: &str) -> Option<String> {
        (name == "tower").then(|| "<svg/>".to_owned())
    }

    fn change_scene(&self, choice: &SceneChoice) -> Result<u64, ControlError> {
        self.note("prepare a scene");
        while self.scene_hangs.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        match choice {
            SceneChoice::BuiltIn(name) if name == "tower" => Ok(2),
            _ => Err(ControlError::Invalid("no such scene".to_owned())),
        }
    }

    /// Looks until it is told that the search is over, as a kernel that does not answer.
    fn devices(&self) -> DevicesMessage {
        self.note("look for devices");
        while self.search_hangs.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let in_use = DeviceInUse { name: "made up".to_owned(), kind: "simulated".to_owned() };
        DevicesMessage { devices: Value::Array(Vec::new()), in_use }
    }

    fn start_recording(&self, file: Option<&str>) -> Result<String, ControlError> {
        Ok(file.unwrap_or("felt.mcap").to_owned())
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

/// A viewer on this machine that has seen one tick.
pub fn server() -> Server {
    server_at([127, 0, 0, 1])
}

pub fn server_at(ip: [u8; 4]) -> Server {
    let listener = Listener::bind(SocketAddr::from((ip, 0))).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], listener.address().port()));
    let token = listener.token().map(str::to_owned);
    let (telemetry, daemon) = (Telemetry::default(), Arc::new(Daemon::default()));
    let (description, scene) = ball();
    telemetry.publish_scene(&SceneMessage::of(1, "made up", &description, &scene));
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

/// Something to see, with as many bodies as one likes.
pub fn observation(scene_id: u64, tick: u64, bodies: usize) -> Observation {
    let mut snapshot = Snapshot::with_room_for(&World::new(ball().1));
    snapshot.report.tick = tick;
    let pose = Pose { body: 0, position_m: Vector2::new(0.123_456_789, 1.0 / 3.0), angle_rad: 0.1 };
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

/// An answer, taken apart.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }
}

impl Server {
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, &[], body)
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text.push_str(&format!("Host: {}\r\n", self.address));
        }
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        self.say(&format!("{text}\r\n{body}"))
    }

    /// Sends these very bytes and takes the answer.
    pub fn say(&self, text: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A server that has heard enough may hang up before all is said.
        let _ = stream.write_all(text.as_bytes());
        answer(stream)
    }

    pub fn open_stream(&self, query: &str) -> Stream {
        self.try_stream(query, &[]).unwrap()
    }

    /// The status instead, if the stream is refused.
    pub fn try_stream(&self, query: &str, headers: &[(&'static str, &str)]) -> Result<Stream, u16> {
        let url = format!("ws://{}/api/stream{query}", self.address);
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        match tungstenite::client(request, socket) {
            Ok((socket, _)) => Ok(Stream(socket)),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
                Err(answer.status().as_u16())
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // What came before a reset counts.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

pub struct Stream(pub WebSocket<TcpStream>);

impl Stream {
    pub fn say(&mut self, text: &str) {
        self.0.send(Message::text(text)).unwrap();
    }

    /// The next message of a kind.
    #[track_caller]
    pub fn next(&mut self, kind: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let message = self.next_of_any_kind().expect("the stream ended");
            if message["type"] == kind {
                return message;
            }
        }
        panic!("no {kind} came");
    }

    /// The next message; none at the end.
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
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

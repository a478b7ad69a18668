//! A running daemon with its viewer on a free port.

use super::{Process, TIMEOUT};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tungstenite::WebSocket;

/// A running daemon.
pub struct Daemon {
    process: Process,
    pub address: String,
    log: Arc<Mutex<String>>,
}

impl Daemon {
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, |_| ())
    }

    /// Starts a daemon after `prepare` has modified its command.
    pub fn start_with(arguments: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = hapticd(&["run", "--view", "127.0.0.1:0", "--json"]);
        prepare(&mut command);
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let first = lines.next().unwrap();
        let (_, address) = first.split_once("http://").unwrap_or_else(|| panic!("the first line is {first}"));
        let address = address.split('/').next().unwrap().to_owned();
        let log = Arc::new(Mutex::new(String::new()));
        let shared = log.clone();
        std::thread::spawn(move || lines.for_each(|line| *shared.lock().unwrap() += &(line + "\n")));
        let daemon = Self { process: Process(child), address, log };
        daemon.wait_for("a first state", |state| state["tick"].as_u64().is_some_and(|tick| tick > 0));
        daemon
    }

    /// Returns the log after its first line.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, text) = exchange(&self.address, method, path, &body);
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    pub fn get(&self, path: &str) -> Value {
        self.ask("GET", path, &Value::Null).1
    }

    pub fn state(&self) -> Value {
        self.get("/api/state")
    }

    /// Waits for the first state that satisfies a condition and returns it.
    #[track_caller]
    pub fn wait_for(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let state = self.state();
            if holds(&state) {
                return state;
            }
            assert!(Instant::now() < deadline, "missing: {what}; last: {state}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn open_stream(&self) -> WebSocket<TcpStream> {
        let socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        tungstenite::client(format!("ws://{}/api/stream?hz=60", self.address), socket).unwrap().0
    }

    pub fn end(self) -> Value {
        self.end_with(0)
    }

    /// Ends the daemon, with this exit code.
    pub fn end_with(self, code: i32) -> Value {
        self.process.end_with("-TERM", code)
    }
}

pub fn hapticd(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
    command.args(arguments).current_dir(std::env::temp_dir()).env_remove("RUST_LOG");
    command
}

pub fn exchange(address: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

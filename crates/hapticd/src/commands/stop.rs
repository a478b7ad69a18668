//! `hapticd stop`: requests or releases the emergency stop of a running daemon.

use super::print_line;
use crate::cli::StopArguments;
use crate::failure::Failure;
use crate::viewer::{reachable, release_command};
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Maximum time to connect, and from there to the end of the response.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum size of a response, bytes. Those of hapticd are far shorter.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// Runs the command.
///
/// # Errors
/// If no daemon answers, or the daemon rejects the request.
pub fn stop(arguments: &StopArguments) -> Result<(), Failure> {
    let address = reachable(arguments.view);
    let response = post(address, path(arguments), arguments.token.as_deref())
        .map_err(|error| Failure::Runtime(no_answer(address, &error, arguments.release)))?;
    if !response.confirms(arguments.release) {
        return Err(Failure::Runtime(rejection(address, &response, arguments.release)));
    }
    if arguments.release {
        return print_line(&format!("Released the stop of the daemon at {address}; the force ramps up."));
    }
    let release = release_command(address, arguments.token.is_some());
    print_line(&format!("Stopped the daemon at {address}: zero force. Release it with `{release}`."))
}

fn path(arguments: &StopArguments) -> &'static str {
    if arguments.release { "/api/stop/release" } else { "/api/stop" }
}

/// Response to a request.
struct Response {
    status: u16,
    body: Value,
}

impl Response {
    fn parse(text: &str) -> Option<Self> {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.strip_prefix("HTTP/1.1 ")?.split(' ').next()?.parse().ok()?;
        Some(Self { status, body: serde_json::from_str(body).unwrap_or_default() })
    }

    /// Whether the daemon has done what was requested. Another program with such a path would not respond like this.
    fn confirms(&self, is_release: bool) -> bool {
        self.status == 200 && self.body["stopped"] == Value::Bool(!is_release)
    }
}

fn post(address: SocketAddr, path: &str, token: Option<&str>) -> io::Result<Response> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    let deadline = Instant::now() + TIMEOUT;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: {address}\r\n{token}Content-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let text = read_to_end(&mut stream, deadline)?;
    Response::parse(&text).ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "the response is not HTTP"))
}

fn read_to_end(stream: &mut TcpStream, deadline: Instant) -> io::Result<String> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    while bytes.len() < MAX_RESPONSE_BYTES {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn no_answer(address: SocketAddr, error: &io::Error, is_release: bool) -> String {
    format!("no daemon answers at {address}: {error}; {}", remedy(is_release))
}

fn remedy(is_release: bool) -> &'static str {
    if is_release {
        "name the address that it printed at start with --view, or use r in its terminal"
    } else {
        "name the address that it printed at start with --view, or stop its process with `kill -USR1 PID`"
    }
}

fn rejection(address: SocketAddr, response: &Response, is_release: bool) -> String {
    match (response.status, response.body["error"].as_str()) {
        (401, Some(_)) => format!(
            "the daemon at {address} requires a token; give the one in the address that it printed at start with --token"
        ),
        (status, None) | (status @ (200 | 404 | 405), _) => {
            format!(
                "the program at {address} is not a hapticd that can be stopped (status {status}); {}",
                remedy(is_release)
            )
        }
        (_, Some(error)) => format!("the daemon at {address} rejects the request: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_confirmation_of_the_request_itself_counts() {
        let response = |text: &str| Response::parse(text).unwrap();
        let stopped = response("HTTP/1.1 200 OK\r\nX: y\r\n\r\n{\"stopped\":true}");
        assert!(stopped.confirms(false) && !stopped.confirms(true));
        for text in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 503 Busy\r\n\r\n{\"stopped\":true}"] {
            assert!(!response(text).confirms(false), "{text}");
        }
        assert!(Response::parse("SSH-2.0-OpenSSH_9.2\r\n").is_none());
    }
}

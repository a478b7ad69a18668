//! Address of the viewer: the requested port or the next free one. A token is required beyond loopback.

use std::fmt::Write;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};

/// Number of ports to try above the requested one.
const MAX_FALLBACK_PORTS: u16 = 20;
/// Size of a connection's send buffer, bytes: about one second of frames of a busy scene. It bounds the memory that a
/// client can occupy by not reading. Linux doubles the value.
const SEND_BUFFER_BYTES: usize = 128 << 10;
/// Number of random bytes in a token; enough to make it impossible to guess.
const TOKEN_BYTES: usize = 16;

/// The viewer's bound socket, and the token if one is required.
#[derive(Debug)]
pub struct Listener {
    pub(crate) socket: TcpListener,
    address: SocketAddr,
    requested: SocketAddr,
    token: Option<String>,
}

impl Listener {
    /// Binds the requested address, or the next free port above it.
    ///
    /// # Errors
    /// If none of the ports is free, or the address is not an address of this machine.
    pub fn bind(requested: SocketAddr) -> io::Result<Self> {
        let socket = bind_next_free(requested)?;
        let address = socket.local_addr()?;
        rustix::net::sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER_BYTES)?;
        socket.set_nonblocking(true)?;
        let token = if address.ip().is_loopback() { None } else { Some(random_token()?) };
        Ok(Self { socket, address, requested, token })
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the token required for data requests; `None` on loopback.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Whether the requested port was in use and another one was bound.
    pub fn was_moved(&self) -> bool {
        self.requested.port() != 0 && self.requested.port() != self.address.port()
    }

    /// Returns the URL of the page, with the token if one is required.
    pub fn url(&self) -> String {
        let port = self.address.port();
        let host = match self.address {
            address if address.ip().is_unspecified() => host_name().unwrap_or_else(|| "localhost".to_owned()),
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        };
        let token = self.token.as_ref().map(|token| format!("?token={token}")).unwrap_or_default();
        format!("http://{host}:{port}/{token}")
    }
}

/// Returns the host name of this machine in lower case, if it has one.
pub(crate) fn host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_str().ok()?.to_ascii_lowercase();
    (!name.is_empty() && name != "(none)").then_some(name)
}

fn bind_next_free(requested: SocketAddr) -> io::Result<TcpListener> {
    let last = if requested.port() == 0 { 0 } else { requested.port().saturating_add(MAX_FALLBACK_PORTS) };
    let mut in_use = None;
    for port in requested.port()..=last {
        match TcpListener::bind(SocketAddr::new(requested.ip(), port)) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => in_use = Some(error),
            other => return other,
        }
    }
    Err(in_use.unwrap_or_else(|| ErrorKind::AddrInUse.into()))
}

fn random_token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if filled < TOKEN_BYTES {
        return Err(io::Error::other("too few random bytes for a token"));
    }
    let mut token = String::new();
    for byte in bytes {
        let _ = write!(token, "{byte:02x}");
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn a_port_in_use_is_replaced_by_the_next_and_reported() {
        let first = Listener::bind(loopback(0)).unwrap();
        assert!(!first.was_moved());
        let second = Listener::bind(first.address()).unwrap();
        assert!(second.was_moved());
        assert!(second.address().port() > first.address().port());
    }

    #[test]
    fn loopback_needs_no_token_and_everything_else_does() {
        let here = Listener::bind(loopback(0)).unwrap();
        assert_eq!(here.token(), None);
        assert_eq!(here.url(), format!("http://127.0.0.1:{}/", here.address().port()));
        let beyond = Listener::bind(SocketAddr::from(([0, 0, 0, 0], 0))).unwrap();
        let token = beyond.token().unwrap();
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        assert!(beyond.url().ends_with(&format!("/?token={token}")));
        assert_ne!(token, Listener::bind(SocketAddr::from(([0, 0, 0, 0], 0))).unwrap().token().unwrap());
    }
}

//! Where the viewer listens: the address asked for, or the next free one; beyond this machine only with a token.

use std::fmt::Write;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};

/// Ports that are tried above the one asked for.
const MAX_FALLBACK_PORTS: u16 = 20;
/// What a client that does not read can make the system hold, bytes; about a second of a busy scene. The system doubles it.
const SEND_BUFFER_BYTES: usize = 128 << 10;
/// Random bytes of a token: nobody guesses 16.
const TOKEN_BYTES: usize = 16;

/// Where to listen.
pub type Listen = SocketAddr;

/// An address that is ours.
#[derive(Debug)]
pub struct Listener {
    pub(crate) socket: TcpListener,
    address: SocketAddr,
    wanted: SocketAddr,
    token: Option<String>,
}

impl Listener {
    /// Takes the address asked for, or the next free port above it.
    ///
    /// # Errors
    /// When none of the ports is free, or the address is not this machine's.
    pub fn bind(wanted: Listen) -> io::Result<Self> {
        let socket = bind_next_free(wanted)?;
        let address = socket.local_addr()?;
        rustix::net::sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER_BYTES)?;
        socket.set_nonblocking(true)?;
        let token = if address.ip().is_loopback() { None } else { Some(random_token()?) };
        Ok(Self { socket, address, wanted, token })
    }

    /// The address that it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The token that is needed, if it listens beyond this machine.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Whether the port asked for was taken by somebody else.
    pub fn was_moved(&self) -> bool {
        self.wanted.port() != 0 && self.wanted.port() != self.address.port()
    }

    /// What to open in a browser.
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

/// The name of this machine, in lower case.
pub(crate) fn host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_str().ok()?.to_ascii_lowercase();
    (!name.is_empty() && name != "(none)").then_some(name)
}

fn bind_next_free(wanted: SocketAddr) -> io::Result<TcpListener> {
    let last = if wanted.port() == 0 { 0 } else { wanted.port().saturating_add(MAX_FALLBACK_PORTS) };
    let mut refused = None;
    for port in wanted.port()..=last {
        match TcpListener::bind(SocketAddr::new(wanted.ip(), port)) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => refused = Some(error),
            other => return other,
        }
    }
    Err(refused.unwrap_or_else(|| ErrorKind::AddrInUse.into()))
}

fn random_token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if filled < TOKEN_BYTES {
        return Err(io::Error::other("the system gave too little randomness for a token"));
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
    fn a_taken_port_moves_to_the_next_and_says_so() {
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

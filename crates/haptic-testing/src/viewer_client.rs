//! Minimal client for the viewer's WebSocket stream.
//!
//! The client shares no code with the viewer, so that the two cannot share an error, and it compiles quickly for the
//! guest of `scripts/test-kernel`. The programs `watch-stream` and `hostile-client` use it.

use rustix::time::{ClockId, clock_gettime};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Opcode of a WebSocket text frame.
const TEXT: u8 = 1;
/// Opcode of a WebSocket close frame.
const CLOSE: u8 = 8;

/// Returns the time of the monotonic clock, ns. The daemon uses the same clock.
pub fn monotonic_ns() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

/// Sends the upgrade request for a stream of `hz` frames per second, without reading the response.
///
/// # Errors
/// If the connection fails.
pub fn request_stream(address: &str, hz: u32) -> io::Result<TcpStream> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    // Any key is sufficient, because the reply to it is not checked.
    write!(
        socket,
        "GET /api/stream?hz={hz} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )?;
    Ok(socket)
}

/// An open WebSocket stream of the viewer.
#[derive(Debug)]
pub struct Stream {
    socket: BufReader<TcpStream>,
}

impl Stream {
    /// Opens a stream; `timeout` bounds every read.
    ///
    /// # Errors
    /// If the connection fails or the server rejects the stream.
    pub fn open(address: &str, hz: u32, timeout: Duration) -> io::Result<Self> {
        let socket = request_stream(address, hz)?;
        socket.set_read_timeout(Some(timeout))?;
        let mut socket = BufReader::new(socket);
        let head = read_head(&mut socket)?;
        if !head.starts_with(b"HTTP/1.1 101 ") {
            return Err(io::Error::other("the server rejected the stream"));
        }
        Ok(Self { socket })
    }

    /// Returns the next text message; `None` after a close frame or the end of the connection.
    ///
    /// # Errors
    /// If no message arrives within the timeout.
    pub fn next_text(&mut self) -> io::Result<Option<String>> {
        loop {
            match self.next_frame() {
                Ok((TEXT, text)) => return Ok(Some(String::from_utf8_lossy(&text).into_owned())),
                Ok((CLOSE, _)) => return Ok(None),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends text as one frame. The mask is zero, because there is no proxy for a random mask to protect.
    ///
    /// # Errors
    /// If the connection is closed.
    pub fn send_text(&mut self, text: &str) -> io::Result<()> {
        let mut frame = vec![0x80 | TEXT];
        match text.len() {
            short @ 0..126 => frame.push(0x80 | short as u8),
            middling @ 126..65536 => {
                frame.push(0x80 | 126);
                frame.extend((middling as u16).to_be_bytes());
            }
            long => {
                frame.push(0x80 | 127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.socket.get_mut().write_all(&frame)
    }

    fn next_frame(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let [kind, length] = self.read_bytes()?;
        let length = match length & 0x7f {
            126 => u64::from(u16::from_be_bytes(self.read_bytes()?)),
            127 => u64::from_be_bytes(self.read_bytes()?),
            short => u64::from(short),
        };
        let mut data = Vec::new();
        self.socket.by_ref().take(length).read_to_end(&mut data)?;
        Ok((kind & 0x0f, data))
    }

    fn read_bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.socket.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Reads the head of a response, up to the blank line.
fn read_head(socket: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && head.len() < 8192 {
        socket.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(head)
}

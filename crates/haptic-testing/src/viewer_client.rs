//! The least that a client of the viewer needs: a stream of text messages, opened and read by hand.
//!
//! It shares no code with the viewer, so that both cannot be wrong in the same way, and it is built in a moment for the guest of
//! `scripts/test-kernel`. Two programs use it: `look-on` and `pester`.
#![forbid(unsafe_code)]

use rustix::time::{ClockId, clock_gettime};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Kinds of frames, by the protocol's numbers.
const TEXT: u8 = 1;
const CLOSE: u8 = 8;

/// The time on the clock that the daemon reads too, ns.
pub fn monotonic_ns() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

/// Asks for a stream of so many frames a second; nothing of it is read yet.
///
/// # Errors
/// When nobody listens there.
pub fn ask_for_stream(address: &str, hz: u32) -> io::Result<TcpStream> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    // Any key will do: the answer to it is not checked.
    write!(
        socket,
        "GET /api/stream?hz={hz} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )?;
    Ok(socket)
}

/// A stream that is open.
#[derive(Debug)]
pub struct Stream {
    socket: BufReader<TcpStream>,
}

impl Stream {
    /// Opens one; `patience` bounds every read.
    ///
    /// # Errors
    /// When nobody listens there, or the stream is refused.
    pub fn open(address: &str, hz: u32, patience: Duration) -> io::Result<Self> {
        let socket = ask_for_stream(address, hz)?;
        socket.set_read_timeout(Some(patience))?;
        let mut socket = BufReader::new(socket);
        let head = read_head(&mut socket)?;
        if !head.starts_with(b"HTTP/1.1 101 ") {
            return Err(io::Error::other("the stream was refused"));
        }
        Ok(Self { socket })
    }

    /// The next text; none when the daemon has said farewell or hung up.
    ///
    /// # Errors
    /// When nothing comes for too long.
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

    /// Sends a text as one frame, under a mask of zeros: nobody on the way could be misled by it here.
    ///
    /// # Errors
    /// When the other side has hung up.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
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

/// The head of an answer, up to the empty line.
fn read_head(socket: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && head.len() < 8192 {
        socket.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(head)
}

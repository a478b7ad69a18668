//! Limits on what a client can cost.

use std::time::Duration;

/// Connections at a time. A browser opens six. Further ones get status 503.
pub const MAX_CONNECTIONS: usize = 64;
/// Streams at a time.
pub const MAX_STREAMS: usize = 16;
/// Size of all headers of a request, bytes.
pub const MAX_HEADER_BYTES: usize = 16 << 10;
/// Number of headers of a request.
pub const MAX_HEADERS: usize = 64;
/// Size of a request's body, bytes. A scene of a thousand bodies has 400 KB.
pub const MAX_BODY_BYTES: usize = 1 << 20;
/// Size of a WebSocket message from a client, bytes. A hand target takes 60.
pub const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// Invalid messages before a stream is closed.
pub const MAX_INVALID_MESSAGES: u32 = 20;
/// Time from connecting, or from the last response, to the end of the headers.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Time from the headers to the response.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// Time for a client to accept one message. A client that takes longer is dropped.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(3);
/// Time for requests and streams to finish when the viewer ends.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(300);
/// Threads for long tasks, such as building a scene. They end when idle.
pub const MAX_BLOCKING_TASKS: usize = 2;
/// Time after which the system drops a connection that acknowledges none of the data sent.
pub const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(5);
/// Frames per second of a stream.
pub const FRAMES_HZ: std::ops::RangeInclusive<f64> = 1.0..=120.0;
/// Ticks of one step.
pub const MAX_STEP_TICKS: u32 = 10_000;
/// Largest coordinate of a hand target, m. Anything farther out is a mistake.
pub const MAX_TARGET_M: f64 = 100.0;

/// Requests per second, all clients together.
pub const REQUESTS_PER_S: f64 = 500.0;
/// Requests per second that change something, all clients together.
pub const CHANGES_PER_S: f64 = 100.0;
/// Messages per second of one stream. A fast mouse sends 1000, and every second one adds nothing.
pub const MESSAGES_PER_S: f64 = 500.0;
/// Hand targets per second, all streams together. The loop accepts 4000 commands per second; the rest is left for
/// other commands.
pub const TARGETS_PER_S: f64 = 1000.0;

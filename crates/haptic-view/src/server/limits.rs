//! Limits on the resources that clients can use.

use std::time::Duration;

/// Maximum number of concurrent connections. A browser opens up to six. Further connections receive status 503.
pub const MAX_CONNECTIONS: usize = 64;
/// Number of further connections on which only an emergency stop is served, so that a full server accepts one.
pub const STOP_CONNECTIONS: usize = 8;
/// Maximum time for the headers of a request on such a connection.
pub const STOP_HEADER_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum time for the loop to confirm an emergency stop. It needs one tick; the `hapticd stop` command waits for 1 s.
pub const STOP_TIMEOUT: Duration = Duration::from_millis(500);
/// Interval at which a request checks for that confirmation.
pub const STOP_POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Maximum number of concurrent streams.
pub const MAX_STREAMS: usize = 16;
/// Maximum total size of a request's headers, bytes.
pub const MAX_HEADER_BYTES: usize = 16 << 10;
/// Maximum number of headers in a request.
pub const MAX_HEADERS: usize = 64;
/// Maximum size of a request body, bytes. A scene of a thousand bodies takes 400 KB.
pub const MAX_BODY_BYTES: usize = 1 << 20;
/// Maximum size of a WebSocket message from a client, bytes. A hand target takes 60.
pub const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// Number of invalid messages at which a stream is closed.
pub const MAX_INVALID_MESSAGES: u32 = 20;
/// Maximum time from connecting, or from the last response, to the end of the headers.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time from the end of the headers to the response.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum time for a client to accept one message. A slower client is dropped.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(3);
/// Time for requests and streams to finish when the viewer stops.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(300);
/// Maximum number of threads for long tasks, such as building a scene. Idle threads end.
pub const MAX_BLOCKING_TASKS: usize = 2;
/// Time after which the system drops a connection that does not acknowledge sent data.
pub const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(5);
/// Permitted frame rates of a stream, Hz.
pub const FRAMES_HZ: std::ops::RangeInclusive<f64> = 1.0..=120.0;
/// Maximum number of ticks in one step request.
pub const MAX_STEP_TICKS: u32 = 10_000;
/// Largest magnitude of a hand target coordinate, m. A larger value is a mistake.
pub const MAX_TARGET_M: f64 = 100.0;

/// Maximum number of requests per second, over all clients.
pub const REQUESTS_PER_S: f64 = 500.0;
/// Maximum number of requests per second that change something, over all clients.
pub const CHANGES_PER_S: f64 = 100.0;
/// Maximum number of messages per second on one stream. A fast mouse sends 1000, half of which add no information.
pub const MESSAGES_PER_S: f64 = 500.0;
/// Maximum number of hand targets per second, over all streams. The loop accepts 4000 commands per second; the rest are
/// available for other commands.
pub const TARGETS_PER_S: f64 = 1000.0;

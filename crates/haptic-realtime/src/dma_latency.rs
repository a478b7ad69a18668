//! Keeps the processor out of deep idle states, whose exit alone can take over 100 µs.
//!
//! The kernel honours the smallest latency written to `/dev/cpu_dma_latency` for as long as the file stays open, so the
//! request is a guard: dropping the guard, or ending the process, enables the idle states again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Device file for requesting a maximum wake-up delay.
pub const CPU_DMA_LATENCY_PATH: &str = "/dev/cpu_dma_latency";

/// A request for short wake-up delays, held until the guard is dropped. The request costs power and heat: hold it only
/// while a device is active.
#[derive(Debug)]
pub struct DmaLatencyGuard {
    _held_open: File,
}

/// Reason why deep idle states could not be disabled. The loop still runs, but wakes up later.
#[derive(Debug)]
pub struct DmaLatencyRefused {
    path: String,
    cause: io::Error,
}

impl DmaLatencyGuard {
    /// Requests a wake-up delay of 0 µs: idle cores poll or use only shallow idle states.
    pub fn hold() -> Result<Self, DmaLatencyRefused> {
        Self::hold_at(Path::new(CPU_DMA_LATENCY_PATH), 0)
    }

    /// Requests a wake-up delay of at most `most_us` microseconds through the file at `path`.
    pub fn hold_at(path: &Path, most_us: i32) -> Result<Self, DmaLatencyRefused> {
        let request = |mut file: File| file.write_all(&most_us.to_ne_bytes()).map(|()| file);
        match OpenOptions::new().write(true).open(path).and_then(request) {
            Ok(file) => Ok(Self { _held_open: file }),
            Err(cause) => Err(DmaLatencyRefused { path: path.display().to_string(), cause }),
        }
    }
}

impl std::fmt::Display for DmaLatencyRefused {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, cause } = self;
        let remedy = match cause.kind() {
            io::ErrorKind::PermissionDenied => {
                "give this user write access with a udev rule (KERNEL==\"cpu_dma_latency\")"
            }
            io::ErrorKind::NotFound => {
                "this kernel or container offers no such file; limit idle states in the firmware setup"
            }
            _ => "limit idle states in the firmware setup instead",
        };
        write!(formatter, "cannot hold {path} at a low latency: {cause}; {remedy}")
    }
}

impl std::error::Error for DmaLatencyRefused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_testing::TestFolder;

    #[test]
    fn the_request_is_four_bytes_of_native_endian_microseconds() {
        let folder = TestFolder::new();
        let path = folder.write("latency", []);
        let _guard = DmaLatencyGuard::hold_at(&path, 3).unwrap();
        assert_eq!(folder.read_bytes("latency"), 3i32.to_ne_bytes());
    }

    #[test]
    fn a_missing_file_is_named_with_what_to_do() {
        let refused = DmaLatencyGuard::hold_at(Path::new("/nonexistent/latency"), 0).unwrap_err().to_string();
        assert!(refused.contains("/nonexistent/latency") && refused.contains("idle states"), "{refused}");
    }
}

//! `ioctl` requests whose buffer size is part of the request code.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Direction bit of a request whose buffer the kernel reads, in the kernel's encoding.
const WRITES: u32 = 1;
/// Direction bit of a request whose buffer the kernel fills, in the kernel's encoding.
const READS: u32 = 2;

/// A request whose argument is a buffer that the kernel reads, fills, or both.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    direction: u32,
    family: u8,
    number: u8,
}

impl Request {
    /// Creates a request whose buffer the kernel reads.
    pub const fn writing(family: u8, number: u8) -> Self {
        Self { direction: WRITES, family, number }
    }

    /// Creates a request whose buffer the kernel fills.
    pub const fn reading(family: u8, number: u8) -> Self {
        Self { direction: READS, family, number }
    }

    /// Creates a request whose buffer the kernel reads and fills.
    pub const fn both(family: u8, number: u8) -> Self {
        Self { direction: READS | WRITES, family, number }
    }

    /// Returns the request code, which includes the buffer size; `None` if the buffer is too long.
    fn code(self, bytes: usize) -> Option<u32> {
        /// Width of the size field in a request code, bits.
        const SIZE_BITS: u32 = 14;
        let size = u32::try_from(bytes).ok().filter(|size| *size < 1 << SIZE_BITS)?;
        Some(self.direction << 30 | size << 16 | u32::from(self.family) << 8 | u32::from(self.number))
    }
}

/// Makes a request with `buffer` and returns the result of the system call.
///
/// # Errors
/// If the system call fails, or the buffer is too long for a request.
pub fn request(file: &File, request: Request, buffer: &mut [u8]) -> io::Result<usize> {
    let code = request.code(buffer.len()).ok_or(io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the kernel touches at most as many bytes as the size in the code, which is the size of this buffer; the
    // buffer outlives the call, and the file is open because it is borrowed.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), code as _, buffer.as_mut_ptr()) };
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_numbers_of_the_kernel() {
        assert_eq!(Request::both(b'H', 0x06).code(4), Some(0xC004_4806), "HIDIOCSFEATURE(4)");
        assert_eq!(Request::writing(b'E', 0x80).code(48), Some(0x4030_4580), "EVIOCSFF");
        assert_eq!(Request::reading(b'E', 0x84).code(4), Some(0x8004_4584), "EVIOCGEFFECTS");
        assert_eq!(Request::reading(b'E', 0x84).code(1 << 14), None);
    }

    #[test]
    fn a_file_that_knows_no_request_says_so() {
        let file = File::open("/dev/null").unwrap();
        let error = request(&file, Request::reading(b'H', 0x04), &mut [0; 16]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    }
}

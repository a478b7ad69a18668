//! Consistent overhead byte stuffing (COBS) for bodies short enough to need a single byte of overhead.
//!
//! Every zero is replaced by the distance to the next one, so that a zero on the wire always ends a frame. A run of 254
//! bytes without a zero would need a second code. Bodies here are at most [`crate::BODY_MAX`] bytes long, so each has
//! exactly one encoding, and decoding accepts no other.

use crate::frame::BODY_MAX;

/// Encodes `body` into `out`, without a delimiter, and returns the encoded length: one byte more than the body.
///
/// Returns `None` if the body is longer than [`BODY_MAX`] or `out` is too short. Real-time: one pass.
pub fn encode(body: &[u8], out: &mut [u8]) -> Option<usize> {
    let length = body.len() + 1;
    if body.len() > BODY_MAX || out.len() < length {
        return None;
    }
    let mut code_at = 0;
    for (index, &byte) in body.iter().enumerate() {
        out[index + 1] = byte;
        if byte == 0 {
            out[code_at] = (index + 1 - code_at) as u8;
            code_at = index + 1;
        }
    }
    out[code_at] = (length - code_at) as u8;
    Some(length)
}

/// Decodes `bytes`, a frame without its delimiter, in place. The body is then `bytes[1..]`.
///
/// Returns `false` if the frame is empty, a code is zero, or the codes do not end exactly at the end of the frame.
/// Real-time: one step per code, at most one per byte.
pub fn decode_in_place(bytes: &mut [u8]) -> bool {
    let mut code_at = 0;
    while code_at < bytes.len() {
        let code = usize::from(bytes[code_at]);
        if code == 0 {
            return false;
        }
        bytes[code_at] = 0;
        code_at += code;
    }
    code_at == bytes.len() && !bytes.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(body: &[u8]) -> ([u8; 64], usize) {
        let mut out = [0xEE; 64];
        let length = encode(body, &mut out).unwrap();
        (out, length)
    }

    #[test]
    fn zeros_become_distances() {
        let (out, length) = encoded(&[0x11, 0, 0, 0x22]);
        assert_eq!(&out[..length], [2, 0x11, 1, 2, 0x22]);
    }

    #[test]
    fn an_empty_body_is_one_code() {
        assert_eq!(encoded(&[]).1, 1);
        assert_eq!(encoded(&[]).0[0], 1);
    }

    #[test]
    fn a_code_past_the_end_is_rejected() {
        assert!(!decode_in_place(&mut [5, 0x11, 0x22]));
        assert!(!decode_in_place(&mut []));
    }

    #[test]
    fn too_long_a_body_or_too_short_a_buffer_is_rejected() {
        assert!(encode(&[1; BODY_MAX + 1], &mut [0; 128]).is_none());
        assert!(encode(&[1; 8], &mut [0; 8]).is_none());
    }
}

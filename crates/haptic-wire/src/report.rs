//! Messages as HID reports: one message per report, without COBS or delimiter.
//!
//! A report is already a packet, so it needs no framing. Byte 0 is the length of the body. The body, including its
//! checksum, follows as on a serial line, and zeros fill the rest of the report.

use crate::{
    crc,
    encoder::{EncodeError, fill_body},
    frame::{BODY_MAX, Frame, PAYLOAD_MAX},
    message::Message,
};

/// Length of a report in either direction, bytes, without a report id.
pub const REPORT_BYTES: usize = 64;

/// Usage page of reports that carry this protocol, from the vendor-defined range.
pub const USAGE_PAGE: u16 = 0xFF48;

/// Usage, on [`USAGE_PAGE`], of the top-level collection that contains the reports.
pub const USAGE: u16 = 0x4150;

/// Minimum length of a body, bytes: kind, sequence number and checksum.
const BODY_MIN: usize = 4;

/// Encodes a message as a report.
///
/// Real-time: bounded by [`REPORT_BYTES`]; no allocation.
pub fn encode_report(message: &Message<'_>, sequence: u8) -> Result<[u8; REPORT_BYTES], EncodeError> {
    let mut payload = [0; PAYLOAD_MAX];
    let length = message.emit(&mut payload);
    let frame = Frame { kind: message.kind() as u8, sequence, payload: &payload[..length] };
    let mut report = [0; REPORT_BYTES];
    let body_length = length + BODY_MIN;
    report[0] = body_length as u8;
    fill_body(&frame, &mut report[1..=body_length]);
    Ok(report)
}

/// Decodes the frame in a report. Returns `None` if the length byte or the checksum is wrong.
///
/// Real-time: bounded by [`REPORT_BYTES`]; no allocation.
pub fn decode_report(report: &[u8]) -> Option<Frame<'_>> {
    let length = usize::from(*report.first()?);
    if !(BODY_MIN..=BODY_MAX).contains(&length) {
        return None;
    }
    let (content, check) = report.get(1..=length)?.split_at(length - 2);
    let is_intact = crc::crc16(content) == u16::from_le_bytes([check[0], check[1]]);
    is_intact.then(|| Frame { kind: content[0], sequence: content[1], payload: &content[2..] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, PerAxis};

    fn command() -> Message<'static> {
        Message::Command(Command { flags: 1, efforts_q15: PerAxis::two(1234, -1234) })
    }

    #[test]
    fn the_body_is_the_one_of_the_serial_line() {
        let report = encode_report(&command(), 7).unwrap();
        assert_eq!(report[..10], [9, 0x10, 0x07, 0x01, 0xD2, 0x04, 0x2E, 0xFB, 0x93, 0x46]);
        assert!(report[10..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_report_is_decoded_and_any_flipped_bit_of_the_body_is_detected() {
        let report = encode_report(&command(), 200).unwrap();
        let frame = decode_report(&report).unwrap();
        assert_eq!((frame.sequence, Message::parse(&frame).unwrap()), (200, command()));
        for bit in 0..8 * 10 {
            let mut damaged = report;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode_report(&damaged).is_none(), "bit {bit}");
        }
    }

    #[test]
    fn reports_of_any_length_are_rejected_without_a_panic() {
        assert!(decode_report(&[]).is_none());
        for length in 0..=255u8 {
            assert!(decode_report(&[length]).is_none());
            assert!(decode_report(&[length; 64]).is_none());
        }
    }
}

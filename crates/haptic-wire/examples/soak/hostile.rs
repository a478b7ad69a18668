//! Hostile byte streams, checked by a second, deliberately simple decoder that shares no code with the crate.

use haptic_testing::Random;
use haptic_wire::{Decoder, Frame, Message, PAYLOAD_MAX, WIRE_MAX, encode_frame};

/// Results of decoding one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Bytes pushed.
    pub bytes: u64,
    /// Frames that the crate returned.
    pub accepted: u64,
    /// Runs of bytes between delimiters that were not valid frames.
    pub dropped: u64,
    /// Frames that parsed as a message.
    pub messages: u64,
    /// Frames that the crate returned but the simple decoder rejects or decodes differently. Must be 0.
    pub wrongly_accepted: u64,
    /// Frames that the crate dropped but the simple decoder accepts. Must be 0.
    pub wrongly_dropped: u64,
    /// Intact frames that were dropped although the preceding frame was also intact. Must be 0.
    pub late_recoveries: u64,
}

/// Runs the crate's decoder and the simple one on the same bytes.
struct Comparison {
    decoder: Decoder,
    line: Vec<u8>,
    report: Report,
}

impl Comparison {
    fn new() -> Self {
        Self { decoder: Decoder::new(), line: Vec::new(), report: Report::default() }
    }

    /// Pushes one byte and returns whether it completed a frame.
    fn push(&mut self, byte: u8) -> bool {
        self.report.bytes += 1;
        let decoded = self.decoder.push(byte);
        if byte != 0 {
            self.line.push(byte);
            self.report.wrongly_accepted += u64::from(decoded.is_some());
            return false;
        }
        let expected = simple_decode(&self.line);
        match (&decoded, &expected) {
            (Some(frame), Some(body)) if is_frame(frame, body) => self.report.accepted += 1,
            (Some(_), _) => self.report.wrongly_accepted += 1,
            (None, Some(_)) => self.report.wrongly_dropped += 1,
            (None, None) => self.report.dropped += u64::from(!self.line.is_empty()),
        }
        self.report.messages += u64::from(decoded.is_some_and(|frame| Message::parse(&frame).is_ok()));
        self.line.clear();
        decoded.is_some()
    }
}

fn is_frame(frame: &Frame<'_>, body: &[u8]) -> bool {
    frame.kind == body[0] && frame.sequence == body[1] && frame.payload == &body[2..body.len() - 2]
}

/// Decodes a run of bytes into a body by following the specification literally, without regard for speed.
fn simple_decode(line: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    let mut rest = line;
    while let Some((&code, tail)) = rest.split_first() {
        let run = tail.get(..usize::from(code) - 1)?;
        body.extend_from_slice(run);
        rest = &tail[run.len()..];
        if !rest.is_empty() {
            body.push(0);
        }
    }
    let right_length = line.len() < WIRE_MAX && body.len() >= 4;
    (right_length && check_is_right(&body)).then_some(body)
}

fn check_is_right(body: &[u8]) -> bool {
    let (content, check) = body.split_at(body.len() - 2);
    let mut crc = 0xFFFFu16;
    for byte in content {
        for bit in (0..8).rev() {
            let carry = (crc >> 15 != 0) != (byte >> bit & 1 != 0);
            crc = (crc << 1) ^ if carry { 0x1021 } else { 0 };
        }
    }
    check == crc.to_le_bytes()
}

/// Pushes random bytes, with enough zeros that frames of every length occur.
pub fn random_bytes(bytes: u64, seed: u64) -> Report {
    let mut random = Random(seed | 1);
    let mut comparison = Comparison::new();
    while comparison.report.bytes < bytes {
        let draw = random.bits();
        // Small codes are frequent, because otherwise almost every run would fail COBS decoding.
        let byte = match draw & 0xF00 {
            0x000 => 0,
            0x100..=0x500 => (draw % 12) as u8,
            _ => draw as u8,
        };
        comparison.push(byte);
    }
    comparison.report
}

/// Pushes frames, some of them mutated. An intact frame that follows an intact frame must be decoded.
pub fn mutated_frames(bytes: u64, seed: u64) -> Report {
    let mut random = Random(seed | 1);
    let mut comparison = Comparison::new();
    let mut line_is_clean = true;
    while comparison.report.bytes < bytes {
        let mut wire = random_frame(&mut random);
        let clean = random.index(3) != 0;
        if !clean {
            mutate(&mut wire, &mut random);
        }
        let got_through = wire.iter().fold(false, |_, byte| comparison.push(*byte));
        comparison.report.late_recoveries += u64::from(clean && line_is_clean && !got_through);
        line_is_clean = clean;
    }
    comparison.report
}

fn random_frame(random: &mut Random) -> Vec<u8> {
    let mut payload = [0; PAYLOAD_MAX];
    let length = random.index(PAYLOAD_MAX + 1);
    payload[..length].iter_mut().for_each(|byte| *byte = random.bits() as u8 & random.bits() as u8);
    let frame = Frame { kind: random.bits() as u8, sequence: random.bits() as u8, payload: &payload[..length] };
    let mut out = [0; WIRE_MAX];
    let length = encode_frame(&frame, &mut out).expect("a payload of allowed length fits");
    out[..length].to_vec()
}

/// Applies one kind of transmission error: a flipped bit, or lost, duplicated, overwritten or extra bytes.
fn mutate(wire: &mut Vec<u8>, random: &mut Random) {
    let at = random.index(wire.len());
    match random.index(5) {
        0 => wire[at] ^= 1 << random.index(8),
        1 => wire.truncate(at),
        2 => wire.insert(at, wire[at]),
        3 => wire.iter_mut().skip(at).take(6).for_each(|byte| *byte = random.bits() as u8),
        _ => wire.extend((0..random.index(200)).map(|_| random.bits() as u8)),
    }
}

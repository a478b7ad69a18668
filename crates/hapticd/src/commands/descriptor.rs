//! `hapticd devices --descriptor`: reports what would be driven of a device with a report descriptor.

use super::{print_json, print_line};
use crate::failure::Failure;
use haptic_backends::hid::descriptor::MAX_DESCRIPTOR_BYTES;
use haptic_backends::hid::summary::DescriptorSummary;
use haptic_config::error::{FileErrors, Problem};
use haptic_config::source::LineStarts;
use haptic_device::DeviceConfig;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Maximum length of a file with a descriptor, bytes: room for hexadecimal text with many comments.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Prints what would be driven.
///
/// # Errors
/// If the file or the descriptor cannot be read, or the output cannot be written.
pub fn describe(file: &Path, as_json: bool) -> Result<(), Failure> {
    let name = file.display().to_string();
    let bytes = descriptor_of(&name, &content_of(file, &name)?)?;
    let remedy = "give all bytes of the report descriptor of one device, such as \
                  /sys/class/hidraw/hidraw0/device/report_descriptor";
    let unreadable = |error: String| FileErrors::from(Problem::in_file(&name, error, remedy));
    if bytes.is_empty() {
        return Err(unreadable("contains no byte of a report descriptor".to_owned()).into());
    }
    let lever_m = DeviceConfig::default().lever_m;
    let summary = DescriptorSummary::read(&bytes, lever_m).map_err(|error| unreadable(error.to_string()))?;
    if as_json { print_json(&summary) } else { print_line(&text_of(&summary)) }
}

fn content_of(file: &Path, name: &str) -> Result<Vec<u8>, FileErrors> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|opened| opened.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(Problem::in_file(name, format!("cannot be read: {error}"), "give a readable file").into()),
        Ok(length) if length as u64 > MAX_FILE_BYTES => {
            let problem = format!("is longer than {MAX_FILE_BYTES} bytes");
            let remedy = format!("give a report descriptor, which has at most {MAX_DESCRIPTOR_BYTES} bytes");
            Err(Problem::in_file(name, problem, remedy).into())
        }
        Ok(_) => Ok(bytes),
    }
}

/// Returns the bytes of a descriptor from a file, which contains them or hexadecimal text. No descriptor is text,
/// because the first byte of an item that begins one is a control character.
fn descriptor_of(name: &str, content: &[u8]) -> Result<Vec<u8>, FileErrors> {
    let is_control = |letter: char| letter.is_control() && !letter.is_ascii_whitespace();
    match str::from_utf8(content) {
        Ok(text) if !text.contains(is_control) => from_hex(name, text),
        _ => Ok(content.to_vec()),
    }
}

/// Reads pairs of hexadecimal digits, with space between them where they like. `#` starts a comment.
fn from_hex(name: &str, text: &str) -> Result<Vec<u8>, FileErrors> {
    let mut bytes = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let digits = line.split('#').next().unwrap_or_default();
        let start = at;
        at += line.len();
        let mut high: Option<u32> = None;
        for (offset, letter) in digits.char_indices().filter(|(_, letter)| !letter.is_whitespace()) {
            let digit = letter.to_digit(16).ok_or_else(|| not_hex(name, text, start + offset, letter))?;
            match high.take() {
                None => high = Some(digit),
                Some(high) => bytes.push((high << 4 | digit) as u8),
            }
        }
        if high.is_some() {
            return Err(half_a_byte(name, text, start + digits.trim_end().len() - 1));
        }
    }
    Ok(bytes)
}

fn not_hex(name: &str, text: &str, at: usize, letter: char) -> FileErrors {
    let remedy = "write two hexadecimal digits for each byte, as in 05 01 09 04, and # before a comment";
    let position = LineStarts::new(text.as_bytes()).position(text.as_bytes(), at);
    Problem::at(name, position, format!("{letter:?} is not a hexadecimal digit"), remedy).into()
}

fn half_a_byte(name: &str, text: &str, at: usize) -> FileErrors {
    let position = LineStarts::new(text.as_bytes()).position(text.as_bytes(), at);
    Problem::at(name, position, "half of a byte: this line has an odd number of digits", "write two for each byte")
        .into()
}

fn text_of(summary: &DescriptorSummary) -> String {
    let DescriptorSummary { axes, travel_m, rate_hz, notes, .. } = summary;
    let axes = match axes {
        0 => "nothing to drive".to_owned(),
        1 => "one axis with constant force".to_owned(),
        axes => format!("{axes} axes with constant force"),
    };
    let travel: Vec<String> = travel_m.iter().map(|metres| format!("{metres:.3} m")).collect();
    let travel = if travel.is_empty() { String::new() } else { format!(", travel {}", travel.join(" and ")) };
    let rate = rate_hz.map_or(String::new(), |hertz| format!(", at {hertz:.0} Hz if the device allows it"));
    let notes: String = notes.iter().map(|note| format!("\n    {note}")).collect();
    format!("{axes}{travel}{rate}{notes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_they_are_and_text_as_hexadecimal_digits() {
        assert_eq!(descriptor_of("f", &[0x05, 0x01, b'0']).unwrap(), [0x05, 0x01, b'0']);
        let text = "# a stick, 5 µm\n05 01\n0904 # joystick\n\r\n  A1\t0 1\n";
        assert_eq!(descriptor_of("f", text.as_bytes()).unwrap(), [5, 1, 9, 4, 0xA1, 1]);
        assert!(descriptor_of("f", b"# nothing\n").unwrap().is_empty());
    }

    #[test]
    fn a_mistake_in_the_text_is_named_by_line_and_column() {
        let mistake = |text: &str| descriptor_of("f", text.as_bytes()).unwrap_err().to_string();
        assert!(mistake("05 01\n09 0G").starts_with("f:2:5: 'G' is not a hexadecimal digit; "), "{}", mistake("0G"));
        assert!(mistake("05 0 # x\n1").starts_with("f:1:4: half of a byte"), "{}", mistake("05 0 # x\n1"));
    }
}

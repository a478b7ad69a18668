//! `devices --descriptor`: files with the report descriptor of a HID device.

use super::{assert_done, assert_rejected, json};
use crate::common::Folder;
use haptic_emulator::style::OPEN_FFBOARD;
use serde_json::json;
use std::process::Output;

fn read(folder: &Folder, content: &[u8], flags: &[&str]) -> Output {
    folder.file("descriptor", content);
    folder.hapticd(&[&["devices", "--descriptor", "descriptor"], flags].concat())
}

#[test]
fn a_descriptor_in_bytes_and_in_hexadecimal_text_is_the_same() {
    let folder = Folder::new();
    let bytes = OPEN_FFBOARD.descriptor();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x} ")).collect();
    let (from_bytes, from_text) =
        (read(&folder, &bytes, &["--json"]), read(&folder, format!("# a stick\n{hex}\n").as_bytes(), &["--json"]));
    assert_done(&from_bytes);
    assert_eq!(from_bytes.stdout, from_text.stdout);
    let summary = json(&from_bytes);
    assert_eq!(
        (&summary["axes"], &summary["constant_force"], &summary["rate_hz"]),
        (&json!(2), &json!(true), &json!(500.0))
    );
    assert_eq!(summary["travel_m"], json!([0.1, 0.1]));
    let text = String::from_utf8(read(&folder, &bytes, &[]).stdout).unwrap();
    assert!(text.starts_with("2 axes with constant force, travel 0.100 m and 0.100 m, at 500 Hz"), "{text}");
}

#[test]
fn a_valid_descriptor_without_force_feedback_has_no_axes_and_a_note() {
    let folder = Folder::new();
    let keyboard = read(&folder, b"05 01 09 06 A1 01 C0", &["--json"]);
    assert_done(&keyboard);
    let summary = json(&keyboard);
    assert_eq!((&summary["axes"], &summary["constant_force"]), (&json!(0), &json!(false)));
    assert!(summary["rate_hz"].is_null() && summary["travel_m"] == json!([]), "{summary}");
    assert!(summary["notes"][0].as_str().unwrap().contains("no force feedback"), "{summary}");
}

#[test]
fn a_descriptor_that_cannot_be_read_is_bad_input() {
    let folder = Folder::new();
    let cases: [(&[u8], &str); 6] = [
        (b"", "descriptor: contains no byte of a report descriptor; give all bytes"),
        (b"05 01 09 0x04", "descriptor:1:11: 'x' is not a hexadecimal digit; write two"),
        (b"05 01 A", "descriptor:1:7: half of a byte"),
        (b"C0", "descriptor: report descriptor, byte 0: the end of a collection that was not started; give"),
        (b"05 01 09 06 A1", "descriptor: report descriptor, byte 4: ends in the middle of an item; give"),
        (&[0; 5000], "descriptor: report descriptor, byte 0: 5000 bytes, more than 4096; give"),
    ];
    for (content, start) in cases {
        assert_rejected(&read(&folder, content, &["--json"]), 2, start);
    }
    let long = vec![b' '; 3 << 20];
    assert_rejected(&read(&folder, &long, &[]), 2, "descriptor: is longer than 1048576 bytes; give a report");
    let missing = folder.hapticd(&["devices", "--descriptor", "nowhere"]);
    assert_rejected(&missing, 2, "nowhere: cannot be read: ");
}

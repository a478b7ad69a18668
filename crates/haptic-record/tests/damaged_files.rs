//! Reading a damaged recording needs little memory, whatever lengths it claims.

use haptic_record::reader::RecordingReader;
use haptic_testing::{CountingAllocator, TestFolder, most_bytes_in};
use std::fs;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Most memory that may be allocated at once while a kept recording of less than 100 kB is read, bytes. A quarter of it
/// is the size of an uncompressed chunk that is accepted in any file.
const MAX_BYTES: usize = 48 << 20;
/// Distance between two bytes that are changed one after the other. Coprime to the sizes of all fields.
const STRIDE: usize = 37;

fn read(path: &Path) {
    let Ok(mut reader) = RecordingReader::open(path) else { return };
    let _ = reader.header();
    while reader.next_item().is_some() {}
}

fn assert_bounded(path: &Path, change: &str) {
    let most = most_bytes_in(|| read(path));
    assert!(most < MAX_BYTES, "{change}: {most} bytes");
}

fn kept_recordings() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hapticd/tests/data/recordings");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: &Path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap());
    let kept: Vec<_> = files.map(|path| read(&path)).collect();
    assert!(kept.len() > 5);
    kept
}

/// Returns the offset of every record outside chunks.
fn records(bytes: &[u8]) -> Vec<usize> {
    let (mut at, mut found) = (8, Vec::new());
    while let Some(header) = bytes.get(at..at + 9) {
        found.push(at);
        at += 9 + u64::from_le_bytes(header[1..].try_into().unwrap()) as usize;
    }
    found
}

#[test]
fn no_length_of_a_record_or_of_its_first_fields_makes_the_reader_allocate() {
    let folder = TestFolder::new();
    for (name, good) in kept_recordings() {
        let all = records(&good);
        assert!(all.len() > 10, "{name}");
        for (record, start) in all.into_iter().enumerate().take(24) {
            for offset in start + 1..(start + 80).min(good.len()) {
                let mut bytes = good.clone();
                bytes[offset] ^= 0x7f;
                let file = folder.write("f.mcap", &bytes);
                assert_bounded(&file, &format!("{name}, record {record}, byte {}", offset - start));
            }
        }
    }
}

#[test]
fn no_changed_byte_makes_the_reader_allocate() {
    let folder = TestFolder::new();
    let (name, good) = &kept_recordings()[0];
    for offset in (0..good.len()).step_by(STRIDE) {
        let mut bytes = good.clone();
        bytes[offset] = !bytes[offset];
        assert_bounded(&folder.write("f.mcap", &bytes), &format!("{name}, byte {offset}"));
    }
}

#[test]
fn a_file_cut_anywhere_needs_little_memory() {
    let folder = TestFolder::new();
    let (name, good) = &kept_recordings()[0];
    for length in (0..good.len()).step_by(STRIDE * 11) {
        assert_bounded(&folder.write("f.mcap", &good[..length]), &format!("{name}, {length} bytes"));
    }
}

//! An open recording with its header, texts, commands and files.

use crate::failure::Failure;
use crate::file_use::PathConflicts;
use haptic_record::header::{END_NAME, Header};
use haptic_record::reader::{Event, Item, ReadEnd, RecordingReader};
use haptic_record::recorder::{part_path, world_of_attachment};
use haptic_record::tap::CommandRecord;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A recording without its ticks, which are read on demand.
#[derive(Clone, Debug)]
pub struct OpenRecording {
    /// Header of the first file.
    pub header: Header,
    /// Paths of the files, in order.
    pub files: Vec<PathBuf>,
    /// Commands applied to the loop.
    pub commands: Vec<CommandRecord>,
    /// Lines of the recording's log.
    pub events: Vec<Event>,
    /// State at the end of reading the first incomplete file; `Finished` if all files are complete.
    pub end: ReadEnd,
    /// Number of ticks.
    pub ticks: u64,
    /// First and last tick; `None` if there are no ticks.
    pub span: Option<(u64, u64)>,
    /// Metadata of the end record; empty if there is none.
    pub closing: BTreeMap<String, String>,
    /// Texts of profile, scenes, device and hand, by attachment name.
    pub attachments: BTreeMap<String, String>,
    /// Description of the problem in the first incomplete file, if any.
    flaw: Option<String>,
    /// Texts of the scenes, by world number.
    scenes: BTreeMap<u64, String>,
}

impl OpenRecording {
    /// Opens a recording. If `path` is the n-th of several files, the earlier ones are opened too, provided that they
    /// all exist.
    ///
    /// # Errors
    /// If a file cannot be read or is not a recording.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let header = RecordingReader::open(path)?.header()?;
        let files = files_up_to(path, header.part);
        let first = RecordingReader::open(&files[0])?.header()?;
        let mut kept = Self {
            attachments: own_texts(&first),
            scenes: BTreeMap::from([(first.world, first.texts.scene.text.clone())]),
            header: first,
            commands: Vec::new(),
            events: Vec::new(),
            end: ReadEnd::Finished,
            ticks: 0,
            span: None,
            closing: BTreeMap::new(),
            files: Vec::new(),
            flaw: None,
        };
        for file in files {
            kept.add_file(&file)?;
            kept.files.push(file);
        }
        Ok(kept)
    }

    fn add_file(&mut self, file: &Path) -> Result<(), Failure> {
        let header = RecordingReader::open(file)?.header()?;
        self.scenes.insert(header.world, header.texts.scene.text);
        let mut reader = RecordingReader::open(file)?;
        while let Some(item) = reader.next_item() {
            match item {
                Item::Tick(tick) => {
                    self.ticks += 1;
                    self.span = Some((self.span.map_or(tick.tick, |(first, _)| first), tick.tick));
                }
                Item::Command(command) => self.commands.push(command),
                Item::Event(event) => self.events.push(event),
                Item::Attachment(name, text) => self.add_text(name, text),
                Item::Metadata(name, pairs) if name == END_NAME => self.closing = pairs,
                Item::Metadata(..) | Item::Bodies(_) | Item::Checkpoint(_) => {}
            }
        }
        if self.end == ReadEnd::Finished {
            self.end = reader.end().cloned().unwrap_or(ReadEnd::CutShort);
            self.flaw = flaw(file, &self.end, self.span);
        }
        Ok(())
    }

    /// Checks that the recording has ticks to show or export.
    ///
    /// # Errors
    /// If the recording has no ticks; the message gives the reason.
    pub fn require_ticks(&self) -> Result<(), Failure> {
        match (self.ticks, &self.flaw) {
            (0, None) => {
                Err(Failure::BadInput(format!("{}: holds no tick; record for at least a second", self.name())))
            }
            (0, Some(flaw)) => Err(Failure::BadInput(format!("{flaw}, so nothing is saved; try another copy of it"))),
            _ => Ok(()),
        }
    }

    /// Describes the damage or truncation and states how many ticks were recovered; `None` if the recording is
    /// complete.
    pub fn salvage(&self) -> Option<String> {
        self.flaw.as_ref().map(|flaw| format!("{flaw}; {} ticks are saved", self.ticks))
    }

    /// Adds an attachment, unless one with the same name exists. Profile, scene, device and hand therefore come from
    /// the first file; later files only add worlds.
    fn add_text(&mut self, name: String, text: String) {
        if let Some(world) = world_of_attachment(&name) {
            self.scenes.insert(world, text.clone());
        }
        self.attachments.entry(name).or_insert(text);
    }

    /// Returns the recording's files as input files, to check for path conflicts.
    pub fn file_use(&self) -> PathConflicts {
        self.files.iter().fold(PathConflicts::default(), |used, file| used.reads("the recording", Some(file)))
    }

    /// Returns the path of the last file, for messages.
    pub fn name(&self) -> String {
        self.files.last().map_or(String::new(), |file| file.display().to_string())
    }

    /// Returns true if any file of the recording is truncated or damaged.
    pub fn is_truncated(&self) -> bool {
        self.end != ReadEnd::Finished
    }

    /// Returns the text of a world's scene, if the recording contains it.
    pub fn scene_of(&self, world: u64) -> Option<&str> {
        self.scenes.get(&world).map(String::as_str)
    }

    /// Returns the numbers of all worlds whose scenes are in the recording.
    pub fn worlds(&self) -> impl Iterator<Item = u64> + '_ {
        self.scenes.keys().copied()
    }

    /// Passes every item of the recording to `visit`, file by file, in order.
    ///
    /// # Errors
    /// If `visit` fails, or if a file can no longer be opened.
    pub fn visit(&self, mut visit: impl FnMut(Item) -> Result<(), Failure>) -> Result<(), Failure> {
        for file in &self.files {
            let mut reader = RecordingReader::open(file)?;
            while let Some(item) = reader.next_item() {
                visit(item)?;
            }
        }
        Ok(())
    }
}

/// Describes the problem with a file, if any; `span` is the range of ticks read so far.
fn flaw(file: &Path, end: &ReadEnd, span: Option<(u64, u64)>) -> Option<String> {
    let place = span.map_or("before its first tick".to_owned(), |(_, last)| format!("after tick {last}"));
    let file = file.display();
    match end {
        ReadEnd::Finished => None,
        ReadEnd::CutShort => {
            Some(format!("{file}: is truncated {place}: the program that wrote or copied it was stopped"))
        }
        ReadEnd::Damaged(problem) => Some(format!("{file}: is damaged {place}: {problem}")),
    }
}

fn own_texts(header: &Header) -> BTreeMap<String, String> {
    header.attachments().into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// Returns the files of a recording up to `path`, which is part number `part`; only `path` if an earlier part is
/// missing.
fn files_up_to(path: &Path, part: u32) -> Vec<PathBuf> {
    let alone = vec![path.to_owned()];
    let Some(first) = first_path(path, part) else { return alone };
    let files: Vec<PathBuf> = (1..=part.max(1)).map(|part| part_path(&first, part)).collect();
    if files.iter().all(|file| file.is_file()) { files } else { alone }
}

/// Derives the path of the first part from the path of part number `part`: `touch-3.mcap` gives `touch.mcap` for part
/// 3. `None` if the name does not end in the number.
fn first_path(path: &Path, part: u32) -> Option<PathBuf> {
    if part <= 1 {
        return Some(path.to_owned());
    }
    let stem = path.file_stem()?.to_str()?.strip_suffix(&format!("-{part}"))?.to_owned();
    let ending = path.extension().map_or(String::new(), |ending| format!(".{}", ending.to_string_lossy()));
    Some(path.with_file_name(stem + &ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_is_known_by_the_name_of_a_later_one() {
        assert_eq!(first_path(Path::new("a/b-3.mcap"), 3), Some(PathBuf::from("a/b.mcap")));
        assert_eq!(first_path(Path::new("a/b.mcap"), 1), Some(PathBuf::from("a/b.mcap")));
        assert_eq!(first_path(Path::new("a/renamed.mcap"), 2), None);
    }
}

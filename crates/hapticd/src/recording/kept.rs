//! A recording that was opened: what it was made of, what the loop was told, and in how many files it is.

use crate::failure::Failure;
use crate::file_use::PathConflicts;
use haptic_record::header::{END_NAME, Header};
use haptic_record::reader::{Event, Item, ReadEnd, RecordingReader};
use haptic_record::recorder::{part_path, world_of_attachment};
use haptic_record::tap::CommandRecord;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A recording: everything but its ticks, which are read when they are wanted.
#[derive(Clone, Debug)]
pub struct OpenRecording {
    /// The beginning of its first file.
    pub header: Header,
    /// Its files, in order.
    pub files: Vec<PathBuf>,
    /// What the loop was told.
    pub commands: Vec<CommandRecord>,
    /// What happened, in words.
    pub events: Vec<Event>,
    /// How far it could be read: of several files, how the first that is not whole ends.
    pub end: ReadEnd,
    /// Ticks in it.
    pub ticks: u64,
    /// Its first and last tick.
    pub span: Option<(u64, u64)>,
    /// What its end says, if it has one.
    pub closing: BTreeMap<String, String>,
    /// Texts of profile, scenes, device and hand, by the names of their attachments.
    pub attachments: BTreeMap<String, String>,
    /// What is wrong with the first file that is not whole, and where.
    flaw: Option<String>,
    /// Texts of scenes, by the numbers of their worlds.
    scenes: BTreeMap<u64, String>,
}

impl OpenRecording {
    /// Opens a recording. The n-th file of several is opened with those before it, if they are there.
    ///
    /// # Errors
    /// When it is no recording.
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

    /// Something to show or to export.
    ///
    /// # Errors
    /// When it holds no tick, and why.
    pub fn require_ticks(&self) -> Result<(), Failure> {
        match (self.ticks, &self.flaw) {
            (0, None) => {
                Err(Failure::BadInput(format!("{}: holds no tick; record for at least a second", self.name())))
            }
            (0, Some(flaw)) => Err(Failure::BadInput(format!("{flaw}, so nothing is saved; try another copy of it"))),
            _ => Ok(()),
        }
    }

    /// What is wrong with its files and how much was saved nevertheless, if anything is wrong.
    pub fn salvage(&self) -> Option<String> {
        self.flaw.as_ref().map(|flaw| format!("{flaw}; {} ticks are saved", self.ticks))
    }

    /// Profile, scene, device and hand are those of the first file; later ones only add worlds.
    fn add_text(&mut self, name: String, text: String) {
        if let Some(world) = world_of_attachment(&name) {
            self.scenes.insert(world, text.clone());
        }
        self.attachments.entry(name).or_insert(text);
    }

    /// What is read of it.
    pub fn file_use(&self) -> PathConflicts {
        self.files.iter().fold(PathConflicts::default(), |used, file| used.reads("the recording", Some(file)))
    }

    /// Its last file, for messages.
    pub fn name(&self) -> String {
        self.files.last().map_or(String::new(), |file| file.display().to_string())
    }

    /// Whether the end is missing.
    pub fn is_truncated(&self) -> bool {
        self.end != ReadEnd::Finished
    }

    /// Text of the scene of a world.
    pub fn scene_of(&self, world: u64) -> Option<&str> {
        self.scenes.get(&world).map(String::as_str)
    }

    /// Numbers of all worlds whose scenes it holds.
    pub fn worlds(&self) -> impl Iterator<Item = u64> + '_ {
        self.scenes.keys().copied()
    }

    /// Hands everything in it to `visit`, file by file, in order.
    ///
    /// # Errors
    /// Whatever `visit` answers, or a file that has gone.
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

/// What is wrong with a file, in words; `span` is what was read up to its end.
fn flaw(file: &Path, end: &ReadEnd, span: Option<(u64, u64)>) -> Option<String> {
    let place = span.map_or("before its first tick".to_owned(), |(_, last)| format!("after tick {last}"));
    let file = file.display();
    match end {
        ReadEnd::Finished => None,
        ReadEnd::CutShort => Some(format!("{file}: is cut short {place}: whoever wrote or copied it was stopped")),
        ReadEnd::Damaged(problem) => Some(format!("{file}: is damaged {place}: {problem}")),
    }
}

fn own_texts(header: &Header) -> BTreeMap<String, String> {
    header.attachments().into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// The files of a recording up to its n-th. If an earlier one is missing, only the n-th.
fn files_up_to(path: &Path, part: u32) -> Vec<PathBuf> {
    let alone = vec![path.to_owned()];
    let Some(first) = first_path(path, part) else { return alone };
    let files: Vec<PathBuf> = (1..=part.max(1)).map(|part| part_path(&first, part)).collect();
    if files.iter().all(|file| file.is_file()) { files } else { alone }
}

/// The first file, from the name of the n-th: `touch-3.mcap` gives `touch.mcap`.
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

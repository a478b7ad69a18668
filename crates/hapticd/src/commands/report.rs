//! `hapticd report`: writes a page with plots of a recording. The plots show recorded values; nothing is replayed.

use crate::cli::ReportArguments;
use crate::failure::Failure;
use crate::figures::seconds_of;
use crate::log::log_written;
use crate::recording::kept::OpenRecording;
use haptic_config::scene;
use haptic_config::source::Source;
use haptic_record::header::Header;
use haptic_record::page::gathered::TickColumns;
use haptic_record::page::{EventLine, Facts, page};
use haptic_record::reader::Item;

/// Runs the command.
///
/// # Errors
/// If the recording cannot be read or has no ticks, or if the page cannot be written.
pub fn report(arguments: &ReportArguments) -> Result<(), Failure> {
    let recording = OpenRecording::open(&arguments.file)?;
    recording.file_use().writes("--out", Some(&arguments.out)).check()?;
    recording.require_ticks()?;
    let mut columns = TickColumns::default();
    recording.visit(|item| {
        if let Item::Tick(tick) = item {
            columns.add(&tick);
        }
        Ok(())
    })?;
    let texts = &recording.header.texts;
    let scene = scene::load(&Source::in_memory(&texts.scene.name, &texts.scene.text))?;
    let name = arguments.file.file_name().unwrap_or_default().to_string_lossy();
    let facts = Facts {
        title: format!("{name}: {}", texts.scene.name),
        settings: settings(&recording.header),
        texts: header_texts(&recording.header),
        events: events(&recording),
        scene: &scene,
        warnings: warnings(&recording),
    };
    let out = &arguments.out;
    std::fs::write(out, page(&columns, &facts)).map_err(|error| Failure::unwritable(out, &error))?;
    log_written(out);
    Ok(())
}

fn settings(header: &Header) -> Vec<(String, String)> {
    let (texts, device) = (&header.texts, &header.device);
    let pairs = [
        ("recorded by", format!("hapticd {}, command {}", header.version, header.command)),
        ("profile", texts.profile.name.clone()),
        ("scene", texts.scene.name.clone()),
        ("device file", texts.device.name.clone()),
        ("device", format!("{} ({}), {} axes, up to {} N", device.name, device.kind, device.axes, device.max_force_n)),
        ("serial number", device.serial_number.clone()),
        ("firmware", device.firmware.clone()),
        ("hand", texts.hand.as_ref().map_or(String::new(), |hand| hand.name.clone())),
    ];
    pairs.into_iter().filter(|(_, value)| !value.is_empty()).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns the texts of the input files, except the hand file, which is a long table of numbers.
fn header_texts(header: &Header) -> Vec<(String, String)> {
    let texts = &header.texts;
    let named = [("Profile", &texts.profile), ("Scene", &texts.scene), ("Device", &texts.device)];
    named.into_iter().map(|(what, text)| (format!("{what}: {}", text.name), text.text.clone())).collect()
}

fn events(recording: &OpenRecording) -> Vec<EventLine> {
    let line = |event: &haptic_record::reader::Event| EventLine {
        time_s: seconds_of(event.tick),
        level: event.level,
        text: event.message.clone(),
    };
    recording.events.iter().map(line).collect()
}

fn warnings(recording: &OpenRecording) -> Vec<String> {
    let end = recording.salvage().inspect(|flaw| tracing::warn!("{flaw}"));
    let lost = recording.span.map_or(0, |(first, last)| (last + 1 - first).saturating_sub(recording.ticks));
    let lost = (lost > 0).then(|| format!("{lost} ticks are missing: the disk was too slow."));
    end.into_iter().chain(lost).collect()
}

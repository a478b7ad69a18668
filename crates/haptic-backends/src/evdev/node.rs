//! Linux input devices, listed in `/sys/class/input` and opened as `/dev/input/event*`.

use crate::hid::hidraw::Selection;
use crate::open_error::OpenError;
use haptic_realtime::ioctl::{Request, request};
use haptic_realtime::poll::readable;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const FAMILY: u8 = b'E';
/// The request `EVIOCSFF`, which uploads an effect.
const UPLOAD_EFFECT: Request = Request::writing(FAMILY, 0x80);
/// The request `EVIOCGBIT(EV_FF)`, which reads the supported effects.
const FORCE_BITS: Request = Request::reading(FAMILY, 0x20 + EV_FF as u8);
/// Request number of `EVIOCGABS` for axis 0.
const FIRST_AXIS: u8 = 0x40;

const EV_SYN: u16 = 0x00;
const SYN_REPORT: u16 = 0;
const SYN_DROPPED: u16 = 3;
const EV_ABS: u16 = 0x03;
const EV_FF: u16 = 0x15;
const FF_CONSTANT: u16 = 0x52;
const FF_GAIN: u16 = 0x60;
/// Size of `struct input_event` on 64-bit Linux, bytes: seconds, microseconds, type, code, value.
const EVENT_BYTES: usize = 24;
/// Size of `struct ff_effect`, bytes.
const EFFECT_BYTES: usize = 48;
/// Size of `struct input_absinfo`, bytes.
const AXIS_BYTES: usize = 24;

/// A connected input device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Path of the node, `/dev/input/event…`.
    pub path: PathBuf,
    /// Display name.
    pub name: String,
    /// USB vendor id.
    pub vendor_id: u16,
    /// USB product id.
    pub product_id: u16,
    /// Serial number; empty if the device has none.
    pub serial_number: String,
    /// Whether the driver supports constant forces.
    pub has_constant_force: bool,
    /// Number of axes: 2 with x and y, 1 with x only, 0 without x.
    pub axes: usize,
}

/// Lists all input devices, ordered by node number.
pub fn list() -> Vec<NodeInfo> {
    list_in(Path::new("/"))
}

/// Like [`list`], but with `root` instead of `/` as the root directory, for tests.
pub fn list_in(root: &Path) -> Vec<NodeInfo> {
    let folder = root.join("sys/class/input");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.starts_with("event"));
    names.sort_by_key(|name| (name.len(), name.clone()));
    names.iter().filter_map(|name| info(&folder.join(name).join("device"), name)).collect()
}

fn info(device: &Path, name: &str) -> Option<NodeInfo> {
    let text = |file: &str| fs::read_to_string(device.join(file)).ok().map(|text| text.trim().to_owned());
    let id = |file: &str| text(file).and_then(|text| u16::from_str_radix(&text, 16).ok()).unwrap_or(0);
    Some(NodeInfo {
        path: Path::new("/dev/input").join(name),
        name: text("name")?,
        vendor_id: id("id/vendor"),
        product_id: id("id/product"),
        serial_number: text("uniq").unwrap_or_default(),
        has_constant_force: has_bit(&text("capabilities/ff").unwrap_or_default(), FF_CONSTANT),
        axes: (0..2).take_while(|axis| has_bit(&text("capabilities/abs").unwrap_or_default(), *axis)).count(),
    })
}

/// Returns the device that matches `selection`.
///
/// # Errors
/// If no device or several devices match; the error lists the devices.
pub fn choose(all: &[NodeInfo], selection: &Selection) -> Result<NodeInfo, OpenError> {
    let fits = |info: &&NodeInfo| {
        // A device selected by its path is chosen even if it has no force feedback, because opening it gives a better
        // error message.
        selection.path.as_ref().map_or(info.has_constant_force, |path| *path == info.path)
            && selection.vendor_id.is_none_or(|id| id == info.vendor_id)
            && selection.product_id.is_none_or(|id| id == info.product_id)
            && selection.serial_number.as_ref().is_none_or(|number| *number == info.serial_number)
    };
    let fitting: Vec<&NodeInfo> = all.iter().filter(fits).collect();
    match &fitting[..] {
        [only] => Ok((*only).clone()),
        [] => Err(OpenError::NotFound { wanted: "input device with constant force", present: describe(all) }),
        several => Err(OpenError::Ambiguous { keys: "path", present: describe(several.iter().copied()) }),
    }
}

fn describe<'a>(infos: impl IntoIterator<Item = &'a NodeInfo>) -> String {
    let one = |info: &NodeInfo| {
        let lack = if info.has_constant_force { "" } else { ", without constant force" };
        format!("{} {:04x}:{:04x} {}{lack}", info.path.display(), info.vendor_id, info.product_id, info.name)
    };
    infos.into_iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Whether a bit is set in a bit mask written as hexadecimal 64-bit words, the lowest word last.
fn has_bit(words: &str, bit: u16) -> bool {
    let word = words.split_whitespace().rev().nth(usize::from(bit / 64));
    word.and_then(|word| u64::from_str_radix(word, 16).ok()).is_some_and(|word| word >> (bit % 64) & 1 == 1)
}

/// Value and range of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Current value.
    pub value: i32,
    /// Smallest value.
    pub minimum: i32,
    /// Largest value.
    pub maximum: i32,
}

/// A constant-force effect, in the layout of `struct ff_effect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    bytes: [u8; EFFECT_BYTES],
}

/// Offsets in `struct ff_effect`. The union of effect types is aligned to eight bytes, because one of its members
/// contains a pointer.
mod field {
    pub const TYPE: usize = 0;
    pub const ID: usize = 2;
    pub const DIRECTION: usize = 4;
    pub const LENGTH_MS: usize = 10;
    pub const LEVEL: usize = 16;
}

impl Effect {
    /// Creates an effect with zero force and the given direction (65536 units per turn) and duration.
    pub fn constant(direction: u16, length_ms: u16) -> Self {
        const NEW: i16 = -1;
        let mut effect = Self { bytes: [0; EFFECT_BYTES] };
        effect.put(field::TYPE, FF_CONSTANT.to_ne_bytes());
        effect.put(field::ID, NEW.to_ne_bytes());
        effect.put(field::DIRECTION, direction.to_ne_bytes());
        effect.put(field::LENGTH_MS, length_ms.to_ne_bytes());
        effect
    }

    fn put(&mut self, at: usize, bytes: [u8; 2]) {
        self.bytes[at..at + 2].copy_from_slice(&bytes);
    }

    fn get(&self, at: usize) -> i16 {
        i16::from_ne_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    /// Id assigned by the kernel; -1 before the first upload.
    pub fn id(&self) -> i16 {
        self.get(field::ID)
    }

    /// Force level; 32767 is the maximum.
    pub fn level(&self) -> i16 {
        self.get(field::LEVEL)
    }

    /// Changes the level. The effect must then be uploaded again.
    pub fn set_level(&mut self, level: i16) {
        self.put(field::LEVEL, level.to_ne_bytes());
    }
}

/// An open `/dev/input/event*` node.
pub struct EventFile {
    file: File,
    is_behind: bool,
}

impl EventFile {
    /// Opens a node.
    ///
    /// # Errors
    /// If the node cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: OpenOptions::new().read(true).write(true).open(path)?, is_behind: false })
    }

    /// Whether the driver supports constant forces.
    pub fn has_constant_force(&self) -> bool {
        let mut bits = [0; 16];
        let is_known = request(&self.file, FORCE_BITS, &mut bits).is_ok();
        is_known && bits[usize::from(FF_CONSTANT / 8)] >> (FF_CONSTANT % 8) & 1 == 1
    }

    /// Reads the value and the range of an axis.
    ///
    /// # Errors
    /// If the device has no such axis.
    pub fn axis(&self, number: u16) -> io::Result<Axis> {
        let mut bytes = [0; AXIS_BYTES];
        request(&self.file, Request::reading(FAMILY, FIRST_AXIS + number as u8), &mut bytes)?;
        let word = |at: usize| i32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Ok(Axis { value: word(0), minimum: word(4), maximum: word(8) })
    }

    /// Uploads a new effect, or a new level for an effect uploaded earlier.
    ///
    /// # Errors
    /// If the device cannot store another effect, or is gone.
    pub fn upload(&self, effect: &mut Effect) -> io::Result<()> {
        request(&self.file, UPLOAD_EFFECT, &mut effect.bytes).map(drop)
    }

    /// Plays an effect `times` times in succession; zero stops the effect.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn play(&self, effect: &Effect, times: i32) -> io::Result<()> {
        self.write_event(effect.id() as u16, times)
    }

    /// Sets the gain of all effects of the device; `u16::MAX` is full gain.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn set_gain(&self, gain: u16) -> io::Result<()> {
        self.write_event(FF_GAIN, i32::from(gain))
    }

    fn write_event(&self, code: u16, value: i32) -> io::Result<()> {
        let mut event = [0; EVENT_BYTES];
        event[16..18].copy_from_slice(&EV_FF.to_ne_bytes());
        event[18..20].copy_from_slice(&code.to_ne_bytes());
        event[20..24].copy_from_slice(&value.to_ne_bytes());
        (&self.file).write_all(&event)
    }

    /// Waits at most `wait` for events and updates the values of the axes. Returns whether the events completed a
    /// report. If events were lost, all axes are read from the kernel.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn read_axes(&mut self, values: &mut [i32], wait: Duration) -> io::Result<bool> {
        if !readable(&self.file, wait)? {
            return Ok(false);
        }
        let mut bytes = [0; 32 * EVENT_BYTES];
        let length = (&self.file).read(&mut bytes)?;
        let mut is_behind = self.is_behind;
        let heard = take_all(&bytes[..length], values, &mut is_behind, |number| Ok(self.axis(number)?.value));
        self.is_behind = is_behind;
        heard
    }
}

/// Applies the events of one read to `values`. Returns whether they contain the end of a report. Events after the last
/// end of a report are applied as well.
///
/// `is_behind` persists between reads. It means that the kernel's queue overflowed and that events are incomplete until
/// the end of the truncated report. Lost values are not sent again unless something moves, so every axis is then read
/// from the kernel with `ask`.
fn take_all(
    events: &[u8],
    values: &mut [i32],
    is_behind: &mut bool,
    ask: impl Fn(u16) -> io::Result<i32>,
) -> io::Result<bool> {
    let (mut has_ended, mut must_ask) = (false, false);
    for event in events.chunks_exact(EVENT_BYTES) {
        match (Event::parse(event), *is_behind) {
            (Event::Overrun, _) => *is_behind = true,
            (Event::End, true) => (*is_behind, must_ask, has_ended) = (false, true, true),
            (Event::End, false) => has_ended = true,
            (Event::Axis(number, value), false) => {
                values.get_mut(usize::from(number)).into_iter().for_each(|place| *place = value);
            }
            (Event::Axis(..), true) | (Event::Other, _) => {}
        }
    }
    if must_ask {
        for (number, place) in (0..).zip(values) {
            *place = ask(number)?;
        }
    }
    Ok(has_ended)
}

/// Contents of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// Number of an axis and its new value.
    Axis(u16, i32),
    /// The report is complete.
    End,
    /// Events were lost.
    Overrun,
    /// Any other event.
    Other,
}

impl Event {
    fn parse(event: &[u8]) -> Self {
        let [kind, code] = [16, 18].map(|at| u16::from_ne_bytes([event[at], event[at + 1]]));
        match (kind, code) {
            (EV_ABS, number) => Self::Axis(number, i32::from_ne_bytes([event[20], event[21], event[22], event[23]])),
            (EV_SYN, SYN_REPORT) => Self::End,
            (EV_SYN, SYN_DROPPED) => Self::Overrun,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_words_of_64_bits() {
        assert!(has_bit("300040000 0", FF_CONSTANT + 14) && has_bit("40000 0", FF_CONSTANT));
        assert!(!has_bit("1 0", FF_CONSTANT) && !has_bit("", 0));
        assert!(has_bit("3", 0) && has_bit("3", 1) && !has_bit("3", 2));
    }

    #[test]
    fn the_fields_of_an_effect_have_the_kernels_offsets() {
        let mut effect = Effect::constant(0xC000, 200);
        effect.set_level(-1234);
        assert_eq!(effect.bytes[..6], [0x52, 0, 0xFF, 0xFF, 0, 0xC0]);
        assert_eq!((effect.bytes[10..12].to_vec(), effect.level(), effect.id()), (vec![200, 0], -1234, -1));
    }

    fn events(events: &[(u16, u16, i32)]) -> Vec<u8> {
        let event = |(kind, code, value): &(u16, u16, i32)| {
            let mut bytes = [0; EVENT_BYTES];
            bytes[16..18].copy_from_slice(&kind.to_ne_bytes());
            bytes[18..20].copy_from_slice(&code.to_ne_bytes());
            bytes[20..24].copy_from_slice(&value.to_ne_bytes());
            bytes
        };
        events.iter().flat_map(event).collect()
    }

    const END: (u16, u16, i32) = (EV_SYN, SYN_REPORT, 0);
    const OVERRUN: (u16, u16, i32) = (EV_SYN, SYN_DROPPED, 0);

    fn never_asked(_: u16) -> io::Result<i32> {
        panic!("nothing was lost")
    }

    #[test]
    fn axes_are_updated_up_to_the_end_of_a_report() {
        let (mut values, mut is_behind) = ([0, 0], false);
        let part = events(&[(EV_ABS, 1, 77), (EV_ABS, 9, 5)]);
        assert!(!take_all(&part, &mut values, &mut is_behind, never_asked).unwrap());
        assert!(take_all(&events(&[END]), &mut values, &mut is_behind, never_asked).unwrap());
        assert_eq!(values, [0, 77]);
    }

    #[test]
    fn after_an_overrun_every_axis_is_read_at_the_end_of_the_truncated_report() {
        let (mut values, mut is_behind) = ([1, 2], false);
        let ask = |number: u16| Ok(100 + i32::from(number));
        let cut_off = events(&[(EV_ABS, 0, 3), OVERRUN, (EV_ABS, 1, 4)]);
        assert!(!take_all(&cut_off, &mut values, &mut is_behind, ask).unwrap());
        assert_eq!((values, is_behind), ([3, 2], true), "half a report was believed");
        assert!(take_all(&events(&[(EV_ABS, 1, 5), END]), &mut values, &mut is_behind, ask).unwrap());
        assert_eq!((values, is_behind), ([100, 101], false), "an axis kept a value of before the loss");
        assert!(take_all(&events(&[(EV_ABS, 1, 6), END]), &mut values, &mut is_behind, never_asked).unwrap());
        assert_eq!(values, [100, 6]);
    }

    #[test]
    fn an_axis_that_cannot_be_read_after_an_overrun_is_an_error() {
        let gone = |_: u16| Err(io::ErrorKind::NotConnected.into());
        assert!(take_all(&events(&[OVERRUN, END]), &mut [0], &mut false, gone).is_err());
    }

    fn node(number: u16, has_constant_force: bool) -> NodeInfo {
        NodeInfo {
            path: format!("/dev/input/event{number}").into(),
            name: format!("Wheel {number}"),
            vendor_id: 0x046D,
            product_id: number,
            serial_number: String::new(),
            has_constant_force,
            axes: 1,
        }
    }

    #[test]
    fn the_only_device_with_constant_force_is_chosen_and_a_named_one_even_without_it() {
        let all = [node(0, false), node(1, true)];
        assert_eq!(choose(&all, &Selection::default()), Ok(all[1].clone()));
        let named = Selection { path: Some(all[0].path.clone()), ..Selection::default() };
        assert_eq!(choose(&all, &named), Ok(all[0].clone()));
    }

    #[test]
    fn an_error_for_a_missing_device_lists_the_others() {
        let missing = Selection { vendor_id: Some(0x1209), ..Selection::default() };
        let refusal = choose(&[node(0, false), node(1, true)], &missing).unwrap_err().to_string();
        assert!(refusal.contains("/dev/input/event1 046d:0001 Wheel 1"), "{refusal}");
        assert!(refusal.contains("/dev/input/event0 046d:0000 Wheel 0, without constant force"), "{refusal}");
        assert!(choose(&[], &missing).unwrap_err().to_string().contains("there are none"));
        let several = choose(&[node(0, true), node(1, true)], &Selection::default()).unwrap_err().to_string();
        assert!(
            several.contains("write path") && several.contains("event0") && several.contains("event1"),
            "{several}"
        );
    }
}

//! Header of a recording: everything needed to rebuild the same world.

use haptic_device::{Identity, Limits};
use haptic_planar::PHYSICS_VERSION;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::str::FromStr;

/// Name of the metadata record at the start of a file.
pub const METADATA_NAME: &str = "hapticd";
/// Name of the metadata record at the end of a finished file.
pub const END_NAME: &str = "hapticd end";
/// Format number of recordings. A reader rejects files with any other number.
pub const FORMAT: u32 = 3;

/// Text of a file, and the name used to open it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Name of the file as given by the user.
    pub name: String,
    /// Complete text of the file.
    pub text: String,
}

/// Texts of all files used in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// Text of the profile.
    pub profile: Text,
    /// Text of the scene at the start of the recording file.
    pub scene: Text,
    /// Text of the device file.
    pub device: Text,
    /// Text of the hand file (`--hand`), if any.
    pub hand: Option<Text>,
}

/// Properties of the device used by the loop.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// Display name of the device.
    pub name: String,
    /// Device kind.
    pub kind: String,
    /// Serial number, as reported by the device.
    pub serial_number: String,
    /// Firmware version, as reported by the device.
    pub firmware: String,
    /// Number of axes, 1 or 2.
    pub axes: u8,
    /// Largest force of the device, N; infinity if unknown.
    pub max_force_n: f64,
    /// Largest service rate of the device, Hz; infinity for no limit.
    pub rate_hz: f64,
}

impl DeviceInfo {
    /// Collects the properties of a device from its identity, limits and largest service rate.
    pub fn of(identity: &Identity, limits: &Limits, rate_hz: f64) -> Self {
        Self {
            name: identity.name.clone(),
            kind: identity.kind.name.to_owned(),
            serial_number: identity.serial_number.clone(),
            firmware: identity.firmware.clone(),
            axes: identity.axes,
            max_force_n: limits.max_force_n,
            rate_hz,
        }
    }
}

/// Header of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Version of hapticd that made the recording.
    pub version: String,
    /// Command that made the recording: `run` or `simulate`.
    pub command: String,
    /// Texts of all files used in the run.
    pub texts: Texts,
    /// Whether no motor could move a real hand. If so, the force engaged with the short ramp for simulations, unless
    /// the profile specified another ramp.
    pub moves_no_motor: bool,
    /// Whether the signs of the motors were checked before the first force. Recordings made before there was such a
    /// check do not say so.
    pub sign_check: bool,
    /// Device used by the loop.
    pub device: DeviceInfo,
    /// Offset added to the loop's clock to obtain message times, ns. Message times count from 1970; in simulations the
    /// offset is zero.
    pub epoch_ns: u64,
    /// Number of the first tick in the file; zero if the recording started mid-run, because the number is not known in
    /// advance.
    pub first_tick: u64,
    /// Number of the world described by the scene in `texts`.
    pub world: u64,
    /// Number of this file within its recording, counted from 1.
    pub part: u32,
}

/// Error for a header that cannot be read, with a description of the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadHeader(pub String);

impl Header {
    /// Returns the header as the keys and values of a metadata record.
    pub fn metadata(&self) -> BTreeMap<String, String> {
        let Self { texts, device, .. } = self;
        let pairs = [
            ("format", FORMAT.to_string()),
            ("physics_version", PHYSICS_VERSION.to_string()),
            ("hapticd_version", self.version.clone()),
            ("command", self.command.clone()),
            ("profile_name", texts.profile.name.clone()),
            ("scene_name", texts.scene.name.clone()),
            ("device_name", texts.device.name.clone()),
            ("hand_name", texts.hand.as_ref().map_or(String::new(), |hand| hand.name.clone())),
            ("moves_no_motor", self.moves_no_motor.to_string()),
            ("sign_check", self.sign_check.to_string()),
            ("device_identity", device.name.clone()),
            ("device_kind", device.kind.clone()),
            ("device_serial_number", device.serial_number.clone()),
            ("device_firmware", device.firmware.clone()),
            ("device_axes", device.axes.to_string()),
            ("device_max_force_n", format!("{:?}", device.max_force_n)),
            ("device_rate_hz", format!("{:?}", device.rate_hz)),
            ("epoch_ns", self.epoch_ns.to_string()),
            ("first_tick", self.first_tick.to_string()),
            ("part", self.part.to_string()),
            ("world", self.world.to_string()),
            ("tick_ns", "1000000".to_owned()),
        ];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// Returns the name and the text of each attachment.
    pub fn attachments(&self) -> Vec<(&'static str, &str)> {
        let Texts { profile, scene, device, hand } = &self.texts;
        let always = [("profile.toml", profile), ("scene.toml", scene), ("device.toml", device)];
        let hand = hand.iter().map(|hand| ("hand.csv", hand));
        always.into_iter().chain(hand).map(|(name, text)| (name, text.text.as_str())).collect()
    }

    /// Rebuilds the header from the metadata record and the attachments of a file.
    ///
    /// # Errors
    /// If a value or an attachment is missing or invalid, or the format number or physics version differs.
    pub fn from_file(
        metadata: &BTreeMap<String, String>,
        attachments: &BTreeMap<String, String>,
    ) -> Result<Self, BadHeader> {
        require_version(metadata, "format", "format", FORMAT)?;
        require_version(metadata, "physics_version", "physics version", PHYSICS_VERSION)?;
        Ok(Self {
            version: word(metadata, "hapticd_version")?,
            command: word(metadata, "command")?,
            texts: texts(metadata, attachments)?,
            moves_no_motor: number(metadata, "moves_no_motor")?,
            sign_check: metadata.get("sign_check").is_some_and(|checked| checked == "true"),
            device: DeviceInfo {
                name: word(metadata, "device_identity")?,
                kind: word(metadata, "device_kind")?,
                serial_number: word(metadata, "device_serial_number")?,
                firmware: word(metadata, "device_firmware")?,
                axes: number(metadata, "device_axes")?,
                max_force_n: number(metadata, "device_max_force_n")?,
                rate_hz: number(metadata, "device_rate_hz")?,
            },
            epoch_ns: number(metadata, "epoch_ns")?,
            first_tick: number(metadata, "first_tick")?,
            part: number(metadata, "part")?,
            world: number(metadata, "world")?,
        })
    }
}

fn texts(metadata: &BTreeMap<String, String>, attachments: &BTreeMap<String, String>) -> Result<Texts, BadHeader> {
    let text = |key: &str, file: &str| {
        let text = attachments.get(file).ok_or_else(|| missing(&format!("attachment {file}")))?;
        Ok(Text { name: word(metadata, key)?, text: text.clone() })
    };
    Ok(Texts {
        profile: text("profile_name", "profile.toml")?,
        scene: text("scene_name", "scene.toml")?,
        device: text("device_name", "device.toml")?,
        hand: attachments.contains_key("hand.csv").then(|| text("hand_name", "hand.csv")).transpose()?,
    })
}

/// Rejects a file whose format number or physics version differs from `supported`, because it could not be read or
/// replayed correctly. `what` names the number in the error.
fn require_version(
    metadata: &BTreeMap<String, String>,
    key: &str,
    what: &str,
    supported: u32,
) -> Result<(), BadHeader> {
    let recorded: u32 = number(metadata, key)?;
    if recorded == supported {
        return Ok(());
    }
    let version = word(metadata, "hapticd_version")?;
    Err(BadHeader(format!(
        "has {what} {recorded}, written by hapticd {version}; this hapticd {} supports {what} {supported} only: \
         use the version that wrote the file, or record again",
        env!("CARGO_PKG_VERSION")
    )))
}

fn missing(what: &str) -> BadHeader {
    BadHeader(format!("has no {what}; it is not a hapticd recording, or its start is damaged"))
}

fn word(metadata: &BTreeMap<String, String>, key: &str) -> Result<String, BadHeader> {
    metadata.get(key).cloned().ok_or_else(|| missing(&format!("metadata {key}")))
}

fn number<T: FromStr>(metadata: &BTreeMap<String, String>, key: &str) -> Result<T, BadHeader> {
    let text = word(metadata, key)?;
    text.parse().map_err(|_| BadHeader(format!("has invalid metadata: {key} is {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let text = |name: &str| Text { name: name.to_owned(), text: format!("# {name}\n") };
        Header {
            version: "1.2.3".to_owned(),
            command: "run".to_owned(),
            texts: Texts { profile: text("p"), scene: text("s"), device: text("d"), hand: Some(text("h")) },
            moves_no_motor: true,
            sign_check: true,
            device: DeviceInfo {
                name: "n".to_owned(),
                kind: "simulated".to_owned(),
                serial_number: String::new(),
                firmware: String::new(),
                axes: 1,
                max_force_n: f64::INFINITY,
                rate_hz: 500.0,
            },
            epoch_ns: u64::MAX,
            first_tick: 1,
            world: 3,
            part: 1,
        }
    }

    fn attachments(header: &Header) -> BTreeMap<String, String> {
        header.attachments().into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
    }

    #[test]
    fn a_header_comes_back_whole_even_with_an_infinite_force() {
        let header = header();
        assert_eq!(Header::from_file(&header.metadata(), &attachments(&header)), Ok(header));
    }

    #[test]
    fn missing_parts_and_other_versions_are_rejected() {
        let header = header();
        let mut metadata = header.metadata();
        let error = Header::from_file(&metadata, &BTreeMap::new()).unwrap_err();
        assert!(error.0.starts_with("has no attachment profile.toml"), "{}", error.0);
        for (key, text) in [("physics_version", "physics version 99"), ("format", "format 99")] {
            metadata.insert(key.to_owned(), "99".to_owned());
            let error = Header::from_file(&metadata, &attachments(&header)).unwrap_err();
            assert!(error.0.starts_with(&format!("has {text}, written by hapticd 1.2.3")), "{}", error.0);
        }
    }
}

//! Firmware of a force-feedback device: handles reports, stores and times effects, and computes the motor force.

use crate::style::{Control, ControlCommand, Part, REPEAT_US, Style, width};

/// A protocol violation by the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Time of the violation, µs.
    pub at_us: u64,
    /// Description of the violation.
    pub what: String,
}

/// Maximum number of violations stored with a description; further ones are only counted.
const MISTAKES_KEPT: usize = 20;

/// Result of the last Create New Effect report, read by the host with PID Block Load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loaded {
    Nothing,
    Success(u8),
    Full,
    Error,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Effect {
    is_set: bool,
    /// Direction from which the force comes, turns; 0 is −y and 0.25 is +x of the HID specification.
    bearing: f64,
    gain: f64,
    /// Duration of the effect, µs; 0 for no limit.
    duration_us: u64,
    /// Magnitude as a fraction of full scale, −1 to 1.
    magnitude: f64,
    started_us: Option<u64>,
}

/// Firmware of a force-feedback device with two axes, in one of the [`Style`]s.
#[derive(Clone, Debug)]
pub struct ForceFeedback {
    style: Style,
    effects: Vec<Option<Effect>>,
    loaded: Loaded,
    is_enabled: bool,
    gain: f64,
    mistakes: Vec<Mistake>,
    mistake_count: u64,
    /// Number of Set Constant Force reports accepted.
    pub forces_taken: u64,
    /// Time at which an effect last expired, µs.
    pub expired_us: Option<u64>,
    /// Time of the last output report, µs.
    pub heard_us: Option<u64>,
    /// Position of all axes without motors, as a fraction of their travel, −1 to 1.
    pub pedals: f64,
    /// Last input report sent, and its time, µs.
    sent: Option<(Vec<u8>, u64)>,
}

impl ForceFeedback {
    /// Creates a device in its state after connection. `room` is the number of effects it can store; the style gives
    /// the default.
    pub fn new(style: Style, room: Option<usize>) -> Self {
        let room = room.unwrap_or(usize::from(style.blocks));
        Self {
            style,
            effects: vec![None; room],
            loaded: Loaded::Nothing,
            is_enabled: false,
            gain: 1.0,
            mistakes: Vec::new(),
            mistake_count: 0,
            forces_taken: 0,
            expired_us: None,
            heard_us: None,
            pedals: 0.0,
            sent: None,
        }
    }

    /// Returns the number of protocol violations by the host, and the first violations with their descriptions.
    pub fn mistakes(&self) -> (u64, &[Mistake]) {
        (self.mistake_count, &self.mistakes)
    }

    /// Whether any effect is playing.
    pub fn plays(&self) -> bool {
        self.effects.iter().flatten().any(|effect| effect.started_us.is_some())
    }

    fn mistake(&mut self, at_us: u64, what: String) {
        self.mistake_count += 1;
        if self.mistakes.len() < MISTAKES_KEPT {
            self.mistakes.push(Mistake { at_us, what });
        }
    }

    /// Handles an output report, which starts with its id.
    pub fn output(&mut self, report: &[u8], now_us: u64) {
        self.heard_us = Some(now_us);
        if let Err(what) = self.take(report, now_us) {
            self.mistake(now_us, format!("output {report:02x?}: {what}"));
        }
    }

    fn take(&mut self, report: &[u8], now_us: u64) -> Result<(), String> {
        let style = self.style;
        let id = *report.first().ok_or("empty")?;
        match id {
            id if id == style.effect_id => self.set_effect(sized(report, style.effect_bytes())?),
            // Envelopes are accepted for existing effects and ignored: constant forces act immediately.
            id if id == style.envelope_id => self.effect(sized(report, style.envelope_bytes())?[1]).map(drop),
            id if id == style.constant_id => self.set_magnitude(sized(report, 4)?),
            id if id == style.operation_id => self.operate(sized(report, 4)?, now_us),
            id if id == style.control_id => self.control(sized(report, 2)?),
            id if id == style.gain_id => self.set_gain(sized(report, 1 + width(style.gain_max))?),
            id if id == style.free_id => self.free(sized(report, 2)?),
            _ => Err("no such report".to_owned()),
        }
    }

    fn effect(&mut self, block: u8) -> Result<&mut Effect, String> {
        let slot = usize::from(block).checked_sub(1).and_then(|index| self.effects.get_mut(index));
        slot.and_then(Option::as_mut).ok_or(format!("block {block} was never made"))
    }

    fn set_effect(&mut self, report: &[u8]) -> Result<(), String> {
        const CONSTANT_FORCE: u8 = 1;
        const DIRECTION_ENABLE: u8 = 1 << 2;
        let style = self.style;
        let at = |part| style.part_offset(part).unwrap_or(usize::MAX);
        if report[2] != CONSTANT_FORCE {
            return Err(format!("effect type {}", report[2]));
        }
        if report[at(Part::Enables)] & DIRECTION_ENABLE == 0 {
            return Err("direction not enabled".to_owned());
        }
        let gain = read(report, at(Part::Gain), width(style.effect_gain_max)) / style.effect_gain_max as f64;
        let bearing = read(report, at(Part::Directions), width(style.direction_max)) / style.direction_max as f64;
        let duration_us = read(report, at(Part::Duration), 2) as u64 * 1000;
        let effect = self.effect(report[1])?;
        *effect = Effect { is_set: true, gain, bearing, duration_us, ..*effect };
        Ok(())
    }

    fn set_magnitude(&mut self, report: &[u8]) -> Result<(), String> {
        let largest = self.style.magnitude_max;
        let magnitude = i64::from(i16::from_le_bytes([report[2], report[3]]));
        if magnitude.abs() > largest {
            return Err(format!("magnitude {magnitude} of {largest}"));
        }
        self.effect(report[1])?.magnitude = magnitude as f64 / largest as f64;
        self.forces_taken += 1;
        Ok(())
    }

    fn operate(&mut self, report: &[u8], now_us: u64) -> Result<(), String> {
        let effect = self.effect(report[1])?;
        match report[2] {
            1 if !effect.is_set => return Err("started before it was set".to_owned()),
            1 => effect.started_us = Some(now_us),
            3 => effect.started_us = None,
            operation => return Err(format!("operation {operation}")),
        }
        Ok(())
    }

    fn control(&mut self, report: &[u8]) -> Result<(), String> {
        let index = match self.style.control {
            Control::Bits if report[1].count_ones() == 1 => report[1].trailing_zeros() as usize,
            Control::Bits => return Err(format!("{} commands at once", report[1].count_ones())),
            Control::Numbers => usize::from(report[1]).wrapping_sub(1),
        };
        match self.style.commands.get(index).ok_or("no such command")? {
            ControlCommand::Enable => self.is_enabled = true,
            ControlCommand::Disable => self.is_enabled = false,
            ControlCommand::Stop => self.effects.iter_mut().flatten().for_each(|effect| effect.started_us = None),
            ControlCommand::Reset => self.effects.fill(None),
            ControlCommand::Pause | ControlCommand::Continue => return Err("not needed to render forces".to_owned()),
        }
        Ok(())
    }

    fn set_gain(&mut self, report: &[u8]) -> Result<(), String> {
        self.gain = read(report, 1, width(self.style.gain_max)) / self.style.gain_max as f64;
        Ok(())
    }

    fn free(&mut self, report: &[u8]) -> Result<(), String> {
        self.effect(report[1])?;
        self.effects[usize::from(report[1]) - 1] = None;
        Ok(())
    }

    /// Handles a feature report, which starts with its id.
    pub fn set_feature(&mut self, report: &[u8], now_us: u64) {
        if report.first() != Some(&self.style.create_id) || report.len() != 4 {
            return self.mistake(now_us, format!("feature {report:02x?}: no such report"));
        }
        self.loaded = match (report[1], self.effects.iter().position(Option::is_none)) {
            (1, Some(free)) => {
                self.effects[free] = Some(Effect::default());
                Loaded::Success(free as u8 + 1)
            }
            (1, None) => Loaded::Full,
            _ => Loaded::Error,
        };
    }

    /// Returns the feature report with this id, including the id itself; `None` if there is no such report.
    pub fn get_feature(&mut self, id: u8) -> Option<Vec<u8>> {
        let style = self.style;
        if id == style.pool_id {
            return Some(vec![id, 0xFF, 0xFF, self.effects.len() as u8, 1]);
        }
        let (block, status) = match self.loaded {
            Loaded::Nothing => (0, 0),
            Loaded::Success(block) => (block, 1),
            Loaded::Full => (0, 2),
            Loaded::Error => (0, 3),
        };
        (id == style.load_id).then_some(vec![id, block, status, 0xFF, 0xFF])
    }

    /// Returns the motor force as a fraction of full scale, along x and y of the HID specification. Stops effects whose
    /// duration has elapsed.
    pub fn force(&mut self, now_us: u64) -> [f64; 2] {
        let mut total = [0.0; 2];
        for effect in self.effects.iter_mut().flatten() {
            let Some(started_us) = effect.started_us else { continue };
            if effect.duration_us > 0 && now_us.saturating_sub(started_us) > effect.duration_us {
                effect.started_us = None;
                self.expired_us = Some(now_us);
                continue;
            }
            let (sine, cosine) = libm::sincos(effect.bearing * core::f64::consts::TAU);
            let force = effect.magnitude * effect.gain * self.gain;
            total = [total[0] - force * sine, total[1] + force * cosine];
        }
        if self.is_enabled { total } else { [0.0; 2] }
    }

    /// Returns the input report to send for a handle at the given fractions of its travel, −1 to 1, along x and y of the
    /// HID specification; `None` if the device reports only changes and there is none.
    pub fn input(&mut self, handle: [f64; 2], now_us: u64) -> Option<Vec<u8>> {
        let report = self.input_report(handle);
        let is_repeated = self.sent.as_ref().is_some_and(|(sent, at_us)| *sent == report && now_us < at_us + REPEAT_US);
        if is_repeated && self.style.reports_changes {
            return None;
        }
        self.sent = Some((report.clone(), now_us));
        Some(report)
    }

    fn input_report(&self, handle: [f64; 2]) -> Vec<u8> {
        let (minimum, maximum) = self.style.axis_range;
        let count = |share: f64| {
            let value = minimum as f64 + (share.clamp(-1.0, 1.0) + 1.0) / 2.0 * (maximum - minimum) as f64;
            (libm::round(value) as i64 as u16).to_le_bytes()
        };
        let mut report = vec![self.style.input_id];
        report.resize(1 + self.style.button_bytes + self.style.hats / 2, 0);
        let pedals = std::iter::repeat(self.pedals);
        let axes = handle.into_iter().chain(pedals).take(self.style.axes.len());
        axes.for_each(|axis| report.extend_from_slice(&count(axis)));
        report
    }
}

fn sized(report: &[u8], length: usize) -> Result<&[u8], String> {
    if report.len() == length { Ok(report) } else { Err(format!("{} bytes in place of {length}", report.len())) }
}

fn read(report: &[u8], at: usize, bytes: usize) -> f64 {
    report[at..at + bytes].iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte)).into()
}

//! Finds the axes and the force feedback of a device in its descriptor, without assumptions about the device.
//!
//! Report ids, the order, width and range of fields, and the values of commands such as start or enable differ from
//! device to device. Only the usages are the same everywhere, so everything is looked up by usage, and errors name the
//! part that is missing or contradictory.

use super::descriptor::{Descriptor, DescriptorError};
use super::field::{Field, ReportKind, Usage};
use super::report::{MAX_REPORT_BYTES, Shape};
use super::usages::*;
use core::fmt;

/// Duration of an effect that is not restarted, s. If the host dies, the force ends after this time.
pub const EFFECT_DURATION_S: f64 = 0.1;
/// Minimum usable duration of an effect, s. A shorter effect could end between restarts.
const SHORTEST_DURATION_S: f64 = 0.05;

/// Reason a device cannot be driven.
#[derive(Clone, Debug, PartialEq)]
pub enum LayoutError {
    /// The descriptor is malformed.
    Descriptor(DescriptorError),
    /// The descriptor has neither an x axis nor a steering axis.
    NoAxis,
    /// The descriptor has an x axis, but no y axis beside it.
    NoSecondAxis,
    /// Axes Enable has one axis, so the device has one motor, but two are asked for.
    OneMotor,
    /// No report in the descriptor sets a force.
    NoForceFeedback,
    /// The descriptor lacks a part of the force feedback required for constant forces.
    Missing {
        /// Name of the missing part.
        what: &'static str,
    },
    /// The range of a field is empty or does not fit its bits.
    Contradictory {
        /// Name of the field.
        what: &'static str,
        /// Logical range of the field.
        logical: (i64, i64),
        /// Width of the field, bits.
        bits: u32,
    },
    /// A report is longer than [`MAX_REPORT_BYTES`] bytes.
    TooLong {
        /// Name of the report.
        what: &'static str,
        /// Length of the report, bytes.
        bytes: usize,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Descriptor(error) => write!(out, "{error}"),
            Self::NoAxis => write!(out, "its descriptor has no x axis"),
            Self::NoSecondAxis => write!(out, "its descriptor has no y axis; write axes = 1 if it has only one"),
            Self::OneMotor => {
                write!(out, "its descriptor enables force on one axis alone: it has one motor; write axes = 1")
            }
            Self::NoForceFeedback => write!(out, "it has no force feedback: no report of its descriptor sets a force"),
            Self::Missing { what } => write!(out, "its descriptor has no {what}, which constant forces need"),
            Self::Contradictory { what, logical: (minimum, maximum), bits } => {
                write!(out, "its descriptor contradicts itself: {what} from {minimum} to {maximum} in {bits} bits")
            }
            Self::TooLong { what, bytes } => write!(out, "{what} has {bytes} bytes, more than {MAX_REPORT_BYTES}"),
        }
    }
}

impl std::error::Error for LayoutError {}

impl From<DescriptorError> for LayoutError {
    fn from(error: DescriptorError) -> Self {
        Self::Descriptor(error)
    }
}

/// Reports and fields of a device that the backend uses.
#[derive(Clone, Debug, PartialEq)]
pub struct PidLayout {
    /// Fields of one or two axes: x, then y.
    pub axes: Vec<Field>,
    /// Fields of the Set Effect report.
    pub effect: EffectFields,
    /// Fields of the Set Constant Force report.
    pub constant: ConstantFields,
    /// Fields of the Effect Operation report.
    pub operation: OperationFields,
    /// Create New Effect report, with the field and value that select a constant force.
    pub create: (Shape, Choice),
    /// Block Load report, which contains the result of Create New Effect.
    pub load: LoadFields,
    /// Block Free report and its block index field, if the device has this report.
    pub free: Option<(Shape, Field)>,
    /// Commands of the Device Control report that the device supports.
    pub control: ControlFields,
    /// Device Gain report and its gain field, if the device has this report.
    pub gain: Option<(Shape, Field)>,
    /// Feature report and field with the number of effects that can play simultaneously, if the device has this report.
    pub simultaneous: Option<(Shape, Field)>,
    /// Actuators Enabled field of an input report, if the device has it.
    pub actuators_enabled: Option<Field>,
}

/// A field and one of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The field.
    pub field: Field,
    /// The value.
    pub value: i64,
}

/// Fields of the Set Effect report.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the usage tables")]
pub struct EffectFields {
    pub shape: Shape,
    pub block_index: Field,
    pub effect_type: Choice,
    pub duration: Field,
    pub gain: Option<Field>,
    pub axes_enable: Vec<Field>,
    pub direction_enable: Option<Field>,
    pub directions: Vec<Field>,
}

impl EffectFields {
    /// Whether Axes Enable has one axis alone. With two, the descriptor does not tell how many have a motor: many boards
    /// with one motor keep the descriptor of a board with two.
    fn has_one_motor(&self) -> bool {
        let first = self.axes_enable.first().map(|field| field.usage);
        first.is_some() && self.axes_enable.iter().all(|field| Some(field.usage) == first)
    }
}

/// Fields of the Set Constant Force report.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the usage tables")]
pub struct ConstantFields {
    pub shape: Shape,
    pub block_index: Field,
    pub magnitude: Field,
}

/// Fields of the Effect Operation report.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the usage tables")]
pub struct OperationFields {
    pub shape: Shape,
    pub block_index: Field,
    pub start: Choice,
    pub stop: Choice,
    pub loop_count: Option<Field>,
}

/// Fields of the Block Load report.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the usage tables")]
pub struct LoadFields {
    pub shape: Shape,
    pub block_index: Field,
    pub success: Choice,
    pub full: Option<i64>,
}

/// Commands of the Device Control report. Some devices have a bit for each command; others have one field whose value
/// selects the command.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the usage tables")]
pub struct ControlFields {
    pub enable: Option<(Shape, Choice)>,
    pub disable: Option<(Shape, Choice)>,
    pub stop_all: Option<(Shape, Choice)>,
    pub reset: Option<(Shape, Choice)>,
}

impl PidLayout {
    /// Finds the reports of a device with one or two axes in its descriptor.
    ///
    /// # Errors
    /// If the descriptor is malformed, or anything required for constant forces is missing or contradictory.
    pub fn find(bytes: &[u8], axes: usize) -> Result<Self, LayoutError> {
        let descriptor = Descriptor::parse(bytes)?;
        let search = Search { descriptor: &descriptor };
        let layout = Self {
            effect: search.effect(axes)?,
            axes: search.axes(axes)?,
            constant: search.constant()?,
            operation: search.operation()?,
            create: search.create()?,
            load: search.load()?,
            free: search.optional(ReportKind::Output, PID_BLOCK_FREE_REPORT, EFFECT_BLOCK_INDEX)?,
            control: search.control()?,
            gain: search.optional(ReportKind::Output, DEVICE_GAIN_REPORT, DEVICE_GAIN)?,
            simultaneous: search.optional(ReportKind::Feature, PID_POOL_REPORT, SIMULTANEOUS_EFFECTS_MAX)?,
            actuators_enabled: search.anywhere(ReportKind::Input, ACTUATORS_ENABLED),
        };
        Ok(layout)
    }

    /// Finds the reports of a device with two axes, or with one if that is all it has.
    ///
    /// # Errors
    /// If one axis cannot be driven either.
    pub fn find_most(bytes: &[u8]) -> Result<Self, LayoutError> {
        Self::find(bytes, 2).or_else(|_| Self::find(bytes, 1))
    }

    /// Returns what the descriptor does not tell about the axes, with what to write in the device file.
    pub fn doubts(&self) -> Option<String> {
        (self.axes.len() > 1).then(|| {
            let enabled = if self.effect.axes_enable.is_empty() { "has no Axes Enable" } else { "enables x and y" };
            format!("motors: the descriptor {enabled}, which devices with one motor do as well; if so, write axes = 1")
        })
    }

    /// Returns a description of the force feedback for the user.
    pub fn capabilities(&self) -> String {
        let (_, largest) = self.constant.magnitude.logical;
        let directions = if self.effect.directions.is_empty() { "no direction" } else { "directions" };
        let gain = if self.gain.is_some() { ", device gain" } else { "" };
        format!("constant force ±{largest}, {directions}{gain}")
    }
}

/// Returns the value of a duration field for [`EFFECT_DURATION_S`], or for the longest shorter duration that the field
/// can represent.
///
/// # Errors
/// If that duration is too short, or the field can represent only longer ones.
pub fn effect_duration(field: &Field) -> Result<i64, LayoutError> {
    /// Bit offset of the nibble with the time exponent in a unit.
    const TIME_NIBBLE: u32 = 12;
    let is_in_seconds = field.unit >> TIME_NIBBLE & 0xF == 1;
    let counts_per_s = if is_in_seconds { libm::pow(10.0, -f64::from(field.exponent)) } else { 1000.0 };
    let value = field.logical_of(EFFECT_DURATION_S * counts_per_s);
    let (from, to) = field.physical_range();
    let share = (value - field.logical.0) as f64 / (field.logical.1 - field.logical.0) as f64;
    let lasts_s = (from as f64 + share * (to - from) as f64) / counts_per_s;
    if (SHORTEST_DURATION_S..=EFFECT_DURATION_S * 1.01).contains(&lasts_s) {
        return Ok(value);
    }
    Err(LayoutError::Contradictory { what: "an effect's duration", logical: field.logical, bits: field.bits })
}

struct Search<'a> {
    descriptor: &'a Descriptor,
}

impl Search<'_> {
    fn fields(&self, kind: ReportKind) -> impl Iterator<Item = &Field> {
        self.descriptor.fields().iter().filter(move |field| field.kind == kind)
    }

    fn anywhere(&self, kind: ReportKind, usage: Usage) -> Option<Field> {
        self.fields(kind).find(|field| field.usage == usage && field.choices.is_empty()).cloned()
    }

    fn within(&self, kind: ReportKind, report: Usage, usage: Usage) -> Option<Field> {
        let fits = |field: &&Field| field.usage == usage && field.choices.is_empty();
        self.fields(kind).filter(fits).find(|field| self.descriptor.is_within(field, report)).cloned()
    }

    /// Finds the field of a report that has `usage` among its choices, and the value that selects it.
    fn choice(&self, kind: ReportKind, report: Usage, usage: Usage, what: &'static str) -> Result<Choice, LayoutError> {
        let mut inside = self.fields(kind).filter(|field| self.descriptor.is_within(field, report));
        let found = inside.find_map(|field| Some(Choice { field: field.clone(), value: field.choice(usage)? }));
        found.ok_or(LayoutError::Missing { what })
    }

    /// Finds a required numeric field of a report and checks that its range is consistent.
    fn number(&self, kind: ReportKind, report: Usage, usage: Usage, what: &'static str) -> Result<Field, LayoutError> {
        self.within(kind, report, usage).ok_or(LayoutError::Missing { what }).and_then(|field| consistent(field, what))
    }

    fn shape(&self, field: &Field, what: &'static str) -> Result<Shape, LayoutError> {
        let bytes = self.descriptor.report_bytes(field.kind, field.report_id).unwrap_or(0);
        Shape::new(field.kind, field.report_id, bytes).ok_or(LayoutError::TooLong { what, bytes })
    }

    fn optional(&self, kind: ReportKind, report: Usage, usage: Usage) -> Result<Option<(Shape, Field)>, LayoutError> {
        let found = self.within(kind, report, usage).filter(Field::is_consistent);
        found.map(|field| Ok((self.shape(&field, "a report")?, field))).transpose()
    }

    /// Finds the axes of the handle. A descriptor may have a mouse as well, whose x and y are relative and belong to
    /// another application collection than the force feedback.
    fn axes(&self, count: usize) -> Result<Vec<Field>, LayoutError> {
        let force = self.fields(ReportKind::Output).find(|field| self.descriptor.is_within(field, SET_EFFECT_REPORT));
        let application = force.and_then(|field| self.descriptor.application_of(field));
        let is_beside = |field: &&Field| self.descriptor.application_of(field) == application;
        let positions = |usage: Usage| {
            self.fields(ReportKind::Input)
                .filter(move |field| field.usage == usage && field.choices.is_empty() && !field.is_relative)
        };
        let beside = [X, STEERING].into_iter().find_map(|usage| positions(usage).find(is_beside));
        let x = beside.or_else(|| [X, STEERING].into_iter().find_map(|usage| positions(usage).next()));
        let x = x.ok_or(LayoutError::NoAxis)?;
        let mut axes = vec![consistent(x.clone(), "the x axis")?];
        if count > 1 {
            let y = positions(Y).find(|field| field.report_id == x.report_id);
            axes.push(consistent(y.ok_or(LayoutError::NoSecondAxis)?.clone(), "the y axis")?);
        }
        Ok(axes)
    }

    fn effect(&self, axes: usize) -> Result<EffectFields, LayoutError> {
        let output = ReportKind::Output;
        let has = |report| self.fields(output).any(|field| self.descriptor.is_within(field, report));
        if ![SET_EFFECT_REPORT, SET_CONSTANT_FORCE_REPORT].into_iter().any(has) {
            return Err(LayoutError::NoForceFeedback);
        }
        let block_index =
            self.number(output, SET_EFFECT_REPORT, EFFECT_BLOCK_INDEX, "Set Effect report with an effect block index")?;
        let fields = EffectFields {
            shape: self.shape(&block_index, "the Set Effect report")?,
            effect_type: self.choice(output, SET_EFFECT_REPORT, ET_CONSTANT_FORCE, "effect type for constant force")?,
            duration: self.number(output, SET_EFFECT_REPORT, DURATION, "duration of an effect")?,
            gain: self.within(output, SET_EFFECT_REPORT, GAIN).filter(Field::is_consistent),
            axes_enable: self.inside(AXES_ENABLE),
            direction_enable: self.within(output, SET_EFFECT_REPORT, DIRECTION_ENABLE),
            directions: self.inside(DIRECTION),
            block_index,
        };
        effect_duration(&fields.duration)?;
        if axes > 1 && fields.has_one_motor() {
            return Err(LayoutError::OneMotor);
        }
        check_directions(&fields.directions, axes)?;
        let parts = [&fields.effect_type.field, &fields.duration];
        same_report(&fields.block_index, &parts, "one Set Effect report with all its parts")?;
        Ok(fields)
    }

    /// Returns the fields of a collection inside the Set Effect report.
    fn inside(&self, collection: Usage) -> Vec<Field> {
        let is_inside = |field: &&Field| {
            self.descriptor.is_within(field, collection) && self.descriptor.is_within(field, SET_EFFECT_REPORT)
        };
        self.fields(ReportKind::Output).filter(is_inside).cloned().collect()
    }

    fn constant(&self) -> Result<ConstantFields, LayoutError> {
        let report = SET_CONSTANT_FORCE_REPORT;
        let index = "Set Constant Force report with an effect block index";
        let block_index = self.number(ReportKind::Output, report, EFFECT_BLOCK_INDEX, index)?;
        let magnitude = self.number(ReportKind::Output, report, MAGNITUDE, "magnitude of a constant force")?;
        let (minimum, maximum) = magnitude.logical;
        if minimum >= 0 || maximum <= 0 {
            let what = "the magnitude, which must be of either sign,";
            return Err(LayoutError::Contradictory { what, logical: magnitude.logical, bits: magnitude.bits });
        }
        same_report(&block_index, &[&magnitude], "one Set Constant Force report with all its parts")?;
        Ok(ConstantFields { shape: self.shape(&block_index, "the Set Constant Force report")?, block_index, magnitude })
    }

    fn operation(&self) -> Result<OperationFields, LayoutError> {
        let (output, report) = (ReportKind::Output, EFFECT_OPERATION_REPORT);
        let index = "Effect Operation report with an effect block index";
        let block_index = self.number(output, report, EFFECT_BLOCK_INDEX, index)?;
        let start = self.choice(output, report, OP_EFFECT_START, "command to start an effect")?;
        let stop = self.choice(output, report, OP_EFFECT_STOP, "command to stop an effect")?;
        same_report(&block_index, &[&start.field, &stop.field], "one Effect Operation report with all its parts")?;
        let loop_count = self.within(output, report, LOOP_COUNT);
        Ok(OperationFields {
            shape: self.shape(&block_index, "the Effect Operation report")?,
            block_index,
            start,
            stop,
            loop_count,
        })
    }

    fn create(&self) -> Result<(Shape, Choice), LayoutError> {
        let what = "Create New Effect report for constant force";
        let kind = self.choice(ReportKind::Feature, CREATE_NEW_EFFECT_REPORT, ET_CONSTANT_FORCE, what)?;
        Ok((self.shape(&kind.field, "the Create New Effect report")?, kind))
    }

    fn load(&self) -> Result<LoadFields, LayoutError> {
        let (feature, report) = (ReportKind::Feature, PID_BLOCK_LOAD_REPORT);
        let block_index = self.number(feature, report, EFFECT_BLOCK_INDEX, "Block Load report")?;
        let success = self.choice(feature, report, BLOCK_LOAD_SUCCESS, "Block Load status")?;
        let full = success.field.choice(BLOCK_LOAD_FULL);
        same_report(&block_index, &[&success.field], "one Block Load report with all its parts")?;
        Ok(LoadFields { shape: self.shape(&block_index, "the Block Load report")?, block_index, success, full })
    }

    fn control(&self) -> Result<ControlFields, LayoutError> {
        Ok(ControlFields {
            enable: self.order(DC_ENABLE_ACTUATORS)?,
            disable: self.order(DC_DISABLE_ACTUATORS)?,
            stop_all: self.order(DC_STOP_ALL_EFFECTS)?,
            reset: self.order(DC_DEVICE_RESET)?,
        })
    }

    /// Finds a Device Control command, which is either a value of a numeric field or a separate bit.
    fn order(&self, usage: Usage) -> Result<Option<(Shape, Choice)>, LayoutError> {
        let by_number = |field: &Field| Some(Choice { field: field.clone(), value: field.choice(usage)? });
        let by_bit = |field: &Field| (field.usage == usage).then(|| Choice { field: field.clone(), value: 1 });
        let found = self.fields(ReportKind::Output).find_map(|field| by_number(field).or_else(|| by_bit(field)));
        found.map(|choice| Ok((self.shape(&choice.field, "the Device Control report")?, choice))).transpose()
    }
}

fn consistent(field: Field, what: &'static str) -> Result<Field, LayoutError> {
    if field.is_consistent() {
        return Ok(field);
    }
    Err(LayoutError::Contradictory { what, logical: field.logical, bits: field.bits })
}

fn same_report(first: &Field, others: &[&Field], what: &'static str) -> Result<(), LayoutError> {
    let is_same = others.iter().all(|other| other.report_id == first.report_id && other.kind == first.kind);
    if is_same { Ok(()) } else { Err(LayoutError::Missing { what }) }
}

/// Checks the direction fields. Two axes require them, because only the direction distinguishes their effects.
fn check_directions(directions: &[Field], axes: usize) -> Result<(), LayoutError> {
    if axes > 1 && directions.is_empty() {
        return Err(LayoutError::Missing { what: "direction of an effect, which distinguishes two axes" });
    }
    directions.iter().try_for_each(|direction| consistent(direction.clone(), "an effect's direction").map(drop))
}

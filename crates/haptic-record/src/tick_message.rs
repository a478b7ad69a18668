//! Message of one tick: inputs, outputs and the resulting motion and forces.
//!
//! Values needed for a replay are stored bit for bit, together with hashes of the results to reproduce. Values for
//! display only are rounded, so that a minute takes only a few megabytes. The field order suits the compressor: values
//! that change from tick to tick are adjacent. [`SCHEMA`] is the layout; [`TickMessage::write`] and
//! [`TickMessage::read`] follow it.

use crate::cdr::{CdrReader, CdrWriter, NotCdr};
use crate::tap::TickRecord;
use haptic_device::{Health, MonotonicNs, Reading, WriteOutcome};
use haptic_loop::columns::TickView;
use haptic_loop::engagement::Phase;
use haptic_planar::bits::{OFFSET_BASIS, SPLITMIX, mix_fast, number_bits};
use haptic_planar::scene::Scene;
use nalgebra::Vector2;

/// Name of the schema of tick messages.
pub const SCHEMA_NAME: &str = "hapticd/msg/Tick";
/// Topic of tick messages.
pub const TOPIC: &str = "/tick";

/// Layout of tick messages, as ROS 2 message text.
pub const SCHEMA: &str = "\
# One tick of hapticd. Readings are stored bit for bit, and state and force on the device as hashes over all their bits.
# Values for display only are rounded: forces to 24 significant bits, positions to 16, the rest to 13; durations
# to 3 %. Exported tables also have velocities.
uint64 now_ns               # monotonic clock at the start of the tick, to a microsecond; in a simulation, the tick count in ns
uint64 tick                 # number of the tick, counted from 1
uint32 sequence             # sequence number of the reading
uint32 late_ns              # wake-up latency, rounded to 3 %
uint32 previous_compute_ns  # duration of the previous tick, rounded to 3 %
uint32 effort_hash          # hash over the bits of the force as written, device frame
uint64 state_hash           # hash over the pose and velocity bits of every body after the tick; zero if not computed
float64 reading_x_m         # position and velocity as reported by the device, device frame
float64 reading_y_m
float64 reading_vx_m_per_s
float64 reading_vy_m_per_s
float32 hand_x_m            # from here to contacts: columns of a trace, world frame
float32 hand_y_m
float32 tool_x_m
float32 tool_y_m
float32 tool_angle_rad
float32 force_x_n           # force on the hand
float32 force_y_n
float32 penetration_m
float32 normal_force_n
float32 tangent_force_n
float32 energy_j
float32 tank_j
float32 share               # engagement fraction, 0 to 1
uint32 contacts             # loaded contact points of the tool
uint32 skipped              # periods skipped before this tick
uint32 commands             # commands applied to the loop since the recording began
uint32 health_detail        # details of health and sent
uint32 sent_detail
uint64 age_ns               # age of the reading, as far as the device knows
uint8 health                # 0 ready, 1 stale, 2 lost, 3 watchdog, 4 encoder jump, 5 disarmed, 6 protocol, 7 kinematics, 8 device, 9 emergency stop, 10 dead-man process ended
uint8 health_code
uint8 fresh
uint8 sent                  # 0 written, 1 busy, 2 not finite, 3 not connected, 4 system error
uint8 phase                 # 0 waiting, 1 ramping, 2 engaged, 3 stopped
uint8 stale
uint8 paused
uint8 fault                 # fault that began in this tick: 0 none, 1 reading not finite, 2 force not finite, 3 over-speed, 4 lost, 5 device, 6 not sent, 7 pairs dropped, 8 overruns, 9 late, 10 stopped, 11 stale
";

/// One tick as stored in the file. Fields and units are as in [`SCHEMA`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the schema says what they are")]
pub struct TickMessage {
    pub tick: u64,
    pub now: MonotonicNs,
    pub state_hash: u64,
    pub reading: Reading,
    pub effort_hash: u32,
    pub rounded: RoundedColumns,
    pub skipped: u32,
    pub commands: u32,
    pub late_ns: u32,
    pub previous_compute_ns: u32,
    pub sent: WriteOutcome,
    pub phase: Phase,
    pub stale: bool,
    pub paused: bool,
    /// Code of the fault that started in this tick (`Fault::to_code`); zero for none.
    pub fault: u8,
}

/// Values for display only, world frame, in the order of [`SCHEMA`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the schema says what they are")]
pub struct RoundedColumns {
    pub hand_m: [f32; 2],
    pub tool_m: [f32; 2],
    pub tool_angle_rad: f32,
    pub force_n: [f32; 2],
    pub penetration_m: f32,
    pub normal_force_n: f32,
    pub tangent_force_n: f32,
    pub energy_j: f32,
    pub tank_j: f32,
    pub fraction: f32,
    pub contacts: u32,
}

impl TickMessage {
    /// Creates the message for a record; `scene` is the scene of the world in which the tick ran.
    pub fn of(record: &TickRecord, scene: &Scene) -> Self {
        let report = &record.report;
        Self {
            tick: report.tick,
            now: to_microseconds(report.now),
            state_hash: record.state_hash,
            reading: report.reading,
            effort_hash: effort_hash(report.effort_n),
            rounded: RoundedColumns::of(record, scene),
            skipped: report.skipped,
            commands: record.commands,
            late_ns: to_three_percent(record.late_ns),
            previous_compute_ns: to_three_percent(record.previous_compute_ns),
            sent: report.sent,
            phase: report.phase,
            stale: report.stale,
            paused: report.paused,
            fault: report.fault.as_ref().map_or(0, |fault| fault.to_code().0),
        }
    }

    /// Encodes the message into `out`.
    pub fn write(&self, out: &mut CdrWriter) {
        let Reading { position_m, velocity_m_per_s, health, age_ns, fresh, sequence } = self.reading;
        let (health, health_code, health_detail) = health.to_code();
        let (sent, sent_detail) = self.sent.to_code();
        out.begin().u64(self.now.0).u64(self.tick).u32(sequence);
        out.u32(self.late_ns).u32(self.previous_compute_ns).u32(self.effort_hash).u64(self.state_hash);
        for pair in [position_m, velocity_m_per_s] {
            out.f64(pair.x).f64(pair.y);
        }
        self.rounded.write(out);
        out.u32(self.skipped).u32(self.commands).u32(health_detail).u32(sent_detail).u64(age_ns);
        out.u8(health).u8(health_code).u8(u8::from(fresh)).u8(sent).u8(phase_number(self.phase));
        out.u8(u8::from(self.stale)).u8(u8::from(self.paused)).u8(self.fault);
    }

    /// Decodes a message.
    ///
    /// # Errors
    /// If the message is too short or contains a value that is invalid for a tick.
    pub fn read(bytes: &[u8]) -> Result<Self, NotCdr> {
        let mut cdr = CdrReader::of(bytes)?;
        let (now, tick, sequence) = (MonotonicNs(cdr.u64()?), cdr.u64()?, cdr.u32()?);
        let (late_ns, previous_compute_ns) = (cdr.u32()?, cdr.u32()?);
        let (effort_hash, state_hash) = (cdr.u32()?, cdr.u64()?);
        let mut pair = || Ok::<_, NotCdr>(Vector2::new(cdr.f64()?, cdr.f64()?));
        let (position_m, velocity_m_per_s) = (pair()?, pair()?);
        let rounded = RoundedColumns::read(&mut cdr)?;
        let (skipped, commands) = (cdr.u32()?, cdr.u32()?);
        let (health_detail, sent_detail, age_ns) = (cdr.u32()?, cdr.u32()?, cdr.u64()?);
        let invalid = NotCdr { offset: bytes.len() };
        let health = Health::from_code((cdr.u8()?, cdr.u8()?, health_detail)).ok_or(invalid)?;
        let fresh = cdr.u8()? != 0;
        let sent = WriteOutcome::from_code((cdr.u8()?, sent_detail)).ok_or(invalid)?;
        let phase = phase_of(cdr.u8()?).ok_or(invalid)?;
        let (stale, paused, fault) = (cdr.u8()? != 0, cdr.u8()? != 0, cdr.u8()?);
        let reading = Reading { position_m, velocity_m_per_s, health, age_ns, fresh, sequence };
        Ok(Self {
            tick,
            now,
            state_hash,
            reading,
            effort_hash,
            rounded,
            skipped,
            commands,
            late_ns,
            previous_compute_ns,
            sent,
            phase,
            stale,
            paused,
            fault,
        })
    }
}

impl RoundedColumns {
    fn of(record: &TickRecord, scene: &Scene) -> Self {
        let report = &record.report;
        let felt = &report.felt;
        let place = |pair: Vector2<f64>| [pair.x, pair.y].map(|value| round_to_bits(value, POSITION_BITS));
        let near = |value: f64| round_to_bits(value, VALUE_BITS);
        let view = TickView::new(report, scene);
        Self {
            hand_m: place(view.hand_m),
            tool_m: place(view.tool_m),
            tool_angle_rad: near(view.tool.angle_rad),
            force_n: [report.force_n.x as f32, report.force_n.y as f32],
            penetration_m: near(felt.tool_penetration_m),
            normal_force_n: near(felt.tool_normal_n),
            tangent_force_n: near(felt.tool_tangent_n),
            energy_j: near(felt.energy.stored_j()),
            tank_j: near(report.tank_j),
            fraction: report.fraction as f32,
            contacts: felt.tool_contacts,
        }
    }

    fn write(&self, out: &mut CdrWriter) {
        let [[hand_x, hand_y], [tool_x, tool_y], [force_x, force_y]] = [self.hand_m, self.tool_m, self.force_n];
        out.f32(hand_x).f32(hand_y).f32(tool_x).f32(tool_y).f32(self.tool_angle_rad);
        out.f32(force_x).f32(force_y);
        out.f32(self.penetration_m).f32(self.normal_force_n).f32(self.tangent_force_n);
        out.f32(self.energy_j).f32(self.tank_j).f32(self.fraction).u32(self.contacts);
    }

    fn read(cdr: &mut CdrReader<'_>) -> Result<Self, NotCdr> {
        Ok(Self {
            hand_m: [cdr.f32()?, cdr.f32()?],
            tool_m: [cdr.f32()?, cdr.f32()?],
            tool_angle_rad: cdr.f32()?,
            force_n: [cdr.f32()?, cdr.f32()?],
            penetration_m: cdr.f32()?,
            normal_force_n: cdr.f32()?,
            tangent_force_n: cdr.f32()?,
            energy_j: cdr.f32()?,
            tank_j: cdr.f32()?,
            fraction: cdr.f32()?,
            contacts: cdr.u32()?,
        })
    }
}

/// Significant bits of positions; a position of 0.1 m is stored to about a micrometre.
const POSITION_BITS: u32 = 16;
/// Significant bits of all other values for display.
const VALUE_BITS: u32 = 13;

/// Rounds to the nearest number with `bits` significant bits. More bits would waste space.
fn round_to_bits(value: f64, bits: u32) -> f32 {
    let (near, spare) = (value as f32, f32::MANTISSA_DIGITS - bits);
    if !near.is_finite() {
        return near;
    }
    f32::from_bits((near.to_bits().saturating_add(1 << (spare - 1)) >> spare) << spare)
}

/// Rounds a duration to its five leading bits, which is sufficient for a histogram.
const fn to_three_percent(duration_ns: u32) -> u32 {
    let spare = (u32::BITS - duration_ns.leading_zeros()).saturating_sub(5);
    let half = if spare > 0 { 1 << (spare - 1) } else { 0 };
    duration_ns.saturating_add(half) >> spare << spare
}

/// Rounds the start time of a tick down to a microsecond. The time is not an input of the tick, so a finer resolution
/// is not needed.
pub const fn to_microseconds(time: MonotonicNs) -> MonotonicNs {
    MonotonicNs(time.0 / 1000 * 1000)
}

/// Computes a 32-bit hash over the bits of a force. A replay compares these hashes. −0 is treated as +0.
pub fn effort_hash(effort_n: Vector2<f64>) -> u32 {
    let parts = [effort_n.x, effort_n.y];
    let hash = parts.iter().fold(OFFSET_BASIS, |hash, &part| mix_fast(hash, number_bits(part))).wrapping_mul(SPLITMIX);
    (hash ^ (hash >> 32)) as u32
}

const fn phase_number(phase: Phase) -> u8 {
    match phase {
        Phase::Waiting => 0,
        Phase::Ramping => 1,
        Phase::Engaged => 2,
        Phase::Stopped => 3,
    }
}

const fn phase_of(number: u8) -> Option<Phase> {
    match number {
        0 => Some(Phase::Waiting),
        1 => Some(Phase::Ramping),
        2 => Some(Phase::Engaged),
        3 => Some(Phase::Stopped),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_device::{FaultCode, WriteError};

    fn message() -> TickMessage {
        TickMessage {
            tick: 7,
            now: MonotonicNs(u64::MAX),
            state_hash: 0x0123_4567_89ab_cdef,
            reading: Reading {
                position_m: Vector2::new(0.1, -0.0),
                velocity_m_per_s: Vector2::new(f64::MIN_POSITIVE, 1e300),
                health: Health::Ready,
                age_ns: 3,
                fresh: true,
                sequence: 9,
            },
            effort_hash: 0x8765_4321,
            rounded: RoundedColumns { contacts: 2, tank_j: 0.25, ..RoundedColumns::default() },
            skipped: 1,
            commands: 4,
            late_ns: 5,
            previous_compute_ns: 6,
            sent: WriteOutcome::Written,
            phase: Phase::Engaged,
            stale: true,
            paused: false,
            fault: 3,
        }
    }

    fn written(message: &TickMessage) -> Vec<u8> {
        let mut out = CdrWriter::default();
        message.write(&mut out);
        out.bytes().to_vec()
    }

    /// Returns the length of the fields according to the schema, bytes, including alignment.
    fn length_by_schema() -> usize {
        let size = |line: &str| match line.split_whitespace().next() {
            Some("uint64" | "float64") => 8,
            Some("uint32" | "float32") => 4,
            Some("uint8") => 1,
            _ => 0,
        };
        4 + SCHEMA
            .lines()
            .map(size)
            .fold(0, |at: usize, size| if size == 0 { at } else { at.next_multiple_of(size) + size })
    }

    #[test]
    fn the_message_is_as_long_as_its_schema_says() {
        assert_eq!(written(&message()).len(), length_by_schema());
    }

    #[test]
    fn every_health_and_every_answer_come_back_to_the_bit() {
        let codes = [
            FaultCode::Watchdog,
            FaultCode::EncoderJump { axis: 1 },
            FaultCode::Disarmed,
            FaultCode::Protocol { bad_frames: 12 },
            FaultCode::Kinematics,
            FaultCode::Device { code: 3, detail: 77 },
            FaultCode::EmergencyStop,
            FaultCode::DeadMan,
        ];
        let healths = [Health::Ready, Health::Stale, Health::Lost].into_iter().chain(codes.map(Health::Faulted));
        let errors = [WriteError::NotFinite, WriteError::NotConnected, WriteError::Os { errno: -5 }];
        for health in healths {
            for sent in [WriteOutcome::Written, WriteOutcome::Busy].into_iter().chain(errors.map(WriteOutcome::Failed))
            {
                let kept = TickMessage { reading: Reading { health, ..message().reading }, sent, ..message() };
                let back = TickMessage::read(&written(&kept)).unwrap();
                assert_eq!(back, kept);
                assert_eq!(back.reading.position_m.y.to_bits(), (-0.0_f64).to_bits());
            }
        }
    }

    #[test]
    fn what_is_shown_is_near_the_truth() {
        for value in [0.1, -0.037, 4.0, 1e-6, 0.0, -1234.5] {
            assert!((f64::from(round_to_bits(value, 16)) - value).abs() <= value.abs() / 65536.0, "{value}");
            assert!((f64::from(round_to_bits(value, 13)) - value).abs() <= value.abs() / 8192.0, "{value}");
        }
        assert!(round_to_bits(f64::NAN, 13).is_nan());
        assert_eq!([0, 1, 31, 33, 12_345, u32::MAX].map(to_three_percent), [0, 1, 31, 34, 12_288, 0xF800_0000]);
    }

    #[test]
    fn the_hash_of_a_force_depends_on_every_bit_but_not_on_the_sign_of_zero() {
        let force_n = Vector2::new(0.5, -1.25);
        let next_up = |value: f64| f64::from_bits(value.to_bits() + 1);
        let others = [Vector2::new(next_up(0.5), -1.25), Vector2::new(0.5, next_up(-1.25)), Vector2::new(-1.25, 0.5)];
        assert!(others.iter().all(|other| effort_hash(*other) != effort_hash(force_n)));
        assert_eq!(effort_hash(Vector2::new(-0.0, 0.0)), effort_hash(Vector2::zeros()));
    }

    #[test]
    fn a_message_that_was_cut_or_holds_nonsense_is_refused() {
        let bytes = written(&message());
        assert!(TickMessage::read(&bytes[..bytes.len() - 1]).is_err());
        let mut nonsense = bytes.clone();
        let health_at = bytes.len() - 8;
        nonsense[health_at] = 99;
        assert!(TickMessage::read(&nonsense).is_err());
    }
}

//! One tick of haptics, and the loop that owns everything it needs.

mod approach;
mod checkpoint;

use crate::black_box::{BlackBox, BlackBoxRecorder};
use crate::command::Command;
use crate::engagement::Phase;
use crate::fault::Fault;
use crate::guard::{Admission, ForceRequest, Guard, GuardCounters};
use crate::reading_monitor::{HandReading, ReadingMonitor, Validity};
use crate::report::TickReport;
use crate::settings::{ActiveMapping, Safety, Settings, SettingsError};
use crate::sign_check::{Motors, Sign, SignCheck};
use crate::snapshot::{NullSink, SnapshotSink};
use crate::world::World;
use haptic_coupling::coupling::{Coupling, Gains};
use haptic_coupling::model::WorstAxisModel;
use haptic_device::{Device, Effort, FaultCode, MonotonicNs};
use haptic_planar::input::CouplingInput;
use haptic_planar::output::StepOutput;
use haptic_planar::scene::body_state::BodyState;
use haptic_planar::tick::TICK_S;
use nalgebra::Vector2;

/// Ticks between two snapshots: 125 snapshots per second, twice the rate of a screen.
const SNAPSHOT_EVERY: u64 = 8;

/// The haptic loop. Each tick reads the device, advances the world by one millisecond, and writes the force that the
/// guard admits.
pub struct HapticLoop {
    device: Box<dyn Device>,
    mapping: ActiveMapping,
    monitor: ReadingMonitor,
    coupling: Coupling,
    world: Box<World>,
    guard: Guard,
    safety: Safety,
    device_max_force_n: f64,
    publisher: Box<dyn SnapshotSink>,
    /// Holds the newest report. Reports are written in place, because copying them would be the largest cost of a tick
    /// after the world.
    recorder: BlackBoxRecorder,
    ticks: u64,
    /// `None` while the world runs; during a pause, the number of single ticks still to run.
    pause: Option<u32>,
    /// Number of positions that have been tried for the tool since the force went off.
    positions_tried: u32,
    sign_check: SignCheck,
    /// Whether the device has a simulated hand that follows the path of the scene.
    leads_hand: bool,
}

impl HapticLoop {
    /// Creates a loop before its first tick, with the force disengaged. `model` describes the worst axis of the device.
    /// The caller checks whether the limits suit the kind of device ([`Safety::simulation_only`]).
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn new(
        device: Box<dyn Device>,
        model: &WorstAxisModel,
        world: World,
        settings: &Settings,
    ) -> Result<Self, SettingsError> {
        let (gains, safety) = (settings.coupling.checked()?, settings.safety.checked()?);
        let mapping = settings.mapping.activate(device.identity().axes)?;
        let device_max_force_n = model.max_force_n.min(device.limits().max_force_n);
        let model = WorstAxisModel { max_force_n: device_max_force_n, ..*model };
        let max_force_n = safety.max_force_n.min(device_max_force_n) / mapping.scale;
        let mut rendering = Self {
            mapping,
            monitor: ReadingMonitor::new(&safety, device.limits().rate_hz),
            coupling: Coupling::new(gains, max_force_n, mapping.rail),
            guard: Guard::new(&safety, &model, world.stored_at_start()),
            safety,
            device_max_force_n,
            publisher: Box::new(NullSink),
            recorder: BlackBoxRecorder::new(),
            ticks: 0,
            pause: None,
            positions_tried: 0,
            sign_check: SignCheck::new(None),
            leads_hand: device.can_be_led(),
            device,
            world: Box::new(world),
        };
        rendering.update_load();
        rendering.place_hand();
        Ok(rendering)
    }

    /// Checks the signs of the motors before the first force. Call it before the first tick.
    #[must_use]
    pub fn with_sign_check(self, motors: Motors) -> Self {
        Self { sign_check: SignCheck::new(Some(motors)), ..self }
    }

    /// Replaces the snapshot sink and returns the old one, which must not be dropped on the real-time thread.
    /// Real-time: constant.
    pub fn publish_to(&mut self, publisher: Box<dyn SnapshotSink>) -> Box<dyn SnapshotSink> {
        std::mem::replace(&mut self.publisher, publisher)
    }

    /// Runs one tick. `skipped` is the number of periods without a tick since the last one. Real-time: no allocation,
    /// lock, wait or log; constant except for the world, which is bounded by its scene, and the snapshot, which is
    /// bounded by its bodies.
    pub fn tick(&mut self, now: MonotonicNs, skipped: u32) -> &TickReport {
        let periods = skipped.saturating_add(1);
        if self.leads_hand {
            self.lead_hand();
        }
        let reading = self.device.read(now);
        let hand = self.monitor.check(&reading, f64::from(periods) * TICK_S);
        let hand_m = hand.position_m.map(|position_m| self.mapping.position_to_world(position_m));
        let is_off = self.guard.is_off() && self.pause.is_none();
        let nudge_n = if is_off { self.prepare(&hand, reading.age_ns, periods) } else { None };
        let stands_still =
            is_off && self.world.scene.tool.is_some() || self.pause == Some(0) || self.guard.is_stopped();
        let shrunk_m = self.shrink_offset();
        if stands_still {
            self.stand_still();
        } else {
            self.advance(hand_m);
        }
        let request = self.request(shrunk_m, periods);
        let admission = match nudge_n {
            None => self.guard.admit(&request, &hand),
            Some(nudge_n) => self.guard.admit_nudge(&request, &hand, nudge_n),
        };
        let sent = self.device.write(Effort { force_n: admission.force_n }, now);
        self.guard.acknowledge(sent);
        self.ticks += 1;
        let row = self.fill_report(&hand, &admission);
        (row.now, row.skipped, row.reading, row.sent) = (now, skipped, reading, sent);
        row.hand_m = hand_m.unwrap_or_else(Vector2::zeros);
        self.recorder.commit();
        self.publish();
        self.recorder.latest()
    }

    /// Applies a command between two ticks. Returns the replaced world, if any, which must not be dropped on the
    /// real-time thread.
    /// Real-time: constant.
    pub fn apply(&mut self, command: Command) -> Option<Box<World>> {
        match command {
            Command::SetGains(gains) => self.coupling.set_gains(gains, self.max_coupling_force_n()),
            Command::SetSafety(safety) => self.set_safety(&safety),
            Command::SetMapping(mapping) => self.set_mapping(mapping),
            Command::Stop => self.stop(),
            Command::Release => self.guard.release(),
            Command::Pause => self.set_pause(Some(0)),
            Command::Resume => self.set_pause(None),
            Command::Step(ticks) => self.pause = self.pause.map(|left| left.saturating_add(ticks)),
            Command::ReplaceWorld(world) => return Some(self.replace(world)),
            Command::GuideHand(target_m) => {
                self.world.hand.guide(target_m);
                self.device.set_hand_target(target_m.map(|world_m| self.mapping.position_to_device(world_m)));
            }
        }
        None
    }

    /// Takes the complete black box of a fault, if there is one. Return it with [`Self::recycle_black_box`] after
    /// writing it to a file.
    pub fn take_black_box(&mut self) -> Option<Box<BlackBox>> {
        self.recorder.take_full()
    }

    /// Takes the current black box at the end of a run, if the ticks after a fault were still being recorded or if the
    /// run `crashed`. Not for use in the tick, because it allocates.
    pub fn last_black_box(&mut self, crashed: bool) -> Option<Box<BlackBox>> {
        self.recorder.take_unfinished(crashed)
    }

    /// Returns a black box after it has been written to a file, for use at the next fault.
    pub fn recycle_black_box(&mut self, black_box: Box<BlackBox>) {
        self.recorder.give_spare(black_box);
    }

    /// Sends zero force, disarms and closes the device. Not for use in the tick, because it may wait for the device.
    pub fn close(&mut self) {
        self.device.close();
    }

    /// Report of the newest tick, or an empty one before the first tick.
    pub fn last(&self) -> &TickReport {
        self.recorder.latest()
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The gains in effect.
    pub fn gains(&self) -> Gains {
        self.coupling.gains()
    }

    /// The device.
    pub fn device(&self) -> &dyn Device {
        self.device.as_ref()
    }

    /// Check of the signs of the motors.
    pub fn sign_check(&self) -> &SignCheck {
        &self.sign_check
    }

    /// Whether an emergency stop is in effect.
    pub fn is_stopped(&self) -> bool {
        self.guard.is_stopped()
    }

    /// Counts of the guard's interventions so far.
    pub fn counters(&self) -> &GuardCounters {
        self.guard.counters()
    }

    /// Lowest tank level so far, J.
    pub fn tank_lowest_j(&self) -> f64 {
        self.guard.tank_lowest_j()
    }

    /// Checks the signs of the motors and returns the force for that, device frame, N; afterwards, brings the tool to the
    /// hand.
    fn prepare(&mut self, hand: &HandReading, age_ns: u64, periods: u32) -> Option<Vector2<f64>> {
        if !self.sign_check.is_pending() {
            self.bring_tool(hand, periods);
            return None;
        }
        let nudge_n = self.sign_check.advance(hand, age_ns as f64 * 1e-9, periods);
        if let Some(motors) = self.sign_check.motors_with(Sign::Reversed) {
            self.guard.reject(motors);
        }
        Some(nudge_n)
    }

    /// Starts the report of a tick in which the world stands still. Its output is the last one, without forces.
    fn stand_still(&mut self) {
        let (last, energy) = (self.recorder.latest().felt, self.world.state.energy);
        self.recorder.next_row().felt =
            StepOutput { force_on_hand_n: Vector2::zeros(), tool_normal_n: 0.0, tool_tangent_n: 0.0, energy, ..last };
    }

    /// Shrinks the offset of the coupling while the force ramps up, and returns its displacement, m.
    fn shrink_offset(&mut self) -> Vector2<f64> {
        if self.coupling.has_offset() && self.pause.is_none() {
            self.coupling.shrink_offset(1.0 - self.guard.ramped())
        } else {
            Vector2::zeros()
        }
    }

    /// Advances the world by one tick, or a paused one by one of its single ticks, and starts the report of the tick.
    fn advance(&mut self, hand_m: Option<Vector2<f64>>) {
        let input = self.world.scene.tool.and_then(|_| self.input(hand_m));
        self.pause = self.pause.map(|left| left - 1);
        self.world.advance(input.as_ref(), &mut self.recorder.next_row().felt);
    }

    /// Returns the coupling input; `None` before the first reading. Advances the ramp of the gains as far as the tank
    /// level permits. In a pause, the hand stays where it was.
    fn input(&mut self, hand_m: Option<Vector2<f64>>) -> Option<CouplingInput> {
        if self.pause.is_some() {
            return Some(self.coupling.input_at_rest(self.world.state.handle_m(&self.world.scene)));
        }
        let hand_m = hand_m?;
        if self.coupling.is_ramping() {
            let deformation = self.world.deformation(self.coupling.hand_m().unwrap_or(hand_m));
            let drawn_j = self.coupling.ramp(&deformation, self.guard.available_j());
            self.guard.draw(drawn_j);
            self.world.state.energy.explain(drawn_j);
        }
        Some(self.coupling.input(hand_m))
    }

    /// Returns the force request for the guard, in a tick in which the offset of the coupling moved by `shrunk_m`. Its
    /// force is zero during a pause, even in single ticks.
    fn request(&mut self, shrunk_m: Vector2<f64>, periods: u32) -> ForceRequest {
        let felt = &self.recorder.next_row().felt;
        let force_n = if self.pause.is_some() { Vector2::zeros() } else { felt.force_on_hand_n };
        ForceRequest {
            force_n: self.mapping.force_to_device(force_n),
            stored: self.world.stored(&felt.energy),
            pairs_dropped: felt.pairs_dropped,
            periods,
            offset_j: -felt.force_on_hand_n.dot(&shrunk_m),
        }
    }

    /// Fills in the fields of the report that [`Self::advance`] has not set and [`Self::tick`] does not set, and
    /// returns the report. Together they must set all of them, because the row still contains an old report.
    #[inline(always)]
    fn fill_report(&mut self, hand: &HandReading, admission: &Admission) -> &mut TickReport {
        let (world, row) = (&self.world, self.recorder.next_row());
        row.tick = self.ticks;
        let tool = world.scene.tool.and_then(|tool| world.state.bodies.get(tool.body));
        row.tool = *tool.unwrap_or(&BodyState::AT_REST);
        row.force_n = self.mapping.force_to_world(admission.force_n);
        row.effort_n = admission.force_n;
        row.tank_j = self.guard.tank_j();
        row.fraction = self.guard.fraction();
        (row.phase, row.stale) = match hand.validity {
            Validity::Good => (self.guard.phase(), false),
            Validity::Stale | Validity::Faulted(Fault::Lost { .. }) => (self.guard.phase(), true),
            Validity::Faulted(Fault::Device(FaultCode::EmergencyStop)) => (Phase::Stopped, false),
            Validity::Faulted(_) => (self.guard.phase(), false),
        };
        row.paused = self.pause.is_some();
        row.fault = admission.fault;
        row
    }

    fn publish(&mut self) {
        if self.ticks.is_multiple_of(SNAPSHOT_EVERY) {
            let (report, world) = (self.recorder.latest(), &self.world);
            self.publisher.publish(&|snapshot| snapshot.fill(report, world));
        }
    }

    /// Updates the weight of the tool on the device after a change of the world or the mapping.
    fn update_load(&mut self) {
        self.guard.set_load(self.mapping.force_to_device(self.world.tool_weight_n()));
    }

    fn max_coupling_force_n(&self) -> f64 {
        self.safety.max_force_n.min(self.device_max_force_n) / self.mapping.scale
    }

    fn stop(&mut self) {
        self.sign_check.interrupt();
        self.guard.stop();
    }

    fn set_safety(&mut self, safety: &Safety) {
        self.safety = *safety;
        self.monitor.set_limits(safety);
        self.guard.set_limits(safety);
        self.coupling.limit(self.max_coupling_force_n());
    }

    fn set_mapping(&mut self, mapping: ActiveMapping) {
        if !mapping.acts_like(&self.mapping) {
            self.mapping = mapping;
            self.update_load();
            self.coupling.reset_hand(mapping.rail);
            self.coupling.limit(self.max_coupling_force_n());
            self.world.state.energy.restart_gain();
            self.guard.disengage();
        }
    }

    /// Begins or ends a pause. The force re-engages after it, wherever the hand and the tool are then.
    fn set_pause(&mut self, pause: Option<u32>) {
        if pause.is_some() != self.pause.is_some() {
            self.guard.disengage();
            // The energy balance does not follow a hand that moves during a pause.
            self.world.state.energy.restart_gain();
            self.sign_check.interrupt();
            self.device.set_paused(pause.is_some());
        }
        self.pause = pause;
    }

    fn replace(&mut self, world: Box<World>) -> Box<World> {
        self.guard.change_world(world.stored_at_start());
        *self.recorder.latest_mut() = TickReport { tick: self.ticks, ..TickReport::default() };
        self.coupling.reset_hand(self.mapping.rail);
        self.monitor.restart();
        let old = std::mem::replace(&mut self.world, world);
        self.update_load();
        self.place_hand();
        self.world.hand.continue_guidance(&old.hand);
        old
    }

    /// Places a simulated hand at the start of the scene's hand.
    fn place_hand(&mut self) {
        if self.world.scene.tool.is_some() {
            self.device.place_hand(self.mapping.position_to_device(self.world.hand.position_m()));
        }
    }

    /// Moves a simulated hand along the path of the scene. The path stands still when the world is paused or stopped.
    fn lead_hand(&mut self) {
        if self.pause.is_none()
            && !self.guard.is_stopped()
            && let Some(target_m) = self.world.hand.advance()
        {
            self.device.lead_hand(self.mapping.position_to_device(target_m));
        }
    }
}

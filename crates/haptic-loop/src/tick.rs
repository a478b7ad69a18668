//! One tick of haptics, and the loop that owns everything on its way.

mod image;

use crate::black_box::{BlackBox, BlackBoxRecorder};
use crate::command::Command;
use crate::fault::Fault;
use crate::guard::{Admission, ForceRequest, Guard, GuardCounters};
use crate::report::TickReport;
use crate::settings::{ActiveMapping, Safety, Settings, SettingsError};
use crate::snapshot::{NullSink, SnapshotSink};
use crate::watch::{HandReading, ReadingMonitor, Validity};
use crate::world::World;
use haptic_coupling::coupling::{Coupling, Gains};
use haptic_coupling::model::WorstAxisModel;
use haptic_device::{Device, Effort, MonotonicNs};
use haptic_planar::input::CouplingInput;
use haptic_planar::output::StepOutput;
use haptic_planar::scene::body_state::BodyState;
use haptic_planar::tick::TICK_S;
use nalgebra::Vector2;

/// A snapshot is offered every so many ticks: 125 a second, twice what a screen shows.
const SNAPSHOT_EVERY: u64 = 8;

/// Device, coupling, world and guard, one millisecond at a time.
pub struct HapticLoop {
    device: Box<dyn Device>,
    frame: ActiveMapping,
    watch: ReadingMonitor,
    coupling: Coupling,
    world: Box<World>,
    guard: Guard,
    safety: Safety,
    device_max_force_n: f64,
    publisher: Box<dyn SnapshotSink>,
    /// Holds the newest tick, which is written in place: copies are what a tick would spend most on besides the world.
    recorder: BlackBoxRecorder,
    ticks: u64,
    /// None while the world runs; in a pause, the ticks that it shall still do.
    pause: Option<u32>,
}

impl HapticLoop {
    /// A loop before its first tick, with nothing engaged. `model` describes the device. Whether the limits suit its kind is
    /// decided by the caller (`Safety::simulation_only`).
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn new(
        device: Box<dyn Device>,
        model: &WorstAxisModel,
        world: World,
        settings: &Settings,
    ) -> Result<Self, SettingsError> {
        let (gains, safety) = (settings.coupling.checked()?, settings.safety.checked()?);
        let frame = settings.mapping.activate(device.identity().axes)?;
        let device_max_force_n = model.max_force_n.min(device.limits().max_force_n);
        let model = WorstAxisModel { max_force_n: device_max_force_n, ..*model };
        let max_force_n = safety.max_force_n.min(device_max_force_n) / frame.scale;
        Ok(Self {
            frame,
            watch: ReadingMonitor::new(&safety, device.limits().rate_hz),
            coupling: Coupling::new(gains, max_force_n, frame.rail),
            guard: Guard::new(&safety, &model, world.stored_at_start()),
            safety,
            device_max_force_n,
            publisher: Box::new(NullSink),
            recorder: BlackBoxRecorder::new(),
            ticks: 0,
            pause: None,
            device,
            world: Box::new(world),
        })
    }

    /// Lets somebody else look on; who did so before comes back, to be dropped elsewhere. Real-time: constant.
    pub fn publish_to(&mut self, publisher: Box<dyn SnapshotSink>) -> Box<dyn SnapshotSink> {
        std::mem::replace(&mut self.publisher, publisher)
    }

    /// One millisecond; `skipped` periods were not run since the last. Real-time: no allocation, lock, wait or log;
    /// constant but for the world, which is bounded by its scene, and the snapshot, bounded by its bodies.
    pub fn tick(&mut self, now: MonotonicNs, skipped: u32) -> &TickReport {
        let periods = skipped.saturating_add(1);
        let reading = self.device.read(now);
        let hand = self.watch.judge(&reading, f64::from(periods) * TICK_S);
        let grip = self.grip(&hand);
        let felt = self.advance(grip.as_ref());
        let request = self.request(&felt, periods);
        let admission = self.guard.admit(&request, &hand);
        let sent = self.device.write(Effort { force_n: admission.force_n }, now);
        self.guard.learn(sent);
        self.ticks += 1;
        let row = self.recorder.next_row();
        (row.tick, row.now, row.skipped) = (self.ticks, now, skipped);
        (row.reading, row.felt, row.sent) = (reading, felt, sent);
        self.note(&hand, &admission);
        self.recorder.commit();
        self.publish();
        self.recorder.latest()
    }

    /// Takes an order between two ticks; what it displaced comes back, to be dropped elsewhere. Real-time: constant.
    pub fn apply(&mut self, command: Command) -> Option<Box<World>> {
        match command {
            Command::SetGains(gains) => self.coupling.set_gains(gains, self.max_coupling_force_n()),
            Command::SetSafety(safety) => self.protect(&safety),
            Command::SetMapping(frame) => self.remap(frame),
            Command::Pause => self.pause = Some(0),
            Command::Resume => self.resume(),
            Command::Step(ticks) => self.pause = self.pause.map(|left| left.saturating_add(ticks)),
            Command::ReplaceWorld(world) => return Some(self.replace(world)),
            Command::GuideHand(target_m) => {
                self.device.set_hand_target(target_m.map(|world_m| self.frame.mapping.position_to_device(world_m)));
            }
        }
        None
    }

    /// The black box of a fault, complete with its aftermath, once. Give it back after writing it down.
    pub fn take_black_box(&mut self) -> Option<Box<BlackBox>> {
        self.recorder.take_full()
    }

    /// At the end: the black box of a fault whose aftermath was cut short, or, after a crash, whatever there is. Not for
    /// the tick: it allocates.
    pub fn last_black_box(&mut self, crashed: bool) -> Option<Box<BlackBox>> {
        self.recorder.take_unfinished(crashed)
    }

    /// Hands an emptied black box back for the next fault.
    pub fn recycle_black_box(&mut self, black_box: Box<BlackBox>) {
        self.recorder.give_spare(black_box);
    }

    /// Zero force, disarm, let go. Not for the tick: it may wait for the device.
    pub fn close(&mut self) {
        self.device.close();
    }

    /// The newest tick.
    pub fn last(&self) -> &TickReport {
        self.recorder.latest()
    }

    /// The world as it stands.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The gains in force.
    pub fn gains(&self) -> Gains {
        self.coupling.gains()
    }

    /// The device, to ask who it is.
    pub fn device(&self) -> &dyn Device {
        self.device.as_ref()
    }

    /// How often the guard stepped in.
    pub fn tally(&self) -> &GuardCounters {
        self.guard.tally()
    }

    /// The least energy that was ever on account, J.
    pub fn tank_lowest_j(&self) -> f64 {
        self.guard.tank_lowest_j()
    }

    /// Moves the gains along their ramp, as far as the tank can pay, and takes hold. A hand that was never seen, or a
    /// scene without a tool, holds nothing.
    fn grip(&mut self, hand: &HandReading) -> Option<CouplingInput> {
        let hand_m = self.frame.mapping.position_to_world(hand.position_m?);
        self.world.scene.tool?;
        if self.coupling.is_ramping() {
            let strain = self.world.strain(self.coupling.hand_m().unwrap_or(hand_m));
            let drawn_j = self.coupling.ramp(&strain, self.guard.available_j());
            self.guard.draw(drawn_j);
            self.world.state.energy.explain(drawn_j);
        }
        Some(self.coupling.grip(hand_m))
    }

    /// Moves the world, unless it stands still: then it is as it was, and pushes nobody.
    fn advance(&mut self, grip: Option<&CouplingInput>) -> StepOutput {
        if self.pause == Some(0) {
            return StepOutput { force_on_hand_n: Vector2::zeros(), ..self.recorder.latest().felt };
        }
        self.pause = self.pause.map(|left| left - 1);
        self.world.advance(grip)
    }

    /// What the guard is asked for; in a pause no force, even while the world does single ticks.
    fn request(&self, felt: &StepOutput, periods: u32) -> ForceRequest {
        let force_n = if self.pause.is_some() { Vector2::zeros() } else { felt.force_on_hand_n };
        ForceRequest {
            force_n: self.frame.mapping.force_to_device(force_n),
            load_n: self.frame.mapping.force_to_device(self.world.tool_weight_n()),
            stored: self.world.stored(&felt.energy),
            pairs_dropped: felt.pairs_dropped,
            periods,
        }
    }

    /// Writes down the rest of the tick: every field of the page, which still holds a tick of long ago.
    fn note(&mut self, hand: &HandReading, admission: &Admission) {
        let (world, page) = (&self.world, self.recorder.latest_mut());
        page.hand_m = match hand.position_m {
            Some(position_m) => self.frame.mapping.position_to_world(position_m),
            None => Vector2::zeros(),
        };
        let tool = world.scene.tool.and_then(|tool| world.state.bodies.get(tool.body));
        page.tool = tool.copied().unwrap_or_else(BodyState::at_rest);
        page.force_n = self.frame.force_to_world(admission.force_n);
        page.effort_n = admission.force_n;
        page.tank_j = self.guard.tank_j();
        page.share = self.guard.share();
        page.phase = self.guard.phase();
        page.stale = matches!(hand.trust, Validity::Stale | Validity::Faulted(Fault::Lost { .. }));
        page.paused = self.pause.is_some();
        page.fault = admission.fault;
    }

    fn publish(&mut self) {
        if self.ticks.is_multiple_of(SNAPSHOT_EVERY) {
            let (report, world) = (self.recorder.latest(), &self.world);
            self.publisher.publish(&|snapshot| snapshot.fill(report, world));
        }
    }

    fn max_coupling_force_n(&self) -> f64 {
        self.safety.max_force_n.min(self.device_max_force_n) / self.frame.scale
    }

    fn protect(&mut self, safety: &Safety) {
        self.safety = *safety;
        self.watch.set_limits(safety);
        self.guard.set_limits(safety);
        self.coupling.limit(self.max_coupling_force_n());
    }

    fn remap(&mut self, frame: ActiveMapping) {
        if !frame.acts_like(&self.frame) {
            self.frame = frame;
            self.coupling.reset_hand(frame.rail);
            self.coupling.limit(self.max_coupling_force_n());
            self.world.state.energy.restart_gain();
            self.guard.disengage();
        }
    }

    fn resume(&mut self) {
        if self.pause.take().is_some() {
            // The hand has moved on in the meantime, and nobody kept account of it.
            self.world.state.energy.restart_gain();
            self.guard.disengage();
        }
    }

    fn replace(&mut self, world: Box<World>) -> Box<World> {
        self.guard.change_world(world.stored_at_start());
        *self.recorder.latest_mut() = TickReport { tick: self.ticks, ..TickReport::nothing_yet() };
        self.coupling.reset_hand(self.frame.rail);
        if world.scene.tool.is_some() {
            let handle_m = world.state.handle_m(&world.scene);
            self.device.move_hand_to_tool(self.frame.mapping.position_to_device(handle_m));
        }
        std::mem::replace(&mut self.world, world)
    }
}

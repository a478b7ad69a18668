//! The real-time thread: owns the loop and the device, takes orders, hands out what happened, never waits.

use super::PERIOD_NS;
use super::quiet_panic;
use super::rights::{RealtimeVerdict, Rights};
use crate::failure::Failure;
use crate::figures::RunExtremes;
use haptic_device::MonotonicNs;
use haptic_loop::black_box::BlackBox;
use haptic_loop::command::Command;
use haptic_loop::fault::Fault;
use haptic_loop::snapshot::{Snapshot, SnapshotSink};
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
use haptic_realtime::clock::MonotonicClock;
use haptic_realtime::exchange::{
    CommandReceiver, CommandSender, LatestReader, LatestWriter, RingReader, RingWriter, commands, latest, ring,
};
use haptic_realtime::memory::PageFaults;
use haptic_realtime::run_delay::{run_delay_between_ns, thread_run_delay_ns};
use haptic_realtime::runner::{LoopExit, LoopTiming, Runner, Wake};
use haptic_realtime::thread::{Granted, RealtimeThread, ThreadRequest, spawn};
use haptic_record::tap::{Tap, Timing};
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Orders taken in one tick at most; the rest wait for the next.
const ORDERS_PER_TICK: usize = 4;
/// Orders that can wait.
const ORDERS_WAITING: usize = 64;
/// Faults that can wait to be logged; a device that fails every tick fills a second.
const FAULTS_WAITING: usize = 1024;
/// Room that faults leave for what owns memory: the loop must not free any. A black box, and two displaced things an order.
const NEWS_RESERVE: usize = 1 + 2 * ORDERS_PER_TICK;
/// Figures are published every so many ticks: four times a second.
const FIGURES_EVERY: NonZeroU64 = NonZeroU64::new(250).unwrap();

/// What the lower side can ask for.
pub enum LoopRequest {
    /// Something for the loop.
    Loop(Command),
    /// A black box that was written down.
    GiveBack(Box<BlackBox>),
    /// Another world, and a publisher with room for it.
    Switch {
        /// The world.
        world: Box<World>,
        /// Where its snapshots go.
        publisher: Box<dyn SnapshotSink>,
    },
    /// Where every tick from now on shall be noted.
    Record(Box<Tap>),
    /// Note no more.
    StopRecording,
}

impl std::fmt::Debug for LoopRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Loop(command) => f.debug_tuple("Loop").field(command).finish(),
            Self::GiveBack(_) => f.write_str("GiveBack"),
            Self::Switch { .. } => f.write_str("Switch"),
            Self::Record(_) => f.write_str("Record"),
            Self::StopRecording => f.write_str("StopRecording"),
        }
    }
}

/// What the lower side gets; memory is freed only there.
pub enum LoopEvent {
    /// A fault began.
    Fault {
        /// In which tick.
        tick: u64,
        /// Which.
        fault: Fault,
    },
    /// A fault's black box is complete.
    BlackBox(Box<BlackBox>),
    /// A world was replaced by another.
    OldWorld(Box<World>),
    /// A publisher was replaced by another.
    OldPublisher(Box<dyn SnapshotSink>),
    /// Nothing more is noted here.
    OldTap(Box<Tap>),
}

/// The lower side's ends of the exchange.
pub struct LoopHandles {
    /// Orders to the loop.
    pub orders: CommandSender<LoopRequest>,
    /// News from it.
    pub news: RingReader<LoopEvent>,
    /// The newest picture of the world.
    pub snapshots: LatestReader<Snapshot>,
    /// The longest tick since somebody last looked and put zero there, ns.
    pub longest_tick_ns: Arc<AtomicU64>,
}

/// What runs the thread: a tick every millisecond, for which it wakes so much early.
pub fn runner(wake_early_ns: u64, figures: LatestWriter<LoopTiming>) -> Runner<MonotonicClock> {
    let period_ns = NonZeroU64::new(PERIOD_NS).unwrap_or(NonZeroU64::MIN);
    Runner::new(MonotonicClock, period_ns).waking_early(wake_early_ns).publishing(figures, FIGURES_EVERY)
}

/// The queue of orders.
pub fn orders() -> (CommandSender<LoopRequest>, CommandReceiver<LoopRequest>) {
    commands(ORDERS_WAITING)
}

/// A publisher with room for a world, and where its snapshots come out.
pub fn publish_to_latest(world: &World) -> (Box<dyn SnapshotSink>, LatestReader<Snapshot>) {
    let (writer, snapshots) = latest(Snapshot::with_room_for(world));
    (Box::new(ToLatest(writer)), snapshots)
}

/// Puts snapshots where the lower side finds the newest.
struct ToLatest(LatestWriter<Snapshot>);

impl SnapshotSink for ToLatest {
    fn publish(&mut self, fill: &dyn Fn(&mut Snapshot)) {
        self.0.publish_with(|snapshot| fill(snapshot));
    }
}

/// What the real-time thread works on.
pub struct LoopBody {
    rendering: HapticLoop,
    figures: RunExtremes,
    orders: CommandReceiver<LoopRequest>,
    news: RingWriter<LoopEvent>,
    longest_tick_ns: Arc<AtomicU64>,
    /// Periods since the start, run or skipped, and how many there shall be.
    elapsed: u64,
    periods: u64,
    taps: Taps,
}

/// Where ticks and orders are noted.
#[derive(Default)]
struct Taps {
    /// While a recording runs.
    recording: Option<Box<Tap>>,
    /// All the time, for black boxes.
    newest: Option<Box<Tap>>,
}

impl Taps {
    /// Notes everything from the next tick on, after an image if one is wanted; who did so before comes back.
    fn begin(&mut self, mut tap: Box<Tap>, rendering: &HapticLoop) -> Option<Box<Tap>> {
        tap.note_image(rendering);
        self.recording.replace(tap)
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Tap> {
        [&mut self.recording, &mut self.newest].into_iter().filter_map(Option::as_deref_mut)
    }
}

impl LoopBody {
    /// The side of the loop, and the ends for the other side.
    pub fn new(
        mut rendering: HapticLoop,
        periods: Option<u64>,
        (orders, order_receiver): (CommandSender<LoopRequest>, CommandReceiver<LoopRequest>),
    ) -> (Self, LoopHandles) {
        let (news_writer, news) = ring(FAULTS_WAITING);
        let (publisher, snapshots) = publish_to_latest(rendering.world());
        rendering.publish_to(publisher);
        let longest_tick_ns = Arc::new(AtomicU64::new(0));
        let side = Self {
            rendering,
            figures: RunExtremes::default(),
            orders: order_receiver,
            news: news_writer,
            longest_tick_ns: longest_tick_ns.clone(),
            elapsed: 0,
            periods: periods.unwrap_or(u64::MAX),
            taps: Taps::default(),
        };
        (side, LoopHandles { orders, news, snapshots, longest_tick_ns })
    }

    /// Notes everything from the next tick on.
    pub fn record_to(&mut self, tap: Box<Tap>) {
        retire(self.taps.begin(tap, &self.rendering), &mut self.news);
    }

    /// Notes everything from the first tick on, for black boxes.
    pub fn keep_newest_in(&mut self, mut tap: Box<Tap>) {
        tap.note_image(&self.rendering);
        self.taps.newest = Some(tap);
    }

    /// One period. Real-time: at most [`ORDERS_PER_TICK`] orders and one tick of the loop.
    fn tick(&mut self, wake: Wake) -> ControlFlow<()> {
        self.take_orders();
        self.note_time_of_last_tick(wake.previous_compute_ns);
        let skipped = u32::try_from(wake.skipped).unwrap_or(u32::MAX);
        let report = self.rendering.tick(MonotonicNs(wake.now_ns), skipped);
        self.figures.take_in(report);
        if let Some(fault) = report.fault {
            self.news.push_with_reserve(NEWS_RESERVE, LoopEvent::Fault { tick: report.tick, fault });
        }
        if self.news.room() > 0
            && let Some(black_box) = self.rendering.take_black_box()
        {
            self.news.push(LoopEvent::BlackBox(black_box));
        }
        let timing = Timing { late_ns: wake.late_ns, previous_compute_ns: wake.previous_compute_ns };
        for tap in self.taps.each() {
            tap.note_tick(self.rendering.last(), self.rendering.world(), timing);
            tap.note_image(&self.rendering);
        }
        self.elapsed += 1 + wake.skipped;
        if self.elapsed >= self.periods { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Somebody may put zero there in between and miss one tick; that is worth no more than a load and a store.
    fn note_time_of_last_tick(&self, compute_ns: u64) {
        if compute_ns > self.longest_tick_ns.load(Ordering::Relaxed) {
            self.longest_tick_ns.store(compute_ns, Ordering::Relaxed);
        }
    }

    /// Orders wait while nobody takes away what they displace.
    fn take_orders(&mut self) {
        if self.news.room() < NEWS_RESERVE {
            return;
        }
        for order in self.orders.poll(ORDERS_PER_TICK) {
            match order {
                LoopRequest::Loop(command) => apply(command, &mut self.rendering, &mut self.taps, &mut self.news),
                LoopRequest::GiveBack(black_box) => self.rendering.recycle_black_box(black_box),
                LoopRequest::Switch { world, publisher } => {
                    let replace = Command::ReplaceWorld(world);
                    apply(replace, &mut self.rendering, &mut self.taps, &mut self.news);
                    self.news.push(LoopEvent::OldPublisher(self.rendering.publish_to(publisher)));
                }
                LoopRequest::Record(tap) => retire(self.taps.begin(tap, &self.rendering), &mut self.news),
                LoopRequest::StopRecording => retire(self.taps.recording.take(), &mut self.news),
            }
        }
    }

    /// The one way out: zero force, disarm, let go.
    fn let_go(&mut self, ended: &LoopExit) {
        self.rendering.close();
        let crashed = matches!(ended, LoopExit::Panicked(_));
        if let Some(black_box) = self.rendering.last_black_box(crashed) {
            self.news.push(LoopEvent::BlackBox(black_box));
        }
    }
}

/// Has the loop take an order, noted before.
fn apply(command: Command, rendering: &mut HapticLoop, taps: &mut Taps, news: &mut RingWriter<LoopEvent>) {
    taps.each().for_each(|tap| tap.record_command(&command, rendering.last().tick + 1));
    if let Some(old) = rendering.apply(command) {
        news.push(LoopEvent::OldWorld(old));
    }
}

fn retire(tap: Option<Box<Tap>>, news: &mut RingWriter<LoopEvent>) {
    if let Some(tap) = tap {
        news.push(LoopEvent::OldTap(tap));
    }
}

/// What is left when the loop has ended.
pub struct LoopResult {
    /// How it ended.
    pub ended: LoopExit,
    /// The loop, closed.
    pub rendering: HapticLoop,
    /// What it came to.
    pub figures: RunExtremes,
    /// When it woke, how long it took.
    pub timing: Box<LoopTiming>,
    /// Page faults of the thread while it ran; none is right.
    pub page_faults: PageFaults,
    /// Time that the thread was ready while another had its core, ns, if the kernel keeps an account of it.
    pub waited_ns: Option<u64>,
}

type Body = Result<LoopResult, String>;

/// The running thread. Dropping it, as a panic on the lower side does, ends the loop and waits until the device is off.
pub struct LoopThread {
    thread: Option<RealtimeThread<Body>>,
    granted: Granted,
    answer: RealtimeVerdict,
    stop: Arc<AtomicBool>,
}

impl LoopThread {
    /// Starts the thread; it refuses to tick if the rights are not enough.
    ///
    /// # Errors
    /// When no thread can be started, or it may not drive the device.
    pub fn start(
        request: ThreadRequest,
        rights: Rights,
        side: LoopBody,
        runner: Runner<MonotonicClock>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let stop_inside = stop.clone();
        let body = move |granted: &Granted| run(side, rights, granted, runner, &stop_inside);
        let thread = spawn(request, body)
            .map_err(|error| Failure::Runtime(format!("the real-time thread cannot be started: {error}")))?;
        if let Err(error) = thread.reserve_core() {
            tracing::warn!(%error, "the loop shares its core with the rest of the daemon");
        }
        let granted = thread.granted().clone();
        let answer = rights.judge(&granted);
        Ok(Self { thread: Some(thread), granted, answer, stop })
    }

    /// What the thread was granted.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// What was said to it.
    pub fn answer(&self) -> &RealtimeVerdict {
        &self.answer
    }

    /// Whether the loop has ended.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(RealtimeThread::is_finished)
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// When the thread refused to run, or panicked on its way out.
    pub fn join(mut self) -> Result<LoopResult, Failure> {
        let panicked = |text| Failure::Runtime(format!("the real-time thread panicked: {text}"));
        match self.thread.take().map(RealtimeThread::join) {
            Some(Ok(body)) => body.map_err(Failure::NoRealtime),
            Some(Err(text)) => Err(panicked(text)),
            None => Err(panicked("it was joined before".to_owned())),
        }
    }
}

impl Drop for LoopThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Whatever it says, it has let the device go; the panic that brought us here is told by itself.
            drop(thread.join());
        }
    }
}

fn run(
    mut side: LoopBody,
    rights: Rights,
    granted: &Granted,
    mut runner: Runner<MonotonicClock>,
    stop: &AtomicBool,
) -> Body {
    if let RealtimeVerdict::Refuse(text) = rights.judge(granted) {
        side.rendering.close();
        return Err(text);
    }
    let waited_before_ns = thread_run_delay_ns();
    let before = PageFaults::of_this_thread().unwrap_or_default();
    quiet_panic::be_quiet();
    let mut ended = runner.run_guarded(stop, &mut side, LoopBody::tick, LoopBody::let_go);
    if let LoopExit::Panicked(text) = &mut ended {
        *text = format!("{text}, at {}", quiet_panic::place());
    }
    let page_faults = PageFaults::of_this_thread().unwrap_or_default().since(before);
    let waited_ns = run_delay_between_ns(waited_before_ns, thread_run_delay_ns());
    let LoopBody { rendering, figures, .. } = side;
    Ok(LoopResult { ended, rendering, figures, timing: runner.into_timing(), page_faults, waited_ns })
}

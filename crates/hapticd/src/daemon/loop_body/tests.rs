//! Emergency stop of the loop, tick by tick and without a clock.

use super::*;
use crate::cli::InputArguments;
use crate::control::request_queue;
use haptic_config::setup::Setup;
use haptic_loop::engagement::Phase;
use haptic_loop::fault::Fault;
use haptic_loop::report::TickReport;
use haptic_loop::world::World;
use nalgebra::Vector2;

/// Length of the ramp of the default profile with a simulated device, ticks.
const RAMP_TICKS: u64 = 200;
/// Maximum number of ticks for which the tool is brought to the hand, and one more.
const PLACING_TICKS: u64 = 34;

/// A loop of the default profile, run tick by tick.
struct Fixture {
    body: LoopBody,
    handles: LoopHandles,
    signalled: Arc<std::sync::atomic::AtomicBool>,
    ticks: u64,
}

impl Fixture {
    fn new() -> Self {
        let setup = Setup::open(&InputArguments::default(), None).unwrap();
        let device = setup.simulated_device().unwrap();
        let signalled = Arc::<std::sync::atomic::AtomicBool>::default();
        let stop = EmergencyStop::new(signalled.clone());
        let (body, handles) = LoopBody::new(setup.into_loop(device).unwrap(), None, request_queue(), stop);
        Self { body, handles, signalled, ticks: 0 }
    }

    fn tick(&mut self) -> TickReport {
        self.ticks += 1;
        let now_ns = self.ticks * 1_000_000;
        let wake = Wake { now_ns, deadline_ns: now_ns, late_ns: 0, skipped: 0, previous_compute_ns: 0 };
        assert!(self.body.tick(wake).is_continue());
        *self.body.rendering.last()
    }

    fn run(&mut self, ticks: u64) -> TickReport {
        (1..ticks).for_each(|_| _ = self.tick());
        self.tick()
    }

    fn send(&self, command: Command) {
        self.handles.requests.send(LoopRequest::Loop(command)).unwrap();
    }

    fn release(&self) {
        self.handles.emergency_stop.release(&self.handles.requests).unwrap();
    }

    fn other_world(&self) -> Command {
        Command::ReplaceWorld(Box::new(World::new(self.body.rendering.world().scene.clone())))
    }

    /// Fills the request queue and returns the number of requests in it.
    fn fill_queue(&self) -> usize {
        let fill = || self.handles.requests.send(LoopRequest::Loop(Command::GuideHand(None))).is_ok();
        (0..).take_while(|_| fill()).count()
    }

    /// Runs the tick after a request to stop and checks that it is the first one of the stop.
    #[track_caller]
    fn assert_stops(&mut self, case: &str) {
        let report = self.tick();
        assert_eq!(
            (report.phase, report.effort_n, report.fault),
            (Phase::Stopped, Vector2::zeros(), Some(Fault::Stopped)),
            "{case}"
        );
    }

    /// Runs until the force is engaged and checks the whole ramp on the way.
    #[track_caller]
    fn assert_ramps_up(&mut self, case: &str) {
        let mut waited = 0;
        while self.tick().phase == Phase::Waiting {
            waited += 1;
            assert!(waited <= PLACING_TICKS, "{case}: the ramp does not start");
        }
        for ramped in 2..=RAMP_TICKS {
            let report = self.tick();
            let permitted = ramped as f64 / RAMP_TICKS as f64;
            assert!((report.fraction - permitted).abs() < 1e-9, "{case}: {} at {permitted}", report.fraction);
        }
        assert_eq!(self.body.rendering.last().phase, Phase::Engaged, "{case}");
    }
}

#[test]
fn a_stop_takes_effect_in_the_next_tick_of_every_phase_and_its_release_ramps_up() {
    type Case = (&'static str, fn(&mut Fixture));
    let cases: [Case; 7] = [
        ("waiting", |_| ()),
        ("ramping", |fixture| assert_eq!(fixture.run(100).phase, Phase::Ramping)),
        ("engaged", |fixture| assert_eq!(fixture.run(700).phase, Phase::Engaged)),
        ("during a scene switch", |fixture| {
            fixture.run(700);
            fixture.send(fixture.other_world());
        }),
        ("with a full queue", |fixture| {
            fixture.run(700);
            assert!(fixture.fill_queue() > 60);
        }),
        ("with a full event ring", |fixture| {
            fixture.run(700);
            while fixture.body.events.push(LoopEvent::Late { skipped: 0 }) {}
        }),
        ("while a release waits", |fixture| {
            fixture.run(700);
            fixture.release();
        }),
    ];
    for (case, prepare) in cases {
        let mut fixture = Fixture::new();
        prepare(&mut fixture);
        let number = fixture.handles.emergency_stop.request();
        assert!(!fixture.handles.emergency_stop.is_effective(number), "{case}");
        fixture.assert_stops(case);
        assert!(fixture.handles.emergency_stop.is_effective(number), "{case}");
        while fixture.handles.events.pop().is_some() {}
        for _ in 0..100 {
            let report = fixture.tick();
            assert_eq!((report.phase, report.effort_n), (Phase::Stopped, Vector2::zeros()), "{case}");
        }
        fixture.release();
        fixture.assert_ramps_up(case);
    }
}

#[test]
fn a_stop_during_a_pause_lasts_beyond_the_pause() {
    let mut fixture = Fixture::new();
    fixture.send(Command::Pause);
    fixture.run(10);
    fixture.signalled.store(true, Ordering::Relaxed);
    fixture.assert_stops("paused");
    fixture.send(Command::Resume);
    assert_eq!(fixture.run(300).phase, Phase::Stopped);
    fixture.send(fixture.other_world());
    assert_eq!(fixture.run(300).phase, Phase::Stopped);
    fixture.release();
    fixture.assert_ramps_up("after the pause");
}

#[test]
fn a_signal_stops_and_its_repetition_does_not_release() {
    let mut fixture = Fixture::new();
    fixture.run(700);
    fixture.signalled.store(true, Ordering::Relaxed);
    fixture.assert_stops("a signal");
    for _ in 0..10 {
        fixture.signalled.store(true, Ordering::Relaxed);
        let report = fixture.tick();
        assert_eq!((report.phase, report.fault), (Phase::Stopped, None));
    }
}

#[test]
fn a_stop_after_a_release_wins_even_if_the_release_is_applied_later() {
    for path in ["request", "signal"] {
        let mut fixture = Fixture::new();
        fixture.run(700);
        fixture.handles.emergency_stop.request();
        fixture.assert_stops(path);
        // The release waits behind more requests than one tick applies.
        let waiting = fixture.fill_queue();
        fixture.run(2);
        fixture.release();
        match path {
            "signal" => fixture.signalled.store(true, Ordering::Relaxed),
            _ => _ = fixture.handles.emergency_stop.request(),
        }
        assert_eq!(fixture.run(waiting as u64).phase, Phase::Stopped, "{path}");
        fixture.release();
        fixture.assert_ramps_up(path);
    }
}

#[test]
fn a_release_right_after_a_stop_leaves_one_tick_of_the_stop() {
    let mut fixture = Fixture::new();
    fixture.run(700);
    fixture.handles.emergency_stop.request();
    fixture.release();
    fixture.assert_stops("both between two ticks");
    fixture.assert_ramps_up("both between two ticks");
}

#[test]
fn a_release_without_a_stop_changes_nothing() {
    let mut fixture = Fixture::new();
    fixture.run(700);
    fixture.release();
    let report = fixture.tick();
    assert_eq!((report.phase, report.fraction), (Phase::Engaged, 1.0));
    assert!(fixture.handles.events.pop().is_none(), "no event, so nothing is logged");
}

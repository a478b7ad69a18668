//! Every device fault through the whole tick: zero force, a report, re-engagement, and no allocation.

use crate::common::{floor_and_tool, hand, rendering, run, settings, simulated, world};
use haptic_device::faulty::{FaultPlan, FaultyDevice, InjectedFault, PerKind};
use haptic_device::{FaultCode, MonotonicNs};
use haptic_loop::engagement::Phase;
use haptic_loop::snapshot::{Snapshot, SnapshotSink};
use haptic_loop::tick::HapticLoop;
use haptic_testing::assert_no_allocator_calls;
use nalgebra::Vector2;

/// Returns a loop that is engaged and presses on the floor by tick 1999. Faults of the plan may begin at tick 2000.
fn pressing(plan: FaultPlan) -> HapticLoop {
    let path = [[0.0, 0.0, 0.03], [1.0, 0.0, 0.03], [1.5, 0.0, 0.003]];
    let device = FaultyDevice::new(simulated(Some(&hand(&path))), plan);
    let mut rendering = rendering(device, world(&floor_and_tool(9.81)), &settings(400.0, 0.1));
    run(&mut rendering, 1999, |report| assert_eq!(report.fault, None));
    rendering
}

fn scheduled(faults: &[(u64, InjectedFault)]) -> FaultPlan {
    FaultPlan { scheduled: faults.to_vec(), ..FaultPlan::default() }
}

#[test]
fn a_fault_of_the_device_is_zero_force_in_the_same_tick() {
    let cases = [
        (InjectedFault::NotANumber, "reading-not-finite"),
        (InjectedFault::Jump { distance_m: 0.02 }, "over-speed"),
        (InjectedFault::Loss { ticks: 5 }, "lost"),
        (InjectedFault::Failure(FaultCode::Watchdog), "device"),
    ];
    for (fault, kind) in cases {
        let mut rendering = pressing(scheduled(&[(2000, fault)]));
        let report = rendering.tick(MonotonicNs(0), 0);
        assert_eq!(report.fault.map(|fault| fault.kind()), Some(kind));
        assert_eq!((report.force_n, report.phase), (Vector2::zeros(), Phase::Waiting), "{kind}");
        assert_eq!(report.stale, kind == "lost", "a lost device sends nothing new: {kind}");
        assert!(report.felt.force_on_hand_n.iter().all(|part| part.is_finite()));
    }
}

#[test]
fn the_emergency_stop_of_a_device_is_a_stop_even_during_another_fault_of_the_device() {
    let plan =
        [(2000, InjectedFault::Failure(FaultCode::Watchdog)), (2001, InjectedFault::Failure(FaultCode::EmergencyStop))];
    let mut rendering = pressing(scheduled(&plan));
    assert_eq!(rendering.tick(MonotonicNs(0), 0).fault.map(|fault| fault.kind()), Some("device"));
    let report = rendering.tick(MonotonicNs(0), 0);
    assert_eq!((report.fault.map(|fault| fault.kind()), report.phase), (Some("stopped"), Phase::Stopped));
    assert_eq!(report.force_n, Vector2::zeros());
    run(&mut rendering, 300, |report| assert_eq!((report.phase, report.fault), (Phase::Stopped, None)));
}

#[test]
fn a_write_that_fails_is_zero_force_in_the_next_tick() {
    let mut rendering = pressing(scheduled(&[(2000, InjectedFault::WriteFailure)]));
    rendering.tick(MonotonicNs(0), 0);
    let report = rendering.tick(MonotonicNs(0), 0);
    assert_eq!(report.fault.map(|fault| fault.kind()), Some("not-sent"));
    assert_eq!(report.force_n, Vector2::zeros());
}

#[test]
fn single_dropped_repeated_late_and_busy_ticks_are_not_faults() {
    let mild = [InjectedFault::Drop, InjectedFault::Repeat, InjectedFault::Late { ticks: 3 }, InjectedFault::WriteBusy];
    for fault in mild {
        let mut rendering = pressing(scheduled(&[(2000, fault)]));
        run(&mut rendering, 20, |report| assert_eq!((report.fault, report.phase), (None, Phase::Engaged)));
    }
}

#[test]
fn six_dropped_readings_are_stale_and_force_is_back_50_ms_later() {
    let drops: Vec<(u64, InjectedFault)> = (2000..2006).map(|tick| (tick, InjectedFault::Drop)).collect();
    let mut rendering = pressing(scheduled(&drops));
    let before_n = rendering.tick(MonotonicNs(0), 0).force_n.norm();
    let mut stale = 0;
    run(&mut rendering, 5, |report| stale += u32::from(report.stale));
    assert_eq!((stale, rendering.counters().stale), (2, 2));
    run(&mut rendering, 200, |report| assert_eq!(report.fault, None));
    let after = rendering.tick(MonotonicNs(0), 0);
    let (after_n, requested_n) = (after.force_n.norm(), after.felt.force_on_hand_n.norm());
    assert!((after_n / requested_n - 1.0).abs() < 1e-9, "{after_n} of {requested_n} N");
    // The hand has sunk in without force, and its dry friction keeps it from coming back all the way.
    assert!((0.9..1.2).contains(&(after_n / before_n)), "{before_n} N before, {after_n} N after");
}

#[test]
fn after_a_fault_force_ramps_up_again_under_a_hand_that_presses_on() {
    let cases = [
        InjectedFault::NotANumber,
        InjectedFault::Jump { distance_m: 0.02 },
        InjectedFault::Loss { ticks: 5 },
        InjectedFault::WriteFailure,
    ];
    for fault in cases {
        // The fault starts in tick 2000 or the next one, and lasts at most 10 ticks.
        let mut rendering = pressing(scheduled(&[(2000, fault)]));
        let before_n = rendering.last().force_n.y;
        let mut ramp = Vec::new();
        run(&mut rendering, 1000, |report| ramp.push((report.fraction, report.force_n.y)));
        let off = ramp.iter().position(|&(fraction, _)| fraction == 0.0).expect("the force goes off");
        let on = off + ramp[off..].iter().position(|&(fraction, _)| fraction > 0.0).expect("it comes on again");
        assert!(on < 50, "{fault:?}: the ramp starts after {on} ticks");
        let steepest = ramp[off..].windows(2).map(|pair| pair[1].0 - pair[0].0).fold(0.0, f64::max);
        assert!(steepest < 0.005 + 1e-12, "{fault:?}: force rose by {steepest} in one tick");
        // Without force the simulated hand sinks in by up to 7 mm, from where the ramp pushes it back.
        assert!(ramp.iter().all(|&(_, force_n)| force_n < 400.0 * 0.007), "{fault:?}");
        let (fraction, after_n) = ramp[999];
        assert!(fraction == 1.0 && (after_n / before_n - 1.0).abs() < 0.1, "{fault:?}: {after_n} of {before_n} N");
    }
}

#[test]
fn a_fault_fills_the_black_box_once() {
    let mut rendering = pressing(scheduled(&[(2000, InjectedFault::NotANumber)]));
    run(&mut rendering, 300, |_| {});
    let black_box = rendering.take_black_box().unwrap();
    assert_eq!(black_box.reports().filter(|report| report.fault.is_some()).count(), 1);
    assert!(rendering.take_black_box().is_none());
    rendering.recycle_black_box(black_box);
}

/// A sink that copies each snapshot into its buffer.
struct CopyingSink(Snapshot);

impl SnapshotSink for CopyingSink {
    fn publish(&mut self, fill: &dyn Fn(&mut Snapshot)) {
        fill(&mut self.0);
    }
}

#[test]
fn a_clone_of_a_snapshot_keeps_its_capacity_for_contacts() {
    let empty = Snapshot::with_capacity_for(&world(&floor_and_tool(9.81)));
    assert!(empty.contacts.is_empty() && empty.contacts.capacity() > 0);
    let clone = empty.clone();
    assert!(clone.contacts.capacity() >= empty.contacts.capacity());
    assert!(clone.poses.capacity() >= empty.poses.capacity());
}

#[test]
fn no_tick_allocates_or_frees_with_any_fault() {
    let chance = PerKind {
        dropped: 0.02,
        repeated: 0.01,
        not_a_number: 0.002,
        jump: 0.002,
        late: 0.01,
        loss: 0.001,
        write_failure: 0.002,
        write_busy: 0.02,
    };
    let path = [[0.0, 0.0, 0.03], [0.2, 0.0, 0.0], [0.4, 0.02, 0.0], [0.6, 0.0, 0.03]];
    let looped = haptic_device::simulated::HandModel { looped: true, ..hand(&path) };
    let device = FaultyDevice::new(simulated(Some(&looped)), FaultPlan { seed: 7, chance, ..FaultPlan::default() });
    let mut rendering = rendering(device, world(&floor_and_tool(9.81)), &settings(400.0, 0.1));
    rendering.publish_to(Box::new(CopyingSink(Snapshot::with_capacity_for(rendering.world()))));
    let mut kinds = [0u32; 4];
    assert_no_allocator_calls(|| {
        run(&mut rendering, 30_000, |report| match report.fault.map(|fault| fault.kind()) {
            Some("reading-not-finite") => kinds[0] += 1,
            Some("over-speed") => kinds[1] += 1,
            Some("lost") => kinds[2] += 1,
            Some("not-sent") => kinds[3] += 1,
            _ => {}
        });
    });
    assert!(kinds.iter().all(|&count| count > 5), "too few faults: {kinds:?}");
}

//! Every device fault through the whole tick: zero force, a report, re-engagement, and no allocation.

use crate::common::{floor_and_tool, hand, rendering, run, settings, simulated, world};
use haptic_coupling::model::WorstAxisModel;
use haptic_device::faulty::{FaultPlan, FaultyDevice, InjectedFault, PerKind};
use haptic_device::prescribed::PrescribedDevice;
use haptic_device::{FaultCode, MonotonicNs};
use haptic_loop::engagement::Phase;
use haptic_loop::snapshot::{Snapshot, SnapshotSink};
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
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

/// A world without gravity, whose only energy is what the hand has put into the coupling.
fn world_without_energy() -> World {
    let mut description = floor_and_tool(0.0);
    description.bodies[1].mass_kg = Some(0.004);
    world(&description)
}

#[test]
fn after_a_gap_in_the_readings_a_world_without_energy_pushes_back_a_hand_that_presses_on() {
    for gap in [6, 10, 20, 50, 95] {
        let drops: Vec<(u64, InjectedFault)> = (2000..2000 + gap).map(|tick| (tick, InjectedFault::Drop)).collect();
        let path = [[0.0, 0.0, 0.03], [1.0, 0.0, 0.03], [1.5, 0.0, 0.003]];
        let device = FaultyDevice::new(simulated(Some(&hand(&path))), scheduled(&drops));
        let mut rendering = rendering(device, world_without_energy(), &settings(400.0, 0.1));
        run(&mut rendering, 1999, |report| assert_eq!(report.fault, None));
        let before_n = rendering.last().force_n.norm();
        run(&mut rendering, gap, |_| {});
        let mut soon_n = 0.0_f64;
        run(&mut rendering, 100, |report| soon_n = soon_n.max(report.force_n.norm()));
        assert!(soon_n > 0.8 * before_n, "{gap} ms: {before_n} N before, at most {soon_n} N within 100 ms");
        run(&mut rendering, 400, |report| assert_eq!(report.fault, None));
        let last_n = rendering.last().force_n.norm();
        assert!((0.7..1.3).contains(&(last_n / before_n)), "{gap} ms: {before_n} N before, {last_n} N in the end");
    }
}

#[test]
fn a_hand_that_takes_what_it_can_in_every_gap_gets_no_more_than_an_interruption_may_give() {
    const GAPS: u64 = 40;
    const EVERY: u64 = 300;
    const GAP: u64 = 60;
    let model = WorstAxisModel::default();
    let (damping, limit_n) = (model.damping_n_s_per_m, 2.0);
    // While the force still acts unpaid, this speed extracts the most.
    let flee_m_per_s = limit_n / (2.0 * damping);
    let flee_ms = 6.0;
    // It returns slowly while there is no force, so that its damping costs little.
    let return_ms = GAP as f64 - flee_ms - 2.0;
    let path = move |t_s: f64| {
        let (tick, start) = ((t_s * 1000.0).round(), 2000.0);
        let in_gap = (tick - start) % EVERY as f64;
        let pressed_m = (0.03 - 0.1 * (t_s - 1.0).clamp(0.0, 0.24)).max(0.006);
        let away_ms = if tick < start {
            0.0
        } else {
            in_gap.min((GAP as f64 - in_gap).max(0.0) * flee_ms / return_ms).min(flee_ms)
        };
        Vector2::new(0.0, pressed_m + 1e-3 * flee_m_per_s * away_ms)
    };
    let gap = |n: u64| (1..GAP).map(move |tick| (2000 + n * EVERY + tick, InjectedFault::Drop));
    let drops: Vec<_> = (0..GAPS).flat_map(gap).collect();
    let device = FaultyDevice::new(PrescribedDevice::new(2, path), scheduled(&drops));
    let mut settings = settings(400.0, 0.1);
    (settings.safety.max_force_n, settings.safety.max_speed_m_per_s) = (limit_n, 100.0);
    let mut rendering = HapticLoop::new(Box::new(device), &model, world_without_energy(), &settings).unwrap();
    let (mut extracted_j, mut most_j, mut acting_n) = (0.0_f64, 0.0_f64, 0.0);
    for tick in 1..2000 + GAPS * EVERY {
        // The hand moves on during a gap, of which the loop sees nothing.
        let moved_m = path(tick as f64 * 1e-3).y - path((tick - 1) as f64 * 1e-3).y;
        extracted_j += acting_n * moved_m - damping * moved_m * moved_m / 1e-3;
        most_j = most_j.max(extracted_j);
        acting_n = rendering.tick(MonotonicNs(tick * 1_000_000), 0).force_n.y;
        if (1990..2330).contains(&tick) && tick % 3 == 0 {
            let r = rendering.last();
            eprintln!(
                "EX {tick} f {:.3} want {:.3} x {:.5} hand {:.5} ph {:?} fault {:?} tank {:.5} ext {extracted_j:.5}",
                acting_n,
                r.felt.force_on_hand_n.y,
                path(tick as f64 * 1e-3).y,
                r.hand_m.y,
                r.phase,
                r.fault,
                r.tank_j
            );
        }
    }
    let covered_s = model.period_s + model.delay_s;
    let each_j = limit_n * limit_n / (4.0 * damping) * (2.0 * covered_s + settings.safety.stale_after_s)
        + 2.0 * model.encoder_step_m * limit_n;
    let engagement_j = limit_n * limit_n / (2.0 * 400.0);
    let promised_j = engagement_j + 1e-4 + GAPS as f64 * each_j;
    assert!(most_j > GAPS as f64 * 1e-3, "the hand extracts {most_j} J: it does not try");
    assert!(most_j < promised_j, "{most_j} J extracted, {promised_j} J promised");
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

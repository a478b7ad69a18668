//! Nothing that the loop calls allocates or frees memory. A counting allocator verifies this for the calling thread.

use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use haptic_realtime::clock::Clock;
use haptic_realtime::exchange::{commands, latest, ring};
use haptic_realtime::histogram::Histogram;
use haptic_realtime::runner::{LoopTiming, Runner};
use haptic_testing::allocator_calls_in;

#[test]
fn recording_and_copying_a_histogram_does_not_allocate() {
    let (mut histogram, mut copy) = (Box::new(Histogram::new()), Box::new(Histogram::new()));
    let calls = allocator_calls_in(|| {
        (0..64).for_each(|bit| histogram.record(1 << bit));
        copy.copy_from(&histogram);
    });
    assert_eq!(calls, 0);
    assert_eq!(copy.total(), 64);
}

#[test]
fn publishing_and_reading_the_latest_does_not_allocate() {
    let (mut writer, mut reader) = latest([0u8; 4096]);
    let calls = allocator_calls_in(|| {
        for value in 0..100 {
            writer.publish([value; 4096]);
            writer.publish_with(|slot| slot[0] = value);
            assert_eq!(reader.read()[0], value);
        }
    });
    assert_eq!(calls, 0);
}

#[test]
fn pushing_to_a_ring_does_not_allocate_even_when_it_is_full() {
    let (mut writer, mut reader) = ring(16);
    let calls = allocator_calls_in(|| {
        (0..100).for_each(|value| _ = writer.push(value));
        assert_eq!(reader.drain().count(), 16);
    });
    assert_eq!((calls, reader.dropped()), (0, 84));
}

#[test]
fn polling_commands_does_not_allocate() {
    let (sender, receiver) = commands(16);
    (0..8).for_each(|command: u32| sender.send(command).unwrap());
    let calls = allocator_calls_in(|| assert_eq!(receiver.poll(5).sum::<u32>() + receiver.poll(5).sum::<u32>(), 28));
    assert_eq!(calls, 0);
}

/// A clock that wakes 2.5 periods late at even deadlines, to test overruns as well.
struct StutteringClock(u64);

impl Clock for StutteringClock {
    fn now_ns(&mut self) -> u64 {
        self.0
    }

    fn sleep_until_ns(&mut self, deadline_ns: u64) {
        let stall_ns = if (deadline_ns / 1_000_000).is_multiple_of(2) { 2_500_000 } else { 30_000 };
        self.0 = self.0.max(deadline_ns) + stall_ns;
    }
}

#[test]
fn a_running_loop_does_not_allocate_with_overruns_and_publishing() {
    let (writer, mut reader) = latest(LoopTiming::default());
    let period_ns = NonZeroU64::new(1_000_000).unwrap();
    let mut runner = Runner::new(StutteringClock(0), period_ns).publishing(writer, NonZeroU64::new(10).unwrap());
    let stop = AtomicBool::new(false);
    let mut ticks = 0;
    let calls = allocator_calls_in(|| {
        runner.run(&stop, |_| {
            ticks += 1;
            if ticks == 1000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    });
    assert_eq!(calls, 0);
    let published = reader.read();
    assert_eq!(published.ticks, 1000);
    assert!(published.overruns > 0 && published.skipped >= published.overruns);
}

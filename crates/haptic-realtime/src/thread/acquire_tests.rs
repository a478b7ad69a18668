//! Refusals, injected one at a time.

use super::*;

/// A fake system with four cores that keeps state and refuses the requests selected by a test.
struct FakeAuthority {
    highest_fifo_priority: u8,
    priority_limit: u8,
    refuse_nets: bool,
    pinnable: Vec<usize>,
    isolated: Vec<usize>,
    affinity: Vec<usize>,
    schedule: KernelSchedule,
    runaway_limit: Option<Duration>,
}

fn generous() -> FakeAuthority {
    FakeAuthority {
        highest_fifo_priority: 99,
        priority_limit: 0,
        refuse_nets: false,
        pinnable: vec![0, 1, 2, 3],
        isolated: Vec::new(),
        affinity: vec![0, 1, 2, 3],
        schedule: KernelSchedule { policy: libc::SCHED_OTHER, priority: 0, resets_on_fork: false },
        runaway_limit: None,
    }
}

fn refused() -> io::Error {
    io::ErrorKind::PermissionDenied.into()
}

impl Authority for FakeAuthority {
    fn set_fifo(&mut self, priority: u8) -> io::Result<()> {
        if priority > self.highest_fifo_priority {
            return Err(refused());
        }
        self.schedule = KernelSchedule { policy: libc::SCHED_FIFO, priority: priority.into(), ..self.schedule };
        Ok(())
    }

    fn reset_on_fork(&mut self) -> io::Result<()> {
        if self.refuse_nets {
            return Err(refused());
        }
        self.schedule.resets_on_fork = true;
        Ok(())
    }

    fn limit_runaway(&mut self, limit: Duration) -> io::Result<()> {
        if self.refuse_nets {
            return Err(refused());
        }
        self.runaway_limit = Some(limit);
        Ok(())
    }

    fn pin(&mut self, cpu: usize) -> bool {
        let allowed = self.pinnable.contains(&cpu);
        if allowed {
            self.affinity = vec![cpu];
        }
        allowed
    }

    fn priority_limit(&mut self) -> u8 {
        self.priority_limit
    }

    fn isolated_cpus(&mut self) -> Vec<usize> {
        self.isolated.clone()
    }

    fn affinity(&mut self) -> io::Result<Vec<usize>> {
        Ok(self.affinity.clone())
    }

    fn schedule(&mut self) -> io::Result<KernelSchedule> {
        Ok(self.schedule)
    }
}

fn locked() -> Option<MemoryLock> {
    Some(MemoryLock { locked: LockedMemory::CurrentAndFuture, reason: None })
}

#[test]
fn all_granted_leaves_no_reasons() {
    let mut authority = generous();
    let granted = acquire(&ThreadRequest::default(), locked(), &mut authority);
    let expected = Granted {
        policy: Policy::Fifo,
        priority: 80,
        cpu: Some(3),
        locked_memory: LockedMemory::CurrentAndFuture,
        resets_on_fork: true,
        reasons: vec![],
    };
    assert_eq!(granted, expected);
    assert_eq!(authority.runaway_limit, ThreadRequest::default().runaway_limit);
}

#[test]
fn without_privileges_the_policy_is_normal_and_the_reason_says_how_to_get_it() {
    let mut authority = FakeAuthority { highest_fifo_priority: 0, ..generous() };
    let granted = acquire(&ThreadRequest::default(), locked(), &mut authority);
    assert_eq!((granted.policy, granted.priority, granted.is_realtime()), (Policy::Normal, 0, false));
    assert_eq!(granted.cpu, Some(3), "pinning needs no privilege");
    assert_eq!(granted.reasons.len(), 1);
    assert!(granted.reasons[0].contains("CAP_SYS_NICE") && granted.reasons[0].contains("normal policy"));
}

#[test]
fn a_normal_thread_gets_no_runaway_limit() {
    let mut authority = FakeAuthority { highest_fifo_priority: 0, ..generous() };
    acquire(&ThreadRequest::default(), None, &mut authority);
    assert_eq!(authority.runaway_limit, None);
}

#[test]
fn a_limited_user_gets_the_priority_of_the_limit_with_a_reason() {
    let mut authority = FakeAuthority { highest_fifo_priority: 40, priority_limit: 40, ..generous() };
    let granted = acquire(&ThreadRequest::default(), None, &mut authority);
    assert_eq!((granted.policy, granted.priority), (Policy::Fifo, 40));
    assert!(granted.reasons[0].contains("running at 40"), "{:?}", granted.reasons);
}

#[test]
fn a_priority_of_99_is_lowered_with_a_reason() {
    let request = ThreadRequest { priority: 99, ..ThreadRequest::default() };
    let granted = acquire(&request, None, &mut generous());
    assert_eq!(granted.priority, HIGHEST_PRIORITY);
    assert!(granted.reasons[0].contains("outside"));
}

#[test]
fn a_core_that_is_not_allowed_leaves_the_thread_unpinned_and_names_those_that_are() {
    let request = ThreadRequest { cpu: CpuChoice::Number(9), ..ThreadRequest::default() };
    let granted = acquire(&request, None, &mut generous());
    assert_eq!(granted.cpu, None);
    assert!(granted.reasons[0].contains("[9]") && granted.reasons[0].contains("[0, 1, 2, 3]"));
}

#[test]
fn an_isolated_core_that_cannot_be_had_gives_way_to_the_next_best() {
    let mut authority = FakeAuthority { isolated: vec![7], ..generous() };
    let granted = acquire(&ThreadRequest::default(), None, &mut authority);
    assert_eq!((granted.cpu, granted.reasons.len()), (Some(3), 0));
}

#[test]
fn refused_nets_are_reported_each() {
    let mut authority = FakeAuthority { refuse_nets: true, ..generous() };
    let granted = acquire(&ThreadRequest::default(), None, &mut authority);
    assert!(granted.is_realtime() && !granted.resets_on_fork);
    assert_eq!(granted.reasons.len(), 2);
}

#[test]
fn a_partial_memory_lock_carries_its_reason_over() {
    let lock = MemoryLock { locked: LockedMemory::CurrentOnly, reason: Some("limited".to_owned()) };
    let granted = acquire(&ThreadRequest::default(), Some(lock), &mut generous());
    assert_eq!((granted.locked_memory, granted.reasons), (LockedMemory::CurrentOnly, vec!["limited".to_owned()]));
}

#[test]
fn a_core_number_beyond_the_mask_of_linux_is_refused_not_a_crash() {
    assert!(!LinuxAuthority.pin(usize::MAX));
}

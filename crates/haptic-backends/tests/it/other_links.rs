//! Host and device of the Haply protocol, connected directly: no port, no clock. [`Link`] serves the tests of other
//! protocols without sequence numbers as well.

use haptic_backends::protocol::{HandshakeError, OpenSession, Protocol, Sample, Step};
use haptic_backends::serial::in_flight_limit::InFlightLimit;
use haptic_backends::serial::{HaplyProtocol, HaplyVariant, LinkMonitor};
use haptic_device::{DeviceModel, Effort, HandModel, Health, MonotonicNs};
use haptic_emulator::handle::EmulatedHandle;
use haptic_emulator::serial::{Board, HaplyBoard};
use nalgebra::Vector2;
use std::sync::Arc;

pub const MILLISECOND_NS: u64 = 1_000_000;
const VARIANTS: [HaplyVariant; 3] = [HaplyVariant::V3, HaplyVariant::V2, HaplyVariant::KIT];

pub fn replies_of(board: &mut dyn Board, bytes: &[u8]) -> Vec<u8> {
    let mut answers = Vec::new();
    board.receive(bytes, &mut answers);
    answers.concat()
}

pub fn run_handshake(protocol: &mut dyn Protocol, board: &mut dyn Board) -> Result<Box<OpenSession>, HandshakeError> {
    let mut handshake = protocol.start_handshake(MonotonicNs(0));
    for round in 0..20_000 {
        let now = MonotonicNs(round * MILLISECOND_NS);
        match handshake.step(now) {
            Step::Send(frame) => handshake.receive(&replies_of(board, frame.bytes()), now),
            Step::Wait { .. } => board.tick(&mut Vec::new()),
            Step::Done(session) => return Ok(session),
            Step::Failed(error) => return Err(error),
        }
    }
    panic!("neither done nor failed");
}

/// A host and a device after their handshake.
pub struct Link<B> {
    pub board: B,
    pub session: Box<OpenSession>,
    pub monitor: Arc<LinkMonitor>,
    pub now: MonotonicNs,
    pub newest: Sample,
    pub limit: InFlightLimit,
}

impl<B: Board> Link<B> {
    pub fn new(mut board: B, make: impl FnOnce(Arc<LinkMonitor>) -> Box<dyn Protocol>) -> Self {
        let monitor = Arc::new(LinkMonitor::default());
        let session = run_handshake(make(Arc::clone(&monitor)).as_mut(), &mut board).unwrap();
        Self::at_10_s(board, session, monitor)
    }

    pub fn at_10_s(board: B, session: Box<OpenSession>, monitor: Arc<LinkMonitor>) -> Self {
        let (now, newest) = (MonotonicNs(10_000 * MILLISECOND_NS), Sample::default());
        Self { board, session, monitor, now, newest, limit: InFlightLimit::new() }
    }

    /// Sends a command, if the link admits one now, and returns the answer of the board.
    pub fn command(&mut self, force_n: Vector2<f64>) -> Vec<u8> {
        let effort = Effort { force_n };
        if !self.limit.admits(effort, &self.monitor, self.now) {
            return Vec::new();
        }
        self.limit.record(effort, self.now);
        let (frame, _) = self.session.transmit.encode(effort, &self.newest, self.now);
        replies_of(&mut self.board, frame.bytes())
    }

    pub fn exchange(&mut self, force_n: Vector2<f64>, is_lost: bool) {
        let answer = self.command(force_n);
        self.board.tick(&mut Vec::new());
        self.now = self.now.after(MILLISECOND_NS / 2);
        self.receive(if is_lost { &[] } else { &answer });
        self.now = self.now.after(MILLISECOND_NS / 2);
    }

    pub fn receive(&mut self, bytes: &[u8]) {
        let mut received = self.session.receive.receive(bytes, self.now);
        self.newest = received.sample.unwrap_or(self.newest);
        while let Some(reply) = received.reply {
            let answer = replies_of(&mut self.board, reply.bytes());
            if answer.is_empty() {
                break;
            }
            received = self.session.receive.receive(&answer, self.now);
            self.newest = received.sample.unwrap_or(self.newest);
        }
    }

    pub fn run(&mut self, ticks: usize, force_n: Vector2<f64>) {
        for _ in 0..ticks {
            self.exchange(force_n, false);
        }
    }

    /// Runs ticks without losses and returns how many of the last 50 brought a new sample. Fails if one of them seems
    /// younger than its command.
    pub fn recover(&mut self, ticks: usize) -> usize {
        self.run(ticks - 50, Vector2::zeros());
        let mut fresh = 0;
        for _ in 0..50 {
            let (before, tick_at) = (self.newest.sequence, self.now);
            self.exchange(Vector2::zeros(), false);
            assert!(self.newest.taken_at <= tick_at, "taken after the command that it answers");
            fresh += usize::from(self.newest.sequence != before && self.newest.taken_at == tick_at);
        }
        fresh
    }
}

fn haply(variant: HaplyVariant) -> Link<HaplyBoard> {
    let board = HaplyBoard::new(variant, &DeviceModel::default(), None).unwrap();
    Link::new(board, |monitor| Box::new(HaplyProtocol::new(variant, monitor)))
}

/// Creates a Haply held by a hand whose path ends in the middle of the workspace after two seconds, where it rests.
fn resting_haply(variant: HaplyVariant, hand_n_per_m: f64) -> Link<HaplyBoard> {
    let mut hand = haptic_emulator::serial::haply::usual_hand(&variant);
    hand.path.truncate(3);
    let hand = HandModel { looped: false, stiffness_n_per_m: hand_n_per_m, ..hand };
    let model = DeviceModel { coulomb_n: [0.0; 2], ..DeviceModel::default() };
    let board = HaplyBoard::new(variant, &model, Some(hand)).unwrap();
    let mut link = Link::new(board, |monitor| Box::new(HaplyProtocol::new(variant, monitor)));
    link.run(4000, Vector2::zeros());
    link
}

#[test]
fn every_model_of_the_haply_is_opened_at_home_and_tracked_through_its_workspace() {
    for variant in VARIANTS {
        let mut link = haply(variant);
        let home_m = variant.linkage.handle_m(variant.home_rad()).unwrap();
        link.run(100, Vector2::zeros());
        assert!((link.newest.position_m - home_m).norm() < 1e-3, "{} at {}", variant.name, link.newest.position_m);
        link.run(1900, Vector2::zeros());
        let middle_m = 0.65 * (variant.linkage.upper_link_m + variant.linkage.lower_link_m);
        assert!((link.newest.position_m.y - middle_m).abs() < 5e-3, "{} at {}", variant.name, link.newest.position_m);
        assert_eq!((link.newest.health, link.monitor.statistics(1000.0).frames_lost), (Health::Ready, 0));
    }
}

#[test]
fn a_force_on_the_haply_stretches_the_hand_s_spring_by_force_over_stiffness() {
    for variant in VARIANTS {
        let (stiffness, force_n) = (300.0, Vector2::new(0.4, -0.6));
        let mut link = resting_haply(variant, stiffness);
        let before_m = link.newest.position_m;
        link.run(3000, force_n);
        let expected_m = force_n / stiffness;
        let moved_m = link.newest.position_m - before_m;
        assert!((moved_m - expected_m).norm() < 0.1 * expected_m.norm(), "{}: {moved_m} {expected_m}", variant.name);
    }
}

#[test]
fn torques_beyond_what_the_motors_give_keep_the_direction_of_the_force() {
    let mut link = resting_haply(HaplyVariant::V3, 3000.0);
    let before_m = link.newest.position_m;
    link.run(2000, Vector2::new(0.0, -50.0));
    let moved_m = link.newest.position_m - before_m;
    assert!(moved_m.y < 0.0 && moved_m.x.abs() < 0.15 * moved_m.y.abs(), "{moved_m}");
}

#[test]
fn the_last_command_to_a_haply_is_zero_torque() {
    let mut link = haply(HaplyVariant::V3);
    link.run(10, Vector2::new(1.0, 1.0));
    assert_ne!(link.board.force_n(), Vector2::zeros());
    let frame = link.session.transmit.stop_frame();
    replies_of(&mut link.board, frame.bytes());
    assert_eq!(link.board.force_n(), Vector2::zeros());
}

#[test]
fn a_haply_that_kept_its_power_keeps_its_angles_when_it_is_found_again() {
    let variant = HaplyVariant::V3;
    let mut board = HaplyBoard::new(variant, &DeviceModel::default(), None).unwrap();
    let monitor = Arc::new(LinkMonitor::default());
    let mut protocol = HaplyProtocol::new(variant, Arc::clone(&monitor));
    run_handshake(&mut protocol, &mut board).unwrap();
    (0..2000).for_each(|_| board.tick(&mut Vec::new()));
    let session = run_handshake(&mut protocol, &mut board).unwrap();
    let mut link = Link::at_10_s(board, session, monitor);
    link.run(2, Vector2::zeros());
    assert!(link.newest.position_m.y > 0.09, "not taken for home: {}", link.newest.position_m);
}

/// A Haply after its handshake, moved to the middle of its travel, with the protocol for reconnecting.
fn haply_in_the_middle() -> (HaplyProtocol, HaplyBoard) {
    let mut board = HaplyBoard::new(HaplyVariant::V3, &DeviceModel::default(), None).unwrap();
    let mut protocol = HaplyProtocol::new(HaplyVariant::V3, Arc::new(LinkMonitor::default()));
    run_handshake(&mut protocol, &mut board).unwrap();
    (0..2000).for_each(|_| board.tick(&mut Vec::new()));
    while board.next_event().is_some() {}
    (protocol, board)
}

#[test]
fn a_haply_that_lost_its_angles_away_from_home_is_refused_with_the_remedy() {
    let (mut protocol, mut board) = haply_in_the_middle();
    replies_of(&mut board, &[0, 0]);
    for _ in 0..3 {
        let rejection = run_handshake(&mut protocol, &mut board).err().expect("wrong angles were accepted");
        assert_eq!(rejection, HandshakeError::PositionLost);
        assert!(
            rejection.to_string().contains("hold the arm against its home stop and restart hapticd"),
            "{rejection}"
        );
        assert_eq!((board.next_event(), board.force_n()), (None, Vector2::zeros()), "it was set up");
    }
}

#[test]
fn a_haply_that_waits_for_the_rest_of_a_message_keeps_its_angles_when_it_is_found_again() {
    for received in 1..10 {
        let (mut protocol, mut board) = haply_in_the_middle();
        let push = haptic_backends::serial::haply::message::write(&HaplyVariant::V3, [0.1, 0.1]);
        replies_of(&mut board, &push.bytes()[..received]);
        let session =
            run_handshake(&mut protocol, &mut board).unwrap_or_else(|error| panic!("{received} bytes: {error}"));
        assert_eq!(board.force_n(), Vector2::zeros(), "{received} bytes");
        let mut link = Link::at_10_s(board, session, Arc::new(LinkMonitor::default()));
        link.run(2, Vector2::zeros());
        assert!(link.newest.position_m.y > 0.09, "{received} bytes: {}", link.newest.position_m);
    }
}

#[test]
fn the_last_words_end_the_torques_of_a_haply_wherever_a_message_was_cut_short() {
    for received in 0..10 {
        let mut link = haply(HaplyVariant::V3);
        link.run(10, Vector2::new(1.0, 1.0));
        assert_ne!(link.board.force_n(), Vector2::zeros());
        let (frame, _) =
            link.session.transmit.encode(Effort { force_n: Vector2::new(1.0, 1.0) }, &link.newest, link.now);
        replies_of(&mut link.board, &frame.bytes()[..received]);
        let frame = link.session.transmit.stop_frame();
        replies_of(&mut link.board, frame.bytes());
        assert_eq!(link.board.force_n(), Vector2::zeros(), "after {received} bytes");
    }
}

#[test]
fn a_haply_is_aligned_after_a_stall_within_a_message_whether_or_not_the_dead_man_process_wrote_meanwhile() {
    let stop_frame = HaplyProtocol::new(HaplyVariant::V3, Arc::default()).dead_man_frame().unwrap();
    let push = Vector2::new(1.0, 1.0);
    for (received, stops) in (1..10).flat_map(|received| (0..4).map(move |stops| (received, stops))) {
        let mut link = haply(HaplyVariant::V3);
        link.run(200, push);
        let pushed_n = link.board.force_n();
        let (frame, _) = link.session.transmit.encode(Effort { force_n: push }, &link.newest, link.now);
        let mut answers = replies_of(&mut link.board, &frame.bytes()[..received]);
        (0..stops).for_each(|_| answers.extend(replies_of(&mut link.board, stop_frame.bytes())));
        link.now = link.now.after(250 * MILLISECOND_NS);
        let realign = link.session.transmit.realign_frame().unwrap();
        answers.extend(replies_of(&mut link.board, realign.bytes()));
        assert_eq!(link.board.force_n(), Vector2::zeros(), "{received} bytes, {stops} stop frames");
        let (frame, _) = link.session.transmit.encode(Effort { force_n: push }, &link.newest, link.now);
        answers.extend(replies_of(&mut link.board, frame.bytes()));
        let again_n = link.board.force_n();
        assert!((again_n - pushed_n).norm() < 0.1, "{received} bytes, {stops} stop frames: {again_n}");
        link.receive(&answers);
        assert_eq!(link.recover(70), 50, "{received} bytes, {stops} stop frames");
    }
}

#[test]
fn frames_lost_from_a_haply_are_counted() {
    let mut link = haply(HaplyVariant::V3);
    for tick in 0..5000 {
        link.exchange(Vector2::zeros(), tick % 250 == 100);
    }
    let lost = link.monitor.statistics(1000.0).frames_lost;
    assert!((19..=20).contains(&lost), "{lost}");
}

#[test]
fn a_haply_is_back_after_a_stall_of_the_host_in_which_the_dead_man_process_sent_stop_frames() {
    let mut link = haply(HaplyVariant::V3);
    link.run(200, Vector2::zeros());
    let stop_frame = HaplyProtocol::new(HaplyVariant::V3, Arc::default()).dead_man_frame().unwrap();
    let mut answers = link.command(Vector2::zeros());
    for _ in 0..30 {
        answers.extend(replies_of(&mut link.board, stop_frame.bytes()));
    }
    link.now = link.now.after(250 * MILLISECOND_NS);
    let before = link.newest.sequence;
    link.receive(&answers);
    assert_eq!(link.newest.sequence, before, "an answer to a stop frame was taken for one to a command");
    assert_eq!((link.recover(70), link.monitor.in_flight()), (50, 0));
}

/// Lets answers arrive twice, and others not at all, and expects the link to be in step again afterwards.
pub fn lose_step_and_recover<B: Board>(mut link: Link<B>) {
    link.run(200, Vector2::zeros());
    for _ in 0..3 {
        let answer = link.command(Vector2::zeros());
        link.receive(&[answer.clone(), answer].concat());
        link.run(20, Vector2::zeros());
    }
    assert_eq!((link.recover(100), link.monitor.in_flight()), (50, 0));
    (0..4).for_each(|_| link.exchange(Vector2::zeros(), true));
    assert_eq!((link.recover(100), link.monitor.in_flight()), (50, 0));
    assert_eq!(link.monitor.statistics(1000.0).frames_lost, 4);
    (0..50).for_each(|_| link.exchange(Vector2::zeros(), true));
    assert_eq!((link.recover(70), link.monitor.in_flight()), (50, 0));
}

#[test]
fn answers_that_come_twice_or_not_at_all_bring_a_haply_out_of_step_only_for_a_moment() {
    lose_step_and_recover(haply(HaplyVariant::V3));
}

#[test]
fn a_haply_that_sends_nothing_and_one_that_sends_garbage_are_distinguished() {
    struct Stranger(&'static [u8], EmulatedHandle);
    impl Board for Stranger {
        fn receive(&mut self, _: &[u8], out: &mut Vec<Vec<u8>>) {
            out.push(self.0.to_vec());
        }
        fn tick(&mut self, _: &mut Vec<Vec<u8>>) {}
        fn host_left(&mut self) {}
        fn force_n(&self) -> Vector2<f64> {
            Vector2::zeros()
        }
        fn handle(&self) -> &EmulatedHandle {
            &self.1
        }
        fn handle_mut(&mut self) -> &mut EmulatedHandle {
            &mut self.1
        }
        fn next_event(&mut self) -> Option<String> {
            None
        }
    }
    let rejection = |frame| {
        let mut protocol = HaplyProtocol::new(HaplyVariant::V3, Arc::new(LinkMonitor::default()));
        let body = EmulatedHandle::new(2, &DeviceModel::default(), None).unwrap();
        run_handshake(&mut protocol, &mut Stranger(frame, body)).err().unwrap()
    };
    assert_eq!(rejection(b""), HandshakeError::Silent { within_s: 5 });
    assert!(matches!(rejection(b"what?\r\n"), HandshakeError::NotUnderstood { .. }));
    // Zeros after the board's number are angles of an arm that is far from home.
    assert!(matches!(rejection(&[5, 0, 0, 0, 0, 0, 0, 0, 0]), HandshakeError::NotHome { .. }));
}

//! Planned faults of every board.

use haptic_backends::serial::HaplyVariant;
use haptic_device::config::ReversedAxes;
use haptic_device::{DeviceModel, HandModel};
use haptic_emulator::emulators::{BoardOptions, EMULATORS, Emulator};
use haptic_emulator::planned_fault::{ActiveFaults, FaultKind};
use haptic_emulator::serial::{Board, OdriveFirmware};
use haptic_wire::{Command, Decoder, Hello, Message, PerAxis, VERSION, WIRE_MAX, encode};

/// A hand that moves at 0.1 m/s along both axes.
fn moving_hand(start_m: [f64; 2]) -> HandModel {
    let path = vec![[0.0, start_m[0], start_m[1]], [1.0, start_m[0] + 0.1, start_m[1] + 0.1]];
    HandModel { path, looped: false, ..HandModel::default() }
}

fn board(emulator: &Emulator) -> Box<dyn Board> {
    let options = BoardOptions {
        model: DeviceModel::default(),
        hand: Some(moving_hand(if emulator.name == "haply-2diy" { [0.0, 0.06] } else { [0.0; 2] })),
        hand_is_default: false,
        velocity: true,
        protocol_version: VERSION.0,
        emergency_stops: Vec::new(),
        variant: HaplyVariant::V3,
        lever_m: 0.05,
        reversed: ReversedAxes::default(),
        firmware: &OdriveFirmware::V0_5,
    };
    (emulator.build)(&options).unwrap()
}

fn wire(message: &Message<'_>, sequence: u8) -> Vec<u8> {
    let mut bytes = [0; WIRE_MAX];
    let length = encode(message, sequence, &mut bytes).unwrap();
    bytes[..length].to_vec()
}

/// Opens a session with a board.
fn open(emulator: &Emulator, board: &mut dyn Board) {
    let bytes = match emulator.name {
        "haply-2diy" => {
            let encoders = [0.0_f32, 8192.0, 0.0, 8192.0].map(f32::to_le_bytes).concat();
            // Board 1; two motors, two encoders with directions; no sensors and outputs.
            [&[1, 1, 0b11, 0, 0, 0b11, 0, 0, 0, 0][..], &encoders].concat()
        }
        "odrive" => Vec::new(),
        _ => wire(&Message::Hello(Hello { version: VERSION, nonce: 7 }), 0),
    };
    board.receive(&bytes, &mut Vec::new());
}

/// Asks a board for its first reading; in units of its own.
fn reading(emulator: &Emulator, board: &mut dyn Board) -> f64 {
    let command = Message::Command(Command { flags: 0, efforts_q15: PerAxis::two(0, 0) });
    let request = match emulator.name {
        "haply-2diy" => [&[2, 1][..], &[0; 8]].concat(),
        "odrive" => b"f 0\n".to_vec(),
        "native-1dof" => wire(&Message::Command(Command { flags: 0, efforts_q15: PerAxis::one(0) }), 1),
        _ => wire(&command, 1),
    };
    let mut answers = Vec::new();
    board.receive(&request, &mut answers);
    let answer = answers.concat();
    match emulator.name {
        "haply-2diy" => f64::from(f32::from_le_bytes([answer[1], answer[2], answer[3], answer[4]])),
        "odrive" => String::from_utf8(answer).unwrap().split(' ').next().unwrap().parse().unwrap(),
        _ => position(&answer),
    }
}

/// The first position in a STATE frame, counts.
fn position(bytes: &[u8]) -> f64 {
    let mut position = None;
    Decoder::default().push_all(bytes, |frame| {
        if let Ok(Message::State(state)) = Message::parse(&frame) {
            position = state.axes.iter().next().map(|axis| f64::from(axis.position));
        }
    });
    position.expect("no STATE frame")
}

/// Readings before a fault, 50 ms into it, and 50 ms after its end.
fn readings(emulator: &Emulator, kind: FaultKind) -> [f64; 3] {
    let mut board = board(emulator);
    open(emulator, board.as_mut());
    [(200, None), (50, Some(kind)), (50, None)].map(|(ticks, kind)| {
        for _ in 0..ticks {
            board.handle_mut().set_faults(kind.into_iter().collect::<ActiveFaults>());
            board.tick(&mut Vec::new());
        }
        reading(emulator, board.as_mut())
    })
}

#[test]
fn every_board_reports_the_faults_of_its_encoders_and_nothing_else() {
    for emulator in &EMULATORS {
        let [before, healthy, after] = readings(emulator, FaultKind::CutIn);
        let moved = healthy - before;
        assert_ne!(moved, 0.0, "{}", emulator.name);
        let seen = |kind| readings(emulator, kind);
        for kind in FaultKind::ALL {
            let [at_first, _, at_last] = seen(kind);
            assert_eq!((at_first, at_last), (before, after), "{} {kind:?}: outside of the fault", emulator.name);
        }
        let share = |kind| (seen(kind)[1] - before) / moved;
        assert_eq!(share(FaultKind::Frozen), 0.0, "{}", emulator.name);
        for (kind, low, high) in [
            (FaultKind::Reversed, -1.5, -0.7),
            (FaultKind::Late, 0.4, 0.8),
            (FaultKind::Jump, 0.6, 0.95),
            (FaultKind::Drift, 0.6, 0.95),
        ] {
            assert!((low..high).contains(&share(kind)), "{} {kind:?}: {}", emulator.name, share(kind));
        }
    }
}

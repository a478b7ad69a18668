//! Every message survives encoding and decoding; errors for invalid frames name the field and the value.

use haptic_wire::*;
use proptest::{prelude::*, sample::Index};

fn per_axis<T: Copy + Default + std::fmt::Debug>(
    value: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = PerAxis<T>> {
    prop::collection::vec(value, 1..=MAX_AXES).prop_map(|values| PerAxis::from_slice(&values).unwrap())
}

fn hello_ack() -> impl Strategy<Value = HelloAck> {
    (any::<(u8, u8)>(), any::<u32>(), any::<u32>(), any::<[u8; 8]>(), 1..=2u8, any::<u16>(), 1..=u16::MAX).prop_map(
        |(version, nonce, firmware_version, uid, axes, capabilities, max_rate_hz)| HelloAck {
            version,
            nonce,
            firmware_version,
            uid,
            axes,
            capabilities: Capabilities(capabilities),
            max_rate_hz,
        },
    )
}

fn axis_info() -> impl Strategy<Value = AxisInfo> {
    let counts = (1..=u32::MAX, 1..=u32::MAX);
    let range = (i32::MIN..0, 0..=i32::MAX);
    (0..2u8, any::<bool>(), counts, range, 1..=u32::MAX, any::<u8>()).prop_map(
        |(index, linear, counts_per_unit, range, full_scale_micro, home_flags)| AxisInfo {
            index,
            kind: if linear { AxisKind::Linear } else { AxisKind::Rotary },
            counts_per_unit,
            range,
            full_scale_micro,
            home_flags: HomeFlags(home_flags),
        },
    )
}

fn arm() -> impl Strategy<Value = Arm> {
    let limit = 0..=FULL_SCALE_Q15;
    (any::<u32>(), any::<u16>(), per_axis(limit.clone()), limit).prop_map(
        |(nonce, watchdog_ms, limits_q15, slew_q15_per_ms)| Arm { nonce, watchdog_ms, limits_q15, slew_q15_per_ms },
    )
}

fn state() -> impl Strategy<Value = State> {
    (any::<(u8, u8, u32, bool)>(), per_axis(any::<(i32, i32)>())).prop_map(
        |((acknowledged, status, sampled_at_us, velocity_given), axes)| State {
            acknowledged,
            status: Status(status & !Status::VELOCITY),
            sampled_at_us,
            axes: axes.map(|(position, velocity)| AxisReading {
                position,
                velocity: if velocity_given { velocity } else { 0 },
            }),
            velocity_given,
        },
    )
}

fn message() -> impl Strategy<Value = Message<'static>> {
    prop_oneof![
        any::<(u8, u8, u32)>()
            .prop_map(|(major, minor, nonce)| Message::Hello(Hello { version: (major, minor), nonce })),
        hello_ack().prop_map(Message::HelloAck),
        any::<u8>().prop_map(|index| Message::AxisInfoRequest(AxisInfoRequest { index })),
        axis_info().prop_map(Message::AxisInfo),
        arm().prop_map(Message::Arm),
        arm().prop_map(Message::ArmAck),
        (any::<u8>(), per_axis(any::<i16>()))
            .prop_map(|(flags, efforts_q15)| Message::Command(Command { flags, efforts_q15 })),
        state().prop_map(Message::State),
        Just(Message::Stop),
        any::<u32>().prop_map(|host_us| Message::Ping(Ping { host_us })),
        any::<(u32, u32, u32)>().prop_map(|(host_us, received_us, sent_us)| {
            Message::PingReply(PingReply { host_us, received_us, sent_us })
        }),
        any::<(u8, u32)>()
            .prop_map(|(code, detail)| Message::Fault(Fault { code: FaultCode::from_byte(code), detail })),
        (0..=PAYLOAD_MAX).prop_map(|length| Message::Log(Log::new(&ALPHABET[..length]).unwrap())),
    ]
}

const ALPHABET: &str =
    " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";

/// A payload as this crate writes it: STOP without content, limits and slew of ARM at most full scale, HELLO of another
/// major version without the bytes that only that version defines.
fn canonical(kind: Kind, mut payload: Vec<u8>) -> Vec<u8> {
    match kind {
        Kind::Stop => payload.clear(),
        Kind::Hello => payload.truncate(10),
        Kind::Arm | Kind::ArmAck => payload[6..].chunks_mut(2).filter(|value| value[1] > 0x7F).for_each(|value| {
            value.copy_from_slice(&FULL_SCALE_Q15.to_le_bytes());
        }),
        _ => {}
    }
    payload
}

proptest! {
    #[test]
    fn every_message_comes_back_as_it_was_sent(message in message(), sequence: u8) {
        let mut out = [0xEE; WIRE_MAX];
        let length = encode(&message, sequence, &mut out).unwrap();
        prop_assert_eq!(out[..length].iter().position(|byte| *byte == 0), Some(length - 1));
        let mut decoder = Decoder::new();
        let mut found = 0;
        decoder.push_all(&out[..length], |frame| {
            found += 1;
            assert_eq!((frame.sequence, Message::parse(&frame)), (sequence, Ok(message)));
        });
        prop_assert_eq!(found, 1);
    }

    #[test]
    fn a_buffer_one_byte_short_is_rejected_and_untouched(message in message(), sequence: u8) {
        let length = encode(&message, sequence, &mut [0; WIRE_MAX]).unwrap();
        let mut out = vec![0xEE; length - 1];
        let too_short = EncodeError::Buffer { needed: length, found: length - 1 };
        prop_assert_eq!(encode(&message, sequence, &mut out), Err(too_short));
        prop_assert!(out.iter().all(|byte| *byte == 0xEE));
    }

    #[test]
    fn a_parsed_payload_is_written_back_byte_for_byte(
        kind: Index,
        payload in prop::collection::vec(any::<u8>(), 0..=PAYLOAD_MAX),
    ) {
        let frame = Frame { kind: *kind.get(&Kind::ALL) as u8, sequence: 0, payload: &payload };
        if let Ok(message) = Message::parse(&frame) {
            let mut out = [0; PAYLOAD_MAX];
            let length = message.emit(&mut out);
            prop_assert_eq!(&out[..length], &canonical(message.kind(), payload)[..]);
        }
    }

    #[test]
    fn any_single_damaged_bit_of_the_body_is_detected(message in message(), at: Index, bit in 0..8u8) {
        let mut wire = [0; WIRE_MAX];
        let length = encode(&message, 0, &mut wire).unwrap();
        let encoded = &mut wire[..length - 1];
        prop_assert!(cobs::decode_in_place(encoded));
        let mut body = encoded[1..].to_vec();
        body[at.index(length - 2)] ^= 1 << bit;
        prop_assert_eq!(cobs::encode(&body, &mut wire), Some(length - 1));
        let mut decoder = Decoder::new();
        decoder.push_all(&wire[..length], |frame| panic!("accepted {frame:?}"));
        prop_assert_eq!(decoder.counters().crc_errors, 1);
    }

    #[test]
    fn after_any_garbage_the_second_frame_gets_through(
        garbage in prop::collection::vec(any::<u8>(), 0..300), lost in message(), message in message(),
    ) {
        let mut decoder = Decoder::new();
        decoder.push_all(&garbage, |_| ());
        let mut out = [0; WIRE_MAX];
        let length = encode(&lost, 1, &mut out).unwrap();
        decoder.push_all(&out[..length], |_| ());
        let length = encode(&message, 2, &mut out).unwrap();
        let mut found = 0;
        decoder.push_all(&out[..length], |frame| {
            found += 1;
            assert_eq!(Message::parse(&frame), Ok(message));
        });
        prop_assert_eq!(found, 1);
    }
}

fn rejection(kind: Kind, payload: &[u8]) -> PayloadError {
    Message::parse(&Frame { kind: kind as u8, sequence: 0, payload }).unwrap_err()
}

#[test]
fn invalid_values_are_rejected_by_name() {
    let hello = rejection(Kind::Hello, b"HAPX\x01\x00\x01\x02\x03\x04");
    assert_eq!(hello, PayloadError::Value { kind: Kind::Hello, field: "magic", found: u32::from_le_bytes(*b"HAPX") });
    let escape = rejection(Kind::Log, b"\x1b[2J");
    assert_eq!(escape, PayloadError::Value { kind: Kind::Log, field: "text", found: 0x1b });
}

#[test]
fn the_start_of_hello_and_hello_ack_is_read_in_any_version_and_a_wrong_length_only_in_another_major() {
    let hello = |major, extra: &[u8]| {
        let payload = [b"HAPT", &[major, 5, 1, 2, 3, 4][..], extra].concat();
        Message::parse(&Frame { kind: Kind::Hello as u8, sequence: 0, payload: &payload }).map(
            |message| match message {
                Message::Hello(hello) => (hello.version, hello.nonce),
                other => panic!("{other:?}"),
            },
        )
    };
    assert_eq!(
        [hello(1, &[]), hello(2, &[]), hello(2, &[0; 48])],
        [1, 2, 2].map(|major| Ok(((major, 5), 0x0403_0201)))
    );
    assert_eq!(hello(1, &[0]), Err(PayloadError::Length { kind: Kind::Hello, found: 11 }));
    assert_eq!(HelloAck::version_and_nonce(&[2, 7, 1, 2, 3, 4, 9]), Some(((2, 7), 0x0403_0201)));
    assert_eq!(HelloAck::version_and_nonce(&[2, 7, 1, 2, 3]), None);
}

#[test]
fn a_stop_is_a_stop_whatever_its_length() {
    for length in 0..=PAYLOAD_MAX {
        let frame = Frame { kind: Kind::Stop as u8, sequence: 0, payload: &[7; PAYLOAD_MAX][..length] };
        assert_eq!(Message::parse(&frame), Ok(Message::Stop));
    }
}

#[test]
fn a_state_must_be_as_long_as_its_status_says() {
    let with_velocity_bit = [0, Status::VELOCITY, 0, 0, 0, 0, 1, 1, 1, 1];
    assert_eq!(rejection(Kind::State, &with_velocity_bit), PayloadError::Length { kind: Kind::State, found: 10 });
    assert_eq!(rejection(Kind::State, &[]), PayloadError::Length { kind: Kind::State, found: 0 });
}

#[test]
fn a_type_of_a_later_version_is_named() {
    let frame = Frame { kind: 0x55, sequence: 0, payload: &[] };
    assert_eq!(Message::parse(&frame), Err(PayloadError::UnknownKind { kind: 0x55 }));
}

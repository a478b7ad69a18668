//! Descriptors of several devices, intact and damaged, and the forces that reach their motors.

use haptic_backends::hid::descriptor::MAX_DESCRIPTOR_BYTES;
use haptic_backends::hid::force::PidEncoder;
use haptic_backends::hid::layout::{LayoutError, PidLayout};
use haptic_backends::hid::report::Report;
use haptic_backends::hid::summary::DescriptorSummary;
use haptic_device::xorshift::Xorshift;
use haptic_emulator::force_feedback::ForceFeedback;
use haptic_emulator::style::{ARDUINO, OPEN_FFBOARD, STYLES, Style, VPFORCE};
use nalgebra::Vector2;

const FULL_SCALE_N: f64 = 4.0;

fn code(style: &Style) -> PidEncoder {
    PidEncoder::new(PidLayout::find(&style.descriptor(), 2).unwrap(), [FULL_SCALE_N; 2]).unwrap()
}

/// Creates a device with both effects created, set and started.
fn armed(style: Style, code: &PidEncoder) -> ForceFeedback {
    let mut device = ForceFeedback::new(style, None);
    let (shape, enable) = code.layout().control.enable.clone().unwrap();
    device.output(shape.empty().with(&enable.field, enable.value).bytes(), 0);
    for axis in 0..2 {
        let block = axis as i64 + 1;
        device.set_feature(code.create().bytes(), 0);
        let reports = [code.set_effect(axis, block), code.set_magnitude(block, 0), code.start(block)];
        reports.iter().for_each(|report: &Report| device.output(report.bytes(), 0));
    }
    device
}

#[test]
fn every_style_is_found_with_its_own_ids_and_ranges() {
    for style in STYLES {
        let layout = PidLayout::find(&style.descriptor(), 2).unwrap();
        assert_eq!(layout.effect.shape.id, style.effect_id, "{}", style.name);
        assert_eq!(layout.constant.shape.id, style.constant_id);
        assert_eq!(layout.constant.magnitude.logical, (-style.magnitude_max, style.magnitude_max));
        assert_eq!(layout.axes.iter().map(|axis| axis.logical).collect::<Vec<_>>(), [style.axis_range; 2]);
        assert_eq!(layout.effect.shape.empty().bytes().len(), style.effect_bytes());
    }
    let enable = |style: &Style| PidLayout::find(&style.descriptor(), 2).unwrap().control.enable.unwrap().1.value;
    assert_eq!([OPEN_FFBOARD, ARDUINO, VPFORCE].map(|style| enable(&style)), [1, 1, 2]);
}

#[test]
fn the_force_at_the_motor_is_the_one_asked_for_in_every_quadrant() {
    let mut random = Xorshift::new(3);
    for style in STYLES {
        let code = code(&style);
        let mut device = armed(style, &code);
        for _ in 0..2000 {
            let force_n = Vector2::new(random.between(-2.8, 2.8), random.between(-2.8, 2.8));
            for (axis, magnitude) in code.magnitudes(force_n).into_iter().enumerate() {
                device.output(code.set_magnitude(axis as i64 + 1, magnitude).bytes(), 1000);
            }
            let [x, y] = device.force(1000);
            let felt_n = Vector2::new(x, -y) * FULL_SCALE_N;
            let step_n = FULL_SCALE_N / style.magnitude_max as f64;
            assert!((felt_n - force_n).norm() < 1.5 * step_n, "{}: {force_n} became {felt_n}", style.name);
        }
        assert_eq!(device.mistakes().0, 0, "{:?}", device.mistakes());
    }
}

/// Returns the force that OpenFFBoard applies for a constant effect, along x and y of the HID specification. The axis
/// fractions are (sin, −cos) of the direction, which is in hundredths of a degree, and the force is minus the magnitude
/// times the fraction.
fn open_ffboard_force(direction: i64, magnitude: i64) -> Vector2<f64> {
    let (sine, cosine) = (direction as f64 / 100.0).to_radians().sin_cos();
    let shares = Vector2::new(sine, -cosine);
    -(magnitude as f64) * shares
}

#[test]
fn directions_are_those_of_open_ffboard() {
    let code = code(&OPEN_FFBOARD);
    let effect = &code.layout().effect;
    let direction = |axis: usize| code.set_effect(axis, 1).get(&effect.directions[0]);
    let per_n = OPEN_FFBOARD.magnitude_max as f64 / FULL_SCALE_N;
    for force_n in [[1.0, 0.0], [0.0, 1.0], [-2.0, 0.5], [0.7, -1.9]].map(Vector2::from) {
        let [x, y] = code.magnitudes(force_n);
        let exerted = open_ffboard_force(direction(0), x) + open_ffboard_force(direction(1), y);
        // In the HID specification, y increases towards the user.
        let wanted = Vector2::new(force_n.x, -force_n.y) * per_n;
        assert!((exerted - wanted).amax() < 1.0, "{force_n}: {exerted} in place of {wanted}");
    }
}

#[test]
fn a_force_beyond_full_scale_or_no_number_stays_within_the_device() {
    let code = code(&ARDUINO);
    assert_eq!(code.magnitudes(Vector2::new(1e9, -1e9)).map(i64::abs), [10000, 10000]);
    assert_eq!(code.magnitudes(Vector2::new(f64::NAN, 0.0))[0], 0);
}

#[test]
fn effects_end_by_themselves_a_hundred_milliseconds_after_their_last_start() {
    for style in STYLES {
        let code = code(&style);
        let mut device = armed(style, &code);
        device.output(code.set_magnitude(1, 1000).bytes(), 0);
        assert!(device.force(99_000)[0] != 0.0);
        assert_eq!(device.force(101_000), [0.0; 2]);
    }
}

/// Returns the descriptor with the first occurrence of `from` replaced.
fn replaced(style: &Style, from: &[u8], to: &[u8]) -> Vec<u8> {
    let bytes = style.descriptor();
    let at = bytes.windows(from.len()).position(|window| window == from).expect("the descriptor has it");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

#[test]
fn what_is_missing_is_named() {
    let find = |bytes: &[u8]| PidLayout::find(bytes, 2).unwrap_err().to_string();
    let without_magnitude = replaced(&OPEN_FFBOARD, &[0x09, 0x70], &[0x09, 0x71]);
    assert!(find(&without_magnitude).contains("magnitude of a constant force"), "{}", find(&without_magnitude));
    let without_start = replaced(&OPEN_FFBOARD, &[0x09, 0x79], &[0x09, 0x01]);
    assert!(find(&without_start).contains("command to start an effect"));
    let without_y =
        replaced(&OPEN_FFBOARD, &[0x05, 0x01, 0x09, 0x30, 0x09, 0x31], &[0x05, 0x01, 0x09, 0x30, 0x09, 0x32]);
    assert!(find(&without_y).contains("no y axis"));
    assert!(PidLayout::find(&without_y, 1).is_ok(), "one axis is enough for one");
    let without_effect = find(&replaced(&OPEN_FFBOARD, &[0x09, 0x21, 0xA1], &[0x09, 0x01, 0xA1]));
    assert!(without_effect.contains("no Set Effect report"), "{without_effect}");
    let without_create = replaced(&OPEN_FFBOARD, &[0x0A, 0xAB, 0x00], &[0x0A, 0xA1, 0x00]);
    assert!(find(&without_create).contains("Create New Effect"));
}

#[test]
fn a_joystick_without_force_feedback_says_so() {
    let pad = [
        0x05, 0x01, 0x09, 0x04, 0xA1, 0x01, 0x15, 0x00, 0x26, 0xFF, 0x03, 0x75, 0x10, 0x95, 0x02, 0x09, 0x30, 0x09,
        0x31, 0x81, 0x02, 0xC0,
    ];
    assert_eq!(PidLayout::find(&pad, 2), Err(LayoutError::NoForceFeedback));
}

const LEVER_M: f64 = 0.05;

fn summary(bytes: &[u8]) -> DescriptorSummary {
    DescriptorSummary::read(bytes, LEVER_M).unwrap()
}

#[test]
fn a_summary_states_what_would_be_driven_and_what_the_descriptor_does_not_tell() {
    let two = summary(&OPEN_FFBOARD.descriptor());
    assert_eq!((two.axes, two.constant_force, two.rate_hz), (2, true, Some(500.0)));
    assert_eq!(two.travel_m, [0.1, 0.1]);
    assert!(two.notes[0].contains("axes = 1") && two.notes[1].contains("travel_m"), "{:?}", two.notes);
    let mouse = summary(&MOUSE);
    assert_eq!((mouse.axes, mouse.constant_force, mouse.rate_hz), (0, false, None));
    assert!(mouse.travel_m.is_empty() && mouse.notes[0].contains("no force feedback"), "{:?}", mouse.notes);
}

#[test]
fn a_device_that_enables_force_on_one_axis_alone_has_one_axis() {
    // Axes Enable has x twice instead of x and y.
    let enable = |usage| [0x09, 0x55, 0xA1, 0x02, 0x05, 0x01, 0x09, 0x30, 0x09, usage];
    let bytes = replaced(&OPEN_FFBOARD, &enable(0x31), &enable(0x30));
    let error = PidLayout::find(&bytes, 2).unwrap_err();
    assert_eq!(error, LayoutError::OneMotor);
    assert!(error.to_string().contains("axes = 1"), "{error}");
    let one = summary(&bytes);
    assert_eq!((one.axes, one.rate_hz, one.travel_m.len()), (1, Some(1000.0), 1));
    assert!(!one.notes.iter().any(|note| note.starts_with("motors")), "{:?}", one.notes);
}

/// Descriptor of a mouse whose reports have an id that no style uses.
const MOUSE: [u8; 23] = [
    0x05, 0x01, 0x09, 0x02, 0xA1, 0x01, 0x85, 0x55, 0x15, 0x81, 0x25, 0x7F, 0x75, 0x08, 0x95, 0x02, 0x09, 0x30, 0x09,
    0x31, 0x81, 0x06, 0xC0,
];

#[test]
fn the_axes_are_not_those_of_a_mouse_in_the_same_descriptor() {
    for is_relative in [true, false] {
        let mut mouse = MOUSE;
        mouse[21] = if is_relative { 0x06 } else { 0x02 };
        let bytes = [&mouse[..], &OPEN_FFBOARD.descriptor()].concat();
        let ids = PidLayout::find(&bytes, 2).unwrap().axes.iter().map(|axis| axis.report_id).collect::<Vec<_>>();
        assert_eq!(ids, [OPEN_FFBOARD.input_id; 2]);
    }
}

#[test]
fn travel_comes_from_the_units_of_the_axes_and_not_from_those_of_a_hat_ahead_of_them() {
    // A length of 8 cm in the English system would be in inches; here the system is SI.
    let physical = |unit: u8| [0x35, 0x00, 0x45, 0x08, 0x65, unit];
    // The style resets the unit and the range after the axes.
    let axes: &[u8] = &[0x05, 0x01, 0x09, 0x30, 0x09, 0x31, 0x09, 0x32];
    let with = |ahead: &[u8]| summary(&replaced(&OPEN_FFBOARD, axes, &[ahead, axes].concat()));
    let length = with(&physical(0x11));
    assert!((length.travel_m[0] - 0.08).abs() < 1e-12 && (length.travel_m[1] - 0.08).abs() < 1e-12, "{length:?}");
    let angle = with(&physical(0x14));
    assert!((angle.travel_m[0] - 8f64.to_radians() * LEVER_M).abs() < 1e-12, "{angle:?}");
    assert!(angle.notes.iter().any(|note| note.contains("lever_m")), "{angle:?}");
    let hat = [0x05, 0x01, 0x09, 0x39, 0x15, 0x00, 0x25, 0x07, 0x75, 0x08, 0x95, 0x01, 0x81, 0x02];
    let standing = with(&[&physical(0x14)[..], &hat].concat());
    assert_eq!(standing.travel_m, [0.1, 0.1], "{standing:?}");
    // The hat's unit with a range of the axes' own, and the other way round.
    let own_range = [&physical(0x14)[..], &hat, &[0x45, 0x7F]].concat();
    let own_unit = [&physical(0x14)[..], &hat, &[0x65, 0x14]].concat();
    assert_eq!([with(&own_range).travel_m, with(&own_unit).travel_m], [[0.1, 0.1], [0.1, 0.1]]);
    assert_eq!(summary(&ARDUINO.descriptor()).travel_m, [0.1, 0.1], "the degrees are those of the hats");
}

#[test]
fn a_report_of_any_length_that_nobody_needs_changes_nothing() {
    let bytes = OPEN_FFBOARD.descriptor();
    for count in [[0x03, 0x01, 0x00, 0x00], [0xFF; 4]] {
        let mut long = vec![0x06, 0x00, 0xFF, 0x09, 0x01, 0xA1, 0x01, 0x85, 0x55, 0x09, 0x02, 0x75, 0x08, 0x97];
        long.extend(count.iter().chain(&[0x91, 0x02, 0xC0]));
        assert_eq!(summary(&[&long[..], &bytes].concat()), summary(&bytes));
    }
}

#[test]
fn any_bytes_are_read_or_rejected_with_bounded_work() {
    let fill = |unit: &[u8]| unit.iter().copied().cycle().take(MAX_DESCRIPTOR_BYTES).collect::<Vec<u8>>();
    let largest = [0xFF; 4];
    let usages = [&[0x1B, 0, 0, 0, 0, 0x2B][..], &largest].concat();
    for unit in [
        vec![0xA4],
        vec![0xB4],
        vec![0xA4, 0xB4],
        vec![0xA1, 0x01],
        vec![0xA1, 0x01, 0xC0],
        [&[0x77][..], &largest, &[0x97], &largest, &[0x09, 1, 0xB1, 2]].concat(),
        [&usages[..], &[0x75, 1, 0x96, 0, 8, 0x81, 2]].concat(),
        [&usages[..], &[0x75, 8, 0x95, 1, 0x81, 0]].concat(),
        [&usages[..], &usages, &usages].concat(),
        (1..=255).flat_map(|id| [0x85, id, 0x09, 0x30, 0x75, 1, 0x96, 0, 8, 0x81, 2]).collect(),
        vec![0xFE, 0xFF, 0x00],
    ] {
        let _ = DescriptorSummary::read(&fill(&unit), LEVER_M);
    }
    let mut random = Xorshift::new(17);
    for _ in 0..20_000 {
        let length = random.between(0.0, 200.0) as usize;
        let bytes: Vec<u8> = (0..length).map(|_| random.between(0.0, 256.0) as u8).collect();
        let _ = DescriptorSummary::read(&bytes, LEVER_M);
    }
}

#[test]
fn ranges_that_contradict_their_bits_are_refused_by_name() {
    // The magnitude of Set Constant Force has 8 bits instead of 16.
    let narrow = replaced(
        &VPFORCE,
        &[0x26, 0x00, 0x10, 0x75, 0x10, 0x95, 0x01, 0x91, 0x02, 0xC0],
        &[0x26, 0x00, 0x10, 0x75, 0x08, 0x95, 0x01, 0x91, 0x02, 0xC0],
    );
    let error = PidLayout::find(&narrow, 2).unwrap_err().to_string();
    assert!(error.contains("magnitude") && error.contains("8 bits"), "{error}");
}

/// Applies one random mutation to a descriptor: a flipped bit, or a changed, lost, inserted or truncated byte.
fn mutate(bytes: &mut Vec<u8>, random: &mut Xorshift) {
    if bytes.is_empty() {
        return;
    }
    let at = (random.between(0.0, bytes.len() as f64) as usize).min(bytes.len() - 1);
    match random.between(0.0, 5.0) as u32 {
        0 => bytes[at] ^= 1 << (random.between(0.0, 8.0) as u32 % 8),
        1 => bytes[at] = random.between(0.0, 256.0) as u8,
        2 => drop(bytes.remove(at)),
        3 => bytes.insert(at, random.between(0.0, 256.0) as u8),
        _ => bytes.truncate(at.max(1)),
    }
}

/// The million mutations are spread over all styles. If a layout is still found, it must encode forces within its
/// ranges.
#[test]
fn a_million_mutated_descriptors_are_found_or_refused_and_nothing_panics() {
    let mut random = Xorshift::new(11);
    let originals = STYLES.map(|style| style.descriptor());
    let (mut found, mut rejected) = (0, 0);
    for round in 0..1_000_000 {
        let mut bytes = originals[round % originals.len()].clone();
        for _ in 0..=(random.between(0.0, 4.0) as u32) {
            mutate(&mut bytes, &mut random);
        }
        match PidLayout::find(&bytes, 2) {
            Err(_) => rejected += 1,
            Ok(layout) => {
                found += 1;
                exercise(layout);
            }
        }
    }
    assert!(
        found > 10_000 && rejected > 10_000,
        "{found} found, {rejected} rejected: the mutations do not reach far enough"
    );
}

fn exercise(layout: PidLayout) {
    let Ok(code) = PidEncoder::new(layout, [FULL_SCALE_N; 2]) else { return };
    let (lowest, highest) = code.layout().constant.magnitude.logical;
    for magnitude in code.magnitudes(Vector2::new(1e6, -1e6)) {
        assert!((lowest..=highest).contains(&magnitude));
    }
    assert_eq!(code.magnitudes(Vector2::zeros()), [0, 0], "no force is no magnitude, whatever the descriptor says");
}

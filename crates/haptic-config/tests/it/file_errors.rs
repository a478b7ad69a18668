//! Every mistake in a file is reported with file, line, column, key and remedy.

use haptic_backends::KINDS;
use haptic_config::builtin::PROFILES;
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use haptic_config::stability::Stability;
use haptic_config::{device, kind::FileKind, profile, scene};
use haptic_loop::scene_hand::SceneHand;
use haptic_planar::scene::description::{ImpactState, ShapeDescription};
use nalgebra::Vector2;

fn scene_errors(text: &str) -> String {
    scene::describe(&Source::in_memory("x.toml", text)).unwrap_err().to_string()
}

fn profile_errors(text: &str) -> String {
    profile::load(&Source::in_memory("p.toml", text)).unwrap_err().to_string()
}

fn device_errors(text: &str) -> String {
    device::load(&Source::in_memory("d.toml", text), KINDS).unwrap_err().to_string()
}

#[track_caller]
fn assert_starts(text: &str, start: &str) {
    assert!(text.starts_with(start), "expected the start {start:?}, got {text:?}");
}

fn body_with(line: &str) -> String {
    format!("[[body]]\nname = \"a\"\nshape = {{ disc_radius_m = 0.01 }}\n{line}\n")
}

#[test]
fn a_negative_friction_is_reported_with_location_key_and_remedy() {
    let first = body_with("");
    let text = format!("{first}[[body]]\nname = \"b\"\nshape = {{ disc_radius_m = 0.01 }}\nfriction = -1\n");
    let expected = "x.toml:8:12: body[1].friction: must be from 0 to 100, got -1; write friction = 0.5";
    assert_eq!(scene_errors(&text), expected);
}

#[test]
fn an_unknown_key_names_the_nearest_right_one() {
    let errors = scene_errors(&body_with("fricton = 0.4"));
    assert_starts(&errors, "x.toml:4:1: body[0].fricton: unknown key; did you mean friction?");
    assert_starts(
        &scene_errors("[wurld]\n[[body]]\nname=\"a\"\nshape={disc_radius_m=1}"),
        "x.toml:1:2: wurld: unknown key; did you mean world?",
    );
    assert_starts(
        &profile_errors("[coupling]\nstifness_n_per_m = 3\n"),
        "p.toml:2:1: coupling.stifness_n_per_m: unknown key; did you mean stiffness_n_per_m?",
    );
    assert_starts(
        &device_errors("[model]\nmas_kg = 3\n"),
        "d.toml:2:1: model.mas_kg: unknown key; did you mean mass_kg?",
    );
}

#[test]
fn all_mistakes_of_a_file_are_reported_in_its_order() {
    let errors = scene_errors(&body_with("friction = -1\nmass_kg = 0\nangle_rad = \"x\"\nrestitution = 2"));
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 4);
    assert_starts(lines[0], "x.toml:4:12: body[0].friction: ");
    assert_starts(lines[1], "x.toml:5:11: body[0].mass_kg: must be from 1e-6 to 10000, got 0;");
    assert_starts(lines[2], "x.toml:6:13: body[0].angle_rad: must be a number, got the text \"x\";");
    assert_starts(lines[3], "x.toml:7:15: body[0].restitution: must be from 0 to 1, got 2;");
}

#[test]
fn numbers_that_are_not_finite_or_too_large_are_rejected() {
    for (value, problem) in [
        ("nan", "must be a finite number, got NaN"),
        ("inf", "must be a finite number, got inf"),
        ("1e400", "must be a finite number, got inf"),
        ("1e300", "must be from 1e-6 to 10000, got 1e300"),
        ("99999999999999999999", "must be from 1e-6 to 10000"),
        ("true", "must be a number, got true"),
        ("[1]", "must be a number, got a list of 1"),
        ("{}", "must be a number, got a table"),
        ("1979-05-27", "must be a number, got the date 1979-05-27"),
    ] {
        let errors = scene_errors(&body_with(&format!("mass_kg = {value}")));
        assert_starts(&errors, &format!("x.toml:4:11: body[0].mass_kg: {problem}"));
    }
}

#[test]
fn vectors_texts_flags_and_whole_numbers_are_distinguished() {
    let error = |line: &str| scene_errors(&body_with(line));
    assert_starts(
        &error("position_m = [1]"),
        "x.toml:4:14: body[0].position_m: must be a list of 2 numbers, got a list of 1; write position_m = [0.0, 0.0]",
    );
    assert_starts(&error("position_m = [0, \"a\"]"), "x.toml:4:18: body[0].position_m: must be a number");
    assert_starts(&error("fixed = 1"), "x.toml:4:9: body[0].fixed: must be true or false, got 1; write fixed = false");
    assert_starts(&error("layer = 1.5"), "x.toml:4:9: body[0].layer: must be a whole number");
    assert_starts(
        &error("layer = 9999999999"),
        "x.toml:4:9: body[0].layer: must be a whole number from -2147483648 to",
    );
    assert_eq!(
        error("colour = \"redd\""),
        "x.toml:4:10: body[0].colour: is neither #rrggbb nor the CSS name of a colour: \"redd\"; write colour = \"red\""
    );
    assert_starts(&error("colour = \"#ééé\""), "x.toml:4:10: body[0].colour: is neither #rrggbb nor");
}

#[test]
fn a_body_needs_a_name_and_exactly_one_outline() {
    let shape = |shape: &str| scene_errors(&format!("[[body]]\nname = \"a\"\nshape = {shape}\n"));
    assert_starts(
        &scene_errors("[[body]]\nshape = { disc_radius_m = 1 }\n"),
        "x.toml:1:1: body[0].name: is missing; write name = \"probe\"",
    );
    assert_starts(&scene_errors("[[body]]\nname = \"a\"\n"), "x.toml:1:1: body[0].shape: is missing; write shape = ");
    assert_starts(&shape("{}"), "x.toml:3:9: body[0].shape: has no outline; write shape = ");
    assert_starts(
        &shape("{ disc_radius_m = 1, box_m = [1, 1] }"),
        "x.toml:3:9: body[0].shape: has more than one outline; write shape = ",
    );
    assert_starts(&shape("3"), "x.toml:3:9: body[0].shape: must be a table, got 3");
    assert_starts(
        &shape("{ box_m = [0.1, 0.0] }"),
        "x.toml:3:25: body[0].shape.box_m: must be from 1e-6 to 1000, got 0",
    );
    assert_starts(
        &shape("{ polygon_m = [[0, 0], 3] }"),
        "x.toml:3:32: body[0].shape.polygon_m: must be a list of 2 numbers, got 3",
    );
    assert_starts(
        &shape("{ capsule_m = { length_m = 1 } }"),
        "x.toml:3:23: body[0].shape.capsule_m.radius_m: is missing",
    );
    assert_starts(
        &shape("{ disk_radius_m = 1 }"),
        "x.toml:3:11: body[0].shape.disk_radius_m: unknown key; did you mean disc_radius_m?",
    );
}

#[test]
fn sections_of_the_wrong_type_are_rejected() {
    assert_starts(&scene_errors("body = 3"), "x.toml:1:8: body: must be a list of tables, got 3; write [[body]]");
    assert_starts(&scene_errors("body = [3]"), "x.toml:1:9: body[0]: must be a table, got 3; write [[body]]");
    assert_starts(&scene_errors("[body]\nname = \"a\"\n"), "x.toml:1:1: body: must be a list of tables, got a table");
    assert_starts(&scene_errors(&format!("world = 1\n{}", body_with(""))), "x.toml:1:9: world: must be a table, got 1");
    assert_starts(&scene_errors(""), "x.toml:1:1: body: a scene needs at least one body");
}

#[test]
fn keys_that_are_not_yet_supported_are_reported_as_such() {
    let joint = format!("{}[[joint]]\nkind = \"hinge\"\n", body_with(""));
    assert_starts(&scene_errors(&joint), "x.toml:5:1: joint: joints are not yet supported");
    let first = format!("[world]\norder = \"first\"\n{}", body_with(""));
    assert_starts(&scene_errors(&first), "x.toml:2:9: world.order: first-order worlds are not yet supported");
}

#[test]
fn choices_list_what_is_allowed_and_propose_the_nearest() {
    let text = format!("[world]\nimpact_state = \"interstate\"\n{}", body_with(""));
    let errors = scene_errors(&text);
    assert_starts(&errors, "x.toml:2:16: world.impact_state: must be one of \"inter-state\", ");
    assert!(errors.ends_with("got the text \"interstate\"; write impact_state = \"inter-state\""), "{errors}");
}

#[test]
fn pairs_and_tools_need_their_bodies() {
    let with = |tail: &str| scene_errors(&format!("{}{tail}", body_with("")));
    assert_starts(&with("[[pair]]\nfriction = 1\n"), "x.toml:5:1: pair[0].bodies: is missing");
    assert_starts(&with("[[pair]]\nbodies = [\"a\"]\n"), "x.toml:6:10: pair[0].bodies: must be a list of two names");
    assert_starts(&with("[tool]\nhandle_m = [0, 0]\n"), "x.toml:5:1: tool.body: is missing; write body = \"probe\"");
    assert_starts(&with("[tool]\nbody = 3\n"), "x.toml:6:8: tool.body: must be a text, got 3");
}

#[test]
fn what_is_not_toml_is_reported_with_its_location() {
    assert_starts(&scene_errors("[world]\ngravity = = 3\n"), "x.toml:2:11: is not TOML: ");
    assert_starts(&scene_errors("a = 1\na = 2\n"), "x.toml:2:1: is not TOML: duplicate key");
    assert_starts(&scene_errors("[[body]\n"), "x.toml:1:");
}

#[test]
fn a_scene_without_optional_keys_takes_the_defaults() {
    let scene = scene::describe(&Source::in_memory("x.toml", &body_with(""))).unwrap();
    let body = &scene.bodies[0];
    assert_eq!(scene.gravity_m_per_s2, Vector2::new(0.0, -9.81));
    assert_eq!(scene.impact_state, ImpactState::InterState);
    assert_eq!((body.friction, body.restitution, body.density_kg_per_m2), (0.5, 0.2, 10.0));
    assert_eq!((body.fixed, body.layer, body.colour.as_str()), (false, 0, "#8899aa"));
    assert_eq!((body.mass_kg, body.inertia_kg_m2), (None, None));
    assert_eq!(body.shapes[0].shape, ShapeDescription::Disc { radius_m: 0.01 });
    assert!(scene.tool.is_none());
}

#[test]
fn whole_numbers_and_inline_lists_are_as_good_as_the_long_way() {
    let text = "body = [{ name = \"a\", shape = { box_m = [1, 2] }, mass_kg = 3, angle_rad = -0.5 }]\n\
                tool = { body = \"a\", handle_m = [0, 1] }";
    let scene = scene::describe(&Source::in_memory("x.toml", text)).unwrap();
    assert_eq!(scene.bodies[0].mass_kg, Some(3.0));
    assert_eq!(scene.bodies[0].angle_rad, -0.5);
    assert_eq!(scene.bodies[0].shapes[0].shape, ShapeDescription::Box { size_m: Vector2::new(1.0, 2.0) });
    assert_eq!(scene.tool.unwrap().handle_m, Vector2::new(0.0, 1.0));
}

#[test]
fn an_empty_profile_has_the_defaults_of_the_contract() {
    let profile = profile::load(&Source::in_memory("p.toml", "")).unwrap();
    assert_eq!((profile.scene.name.as_str(), profile.device.name.as_str()), ("table", "simulated-2dof"));
    assert_eq!(profile.coupling.stiffness_n_per_m, 400.0);
    assert_eq!(profile.coupling.damping_n_s_per_m, 0.1);
    let limits = profile.safety.limits(false);
    assert_eq!((limits.max_force_n, limits.slew_n_per_s, limits.engage_ramp_s), (4.0, 2000.0, 2.0));
    assert_eq!(profile.safety.limits(true).engage_ramp_s, 0.2);
    assert_eq!(profile.realtime.cpu, None);
    assert_eq!(profile.view_listen.to_string(), "127.0.0.1:8520");
}

#[test]
fn wrong_values_of_a_profile_are_rejected() {
    for (text, start) in [
        (
            "[coupling]\nstiffness_n_per_m = -1",
            "p.toml:2:21: coupling.stiffness_n_per_m: must be from 0 to 1000000, got -1",
        ),
        ("[mapping]\nscale = 0", "p.toml:2:9: mapping.scale: must be from 0.001 to 1000, got 0"),
        ("[mapping]\naxis = [0, 0]", "p.toml:2:8: mapping.axis: has no direction"),
        ("[safety]\npassivity = \"tnak\"", "p.toml:2:13: safety.passivity: must be one of \"tank\""),
        ("[safety]\nmax_force_n = 0", "p.toml:2:15: safety.max_force_n: must be from 0.001 to 1000000, got 0"),
        ("[safety]\nlost_after_s = 0.001", "p.toml:2:16: safety.lost_after_s: must not be less than stale_after_s"),
        ("[realtime]\nrate_hz = 2000", "p.toml:2:11: realtime.rate_hz: must be a whole number from 1 to 1000"),
        ("[realtime]\nrate_hz = 300", "p.toml:2:11: realtime.rate_hz: 300 Hz does not divide"),
        ("[realtime]\ncpu = \"first\"", "p.toml:2:7: realtime.cpu: must be a whole number"),
        ("[realtime]\npriority = 100", "p.toml:2:12: realtime.priority: must be a whole number from 1 to 99"),
        ("[realtime]\nwake_early_s = 0.001", "p.toml:2:16: realtime.wake_early_s: must be from 0 to 0.0002"),
        ("[view]\nlisten = \"8520\"", "p.toml:2:10: view.listen: is not an address: \"8520\""),
        ("scene = 3", "p.toml:1:9: scene: must be a text, got 3"),
    ] {
        assert_starts(&profile_errors(text), start);
    }
}

#[test]
fn the_axis_of_a_profile_is_normalised() {
    let profile = profile::load(&Source::in_memory("p.toml", "[mapping]\naxis = [0, -5]")).unwrap();
    assert_eq!(profile.mapping.axis, Vector2::new(0.0, -1.0));
}

#[test]
fn a_device_has_the_defaults_of_the_contract_and_hardware_cautious_ones() {
    let simulated = device::load(&Source::in_memory("d.toml", ""), KINDS).unwrap();
    assert_eq!((simulated.kind, simulated.axes), (&haptic_device::kind::SIMULATED, 2));
    assert_eq!((simulated.model.damping_n_s_per_m, simulated.damping_is_assumed), ([0.5; 2], false));
    assert_eq!((simulated.model.coulomb_n, simulated.model.delay_s), ([0.05; 2], [0.0003; 2]));
    assert!(simulated.hand.is_none());
    let joystick = device::load(&Source::in_memory("d.toml", "kind = \"hid-pid\"\nvendor_id = 0x2341"), KINDS).unwrap();
    assert_eq!((joystick.model.damping_n_s_per_m, joystick.damping_is_assumed), ([0.05; 2], true));
    assert_eq!((joystick.model.delay_s, joystick.delay_is_assumed), ([0.001; 2], true));
    assert_eq!(joystick.model.coulomb_n, [0.0; 2]);
    assert_eq!(joystick.address.vendor_id, Some(0x2341));
    let measured = "kind = \"hid-pid\"\n[model]\ndelay_s = 0.0004\ncoulomb_n = 0.02\n";
    let measured = device::load(&Source::in_memory("d.toml", measured), KINDS).unwrap();
    assert_eq!((measured.model.delay_s, measured.delay_is_assumed), ([0.0004; 2], false));
    assert_eq!(measured.model.coulomb_n, [0.02; 2]);
}

#[test]
fn a_model_takes_one_value_or_one_for_each_axis() {
    let device =
        device::load(&Source::in_memory("d.toml", "[model]\nmass_kg = [0.1, 0.2]\ncoulomb_n = 1"), KINDS).unwrap();
    assert_eq!(device.model.mass_kg, [0.1, 0.2]);
    assert_eq!(device.model.coulomb_n, [1.0, 1.0]);
    let one = device_errors("axes = 1\n[model]\nmass_kg = [0.1, 0.2]");
    assert_starts(&one, "d.toml:3:11: model.mass_kg: must be a list of 1 numbers, got a list of 2");
}

#[test]
fn wrong_values_of_a_device_are_rejected() {
    for (text, start) in [
        ("kind = \"simulatd\"", "d.toml:1:8: kind: must be one of \"simulated\""),
        ("axes = 3", "d.toml:1:8: axes: must be a whole number from 1 to 2"),
        ("kind = \"serial\"\n[hand]\nmass_kg = 1", "d.toml:2:1: hand: a serial device is held by a real hand"),
        ("[hand]\npath = []", "d.toml:2:8: hand.path: is empty"),
        ("[hand]\npath = [[0, 0, 0], [0, 0, 0]]", "d.toml:2:20: hand.path[1]: times must increase"),
        ("[hand]\npath = [[0, 0, 0], [1, 0, 1]]", "d.toml:2:20: hand.path[1]: must end where it starts"),
        ("[hand]\npath = [[0, 0, 0]]", "d.toml:2:9: hand.path[0]: needs two rows or more to repeat"),
        ("[hand]\npath = [[-1, 0, 0], [0, 0, 0]]", "d.toml:2:9: hand.path[0]: starts before time zero, at -1 s"),
        ("[hand]\npath = [[0, 0]]", "d.toml:2:9: hand.path: must be a list of 3 numbers, got a list of 2"),
        ("[model]\nmass_kg = 0", "d.toml:2:11: model.mass_kg: must be from 1e-6 to 1000, got 0"),
        (
            "variant = \"v9\"",
            "d.toml:1:11: variant: must be one of \"v3\", \"v3-extended\", \"v3-clockwise\", \"v2\", \"kit\"",
        ),
    ] {
        assert_starts(&device_errors(text), start);
    }
}

#[test]
fn the_kind_of_a_file_is_detected_even_from_misspelt_keys() {
    let kind = |text: &str| FileKind::detect(&Source::in_memory("f.toml", text)).map_err(|errors| errors.to_string());
    assert_eq!(kind("[[body]]\nname = \"a\"\n"), Ok(FileKind::Scene));
    assert_eq!(kind("[copling]\n"), Ok(FileKind::Profile));
    assert_eq!(kind("axes = 1\n[model]\n"), Ok(FileKind::Device));
    assert!(kind("").unwrap_err().starts_with("f.toml: is empty; a scene has [[body]]"));
    assert!(kind("answer = 42\n").unwrap_err().starts_with("f.toml: is not a scene, profile or device"));
}

#[test]
fn every_key_of_a_device_identifies_a_device_file() {
    for key in ["watchdog_s", "travel_m", "centre_counts", "reverse_force_x", "reverse_force_y", "lever_m"] {
        let kind = FileKind::detect(&Source::in_memory("f.toml", &format!("{key} = 1\n")));
        assert_eq!(kind, Ok(FileKind::Device), "{key}");
    }
}

#[test]
fn a_key_without_effect_is_rejected_with_its_location() {
    assert_starts(
        &scene_errors(&body_with("mass_kg = 0.1\ndensity_kg_per_m2 = 10")),
        "x.toml:5:21: body[0].density_kg_per_m2: is given besides mass_kg, which overrides it; \
         remove mass_kg or density_kg_per_m2",
    );
}

#[test]
fn keys_that_a_kind_of_device_ignores_are_warnings() {
    for (text, start) in [
        ("kind = \"simulated\"\nport = \"/dev/a\"", "port has no effect on a device of kind \"simulated\""),
        ("watchdog_s = 0.02", "watchdog_s has no effect on a device of kind \"simulated\""),
        ("kind = \"serial\"\npath = \"/dev/a\"", "path has no effect on a device of kind \"serial\""),
        (
            "kind = \"odrive\"\nvariant = \"v2\"",
            "variant has no effect on a device of kind \"odrive\", only with kind = \"haply-2diy\"",
        ),
        ("kind = \"hid-pid\"\nbaud = 9600", "baud has no effect"),
        ("kind = \"hid-native\"\ntravel_m = 0.1", "travel_m has no effect"),
        ("kind = \"haply-2diy\"\nlever_m = 0.1", "lever_m has no effect"),
    ] {
        let warnings = device::load(&Source::in_memory("d.toml", text), KINDS).unwrap().warnings;
        assert!(matches!(&warnings[..], [only] if only.starts_with(start)), "{warnings:?}");
    }
}

#[test]
fn the_hand_of_a_scene_is_read_and_wrong_values_are_rejected() {
    const BODY: &str = "[[body]]\nname = \"a\"\nshape = { disc_radius_m = 0.01 }\n";
    let load = |hand: &str| scene::load_file(&Source::in_memory("s.toml", &format!("{BODY}{hand}")));
    assert_eq!(load("").unwrap().hand, SceneHand::default());
    let hand =
        load("[hand]\nstart_m = [0.01, 0.02]\npath = [[0, 0, 0], [1, 0, 1], [2, 0, 0]]\nidle_s = 3").unwrap().hand;
    assert_eq!((hand.start_m, hand.idle_s), (Some(Vector2::new(0.01, 0.02)), 3.0));
    assert_eq!(hand.path.unwrap().at(3.0), Vector2::new(0.0, 1.0), "it repeats by default");
    let cases = [
        ("[hand]\npath = []", "s.toml:5:8: hand.path: is empty"),
        ("[hand]\npath = [[0, 0, 0], [0, 0, 0]]", "s.toml:5:20: hand.path[1]: times must increase"),
        ("[hand]\npath = [[0, 0, 0], [1, 0, 1]]", "s.toml:5:20: hand.path[1]: must end where it starts"),
        ("[hand]\npath = [[0, 0]]", "s.toml:5:9: hand.path: must be a list of 3 numbers, got a list of 2"),
        ("[hand]\npath = [[-1, 0, 0], [0, 0, 0]]", "s.toml:5:9: hand.path[0]: starts before time zero, at -1 s"),
        ("[hand]\nstart_m = 1", "s.toml:5:11: hand.start_m: must be a list of 2 numbers, got 1"),
        ("[hand]\nidle_s = -1", "s.toml:5:10: hand.idle_s: must be"),
        ("[hand]\nidle = 1", "s.toml:5:1: hand.idle: unknown key; did you mean idle_s?"),
        ("[tool]\nbody = \"a\"\nweightless = 1", "s.toml:6:14: tool.weightless: must be true or false, got 1"),
    ];
    for (text, expected) in cases {
        let errors = load(text).unwrap_err().to_string();
        assert_starts(&errors, expected);
    }
}

#[test]
fn hardware_without_a_delay_counts_as_a_full_service_period_late() {
    let model = |text: &str| {
        let profile = profile::load(&Source::in_memory("p.toml", text)).unwrap();
        Setup::from_profile(profile, None, KINDS).unwrap().device_model()
    };
    assert_eq!(model("scene = \"wall\"\ndevice = \"hapkit\"\n").delay_s, 0.001);
    let slow = model("scene = \"wall\"\ndevice = \"hapkit\"\n[realtime]\nrate_hz = 250\n");
    assert_eq!((slow.delay_s, slow.coulomb_n), (0.004, 0.0));
    assert_eq!(model("scene = \"wall\"\n").delay_s, 0.0003);
}

#[test]
fn the_profiles_of_unmeasured_hardware_are_passive() {
    for name in ["hapkit", "haply-2diy-v2", "haply-2diy-v3", "hid-joystick", "odrive-knob"] {
        let profile = profile::load(&PROFILES.built_in(name).unwrap()).unwrap();
        let stability = Stability::new(&Setup::from_profile(profile, None, KINDS).unwrap());
        assert!(stability.passive, "{name}: {}", stability.text);
    }
}

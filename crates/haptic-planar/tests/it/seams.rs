//! A floor made of several bodies, or of several pieces of one body, feels like a single one.

use crate::common::measure::{Samples, assert_below};
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, ShapeDescription};
use haptic_planar::tick::TICK_S;
use nalgebra::vector;

const FRICTION: f64 = 0.4;

fn tile(index: usize, left: f64, width: f64) -> BodyDescription {
    let name = format!("tile{index}");
    with(fixed(&name, box_shape(width, 0.02), left + width / 2.0, -0.01), 1.0, FRICTION, 0.2)
}

/// Twenty equal tiles, from x = 0 to 0.4 m.
fn equal_tiles() -> Vec<BodyDescription> {
    (0..20).map(|i| tile(i, i as f64 * 0.02, 0.02)).collect()
}

/// Tiles of different widths, from x = 0 to more than 0.4 m.
fn odd_tiles() -> Vec<BodyDescription> {
    let widths = [0.013, 0.031, 0.004, 0.022, 0.0071, 0.05, 0.0093];
    let mut left = 0.0;
    let mut tiles = Vec::new();
    while left < 0.4 {
        let width = widths[tiles.len() % widths.len()];
        tiles.push(tile(tiles.len(), left, width));
        left += width;
    }
    tiles
}

/// One concave body with a flat top from x = 0 to 0.4 m and teeth below; it is cut into pieces.
fn comb() -> Vec<BodyDescription> {
    let mut corners = vec![[0.4, 0.0], [0.0, 0.0]];
    for i in 0..5 {
        let left = 0.08 * f64::from(i);
        corners.extend([[left, -0.03], [left + 0.04, -0.03]]);
        if i < 4 {
            corners.extend([[left + 0.05, -0.01], [left + 0.07, -0.01]]);
        }
    }
    corners.push([0.4, -0.03]);
    vec![with(fixed("comb", polygon(&corners), 0.0, 0.0), 1.0, FRICTION, 0.2)]
}

/// Drags a tool 20 mm high over a ground and back; asserts the friction at every tick once it slides.
#[track_caller]
fn assert_smooth(ground: Vec<BodyDescription>, shape: ShapeDescription, upright: bool) {
    let mut bodies = ground;
    bodies.push(with(body("tool", shape, 0.03, 0.01), 0.1, FRICTION, 0.2));
    let mut lab = Lab::new(&scene(0.0, bodies, Some("tool"))).gains(800.0, 4.0);
    if upright {
        lab = lab.upright(5.0, 0.02);
    }
    lab.lead(vector![0.03, 0.005], 500, |_, _| ());
    for (to, sign) in [(0.36, 1.0), (0.03, -1.0)] {
        let (mut ratio, mut tick) = (Samples::default(), 0);
        lab.lead(vector![to, 0.005], 3300, |lab, output| {
            tick += 1;
            if tick > 500 {
                assert!(output.tool_normal_n > 0.0, "lost the ground at {}", lab.body("tool").centre_m);
                ratio.push(-sign * output.force_on_hand_n.x / output.force_on_hand_n.y);
            }
        });
        assert_below("worst ratio off friction", ratio.worst_from(FRICTION), 5e-3);
    }
    assert_below("penetration, m", lab.penetration_m, 1e-5);
    assert_below("energy gain, J", lab.gain_j(), 1e-9);
}

#[test]
fn a_box_dragged_over_tiles_feels_no_seam() {
    assert_smooth(equal_tiles(), box_shape(0.03, 0.02), false);
    assert_smooth(equal_tiles(), box_shape(0.02, 0.02), false);
    assert_smooth(equal_tiles(), box_shape(0.012, 0.02), true);
}

#[test]
fn a_box_dragged_over_tiles_of_many_widths_feels_no_seam() {
    assert_smooth(odd_tiles(), box_shape(0.03, 0.02), false);
}

#[test]
fn a_round_tool_dragged_over_tiles_feels_no_seam() {
    assert_smooth(equal_tiles(), disc(0.01), true);
    assert_smooth(odd_tiles(), disc(0.01), true);
    assert_smooth(equal_tiles(), capsule(0.02, 0.01), false);
}

#[test]
fn a_tool_dragged_over_the_pieces_of_one_body_feels_no_seam() {
    assert!(Lab::new(&scene(0.0, comb(), None)).scene.pieces.len() > 3, "the comb must be cut into pieces");
    assert_smooth(comb(), box_shape(0.03, 0.02), false);
    assert_smooth(comb(), disc(0.01), true);
}

#[test]
fn a_box_dragged_over_tiles_that_lie_apart_does_not_catch_on_their_sides() {
    for gap in [2e-5, 5e-5, 1e-4, 2e-4] {
        for (width, gravity, speed) in [(0.03, 0.0, 0.1), (0.02, GRAVITY, 0.05), (0.012, GRAVITY, 0.2)] {
            let mut bodies: Vec<_> = (0..20).map(|i| tile(i, i as f64 * (0.02 + gap), 0.02)).collect();
            bodies.push(with(body("tool", box_shape(width, 0.02), 0.03, 0.01), 0.1, FRICTION, 0.2));
            let mut lab = Lab::new(&scene(gravity, bodies, Some("tool"))).gains(800.0, 4.0).upright(5.0, 0.02);
            lab.lead(vector![0.03, 0.005], 500, |_, _| ());
            let (mut ratio, mut tick) = (Samples::default(), 0);
            lab.lead(vector![0.36, 0.005], (0.33 / speed / 1e-3) as usize, |_, output| {
                tick += 1;
                if tick > 500 {
                    ratio.push(output.tool_tangent_n.abs() / output.tool_normal_n);
                }
            });
            let what = format!("{width} m wide, gravity {gravity}, tiles {gap} m apart");
            assert_below(&format!("{what}: worst ratio off friction"), ratio.worst_from(FRICTION), 5e-3);
            assert_below(&format!("{what}: energy gain, J"), lab.gain_j(), 1e-9);
        }
    }
}

/// A box that the hand drags over tiles that lie apart.
struct Dragged {
    size_m: [f64; 2],
    rounding_m: f64,
    mass_kg: f64,
    friction: f64,
    /// Height of the handle over the centre of mass, m.
    handle_m: f64,
    gains: [f64; 2],
    pressed_m: f64,
    speed_m_per_s: f64,
    gap_m: f64,
    /// Depth of the box in the tiles at the start, m.
    deep_m: f64,
}

impl Dragged {
    /// Presses the box onto the tiles, drags it over three gaps, and asserts the force on the hand at every tick once
    /// the box slides steadily.
    #[track_caller]
    fn assert_slides(&self) {
        const TILE_M: f64 = 0.01;
        let [width, height] = self.size_m;
        let tile = |i: i32| {
            let middle = (f64::from(i) + 0.5) * TILE_M + f64::from(i) * self.gap_m;
            with(fixed(&format!("tile{i}"), box_shape(TILE_M, 0.02), middle, -0.01), 1.0, self.friction, 0.0)
        };
        let mut bodies: Vec<_> = (-5..12).map(tile).collect();
        let core = box_shape(width - 2.0 * self.rounding_m, height - 2.0 * self.rounding_m);
        let tool = with(body("tool", core, 0.004, height / 2.0 - self.deep_m), self.mass_kg, self.friction, 0.0);
        bodies.push(BodyDescription { rounding_m: self.rounding_m, ..tool });
        let mut world = scene(0.0, bodies, Some("tool"));
        world.tool.as_mut().unwrap().handle_m = vector![0.0, self.handle_m];
        let [stiffness, damping] = self.gains;
        let mut lab = Lab::new(&world).gains(stiffness, damping);
        let down = lab.input.hand_m - vector![0.0, self.pressed_m];
        lab.lead(down, 300, |_, _| ());
        // The speed rises in 0.2 s, so that the box does not tip over.
        for tick in 1..=200 {
            let speed = self.speed_m_per_s * f64::from(tick) / 200.0;
            lab.hand(lab.input.hand_m + vector![speed * TICK_S, 0.0]);
        }
        let ticks = |way_m: f64| (way_m / self.speed_m_per_s / TICK_S) as usize;
        let settling = ticks(self.friction * self.pressed_m) + (24e3 * self.mass_kg / damping) as usize;
        let along = |ticks: usize| vector![ticks as f64 * TICK_S * self.speed_m_per_s, 0.0];
        lab.lead(lab.input.hand_m + along(settling), settling, |_, _| ());
        let load_n = stiffness * self.pressed_m;
        let (mut friction, crossing) = (Samples::default(), ticks(3.0 * TILE_M));
        lab.lead(lab.input.hand_m + along(crossing), crossing, |_, output| {
            friction.push(output.force_on_hand_n.x.abs() / load_n);
        });
        let what = format!("{width} m wide, held at {} m, tiles {} m apart", self.handle_m, self.gap_m);
        assert_below(&format!("{what}: worst force off friction"), friction.worst_from(self.friction), 5e-3);
        assert_below(&format!("{what}: energy gain, J"), lab.gain_j(), 1e-9);
    }
}

#[test]
fn a_box_held_off_its_centre_does_not_catch_on_tiles_that_lie_apart() {
    let box_of = |size_m, mass_kg, friction, handle_m, gains, pressed_m, speed_m_per_s, gap_m| {
        let (rounding_m, deep_m) = (0.0, 0.0);
        Dragged { size_m, rounding_m, mass_kg, friction, handle_m, gains, pressed_m, speed_m_per_s, gap_m, deep_m }
            .assert_slides();
    };
    for gap_m in [2e-5, 5e-5, 1e-4, 2e-4] {
        // The forces of a tick rotate the box towards the next tile, or away from it.
        box_of([0.025, 0.0238], 0.12, 0.26, 0.0029, [2250.0, 3.3], 0.0079, 0.0072, gap_m);
        box_of([0.0306, 0.0369], 0.0043, 0.42, -0.0145, [425.0, 1.1], 0.0042, 0.0045, gap_m);
        box_of([0.012, 0.0294], 0.014, 0.56, -0.0072, [835.0, 1.0], 0.0076, 0.0093, gap_m);
        // They rotate it by several milliradians, or would rotate a light one by 0.05 rad.
        box_of([0.012, 0.0381], 0.13, 0.7, -0.0131, [841.0, 4.0], 0.004, 0.071, gap_m);
        box_of([0.006, 0.0151], 0.0041, 0.74, -0.0047, [635.0, 1.0], 0.0065, 0.0132, gap_m);
    }
}

#[test]
fn a_rounded_box_slides_onto_the_next_tile() {
    let box_of = |size_m, rounding_m, mass_kg, friction, gains, pressed_m, speed_m_per_s, gap_m| {
        let (handle_m, deep_m) = (0.0, 0.0);
        Dragged { size_m, rounding_m, mass_kg, friction, handle_m, gains, pressed_m, speed_m_per_s, gap_m, deep_m }
            .assert_slides();
    };
    for gap_m in [5e-5, 1e-4, 2e-4] {
        box_of([0.017, 0.0058], 0.0004, 0.144, 0.32, [427.0, 12.4], 0.0025, 0.054, gap_m);
        box_of([0.0398, 0.0237], 0.001, 0.31, 0.34, [1580.0, 31.8], 0.0025, 0.091, gap_m);
        box_of([0.033, 0.037], 0.0031, 0.4, 0.42, [455.0, 28.3], 0.005, 0.084, gap_m);
    }
}

#[test]
fn a_rounded_box_within_the_slop_does_not_feel_the_next_tile_as_a_step() {
    let box_of = |size_m, rounding_m, mass_kg, friction, gains, pressed_m, speed_m_per_s, gap_m, deep_m| {
        let handle_m = 0.0;
        Dragged { size_m, rounding_m, mass_kg, friction, handle_m, gains, pressed_m, speed_m_per_s, gap_m, deep_m }
            .assert_slides();
    };
    for deep_m in [1e-6, 4e-6] {
        for gap_m in [5e-5, 1e-4, 2e-4] {
            box_of([0.0174, 0.0318], 0.00044, 0.196, 0.244, [2089.0, 30.0], 0.0047, 0.0031, gap_m, deep_m);
            box_of([0.0157, 0.0208], 0.0024, 0.0132, 0.396, [1598.0, 5.0], 0.001, 0.0054, gap_m, deep_m);
            box_of([0.03, 0.0277], 0.0083, 0.048, 0.34, [639.0, 5.0], 0.0068, 0.0076, gap_m, deep_m);
        }
    }
}

#[test]
fn a_box_on_many_tiles_feels_its_friction_at_every_tick() {
    let box_of = |size_m, rounding_m, mass_kg, friction, handle_m, gains, pressed_m, speed_m_per_s, gap_m| {
        let deep_m = 0.0;
        Dragged { size_m, rounding_m, mass_kg, friction, handle_m, gains, pressed_m, speed_m_per_s, gap_m, deep_m }
            .assert_slides();
    };
    for gap_m in [5e-5, 1e-4, 2e-4] {
        box_of([0.0381, 0.019], 0.0036, 0.0043, 0.446, -0.0051, [1498.0, 1.0], 0.0061, 0.041, gap_m);
        box_of([0.038, 0.0053], 0.0014, 0.0062, 0.187, 0.0, [816.0, 5.0], 0.0065, 0.0489, gap_m);
        box_of([0.0333, 0.0095], 0.0025, 0.0049, 0.236, 0.0, [1836.0, 1.0], 0.0007, 0.0117, gap_m);
        box_of([0.0550, 0.1083], 0.0142, 0.0122, 0.227, -0.0389, [2831.0, 1.17], 0.0004, 0.0129, gap_m);
    }
}

#[test]
fn the_round_corner_of_a_fast_box_passes_the_edge_of_the_next_tile_within_a_tick() {
    for i in 0..20 {
        Dragged {
            size_m: [0.0202, 0.0143],
            rounding_m: 0.00047,
            mass_kg: 0.303,
            friction: 0.4,
            handle_m: 0.0,
            gains: [1214.0, 35.0],
            pressed_m: 0.004,
            speed_m_per_s: 0.0986,
            gap_m: 1e-4 + 5e-6 * f64::from(i),
            deep_m: 0.0,
        }
        .assert_slides();
    }
}

#[test]
fn a_rounded_box_that_moves_farther_than_its_rounding_in_a_tick_does_not_catch() {
    for (rounding_m, speed_m_per_s) in [(5e-5, 0.04), (5e-5, 0.4), (1e-4, 0.2), (2e-4, 0.2), (2e-4, 0.4), (5e-4, 0.4)] {
        for gap_m in [5e-5, 1.5e-4] {
            Dragged {
                size_m: [0.02, 0.01],
                rounding_m,
                mass_kg: 0.02,
                friction: 0.3,
                handle_m: -0.003,
                gains: [1000.0, 12.0],
                pressed_m: 0.001,
                speed_m_per_s,
                gap_m,
                deep_m: 0.0,
            }
            .assert_slides();
        }
    }
}

/// Drags a box that rests with one end of its underside at `end_m` from the side of a tile of which the top is level,
/// and asserts that it never feels more than its friction.
#[track_caller]
fn assert_leaves(end_m: f64, is_front: bool, direction: f64, friction: f64, handle_m: f64) {
    const WIDTH_M: f64 = 0.0105;
    // The side is at x = 0. A front end may enter the tile there, a rear end may leave it.
    let (wide, gap_m) = (0.04, 1.5e-4);
    let mut bodies = vec![
        tile(0, if is_front { 0.0 } else { -wide }, wide),
        tile(1, if is_front { -wide - gap_m } else { gap_m }, wide),
        with(body("tool", box_shape(WIDTH_M, 0.0107), 0.0, 0.0107 / 2.0), 0.02, friction, 0.0),
    ];
    bodies.iter_mut().for_each(|body| (body.friction, body.restitution) = (friction, 0.0));
    bodies[2].position_m.x = if is_front { end_m - WIDTH_M / 2.0 } else { end_m + WIDTH_M / 2.0 };
    let mut world = scene(GRAVITY, bodies, Some("tool"));
    world.tool.as_mut().unwrap().handle_m = vector![0.0, handle_m];
    let mut lab = Lab::new(&world).gains(480.0, 2.0);
    lab.lead(lab.input.hand_m, 100, |_, _| ());
    let (mut highest, mut tilt) = (0.0_f64, 0.0_f64);
    let load_n = 0.02 * GRAVITY;
    lab.lead(lab.input.hand_m + vector![direction * 0.002, 0.0], 400, |lab, output| {
        highest = highest.max(output.tool_tangent_n.abs() / load_n);
        tilt = tilt.max(libm::atan2(lab.body("tool").rotation.y, lab.body("tool").rotation.x).abs());
    });
    let what = format!("end at {end_m} m, front {is_front}, direction {direction}, friction {friction}");
    assert_below(&format!("{what}: highest friction over the load"), highest, 1.005 * friction);
    assert_below(&format!("{what}: tilt, rad"), tilt, 1e-4);
}

#[test]
fn a_box_that_rests_with_its_end_at_a_side_does_not_catch_on_it() {
    for end_m in [-1e-6, -1e-9, -1e-12, 0.0, 4.5e-13, 1e-9, 1e-6] {
        for is_front in [true, false] {
            for direction in [1.0, -1.0] {
                assert_leaves(end_m, is_front, direction, 0.445, -0.003);
                assert_leaves(end_m, is_front, direction, 0.2, 0.003);
                assert_leaves(end_m, is_front, direction, 0.3, 0.0045);
            }
        }
    }
}

#[test]
fn a_tool_on_its_corner_dragged_over_tiles_feels_no_seam() {
    let mut bodies = equal_tiles();
    let tool = with(body("tool", box_shape(0.02, 0.02), 0.03, 0.0142), 0.1, FRICTION, 0.2);
    bodies.push(BodyDescription { angle_rad: std::f64::consts::FRAC_PI_4, ..tool });
    let mut lab = Lab::new(&scene(0.0, bodies, Some("tool"))).gains(800.0, 4.0).upright(5.0, 0.02);
    lab.lead(vector![0.03, 0.009], 500, |_, _| ());
    let (mut ratio, mut tick) = (Samples::default(), 0);
    lab.lead(vector![0.36, 0.009], 3300, |_, output| {
        tick += 1;
        if tick > 500 {
            ratio.push(output.tool_tangent_n.abs() / output.tool_normal_n);
        }
    });
    assert_below("worst ratio off friction", ratio.worst_from(FRICTION), 5e-3);
}

#[test]
fn a_disc_rolling_freely_over_tiles_keeps_its_speed() {
    for tiles in [equal_tiles(), odd_tiles()] {
        let mut wheel = with(body("disc", disc(0.01), 0.03, 0.01), 0.1, FRICTION, 0.2);
        wheel.velocity_m_per_s.x = 0.3;
        wheel.angular_velocity_rad_per_s = -30.0;
        let mut bodies = tiles;
        bodies.push(wheel);
        let mut lab = Lab::new(&scene(GRAVITY, bodies, None));
        lab.run_s(1.1);
        let disc = lab.body("disc");
        assert_below("speed lost, m/s", (disc.velocity_m_per_s - vector![0.3, 0.0]).norm(), 1e-9);
        assert_below("height off, m", (disc.centre_m.y - 0.01).abs(), 1e-6);
    }
}

#[test]
fn a_box_thrown_over_tiles_slides_as_far_as_on_one_floor() {
    let thrown = |ground: Vec<BodyDescription>| {
        let mut rider = with(body("rider", box_shape(0.03, 0.01), 0.03, 0.005), 0.1, FRICTION, 0.2);
        rider.velocity_m_per_s.x = 1.5;
        let mut bodies = ground;
        bodies.push(rider);
        let mut lab = Lab::new(&scene(GRAVITY, bodies, None));
        lab.run_s(1.0);
        lab.body("rider").centre_m
    };
    let whole = thrown(vec![floor(FRICTION, 0.2)]);
    for tiles in [equal_tiles(), odd_tiles(), comb()] {
        assert_below("stop off, m", (thrown(tiles) - whole).norm(), 1e-6);
    }
}

#[test]
fn a_concave_body_that_comes_down_tilted_is_never_pushed_through_the_far_side() {
    // The hook is cut from its corner at the left end to the inner one. When it is tilted to the right, the arm's
    // corner on the cut is covered.
    let hook = [[-0.015, 0.0], [0.015, 0.0], [0.015, 0.01], [-0.005, 0.01], [-0.005, 0.03], [-0.015, 0.03]];
    for tilt in -20..=20 {
        let tool = with(body("tool", polygon(&hook), 0.0, 0.001), 0.1, FRICTION, 0.2);
        let tilted = BodyDescription { angle_rad: 0.001 * f64::from(tilt), ..tool };
        let ground = with(fixed("ground", box_shape(0.3, 0.02), 0.0, -0.01), 1.0, FRICTION, 0.2);
        let mut lab = Lab::new(&scene(9.81, vec![ground, tilted], None));
        for _ in 0..500 {
            let output = lab.free();
            assert_below("penetration", output.penetration_m, 2e-5);
        }
        assert_below("gain", lab.gain_j(), 1e-7);
    }
}

#[test]
fn a_box_whose_corner_is_level_with_the_side_of_a_tile_when_a_tick_ends_slides_on() {
    for gap in [1e-4, 1.5e-4, 2e-4] {
        let pitch = 0.011 + gap;
        let mut bodies: Vec<_> = (0..20).map(|i| tile(i, i as f64 * pitch - 0.0055, 0.011)).collect();
        bodies.push(with(body("tool", box_shape(0.04, 0.02), 0.022, 0.01), 0.05, FRICTION, 0.0));
        let mut lab = Lab::new(&scene(0.0, bodies, Some("tool"))).gains(800.0, 5.0);
        lab.hand(vector![0.022, 0.01]);
        lab.lead(vector![0.022, 0.005], 50, |_, _| ());
        lab.lead(vector![0.022, 0.005], 50, |_, _| ());
        let (mut ratio, mut tick) = (Samples::default(), 0);
        lab.lead(vector![0.1155, 0.005], 935, |_, output| {
            tick += 1;
            if tick > 300 {
                ratio.push(-output.force_on_hand_n.x / output.force_on_hand_n.y);
            }
        });
        assert_below(&format!("tiles {gap} m apart: ratio off friction"), ratio.worst_from(FRICTION), 5e-3);
    }
}

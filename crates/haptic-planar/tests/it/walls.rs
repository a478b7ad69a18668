//! Walls along a line: mass, and sliding along their faces, over their joints and through their corners.

use crate::common::measure::{Samples, assert_below, assert_near};
use crate::common::*;
use haptic_planar::math::rotate;
use haptic_planar::scene::description::{BodyDescription, ShapeDescription};
use haptic_planar::tick::TICK_S;
use nalgebra::{Vector2, vector};
use std::f64::consts::PI;

const FRICTION: f64 = 0.4;

fn walls(points: &[[f64; 2]], thickness_m: f64, closed: bool) -> ShapeDescription {
    ShapeDescription::Walls { points_m: points.iter().map(|&point| point.into()).collect(), thickness_m, closed }
}

fn square(half: f64) -> [[f64; 2]; 4] {
    [[-half, -half], [half, -half], [half, half], [-half, half]]
}

/// Fixed walls and a tool that does not bounce, with a hand.
fn lab(walls: ShapeDescription, tool: ShapeDescription, at: Vector2<f64>, friction: f64) -> Lab {
    lab_at(0.0, walls, tool, at, friction)
}

/// The same with walls and tool turned by an angle.
fn lab_at(angle_rad: f64, walls: ShapeDescription, tool: ShapeDescription, at: Vector2<f64>, friction: f64) -> Lab {
    let walls = BodyDescription { angle_rad, ..with(fixed("walls", walls, 0.0, 0.0), 1.0, friction, 0.0) };
    let tool = BodyDescription { angle_rad, ..with(body("tool", tool, at.x, at.y), 0.1, friction, 0.0) };
    Lab::new(&scene(0.0, vec![walls, tool], Some("tool"))).gains(800.0, 4.0)
}

/// Drags a tool along the straight top of walls and back; asserts the friction at every tick once it slides.
fn assert_smooth(points: &[[f64; 2]], angle_rad: f64, tool: &ShapeDescription, height: f64) {
    let turned = |x: f64, y: f64| rotate(vector![angle_rad.cos(), angle_rad.sin()], vector![x, y]);
    let at = turned(0.03, 0.005 + height);
    // Kept upright, a round tool slides instead of rolling.
    let mut lab = lab_at(angle_rad, walls(points, 0.01, false), tool.clone(), at, FRICTION).upright(5.0, 0.02);
    let along = turned(1.0, 0.0);
    lab.lead(turned(0.03, height), 500, |_, _| ());
    for (to, sign) in [(0.36, 1.0), (0.03, -1.0)] {
        let (mut ratio, mut tick) = (Samples::default(), 0);
        lab.lead(turned(to, height), 3300, |lab, output| {
            tick += 1;
            if tick > 500 {
                assert!(output.tool_normal_n > 0.0, "lost the wall at {}", lab.body("tool").centre_m);
                let force = output.force_on_hand_n;
                ratio.push(-sign * force.dot(&along) / force.dot(&vector![-along.y, along.x]));
            }
        });
        assert_below("worst ratio off friction", ratio.worst_from(FRICTION), 5e-3);
    }
    assert_below("penetration, m", lab.penetration_m, 1e-5);
    assert_below("energy gain, J", lab.gain_j(), 1e-9);
}

#[test]
fn a_tool_does_not_catch_on_the_joints_of_a_straight_wall() {
    let line = [0.0, 0.013, 0.044, 0.048, 0.07, 0.0771, 0.13, 0.2, 0.2093, 0.3, 0.4].map(|x| [x, 0.0]);
    for angle_rad in [0.0, 0.37, -2.0] {
        assert_smooth(&line, angle_rad, &disc(0.01), 0.01);
        assert_smooth(&line, angle_rad, &box_shape(0.03, 0.02), 0.01);
        assert_smooth(&line, angle_rad, &hexagon(0.01), 0.01 * (PI / 6.0).cos());
    }
}

#[test]
fn a_disc_rolling_freely_over_joints_keeps_its_speed() {
    let line = [0.0, 0.013, 0.044, 0.048, 0.07, 0.0771, 0.13, 0.2, 0.2093, 0.3, 0.4].map(|x| [x, 0.0]);
    let mut wheel = with(body("disc", disc(0.01), 0.03, 0.015), 0.1, FRICTION, 0.2);
    (wheel.velocity_m_per_s.x, wheel.angular_velocity_rad_per_s) = (0.3, -30.0);
    let ground = with(fixed("walls", walls(&line, 0.01, false), 0.0, 0.0), 1.0, FRICTION, 0.2);
    let mut lab = Lab::new(&scene(9.81, vec![ground, wheel], None));
    lab.run_s(1.1);
    let disc = lab.body("disc");
    assert_below("speed lost, m/s", (disc.velocity_m_per_s - vector![0.3, 0.0]).norm(), 1e-9);
    assert_below("height off, m", (disc.centre_m.y - 0.015).abs(), 1e-6);
}

#[test]
fn every_joint_is_a_seam() {
    let line = [[-0.04, 0.0], [0.0, 0.0], [0.04, 0.03], [0.04, -0.03], [0.07, -0.03], [0.05, -0.045]];
    for (closed, fixed) in [(false, true), (true, true), (false, false)] {
        let body = BodyDescription { fixed, ..body("walls", walls(&line, 0.004, closed), 0.1, 0.2) };
        let scene = Lab::new(&scene(0.0, vec![body], None)).scene;
        let covered = scene.pieces.iter().map(|piece| piece.seams.as_ref().map_or(0, |seams| seams.internal_edges));
        let covered: u32 = covered.map(u16::count_ones).sum();
        // A mitre covers an edge of each neighbour, a filling its own two edges and one of each neighbour.
        let (joints, fillings) = (4 + 2 * u32::from(closed), scene.pieces.len() as u32 - 5 - u32::from(closed));
        assert!(fillings > 0);
        assert_eq!(covered, 2 * joints + 2 * fillings, "closed: {closed}, fixed: {fixed}");
    }
}

/// Leads the hand along a path that lies inside the walls, several times round; `check` gets the normal force.
fn lead_round(lab: &mut Lab, path: &[[f64; 2]], rounds: usize, mut check: impl FnMut(f64)) {
    for &to in std::iter::repeat_n(path, rounds).flatten() {
        lab.lead(to.into(), 600, |_, output| check(output.tool_normal_n));
    }
}

#[test]
fn a_tool_slides_round_the_inside_of_a_room() {
    let corners = square(0.04);
    let backwards: Vec<[f64; 2]> = corners.into_iter().rev().collect();
    for (line, tool) in [
        (corners.to_vec(), disc(0.005)),
        (backwards, disc(0.005)),
        (corners.to_vec(), box_shape(0.01, 0.01)),
        (corners.to_vec(), hexagon(0.005)),
    ] {
        let mut lab = lab(walls(&line, 0.01, true), tool, vector![0.0, 0.0], FRICTION);
        let path = square(0.032);
        lab.lead(path[3].into(), 500, |_, _| ());
        let mut lost = 0;
        lead_round(&mut lab, &path, 3, |normal_n| lost += u32::from(normal_n == 0.0));
        assert!(lost < 72, "no contact in {lost} of 7200 ticks");
        let at = lab.body("tool").centre_m;
        assert_below("distance from the last corner, m", (at - vector![-0.03, 0.03]).norm(), 1.5e-3);
        assert_below("penetration, m", lab.penetration_m, 1e-5);
        assert_below("energy gain, J", lab.gain_j(), 1e-8);
    }
}

#[test]
fn a_tool_slides_along_a_bend_on_both_sides() {
    // Half a circle of short walls, each turned by 10°.
    let arc = |radius: f64| {
        let point = move |i: usize| {
            let angle = i as f64 * PI / 18.0;
            [radius * angle.cos(), radius * angle.sin()]
        };
        (0..19).map(point).collect::<Vec<_>>()
    };
    for (radius_m, press_m) in [(0.044, 0.003), (0.056, -0.003)] {
        let start = vector![0.2f64.cos(), 0.2f64.sin()];
        let mut lab = lab(walls(&arc(0.05), 0.004, false), disc(0.003), radius_m * start, FRICTION);
        lab.lead((radius_m + press_m) * start, 100, |_, _| ());
        let (mut lost, mut fastest) = (0, 0.0f64);
        for tick in 1..=3000 {
            let angle = 0.2 + 2.6 * f64::from(tick) / 3000.0;
            let output = lab.hand((radius_m + press_m) * vector![angle.cos(), angle.sin()]);
            lost += u32::from(tick > 200 && output.tool_normal_n == 0.0);
            if tick > 200 {
                fastest = fastest.max(lab.body("tool").velocity_m_per_s.norm());
            }
        }
        let speed = (radius_m + press_m) * 2.6 / (3000.0 * TICK_S);
        assert_below("speed over that of the hand", fastest / speed, 2.0);
        assert!(lost < 60, "no contact in {lost} ticks");
        assert_below("penetration, m", lab.penetration_m, 1e-5);
        assert_below("energy gain, J", lab.gain_j(), 1e-8);
    }
}

#[test]
fn a_tool_is_held_by_a_sharp_corner() {
    let sharp = [[0.0, 0.02], [0.06, 0.0], [0.0, -0.02]];
    let mut lab = lab(walls(&sharp, 0.004, false), disc(0.003), vector![0.0, 0.0], 0.1);
    lab.lead(vector![0.08, 0.0], 2000, |_, _| ());
    lab.lead(vector![0.08, 0.003], 500, |_, _| ());
    assert_below("position of the tool, m", lab.body("tool").centre_m.x, 0.05);
    assert_below("penetration, m", lab.penetration_m, 1e-5);
    assert_below("energy gain, J", lab.gain_j(), 1e-8);
    lab.lead(vector![0.0, 0.0], 500, |_, _| ());
    assert_below("distance from the hand, m", lab.body("tool").centre_m.norm(), 5e-3);
}

#[test]
fn a_ring_of_walls_has_the_mass_of_its_area() {
    let of = |shape, rounding_m| {
        let body = BodyDescription { rounding_m, density_kg_per_m2: 7.0, ..body("ring", shape, 0.0, 0.0) };
        let scene = Lab::new(&scene(0.0, vec![body], None)).scene;
        (scene.bodies[0].mass_kg / 7.0, scene.bodies[0].inertia_kg_m2 / 7.0, scene.bodies[0].centre_m)
    };
    let (a, b) = (0.11f64, 0.09f64);
    for line in [square(0.05).to_vec(), square(0.05).into_iter().rev().collect()] {
        let (area, second, centre) = of(walls(&line, 0.01, true), 0.0);
        assert_near("area", area, a * a - b * b, 1e-12);
        assert_near("second moment", second, (a.powi(4) - b.powi(4)) / 6.0, 1e-12);
        assert_below("centre", centre.norm(), 1e-15);
        let r = 0.004;
        let (area, ..) = of(walls(&line, 0.01, true), r);
        assert_near("area", area, a * a + 4.0 * a * r + PI * r * r - (b - 2.0 * r).powi(2), 1e-12);
    }
    // An L of two rectangles, 0.105 m by 0.01 m and 0.01 m by 0.09 m: its mitre is that of one rectangle's corner.
    let (area, second, centre) = of(walls(&[[0.0, 0.0], [0.1, 0.0], [0.1, 0.095]], 0.01, false), 0.0);
    let parts = [(0.105, 0.01, vector![0.0525, 0.0]), (0.01, 0.09, vector![0.1, 0.05])];
    let whole: f64 = parts.iter().map(|(w, h, _)| w * h).sum();
    let middle = parts.iter().map(|(w, h, at)| at * (w * h / whole)).sum::<Vector2<f64>>();
    let moment =
        |(w, h, at): &(f64, f64, Vector2<f64>)| w * h * ((w * w + h * h) / 12.0 + (at - middle).norm_squared());
    assert_near("area", area, whole, 1e-12);
    assert_below("centre", (centre - middle).norm(), 1e-15);
    assert_near("second moment", second, parts.iter().map(moment).sum(), 1e-12);
}

#[test]
fn balls_come_to_rest_in_a_tray_of_walls_that_falls_on_the_floor() {
    let tray = walls(&[[-0.03, 0.02], [-0.03, 0.0], [0.0, 0.0], [0.03, 0.0], [0.03, 0.02]], 0.004, false);
    let mut bodies = vec![floor(0.5, 0.2), with(body("tray", tray, 0.0, 0.01), 0.2, 0.5, 0.2)];
    for (index, x) in [-0.02, -0.008, 0.004, 0.016].into_iter().enumerate() {
        bodies.push(with(body(&format!("ball{index}"), disc(0.005), x, 0.03), 0.02, 0.5, 0.2));
    }
    let mut lab = Lab::new(&scene(9.81, bodies, None));
    lab.run_s(3.0);
    for index in 0..4 {
        let ball = lab.body(&format!("ball{index}"));
        assert!(ball.centre_m.x.abs() < 0.024 && (ball.centre_m.y - 0.009).abs() < 1e-4, "{}", ball.centre_m);
    }
    assert_below("height of the tray, m", (lab.body("tray").angle_rad).abs(), 1e-3);
    assert_below("energy gain, J", lab.gain_j(), 1e-8);
}

#[test]
fn walls_that_cross_are_fixed_or_an_error() {
    let cross = walls(&[[-0.05, 0.0], [0.05, 0.0], [0.05, 0.05], [0.0, 0.05], [0.0, -0.05]], 0.004, false);
    let loose = scene(0.0, vec![body("walls", cross.clone(), 0.0, 0.0)], None);
    let error = haptic_planar::scene::Scene::build(&loose).unwrap_err().to_string();
    assert!(error.starts_with("the walls from points 1 and 4 overlap"), "{error}");
    let mut lab = lab(cross, disc(0.004), vector![-0.01, -0.01], FRICTION);
    // Into the corner of the crossing, out of it and along both walls.
    for to in [[0.0, 0.0], [0.0, -0.03], [0.0, 0.0], [-0.03, 0.0]] {
        lab.lead(to.into(), 600, |_, _| ());
    }
    assert_below("penetration, m", lab.penetration_m, 1e-5);
    assert_below("energy gain, J", lab.gain_j(), 1e-8);
}

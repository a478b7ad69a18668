//! Titles, colours by name, templates and repeats, walls, and the errors for wrong ones.

use haptic_config::scene::{self, About, SceneFile};
use haptic_config::source::Source;
use haptic_planar::scene::description::{Bounds, Leave, SceneDescription, ShapeDescription};
use nalgebra::Vector2;

const DOMINOES: &str = include_str!("scenes/dominoes.toml");

fn load(text: &str) -> SceneFile {
    scene::load_file(&Source::in_memory("x.toml", text)).unwrap_or_else(|errors| panic!("{errors}"))
}

fn described(text: &str) -> SceneDescription {
    scene::describe(&Source::in_memory("x.toml", text)).unwrap_or_else(|errors| panic!("{errors}"))
}

fn errors(text: &str) -> String {
    scene::load_file(&Source::in_memory("x.toml", text)).unwrap_err().to_string()
}

#[track_caller]
fn assert_error(text: &str, expected: &str) {
    assert_eq!(errors(text), expected);
}

/// A template on lines 1 to 3 and a repeat of it from line 4.
fn with_repeat(lines: &str) -> String {
    format!("[[template]]\nname = \"t\"\nshape = {{ box_m = [0.01, 0.01] }}\n[[repeat]]\ntemplate = \"t\"\n{lines}\n")
}

/// A body with walls on line 3.
fn with_walls(shape: &str) -> String {
    format!("[[body]]\nname = \"a\"\nshape = {{ {shape} }}\nfixed = true\n")
}

#[test]
fn title_and_description_come_from_the_top_of_the_file() {
    let about = load(DOMINOES).about;
    assert_eq!(about.title, "A row of dominoes");
    assert!(about.description.starts_with("Push the first domino"));
    let bare = "title = \"\"\n[[body]]\nname = \"a\"\nshape = { disc_radius_m = 0.01 }\n";
    assert_eq!(load(bare).about, About::default());
    let start = "x.toml:1:9: title: must be a text, got 3; write title = ";
    assert!(errors(&bare.replace("\"\"", "3")).starts_with(start));
    let nested = bare.replace("name", "description = \"b\"\nname");
    assert!(errors(&nested).contains("it belongs at the top of the file: write description = \"b\""));
}

#[test]
fn a_colour_by_name_is_resolved_when_the_file_is_read() {
    let scene = load(DOMINOES).scene;
    assert_eq!((scene.bodies[0].colour.as_str(), scene.bodies[1].colour.as_str()), ("#8b4513", "#fffff0"));
}

#[test]
fn copies_take_the_place_of_their_repeat_and_are_counted_from_one() {
    let scene = described(DOMINOES);
    let names: Vec<&str> = scene.bodies.iter().map(|body| body.name.as_str()).collect();
    assert_eq!((names.len(), names[0], names[1], names[10], names[11]), (12, "floor", "domino1", "domino10", "probe"));
    for (index, domino) in scene.bodies[1..11].iter().enumerate() {
        assert_eq!(domino.position_m, Vector2::new(-0.07 + 0.016 * index as f64, 0.015));
        assert_eq!((domino.angle_rad, domino.mass_kg), (0.0, Some(0.01)));
    }
}

#[test]
fn a_repeat_can_turn_its_copies_and_name_them() {
    let wheel = "count = 4\nstep_rad = 0.5\nname = \"spoke {} of 4\"";
    let text = with_repeat(wheel).replace("[[repeat]]", "angle_rad = 0.25\n[[repeat]]");
    let bodies = described(&text).bodies;
    let angles: Vec<f64> = bodies.iter().map(|body| body.angle_rad).collect();
    assert_eq!(angles, [0.25, 0.75, 1.25, 1.75]);
    assert_eq!(bodies[3].name, "spoke 4 of 4");
}

#[test]
fn the_same_bodies_written_out_are_the_same_scene() {
    let repeat = with_repeat("count = 3\nposition_m = [0.0, 0.1]\nstep_m = [0.0, 0.02]");
    let body = |number: usize, y: f64| {
        format!("[[body]]\nname = \"t{number}\"\nposition_m = [0.0, {y:?}]\nshape = {{ box_m = [0.01, 0.01] }}\n")
    };
    let written: String = (0..3).map(|i| body(i + 1, 0.1 + 0.02 * i as f64)).collect();
    assert_eq!(described(&repeat), described(&written));
}

#[test]
fn wrong_templates_and_repeats_are_reported() {
    for (lines, expected) in [
        ("", "x.toml:4:1: repeat[0].count: is missing; write count = 8"),
        ("count = 0", "x.toml:6:9: repeat[0].count: must be a whole number from 1 to 20000, got 0; write count = 8"),
        (
            "count = 3",
            "x.toml:4:1: repeat[0].step_m: `t2` starts 10.00 mm inside `t1`; write step_m = [0.0142, 0.0]\n\
             x.toml:4:1: repeat[0].step_m: `t3` starts 10.00 mm inside `t1`; write step_m = [0.0142, 0.0]\n\
             x.toml:4:1: repeat[0].step_m: `t3` starts 10.00 mm inside `t2`; write step_m = [0.0142, 0.0]",
        ),
        (
            "count = 2\nstep_m = [2000.0, 0]",
            "x.toml:7:11: repeat[0].step_m: must be from -1000 to 1000, got 2000; \
             if these are millimetres, write step_m = [2.0, 0.0]",
        ),
        (
            "count = 3\nstep_m = [800, 0]",
            "x.toml:7:10: repeat[0].step_m: the last of 3 copies is at [1600.0, 0.0], outside the world; \
             write step_m = [-0.5, -0.5]",
        ),
        (
            "count = 2\nstep_m = [0.1, 0]\n[[repeat]]\ntemplate = \"t\"\ncount = 19999\nstep_m = [0.1, 0]",
            "x.toml:10:9: repeat[1].count: with 19999 copies, the scene has more than 20000 bodies; write count = 19998",
        ),
        (
            "count = 2\nstep_m = [0.1, 0]\nname = \"a\"\n[[body]]\nname = \"a2\"\nshape = { disc_radius_m = 0.01 }",
            "x.toml:10:8: body[0].name: bodies 2 and 3 are both named `a2`; write name = \"a2 3\"",
        ),
        (
            "count = 2\nstep_m = [0.1, 0]\nmass_kg = 1",
            "x.toml:8:1: repeat[0].mass_kg: unknown key; it belongs in [[body]]: write mass_kg = 1",
        ),
    ] {
        assert_error(&with_repeat(lines), expected);
    }
    let valid = with_repeat("count = 2\nstep_m = [0.1, 0]");
    assert_error(
        &valid.replace("template = \"t\"", "template = \"tt\""),
        "x.toml:5:12: repeat[0].template: there is no template named `tt`; write template = \"t\"",
    );
    assert_error(
        &format!("{valid}[[template]]\nname = \"t\"\nshape = {{ disc_radius_m = 1 }}\n"),
        "x.toml:9:8: template[1].name: there are two templates named `t`; write name = \"t_2\"",
    );
    assert_error(
        &valid.replace("shape = ", "position_m = [0.0, 0.1]\nshape = "),
        "x.toml:3:1: template[0].position_m: unknown key; it belongs in [[repeat]]: \
         write position_m = [0.0, 0.1]",
    );
    assert_error(
        "[[repeat]]\ntemplate = \"t\"\ncount = 1\n",
        "x.toml:2:12: repeat[0].template: there is no template named `t`; write [[template]] with name = \"t\" and a shape",
    );
}

#[test]
fn problems_of_a_copy_point_at_its_template_or_repeat() {
    let valid = with_repeat("count = 2\nstep_m = [0.1, 0]");
    let crossed = "shape = { polygon_m = [[0, 0], [1, 1], [1, 0], [0, 1]] }";
    let text = valid.replace("shape = { box_m = [0.01, 0.01] }", crossed);
    assert!(errors(&text).starts_with("x.toml:3:9: template[0].shape: edges 1 and 3"), "{}", errors(&text));
    let twice = "[[repeat]]\ntemplate = \"t\"\ncount = 1\nposition_m = [0.0, 1.0]\n";
    let text = format!("{valid}{twice}");
    assert!(errors(&text).starts_with("x.toml:8:1: repeat[1].name: bodies 1 and 3 are both named `t1`; "));
    let wall = "[[body]]\nname = \"wall\"\nfixed = true\nshape = { box_m = [1, 0.01] }\n";
    let expected = "x.toml:8:1: repeat[0].position_m: `t1` starts 10.00 mm inside `wall`; \
                    move them apart, or write layer = 1 so that they do not touch";
    assert_eq!(errors(&format!("{wall}{valid}")).lines().next(), Some(expected));
}

#[test]
fn the_step_of_the_remedy_keeps_the_copies_apart() {
    for (shape, step) in
        [("box_m = [0.01, 0.03]", "[0.004, 0.003]"), ("polygon_m = [[0, 0], [0.1, 0], [0, 0.01]]", "[0, 0]")]
    {
        let repeat = format!("count = 5\nstep_rad = 0.7\nstep_m = {step}");
        let text = with_repeat(&repeat).replace("box_m = [0.01, 0.01]", shape);
        let errors = errors(&text);
        let remedy = errors.lines().next().unwrap().split("; write ").nth(1).unwrap();
        load(&text.replace(&format!("step_m = {step}"), remedy));
    }
}

#[test]
fn walls_are_read() {
    let shape = "walls_m = [[0, 0], [0.1, 0], [0.1, 0.1]], thickness_m = 0.01";
    let walls = |closed| ShapeDescription::Walls {
        points_m: [[0.0, 0.0], [0.1, 0.0], [0.1, 0.1]].map(Vector2::from).to_vec(),
        thickness_m: 0.01,
        closed,
    };
    assert_eq!(described(&with_walls(shape)).bodies[0].shapes[0].shape, walls(false));
    assert_eq!(described(&with_walls(&format!("{shape}, closed = true"))).bodies[0].shapes[0].shape, walls(true));
    assert_eq!(load(&with_walls(shape)).scene.pieces.len(), 2);
}

#[test]
fn wrong_walls_are_reported() {
    for (shape, expected) in [
        ("walls_m = [[0, 0], [1, 0]]", "x.toml:3:9: body[0].shape.thickness_m: is missing; write thickness_m = 0.005"),
        (
            "thickness_m = 0.01, box_m = [1, 1]",
            "x.toml:3:25: body[0].shape.thickness_m: belongs to walls_m, which is missing; \
             remove it, or write walls_m = [[0.0, 0.0], [0.1, 0.0], [0.1, 0.06]]",
        ),
        (
            "walls_m = [[0, 0]], thickness_m = 0.01",
            "x.toml:3:21: body[0].shape.walls_m: walls_m has 1 points, not 2 to 1000; \
             write walls_m = [[0.0, 0.0], [0.1, 0.0]]",
        ),
        (
            "walls_m = [[0, 0], [0.1, 0], [0.1, 0]], thickness_m = 0.01",
            "x.toml:3:30: body[0].shape.walls_m[1]: point 2 of walls_m and the next one are at the same place; \
             remove point 2; to join the last point to the first, write closed = true",
        ),
        (
            "walls_m = [[0, 0], [0.1, 0], [0.1, 0.005], [0, 0.005]], thickness_m = 0.01",
            "x.toml:3:30: body[0].shape.walls_m[1]: the wall from point 2 is too short for its thickness and the turns \
             at its ends; write thickness_m = 0.0049 or make the turns less sharp",
        ),
    ] {
        assert_error(&with_walls(shape), expected);
    }
    let crossing = with_walls("walls_m = [[0, 0], [1, 1], [1, 0], [0, 1]], thickness_m = 0.01");
    load(&crossing);
    assert_error(
        &crossing.replace("fixed = true", ""),
        "x.toml:3:9: body[0].shape: the walls from points 1 and 3 overlap, and the body is not fixed; \
         write fixed = true, or move the points so that no wall crosses another",
    );
    assert!(errors(&with_walls("walls = [[0, 0], [1, 0]], thickness_m = 0.01")).contains("did you mean walls_m?"));
}

/// A ball at [0.02, 0.03] and a world with these keys, from line 2.
fn with_bounds(keys: &str) -> String {
    format!(
        "[world]\n{keys}\n[[body]]\nname = \"ball\"\nposition_m = [0.02, 0.03]\nshape = {{ disc_radius_m = 0.01 }}\n\
         [[body]]\nname = \"wall\"\nfixed = true\nposition_m = [5, 5]\nshape = {{ disc_radius_m = 0.01 }}\n"
    )
}

#[test]
fn bounds_are_read_with_corners_in_any_order() {
    let bounds = |keys: &str| load(&with_bounds(keys)).scene.bounds;
    let (low, high) = (Vector2::new(-0.1, -0.2), Vector2::new(0.3, 0.4));
    for corners in ["[[-0.1, -0.2], [0.3, 0.4]]", "[[0.3, -0.2], [-0.1, 0.4]]", "[[0.3, 0.4], [-0.1, -0.2]]"] {
        let expected = Bounds { corners_m: [low, high], leave: Leave::Respawn };
        assert_eq!(bounds(&format!("bounds_m = {corners}")), Some(expected));
    }
    for (name, leave) in [("respawn", Leave::Respawn), ("remove", Leave::Remove), ("stop", Leave::Stop)] {
        let keys = format!("bounds_m = [[-0.1, -0.2], [0.3, 0.4]]\nleave = \"{name}\"");
        assert_eq!(bounds(&keys).map(|bounds| bounds.leave), Some(leave));
    }
    assert_eq!(bounds("leave = \"stop\""), None);
}

#[test]
fn wrong_bounds_are_reported_and_the_remedy_helps() {
    for (keys, expected) in [
        (
            "bounds_m = [[0.1, 0.0], [0.3, 0.4]]",
            "x.toml:2:12: world.bounds_m: `ball` starts outside, with its centre of mass at [0.020, 0.030]; \
             write bounds_m = [[-0.08, -0.1], [0.4, 0.5]]",
        ),
        (
            "bounds_m = [[0.1, 0.2], [0.1, 0.4]]",
            "x.toml:2:12: world.bounds_m: the rectangle has no width; \
             give two opposite corners: write bounds_m = [[0.0, 0.1], [0.2, 0.5]]",
        ),
        (
            "bounds_m = [[0.0, 0.4], [0.1, 0.4]]",
            "x.toml:2:12: world.bounds_m: the rectangle has no height; \
             give two opposite corners: write bounds_m = [[-0.1, 0.3], [0.2, 0.5]]",
        ),
        (
            "bounds_m = [[0.0, 0.4]]",
            "x.toml:2:12: world.bounds_m: must be two points, got 1; \
             give two opposite corners: write bounds_m = [[-0.2, -0.1], [0.2, 0.2]]",
        ),
        (
            "bounds_m = [[0, 0], [1, 1], [2, 2]]",
            "x.toml:2:12: world.bounds_m: must be two points, got 3; \
             give two opposite corners: write bounds_m = [[-0.2, -0.1], [0.2, 0.2]]",
        ),
        (
            "bounds_m = [0.1, 0.2]",
            "x.toml:2:13: world.bounds_m: must be a list of 2 numbers, got 0.1; \
             write bounds_m = [[-0.2, -0.1], [0.2, 0.2]]",
        ),
        (
            "leave = \"respwan\"",
            "x.toml:2:9: world.leave: must be one of \"respawn\", \"remove\", \"stop\", got the text \"respwan\"; \
              write leave = \"respawn\"",
        ),
    ] {
        let errors = errors(&with_bounds(keys));
        assert_eq!(errors.lines().next(), Some(expected));
        let remedy = expected.split("write ").nth(1).unwrap();
        let after = scene::load_file(&Source::in_memory("x.toml", &with_bounds(remedy)));
        let is_better = after.as_ref().is_ok() || after.unwrap_err().to_string().contains("starts outside");
        assert!(is_better, "{expected}");
    }
}

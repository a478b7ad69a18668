//! Pictures for viewers: the shapes of all bodies once, each in a frame of its own, and then only where the frames are.

use crate::tap::PoseRecord;
use haptic_planar::scene::{Body, Scene};
use haptic_planar::shape::piece::Piece;
use nalgebra::Vector2;
use serde_json::{Value, json};
use std::f64::consts::TAU;
use std::fmt::Write;

/// The frame that does not move.
const WORLD_FRAME: &str = "world";
/// Corners of a full turn.
const CORNERS_PER_TURN: f64 = 48.0;

/// A time as messages write it.
pub fn timestamp(time_ns: u64) -> Value {
    json!({ "sec": time_ns / 1_000_000_000, "nsec": time_ns % 1_000_000_000 })
}

/// The message that draws a scene; whatever was drawn before goes away.
pub fn scene_update(scene: &Scene, time_ns: u64) -> Value {
    let tool = scene.tool.map(|tool| tool.body);
    let entities: Vec<Value> = scene
        .bodies
        .iter()
        .enumerate()
        .map(|(index, body)| entity(scene, body, tool == Some(index), time_ns))
        .collect();
    json!({ "deletions": [{ "timestamp": timestamp(time_ns), "type": 1, "id": "" }], "entities": entities })
}

fn entity(scene: &Scene, body: &Body, is_tool: bool, time_ns: u64) -> Value {
    let pieces = &scene.pieces[body.pieces.clone()];
    let colour = colour_of(&body.colour);
    let triangles: Vec<Value> = pieces.iter().map(|piece| fan(&grown(piece, body.centre_m), &colour)).collect();
    let (frame, pose) = if body.fixed { (WORLD_FRAME, pose_of(body)) } else { (body.name.as_str(), origin()) };
    let posed: Vec<Value> = triangles.into_iter().map(|fan| with_pose(fan, &pose)).collect();
    let what = if is_tool { "tool" } else { "body" };
    json!({
        "timestamp": timestamp(time_ns),
        "frame_id": frame,
        "id": body.name,
        "lifetime": { "sec": 0, "nsec": 0 },
        "frame_locked": true,
        "metadata": [{ "key": "what", "value": what }, { "key": "mass_kg", "value": body.mass_kg.to_string() }],
        "arrows": [], "cubes": [], "spheres": [], "cylinders": [], "lines": [],
        "triangles": posed, "texts": [], "models": []
    })
}

fn with_pose(mut shape: Value, pose: &Value) -> Value {
    shape["pose"] = pose.clone();
    shape
}

fn origin() -> Value {
    placed(Vector2::zeros(), 0.0)
}

fn pose_of(body: &Body) -> Value {
    placed(body.position_m, body.angle_rad)
}

fn placed(position_m: Vector2<f64>, angle_rad: f64) -> Value {
    let (sine, cosine) = libm::sincos(angle_rad / 2.0);
    json!({
        "position": { "x": position_m.x, "y": position_m.y, "z": 0.0 },
        "orientation": { "x": 0.0, "y": 0.0, "z": sine, "w": cosine }
    })
}

/// A convex outline as triangles around its first corner.
fn fan(outline: &[Vector2<f64>], colour: &Value) -> Value {
    let points: Vec<Value> = outline.iter().map(|point| json!({ "x": point.x, "y": point.y, "z": 0.0 })).collect();
    let indices: Vec<usize> = (2..outline.len()).flat_map(|corner| [0, corner - 1, corner]).collect();
    json!({ "points": points, "color": colour, "colors": [], "indices": indices })
}

/// The outline of a piece with its rounding, in the body's frame, anticlockwise, m.
pub fn grown(piece: &Piece, centre_m: Vector2<f64>) -> Vec<Vector2<f64>> {
    let corners = piece.outline();
    let count = corners.len();
    (0..count)
        .flat_map(|index| {
            let (before, here, after) =
                (corners[(index + count - 1) % count], corners[index], corners[(index + 1) % count]);
            arc(here - before, after - here).into_iter().map(move |way| here + centre_m + way * piece.radius_m)
        })
        .collect()
}

/// Unit directions out of a corner, from the normal of the edge before it to that of the edge after it.
fn arc(before: Vector2<f64>, after: Vector2<f64>) -> Vec<Vector2<f64>> {
    let outward = |edge: Vector2<f64>| libm::atan2(-edge.x, edge.y);
    let is_point = before == Vector2::zeros();
    let start = if is_point { 0.0 } else { outward(before) };
    let turn = if is_point { TAU } else { (outward(after) - start).rem_euclid(TAU) };
    let steps = (turn / TAU * CORNERS_PER_TURN).ceil().max(1.0) as u32;
    (0..=steps)
        .map(|step| {
            let (sine, cosine) = libm::sincos(start + turn * f64::from(step) / f64::from(steps));
            Vector2::new(cosine, sine)
        })
        .collect()
}

fn colour_of(text: &str) -> Value {
    let part = |at: usize| text.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0x88);
    let [r, g, b] = [1, 3, 5].map(|at| f64::from(part(at)) / 255.0);
    json!({ "r": r, "g": g, "b": b, "a": 1.0 })
}

/// The message that says where everything is. Written by hand: it is by far the most text in a file, and a picture needs
/// no more than a tenth of a micrometre.
pub fn transforms(poses: &[PoseRecord], scene: &Scene, time_ns: u64, out: &mut String) {
    let (sec, nsec) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
    out.clear();
    out.push_str("{\"transforms\":[");
    for (index, pose) in poses.iter().enumerate() {
        let Some(body) = scene.bodies.get(pose.body as usize) else { continue };
        let (sine, cosine) = libm::sincos(pose.angle_rad / 2.0);
        let comma = if index == 0 { "" } else { "," };
        let name = Value::from(body.name.as_str());
        // Writing into a string cannot fail.
        let _ = write!(
            out,
            "{comma}{{\"timestamp\":{{\"sec\":{sec},\"nsec\":{nsec}}},\"parent_frame_id\":\"{WORLD_FRAME}\",\"child_frame_id\":{name},\
             \"translation\":{{\"x\":{:.7},\"y\":{:.7},\"z\":0}},\"rotation\":{{\"x\":0,\"y\":0,\"z\":{sine:.7},\"w\":{cosine:.7}}}}}",
            pose.position_m.x, pose.position_m.y,
        );
    }
    out.push_str("]}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disc_is_drawn_round_and_a_box_keeps_its_corners() {
        let disc = grown(&Piece::new(0, &[Vector2::zeros()], 0.5), Vector2::new(1.0, 0.0));
        assert!(disc.len() > 40);
        assert!(disc.iter().all(|point| ((point - Vector2::new(1.0, 0.0)).norm() - 0.5).abs() < 1e-12));
        let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(Vector2::from);
        let square = grown(&Piece::new(0, &corners, 0.0), Vector2::zeros());
        assert!(square.iter().all(|point| corners.contains(point)));
    }

    #[test]
    fn a_capsule_is_longer_than_its_core_and_as_wide_as_twice_its_radius() {
        let core = [Vector2::zeros(), Vector2::new(2.0, 0.0)];
        let outline = grown(&Piece::new(0, &core, 0.25), Vector2::zeros());
        let reach = |pick: fn(&Vector2<f64>) -> f64| outline.iter().map(pick).fold(f64::MIN, f64::max);
        assert!((reach(|point| point.x) - 2.25).abs() < 1e-3);
        assert!((reach(|point| point.y) - 0.25).abs() < 1e-12);
        assert!((reach(|point| -point.y) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn colours_are_shares_of_one() {
        assert_eq!(colour_of("#ff0000"), json!({ "r": 1.0, "g": 0.0, "b": 0.0, "a": 1.0 }));
    }
}

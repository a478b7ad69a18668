//! Messages for 3D viewers. The shapes of a world's bodies are written once: fixed bodies in the world frame, each
//! dynamic body in its own frame. After that, only the poses of these frames are written.

use crate::tap::PoseRecord;
use haptic_draw::outline::rounded;
use haptic_planar::scene::{Body, Scene};
use nalgebra::Vector2;
use serde_json::{Value, json};
use std::fmt::Write;

/// Name of the world frame, the parent of the frames of all dynamic bodies.
const WORLD_FRAME: &str = "world";

/// Converts a time in ns to seconds and nanoseconds, as used in the messages.
pub fn timestamp(time_ns: u64) -> Value {
    json!({ "sec": time_ns / 1_000_000_000, "nsec": time_ns % 1_000_000_000 })
}

/// Returns the message that draws a scene and removes everything drawn before.
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
    let triangles: Vec<Value> = pieces.iter().map(|piece| fan(&rounded(piece, body.centre_m), &colour)).collect();
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

/// Splits a convex outline into triangles around its first corner.
fn fan(outline: &[Vector2<f64>], colour: &Value) -> Value {
    let points: Vec<Value> = outline.iter().map(|point| json!({ "x": point.x, "y": point.y, "z": 0.0 })).collect();
    let indices: Vec<usize> = (2..outline.len()).flat_map(|corner| [0, corner - 1, corner]).collect();
    json!({ "points": points, "color": colour, "colors": [], "indices": indices })
}

fn colour_of(text: &str) -> Value {
    let part = |at: usize| text.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0x88);
    let [r, g, b] = [1, 3, 5].map(|at| f64::from(part(at)) / 255.0);
    json!({ "r": r, "g": g, "b": b, "a": 1.0 })
}

/// Writes the message with the poses of all dynamic bodies into `out`, replacing its contents. The text is formatted
/// directly, because these messages account for most of the text in a file. A resolution of 0.1 µm is sufficient for
/// display.
pub fn transforms(poses: &[PoseRecord], scene: &Scene, time_ns: u64, out: &mut String) {
    let (sec, nsec) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
    out.clear();
    out.push_str("{\"transforms\":[");
    for (index, pose) in poses.iter().enumerate() {
        let Some(body) = scene.bodies.get(pose.body as usize) else { continue };
        let (sine, cosine) = libm::sincos(pose.angle_rad / 2.0);
        let comma = if index == 0 { "" } else { "," };
        let name = Value::from(body.name.as_str());
        // Writing to a string cannot fail.
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
    fn colours_are_shares_of_one() {
        assert_eq!(colour_of("#ff0000"), json!({ "r": 1.0, "g": 0.0, "b": 0.0, "a": 1.0 }));
    }
}

//! Schemas for the messages that viewers draw without configuration, and for body hashes. The former use the names and
//! keys of Foxglove's well-known messages.

/// Schema name for the transforms of all dynamic bodies, written 60 times per second.
pub const TRANSFORMS_NAME: &str = "foxglove.FrameTransforms";
/// Topic of the transforms.
pub const TRANSFORMS_TOPIC: &str = "/transforms";
/// Schema name for the shapes of all bodies.
pub const SCENE_NAME: &str = "foxglove.SceneUpdate";
/// Topic of the shapes of all bodies.
pub const SCENE_TOPIC: &str = "/scene";
/// Schema name for events.
pub const LOG_NAME: &str = "foxglove.Log";
/// Topic of events.
pub const LOG_TOPIC: &str = "/events";
/// Schema name for the hashes of all dynamic bodies, written 60 times per second.
pub const BODIES_NAME: &str = "hapticd/msg/Bodies";
/// Topic of the hashes of the dynamic bodies.
pub const BODIES_TOPIC: &str = "/bodies";

/// Layout of [`BODIES_NAME`], as ROS 2 message text.
pub const BODIES: &str = "\
# One hash over pose and velocity of each body that can move, in file order.
uint64 tick
uint32[] hash
";

/// Layout of [`TRANSFORMS_NAME`], as JSON Schema.
pub const TRANSFORMS: &str = r#"{
  "title": "foxglove.FrameTransforms", "type": "object",
  "properties": { "transforms": { "type": "array", "items": {
    "title": "foxglove.FrameTransform", "type": "object",
    "properties": {
      "timestamp": { "type": "object", "title": "time", "properties": { "sec": { "type": "integer", "minimum": 0 }, "nsec": { "type": "integer", "minimum": 0, "maximum": 999999999 } } },
      "parent_frame_id": { "type": "string" },
      "child_frame_id": { "type": "string" },
      "translation": { "title": "foxglove.Vector3", "type": "object", "properties": { "x": { "type": "number" }, "y": { "type": "number" }, "z": { "type": "number" } } },
      "rotation": { "title": "foxglove.Quaternion", "type": "object", "properties": { "x": { "type": "number" }, "y": { "type": "number" }, "z": { "type": "number" }, "w": { "type": "number" } } }
    } } } }
}"#;

/// Layout of [`LOG_NAME`], as JSON Schema.
pub const LOG: &str = r#"{
  "title": "foxglove.Log", "type": "object",
  "properties": {
    "timestamp": { "type": "object", "title": "time", "properties": { "sec": { "type": "integer", "minimum": 0 }, "nsec": { "type": "integer", "minimum": 0, "maximum": 999999999 } } },
    "level": { "title": "foxglove.LogLevel", "oneOf": [ { "title": "UNKNOWN", "const": 0 }, { "title": "DEBUG", "const": 1 }, { "title": "INFO", "const": 2 }, { "title": "WARNING", "const": 3 }, { "title": "ERROR", "const": 4 }, { "title": "FATAL", "const": 5 } ] },
    "message": { "type": "string" },
    "name": { "type": "string" },
    "file": { "type": "string" },
    "line": { "type": "integer", "minimum": 0 },
    "tick": { "type": "integer", "minimum": 0 }
  }
}"#;

/// Layout of [`SCENE_NAME`], as JSON Schema, reduced to the parts that are used.
pub const SCENE: &str = r#"{
  "title": "foxglove.SceneUpdate", "type": "object",
  "properties": {
    "deletions": { "type": "array", "items": { "title": "foxglove.SceneEntityDeletion", "type": "object", "properties": {
      "timestamp": { "type": "object", "title": "time", "properties": { "sec": { "type": "integer" }, "nsec": { "type": "integer" } } },
      "type": { "title": "foxglove.SceneEntityDeletionType", "oneOf": [ { "title": "MATCHING_ID", "const": 0 }, { "title": "ALL", "const": 1 } ] },
      "id": { "type": "string" } } } },
    "entities": { "type": "array", "items": { "title": "foxglove.SceneEntity", "type": "object", "properties": {
      "timestamp": { "type": "object", "title": "time", "properties": { "sec": { "type": "integer" }, "nsec": { "type": "integer" } } },
      "frame_id": { "type": "string" },
      "id": { "type": "string" },
      "lifetime": { "type": "object", "title": "duration", "properties": { "sec": { "type": "integer" }, "nsec": { "type": "integer" } } },
      "frame_locked": { "type": "boolean" },
      "metadata": { "type": "array", "items": { "title": "foxglove.KeyValuePair", "type": "object", "properties": { "key": { "type": "string" }, "value": { "type": "string" } } } },
      "arrows": { "type": "array", "items": { "type": "object" } },
      "cubes": { "type": "array", "items": { "type": "object" } },
      "spheres": { "type": "array", "items": { "type": "object" } },
      "cylinders": { "type": "array", "items": { "type": "object" } },
      "lines": { "type": "array", "items": { "type": "object" } },
      "triangles": { "type": "array", "items": { "title": "foxglove.TriangleListPrimitive", "type": "object", "properties": {
        "pose": { "type": "object" }, "points": { "type": "array", "items": { "type": "object" } }, "color": { "type": "object" },
        "colors": { "type": "array", "items": { "type": "object" } }, "indices": { "type": "array", "items": { "type": "integer" } } } } },
      "texts": { "type": "array", "items": { "type": "object" } },
      "models": { "type": "array", "items": { "type": "object" } } } } }
  }
}"#;

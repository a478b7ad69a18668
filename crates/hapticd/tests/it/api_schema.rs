//! Every message sent by a running daemon's viewer matches docs/api.schema.json.
#![cfg(unix)]

use crate::common::daemon::Daemon;
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::HashMap;
use tungstenite::Message;

/// The documented messages.
struct Documented(Value);

impl Documented {
    fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.schema.json");
        Self(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.0["$defs"].as_object().unwrap().keys()
    }

    fn validator(&self, name: &str) -> Validator {
        assert!(self.names().any(|known| known == name), "{name} is not in the schema");
        let mut schema = self.0.clone();
        schema["$ref"] = json!(format!("#/$defs/{name}"));
        jsonschema::draft202012::new(&schema).unwrap()
    }

    #[track_caller]
    fn holds(&self, name: &str, message: &Value) {
        let problems: Vec<String> = self
            .validator(name)
            .iter_errors(message)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{name}: {}\n{message}", problems.join("\n"));
    }
}

/// Returns the keys of a message that the schema does not document.
fn undocumented(schema: &Value, definitions: &Value, message: &Value) -> Vec<String> {
    let schema = match schema["$ref"].as_str() {
        Some(reference) => &definitions[reference.trim_start_matches("#/$defs/")],
        None => schema,
    };
    match message {
        Value::Object(entries) => {
            let Some(known) = schema["properties"].as_object() else { return Vec::new() };
            let is_open = schema.get("additionalProperties").is_some();
            let in_entry = |(key, value): (&String, &Value)| match known.get(key) {
                Some(deeper) => undocumented(deeper, definitions, value),
                None if is_open => Vec::new(),
                None => vec![key.clone()],
            };
            entries.iter().flat_map(in_entry).collect()
        }
        Value::Array(items) => {
            items.iter().flat_map(|item| undocumented(&schema["items"], definitions, item)).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn every_response_is_as_documented() {
    let (daemon, documented) = (Daemon::start(&[]), Documented::read());
    for (path, name) in [
        ("/api/scene", "scene"),
        ("/api/state", "state"),
        ("/api/settings", "settings"),
        ("/api/timing", "timing"),
        ("/api/scenes", "scenes"),
        ("/api/devices", "devices"),
        ("/api/nothing", "error"),
    ] {
        let answer = daemon.get(path);
        documented.holds(name, &answer);
        let definitions = &documented.0["$defs"];
        assert_eq!(undocumented(&definitions[name], definitions, &answer), Vec::<String>::new(), "{path}");
    }
    let (_, answer) = daemon.ask("PATCH", "/api/coupling", &json!({ "stiffness_n_per_m": 300 }));
    documented.holds("coupling", &answer);
    let (_, refusal) = daemon.ask("PATCH", "/api/coupling", &json!({ "stiffness_n_per_m": -1 }));
    documented.holds("error", &refusal);
    for path in ["/api/stop", "/api/stop/release"] {
        let (status, answer) = daemon.ask("POST", path, &Value::Null);
        assert_eq!(status, 200, "{answer}");
        documented.holds("stopped", &answer);
        assert_eq!(
            undocumented(&documented.0["$defs"]["stopped"], &documented.0["$defs"], &answer),
            Vec::<String>::new()
        );
        if path == "/api/stop" {
            documented.holds("state", &daemon.wait_for("the stop", |state| state["phase"] == "stopped"));
        }
    }
}

#[test]
fn every_built_in_scene_and_its_states_are_as_documented() {
    let (daemon, documented) = (Daemon::start(&[]), Documented::read());
    let scenes = daemon.get("/api/scenes");
    for scene in scenes["scenes"].as_array().unwrap() {
        let (status, answer) = daemon.ask("POST", "/api/scene", &json!({ "name": scene["name"] }));
        assert_eq!(status, 200, "{answer}");
        documented.holds("scene", &daemon.get("/api/scene"));
        let state = daemon.wait_for("a state of it", |state| state["scene_id"] == answer["scene_id"]);
        documented.holds("state", &state);
    }
}

#[test]
fn a_state_names_the_bodies_that_left_the_bounds() {
    let scene = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/scenes/bounds-remove.toml");
    let (daemon, documented) = (Daemon::start(&["--scene", scene]), Documented::read());
    let thrown =
        daemon.get("/api/scene")["bodies"].as_array().unwrap().iter().position(|body| body["name"] == "thrown");
    let state = daemon.wait_for("the removed body", |state| state["removed"] == json!([thrown]));
    documented.holds("state", &state);
}

#[test]
fn walls_are_as_documented() {
    let (daemon, documented) = (Daemon::start(&[]), Documented::read());
    let toml = "[[body]]\nname = \"room\"\nfixed = true\n\
                shape = { walls_m = [[0, 0], [0.1, 0], [0.1, 0.1]], thickness_m = 0.01, closed = true }\n";
    assert_eq!(daemon.ask("POST", "/api/scene", &json!({ "toml": toml })).0, 200);
    let scene = daemon.get("/api/scene");
    documented.holds("scene", &scene);
    assert_eq!(scene["bodies"][0]["shape"]["walls_m"]["outlines_m"].as_array().unwrap().len(), 2);
    daemon.end();
}

#[test]
fn several_shapes_are_as_documented() {
    let (daemon, documented) = (Daemon::start(&[]), Documented::read());
    let toml = "[[body]]\nname = \"a\"\nrounding_m = 0.001\nshapes = [{ box_m = [0.02, 0.01] }, \
                { disc_radius_m = 0.01, position_m = [0.01, 0.0], angle_rad = 0.5, rounding_m = 0.002 }]\n";
    assert_eq!(daemon.ask("POST", "/api/scene", &json!({ "toml": toml })).0, 200);
    let scene = daemon.get("/api/scene");
    documented.holds("scene", &scene);
    let shapes = json!([
        { "box_m": [0.02, 0.01], "position_m": [0.0, 0.0], "angle_rad": 0.0, "rounding_m": 0.001 },
        { "disc_radius_m": 0.01, "position_m": [0.01, 0.0], "angle_rad": 0.5, "rounding_m": 0.002 },
    ]);
    assert_eq!((&scene["bodies"][0]["shapes"], &scene["bodies"][0]["shape"]), (&shapes, &json!(null)));
    daemon.end();
}

#[test]
fn every_message_of_the_stream_is_as_documented() {
    let (daemon, documented) = (Daemon::start(&[]), Documented::read());
    let mut stream = daemon.open_stream();
    let hand = json!({ "type": "hand", "position_m": [0.0, 0.05] });
    documented.holds("hand", &hand);
    documented.holds("stop", &json!({ "type": "stop" }));
    documented.holds("hand", &json!({ "type": "hand", "position_m": null }));
    stream.send(Message::text(hand.to_string())).unwrap();
    stream.send(Message::text("nonsense")).unwrap();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let is_enough = |counts: &HashMap<String, usize>| {
        let of = |kind: &str| counts.get(kind).copied().unwrap_or(0);
        of("state") >= 30 && of("timing") >= 2 && ["scene", "settings", "error"].iter().all(|kind| of(kind) >= 1)
    };
    while !is_enough(&counts) {
        let Message::Text(text) = stream.read().unwrap() else { continue };
        let message: Value = serde_json::from_str(&text).unwrap();
        let kind = message["type"].as_str().unwrap().to_owned();
        documented.holds("stream", &message);
        documented.holds(&kind, &message);
        *counts.entry(kind).or_default() += 1;
    }
}

#[test]
fn the_schema_rejects_wrong_messages() {
    let (daemon, documented) = (Daemon::start(&[]), Documented::read());
    let state = daemon.state();
    let is_valid = |name: &str, message: &Value| documented.validator(name).is_valid(message);
    assert!(is_valid("state", &state));
    for key in ["tick", "hand_m", "contacts", "energy", "fault"] {
        let mut without = state.clone();
        without.as_object_mut().unwrap().remove(key);
        assert!(!is_valid("state", &without), "{key}");
    }
    let mut odd = state.clone();
    odd["hand_m"] = json!([1.0, 2.0, 3.0]);
    assert!(!is_valid("state", &odd));
    assert!(!is_valid("stream", &state), "a state in the stream has a type");
    assert!(!is_valid("hand", &json!({ "type": "hand" })));
}

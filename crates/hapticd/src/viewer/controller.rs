//! Implements the viewer's requests.

use super::library;
use super::session::ViewerSession;
use super::tuning::retuned;
use crate::admission;
use crate::failure::Failure;
use haptic_backends::discovery;
use haptic_config::builtin::SCENES;
use haptic_config::scene;
use haptic_config::source::Source;
use haptic_coupling::coupling::Gains;
use haptic_loop::command::Command;
use haptic_loop::control::ControlError;
use haptic_view::Controller;
use haptic_view::controller::{DeviceInUse, DevicesMessage, SceneChoice};
use haptic_view::message::scene::ScenesMessage;
use nalgebra::Vector2;
use serde_json::{Map, Value};

impl Controller for ViewerSession {
    fn set_hand_target(&self, target_m: Option<Vector2<f64>>) -> Result<(), ControlError> {
        let device = self.facts.device();
        if !device.can_be_guided {
            let text = format!("the {} has no simulated hand; only a simulated hand can be guided", device.name);
            return Err(ControlError::NotNow(text));
        }
        self.apply(Command::GuideHand(target_m))
    }

    fn stop(&self) -> u64 {
        self.emergency_stop.request()
    }

    fn is_stop_effective(&self, number: u64) -> bool {
        self.emergency_stop.is_effective(number)
    }

    fn release_stop(&self) -> Result<(), ControlError> {
        ViewerSession::release_stop(self)
    }

    fn pause(&self, paused: bool) -> Result<(), ControlError> {
        self.apply(if paused { Command::Pause } else { Command::Resume })
    }

    fn step(&self, ticks: u32) -> Result<(), ControlError> {
        if !self.is_paused() {
            return Err(ControlError::NotNow("the world is running; pause it first".to_owned()));
        }
        self.apply(Command::Step(ticks))
    }

    fn reset(&self) -> Result<(), ControlError> {
        ViewerSession::reset(self)
    }

    fn set_gains(&self, keys: &Map<String, Value>) -> Result<Gains, ControlError> {
        let mut gains = Gains::default();
        self.apply_with(|settings| {
            gains = retuned(&settings.coupling, keys, &self.facts.max_gains(settings))?;
            Ok(Command::SetGains(gains))
        })?;
        Ok(gains)
    }

    fn scenes(&self) -> ScenesMessage {
        ScenesMessage { scenes: library::entries(), current: self.scene_name() }
    }

    fn thumbnail(&self, name: &str) -> Option<String> {
        library::picture(name)
    }

    fn change_scene(&self, choice: &SceneChoice) -> Result<u64, ControlError> {
        let (name, source) = source_of(choice)?;
        let invalid = |problem: &dyn std::fmt::Display| ControlError::Invalid(problem.to_string());
        let description = scene::describe(&source).map_err(|errors| invalid(&errors))?;
        let file = scene::load_file(&source).map_err(|errors| invalid(&errors))?;
        let is_simulated = self.facts.is_simulated();
        let admitted = admission::admit(&name, &file.scene, is_simulated).map_err(|failure| match failure {
            Failure::Runtime(text) => ControlError::Busy(text),
            failure => invalid(&failure),
        });
        if let Some(warning) = admitted? {
            tracing::warn!("{warning}");
        }
        let scene_id = self.switch(&name, &description, file, &source.text)?;
        tracing::info!("Loaded scene \"{name}\"; force ramping up");
        Ok(scene_id)
    }

    fn devices(&self) -> DevicesMessage {
        let device = self.facts.device();
        let in_use = DeviceInUse { name: device.name.clone(), kind: device.kind.clone() };
        // All keys are strings, so this cannot fail.
        DevicesMessage { devices: serde_json::to_value(discovery::found()).unwrap_or_default(), in_use }
    }

    fn start_recording(&self, file: Option<&str>) -> Result<String, ControlError> {
        ViewerSession::start_recording(self, file)
    }

    fn stop_recording(&self) -> Result<String, ControlError> {
        ViewerSession::stop_recording(self)
    }
}

fn source_of(choice: &SceneChoice) -> Result<(String, Source), ControlError> {
    match choice {
        SceneChoice::Toml(text) => Ok(("from the viewer".to_owned(), Source::in_memory("scene", text))),
        SceneChoice::BuiltIn(name) => {
            let names: Vec<&str> = SCENES.entries.iter().map(|(name, _)| *name).collect();
            let unknown = || {
                ControlError::Invalid(format!("unknown built-in scene {name:?}; choose one of {}", names.join(", ")))
            };
            Ok((name.clone(), SCENES.built_in(name).ok_or_else(unknown)?))
        }
    }
}

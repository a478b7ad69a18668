//! State shared by the supervisor and the viewer: the running scene, the active settings and the request queue.
//!
//! The real-time thread does not access this state; it only receives requests.

use super::settings::DeviceFacts;
use crate::control::recording::recording_file;
use crate::control::{EmergencyStop, LoopRequest, Recording, publish_to_latest, send};
use haptic_config::scene::{self, SceneFile};
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use haptic_loop::command::Command;
use haptic_loop::control::ControlError;
use haptic_loop::scene_hand::SceneHand;
use haptic_loop::settings::Settings;
use haptic_loop::snapshot::Snapshot;
use haptic_loop::world::World;
use haptic_planar::scene::Scene;
use haptic_planar::scene::description::SceneDescription;
use haptic_realtime::exchange::{CommandSender, LatestReader};
use haptic_record::worlds::WorldSource;
use haptic_view::Telemetry;
use haptic_view::message::scene::SceneMessage;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// State shared by the supervisor and the viewer.
pub struct ViewerSession {
    /// Data streamed by the viewer.
    pub telemetry: Telemetry,
    pub(super) facts: DeviceFacts,
    /// Recordings of the daemon.
    pub recording: Recording,
    requests: CommandSender<LoopRequest>,
    pub(super) emergency_stop: EmergencyStop,
    current: Mutex<Current>,
}

/// State of a session, protected by its lock.
struct Current {
    scene_id: u64,
    scene_name: String,
    scene: Arc<Scene>,
    /// Simulated hand of the scene.
    hand: SceneHand,
    /// Number of the scene's world in recordings.
    world: u64,
    settings: Settings,
    paused: bool,
    /// Scene switch not yet applied by the supervisor, if any.
    switch: Option<Switch>,
}

/// A switch to another scene.
pub struct Switch {
    /// Number of the new scene.
    pub scene_id: u64,
    /// The new scene.
    pub scene: Arc<Scene>,
    /// Reader for snapshots of the new scene; it never returns snapshots of the old one.
    pub snapshots: LatestReader<Snapshot>,
}

impl ViewerSession {
    /// Creates a session for a setup; `requests` is the sender of its loop's request queue.
    pub fn new(
        setup: &Setup,
        device_name: &str,
        requests: CommandSender<LoopRequest>,
        emergency_stop: EmergencyStop,
        recording: Recording,
    ) -> Self {
        let session = Self {
            telemetry: Telemetry::default(),
            facts: DeviceFacts::of(setup, device_name),
            recording,
            requests,
            emergency_stop,
            current: Mutex::new(Current {
                scene_id: 1,
                scene_name: setup.profile.scene.name.clone(),
                scene: Arc::new(setup.scene.clone()),
                hand: setup.scene_hand.clone(),
                world: 0,
                settings: setup.settings(),
                paused: false,
                switch: None,
            }),
        };
        session.publish_first_scene(&setup.profile.scene.name, &setup.sources.scene);
        session.publish_settings(&session.current());
        session
    }

    /// Returns the number of the running scene and the scene itself.
    pub fn scene(&self) -> (u64, Arc<Scene>) {
        let current = self.current();
        (current.scene_id, current.scene.clone())
    }

    /// Returns the name of the running scene.
    pub fn scene_name(&self) -> String {
        self.current().scene_name.clone()
    }

    /// Takes the scene switch not yet applied by the supervisor, if any.
    pub fn take_switch(&self) -> Option<Switch> {
        self.current().switch.take()
    }

    /// Sends a command to the loop and publishes the settings it changes.
    ///
    /// # Errors
    /// If the loop is busy or has ended.
    pub fn apply(&self, command: Command) -> Result<(), ControlError> {
        self.apply_with(|_| Ok(command))
    }

    /// Sends the command that `decide` returns for the active settings. The settings stay locked throughout, because a
    /// reloaded profile and new gains from the viewer could otherwise overwrite each other.
    ///
    /// # Errors
    /// If `decide` fails, or if the loop is busy or has ended.
    pub(super) fn apply_with(
        &self,
        decide: impl FnOnce(&Settings) -> Result<Command, ControlError>,
    ) -> Result<(), ControlError> {
        let mut current = self.current();
        let command = decide(&current.settings)?;
        let (mut settings, mut paused) = (current.settings, current.paused);
        match &command {
            Command::SetGains(gains) => settings.coupling = *gains,
            Command::SetSafety(safety) => settings.safety = *safety,
            Command::SetMapping(mapping) => settings.mapping = mapping.settings(),
            Command::Pause => paused = true,
            Command::Resume => paused = false,
            _ => {}
        }
        self.send(LoopRequest::Loop(command))?;
        current.paused = paused;
        if std::mem::replace(&mut current.settings, settings) != settings {
            self.publish_settings(&current);
        }
        Ok(())
    }

    /// Requests the release of an emergency stop.
    ///
    /// # Errors
    /// If the loop is busy or has ended.
    pub fn release_stop(&self) -> Result<(), ControlError> {
        self.emergency_stop.release(&self.requests)
    }

    /// Whether the world is paused.
    pub fn is_paused(&self) -> bool {
        self.current().paused
    }

    /// Restarts the world of the running scene from its initial state.
    ///
    /// # Errors
    /// If the loop is busy or has ended.
    pub fn reset(&self) -> Result<(), ControlError> {
        let (scene_id, scene, hand, number) = {
            let current = self.current();
            (current.scene_id, current.scene.clone(), current.hand.clone(), current.world)
        };
        let world = Box::new(World::new(Scene::clone(&scene)).with_hand(hand).numbered(number));
        let current = self.current();
        if current.scene_id != scene_id {
            // The scene was switched while this world was built; the new one is in its initial state anyway.
            return Ok(());
        }
        self.send(LoopRequest::Loop(Command::ReplaceWorld(world)))
    }

    /// Switches to another scene, with a snapshot sink of sufficient capacity. Returns the number of the new scene.
    ///
    /// # Errors
    /// If the loop is busy or has ended.
    pub fn switch(
        &self,
        name: &str,
        description: &SceneDescription,
        SceneFile { scene, hand, .. }: SceneFile,
        text: &str,
    ) -> Result<u64, ControlError> {
        let number = self.recording.worlds().add(WorldSource {
            name: name.to_owned(),
            text: text.to_owned(),
            scene: Arc::new(scene.clone()),
        });
        let world = World::new(scene.clone()).with_hand(hand.clone()).numbered(number);
        let (publisher, snapshots) = publish_to_latest(&world);
        let mut current = self.current();
        let scene_id = current.scene_id + 1;
        self.send(LoopRequest::Switch { world: Box::new(world), publisher })?;
        let message = SceneMessage::new(scene_id, name, description, &scene);
        let hand_resumes_s = self.facts.hand_resumes_s(&hand);
        self.telemetry.publish_scene(&SceneMessage { hand_resumes_s, ..message });
        let scene = Arc::new(scene);
        (current.scene_id, current.scene_name, current.scene) = (scene_id, name.to_owned(), scene.clone());
        (current.world, current.hand) = (number, hand);
        current.switch = Some(Switch { scene_id, scene, snapshots });
        self.publish_settings(&current);
        Ok(scene_id)
    }

    /// Starts a recording in the folder for recordings, with the given file name or a generated one. Returns its path.
    ///
    /// # Errors
    /// If the name is invalid or in use, another recording is active, the file cannot be created, or the loop does not
    /// accept the request.
    pub fn start_recording(&self, name: Option<&str>) -> Result<String, ControlError> {
        let file = recording_file(name)?;
        let world = self.current().world;
        self.recording.start(&file, world, &self.requests)?;
        Ok(file.display().to_string())
    }

    /// Requests the end of the active recording and returns the path of its file.
    ///
    /// # Errors
    /// If no recording is active, or the loop does not accept the request.
    pub fn stop_recording(&self) -> Result<String, ControlError> {
        let inactive = || ControlError::NotNow("no recording is active".to_owned());
        let file = self.recording.file().ok_or_else(inactive)?;
        self.recording.stop(&self.requests).map_err(|error| ControlError::Busy(error.to_string()))?;
        Ok(file.display().to_string())
    }

    /// Publishes the settings and the resulting margins.
    fn publish_settings(&self, current: &Current) {
        self.telemetry.publish_settings(&self.facts.message(&current.settings, &current.scene));
    }

    fn publish_first_scene(&self, name: &str, source: &Source) {
        match scene::describe(source) {
            Ok(description) => {
                let (scene_id, scene) = self.scene();
                let hand_resumes_s = self.facts.hand_resumes_s(&self.current().hand);
                let message = SceneMessage::new(scene_id, name, &description, &scene);
                self.telemetry.publish_scene(&SceneMessage { hand_resumes_s, ..message });
            }
            Err(errors) => tracing::warn!("the viewer cannot show the scene: {errors}"),
        }
    }

    fn send(&self, request: LoopRequest) -> Result<(), ControlError> {
        send(&self.requests, request)
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        // A panic leaves no partial update behind this lock.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! What the lower side and the viewer share: the scene that runs, the gains in force, and the way to the loop.
//!
//! The real-time thread never sees any of this; it gets orders.

use super::settings::DeviceFacts;
use crate::daemon::loop_thread::{LoopRequest, publish_to_latest};
use crate::daemon::recording::{Recording, recording_file};
use crate::failure::Failure;
use haptic_config::scene;
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use haptic_loop::command::Command;
use haptic_loop::settings::Settings;
use haptic_loop::snapshot::Snapshot;
use haptic_loop::world::World;
use haptic_planar::scene::Scene;
use haptic_planar::scene::description::SceneDescription;
use haptic_realtime::exchange::{CommandSender, LatestReader, TrySendError};
use haptic_record::worlds::WorldSource;
use haptic_view::message::scene::SceneMessage;
use haptic_view::{ControlError, Telemetry};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the lower side and the viewer share.
pub struct ViewerSession {
    /// What is told.
    pub feed: Telemetry,
    pub(super) facts: DeviceFacts,
    /// What is kept.
    pub recording: Recording,
    orders: CommandSender<LoopRequest>,
    current: Mutex<Current>,
}

/// What holds now.
struct Current {
    scene_id: u64,
    scene_name: String,
    scene: Arc<Scene>,
    /// The number that recordings know its world by.
    world: u64,
    settings: Settings,
    paused: bool,
    /// A scene that the loop was told to switch to, until the lower side follows.
    switch: Option<Switch>,
}

/// Another scene, and where its snapshots come out.
pub struct Switch {
    /// Its number.
    pub scene_id: u64,
    /// The scene.
    pub scene: Arc<Scene>,
    /// Its snapshots, and no other scene's.
    pub snapshots: LatestReader<Snapshot>,
}

impl ViewerSession {
    /// The session of a setup whose loop takes these orders.
    pub fn new(setup: &Setup, device_name: &str, orders: CommandSender<LoopRequest>, recording: Recording) -> Self {
        let session = Self {
            feed: Telemetry::default(),
            facts: DeviceFacts::of(setup, device_name),
            recording,
            orders,
            current: Mutex::new(Current {
                scene_id: 1,
                scene_name: setup.profile.scene.name.clone(),
                scene: Arc::new(setup.scene.clone()),
                world: 0,
                settings: setup.settings(),
                paused: false,
                switch: None,
            }),
        };
        session.tell_first_scene(&setup.profile.scene.name, &setup.sources.scene);
        session.tell_settings(&session.current());
        session
    }

    /// The scene that runs: its number and itself.
    pub fn scene(&self) -> (u64, Arc<Scene>) {
        let current = self.current();
        (current.scene_id, current.scene.clone())
    }

    /// The name of the scene that runs.
    pub fn scene_name(&self) -> String {
        self.current().scene_name.clone()
    }

    /// What holds now.
    pub fn settings(&self) -> Settings {
        self.current().settings
    }

    /// A switch that the lower side has not followed yet.
    pub fn take_switch(&self) -> Option<Switch> {
        self.current().switch.take()
    }

    /// Gives the loop an order and takes note of what it changes.
    ///
    /// # Errors
    /// When the loop is busy or has ended.
    pub fn order(&self, command: Command) -> Result<(), ControlError> {
        self.apply_with(|_| Ok(command))
    }

    /// Gives the loop an order that depends on what holds. Nobody can change that meanwhile: a profile that is saved and a viewer
    /// that tunes would write over each other's changes.
    ///
    /// # Errors
    /// What the order is refused for; when the loop is busy or has ended.
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
            Command::SetMapping(frame) => settings.mapping = frame.settings(),
            Command::Pause => paused = true,
            Command::Resume => paused = false,
            _ => {}
        }
        self.send(LoopRequest::Loop(command))?;
        current.paused = paused;
        if std::mem::replace(&mut current.settings, settings) != settings {
            self.tell_settings(&current);
        }
        Ok(())
    }

    /// Whether the world was told to stand still.
    pub fn is_paused(&self) -> bool {
        self.current().paused
    }

    /// Puts the world back to its start.
    ///
    /// # Errors
    /// When the loop is busy or has ended.
    pub fn reset(&self) -> Result<(), ControlError> {
        let (scene_id, scene, number) = {
            let current = self.current();
            (current.scene_id, current.scene.clone(), current.world)
        };
        let world = Box::new(World::new(Scene::clone(&scene)).numbered(number));
        let current = self.current();
        if current.scene_id != scene_id {
            // The scene was switched while its world was built; the new one is at its start anyway.
            return Ok(());
        }
        self.send(LoopRequest::Loop(Command::ReplaceWorld(world)))
    }

    /// Switches to another scene, with an exchange for snapshots that has room for it, and gives its number.
    ///
    /// # Errors
    /// When the loop is busy or has ended.
    pub fn switch(
        &self,
        name: &str,
        description: &SceneDescription,
        scene: Scene,
        text: &str,
    ) -> Result<u64, ControlError> {
        let number = self.recording.worlds().add(WorldSource {
            name: name.to_owned(),
            text: text.to_owned(),
            scene: Arc::new(scene.clone()),
        });
        let world = World::new(scene.clone()).numbered(number);
        let (publisher, snapshots) = publish_to_latest(&world);
        let mut current = self.current();
        let scene_id = current.scene_id + 1;
        self.send(LoopRequest::Switch { world: Box::new(world), publisher })?;
        self.feed.publish_scene(&SceneMessage::new(scene_id, name, description, &scene));
        let scene = Arc::new(scene);
        (current.scene_id, current.scene_name, current.scene) = (scene_id, name.to_owned(), scene.clone());
        current.world = number;
        current.switch = Some(Switch { scene_id, scene, snapshots });
        self.tell_settings(&current);
        Ok(scene_id)
    }

    /// Begins to record into a file of that name, in the folder for recordings, and says which.
    ///
    /// # Errors
    /// A name that is a path or is taken, a recording that runs already, a folder that cannot be written to.
    pub fn start_recording(&self, name: Option<&str>) -> Result<String, ControlError> {
        let file = recording_file(name)?;
        let world = self.current().world;
        let refused = |failure: Failure| ControlError::NotNow(failure.to_string());
        self.recording.start(&file, world, &self.orders).map_err(refused)?;
        Ok(file.display().to_string())
    }

    /// Ends the recording, and says which file it is in.
    ///
    /// # Errors
    /// When nothing is recorded, or the loop is busy.
    pub fn stop_recording(&self) -> Result<String, ControlError> {
        let nothing = || ControlError::NotNow("nothing is being recorded".to_owned());
        let file = self.recording.file().ok_or_else(nothing)?;
        self.recording.stop(&self.orders).map_err(|failure| ControlError::Busy(failure.to_string()))?;
        Ok(file.display().to_string())
    }

    /// Tells what is set, and the margins that follow from it.
    fn tell_settings(&self, current: &Current) {
        self.feed.publish_settings(&self.facts.message(&current.settings, &current.scene));
    }

    fn tell_first_scene(&self, name: &str, source: &Source) {
        match scene::describe(source) {
            Ok(description) => {
                let (scene_id, scene) = self.scene();
                self.feed.publish_scene(&SceneMessage::new(scene_id, name, &description, &scene));
            }
            Err(errors) => tracing::warn!("the viewer cannot show the scene: {errors}"),
        }
    }

    fn send(&self, order: LoopRequest) -> Result<(), ControlError> {
        send(&self.orders, order)
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        // Nothing here is left half done by a panic.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the loop an order.
///
/// # Errors
/// When the loop is busy or has ended.
pub fn send(orders: &CommandSender<LoopRequest>, order: LoopRequest) -> Result<(), ControlError> {
    orders.send(order).map_err(|refused| match refused {
        TrySendError::Full(_) => ControlError::Busy(refused.to_string()),
        TrySendError::Disconnected(_) => ControlError::NotNow(refused.to_string()),
    })
}

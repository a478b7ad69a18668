//! The worlds that a run has seen or may see, by number: what a recording must know of them.

use haptic_planar::scene::Scene;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is known of a world.
#[derive(Clone, Debug)]
pub struct WorldNotes {
    /// The scene's name, as the user gave it.
    pub name: String,
    /// The scene file's text.
    pub text: String,
    /// The scene.
    pub scene: Arc<Scene>,
}

/// The worlds of a run; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Worlds(Arc<Mutex<BTreeMap<u64, WorldNotes>>>);

impl Worlds {
    /// Only the first world.
    pub fn starting_with(notes: WorldNotes) -> Self {
        let worlds = Self::default();
        worlds.lock().insert(0, notes);
        worlds
    }

    /// Takes note of another world, before the loop is given it, and says which number it shall have
    /// (`World::numbered`).
    pub fn add(&self, notes: WorldNotes) -> u64 {
        let mut worlds = self.lock();
        let number = worlds.last_key_value().map_or(0, |(number, _)| number + 1);
        worlds.insert(number, notes);
        number
    }

    /// What is known of a world.
    pub fn get(&self, number: u64) -> Option<WorldNotes> {
        self.lock().get(&number).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, WorldNotes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

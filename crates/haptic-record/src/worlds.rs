//! Numbered worlds of a run, with the files stored in recordings.

use haptic_planar::scene::Scene;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Source of a world: its scene file, as text and as the loaded scene.
#[derive(Clone, Debug)]
pub struct WorldSource {
    /// Name of the scene, as given by the user.
    pub name: String,
    /// Text of the scene file.
    pub text: String,
    /// Loaded scene.
    pub scene: Arc<Scene>,
}

/// Maximum number of worlds held in addition to the first. A recording stores each world when it is first used, so only
/// recent worlds are needed, while a run of months may use any number of them.
const MAX_REMEMBERED: usize = 32;

/// Worlds of a run, shared between clones.
#[derive(Clone, Debug, Default)]
pub struct Worlds(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// Number of the next new world.
    next: u64,
    /// Worlds, from least to most recently added.
    worlds: VecDeque<(u64, WorldSource)>,
}

impl Worlds {
    /// Creates a list that contains only the first world.
    pub fn starting_with(source: WorldSource) -> Self {
        let worlds = Self::default();
        worlds.add(source);
        worlds
    }

    /// Adds a world and returns its number (for `World::numbered`). Must be called before the world is sent to the
    /// loop. A source that is already listed keeps its number.
    pub fn add(&self, source: WorldSource) -> u64 {
        let mut known = self.lock();
        let is_the_same = |(_, other): &(u64, WorldSource)| (&other.name, &other.text) == (&source.name, &source.text);
        let met_before = known.worlds.iter().position(is_the_same).and_then(|place| known.worlds.remove(place));
        let (number, source) = met_before.unwrap_or_else(|| (known.next, source));
        known.next = known.next.max(number + 1);
        known.worlds.push_back((number, source));
        if known.worlds.len() > MAX_REMEMBERED + 1 {
            // Keep the first world: headers refer to it during the whole run.
            let oldest = known.worlds.iter().position(|(number, _)| *number != 0);
            oldest.and_then(|place| known.worlds.remove(place));
        }
        number
    }

    /// Returns the source of a world, if it is still held.
    pub fn get(&self, number: u64) -> Option<WorldSource> {
        self.lock().worlds.iter().find(|(known, _)| *known == number).map(|(_, source)| source.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_planar::scene::description::SceneDescription;

    fn source(text: &str) -> WorldSource {
        let empty = Scene::build(&SceneDescription::default()).unwrap();
        WorldSource { name: "world".to_owned(), text: text.to_owned(), scene: Arc::new(empty) }
    }

    #[test]
    fn a_world_that_is_met_again_keeps_its_number() {
        let worlds = Worlds::starting_with(source("first"));
        assert_eq!(["second", "first", "third", "second"].map(|text| worlds.add(source(text))), [1, 0, 2, 1]);
    }

    #[test]
    fn of_many_worlds_the_newest_and_the_first_are_kept() {
        let worlds = Worlds::starting_with(source("first"));
        let numbers: Vec<u64> = (1..=100).map(|index| worlds.add(source(&format!("world {index}")))).collect();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
        let remembered: Vec<u64> = (0..=100).filter(|&number| worlds.get(number).is_some()).collect();
        assert_eq!(remembered, [0].into_iter().chain(69..=100).collect::<Vec<_>>());
        assert_eq!(worlds.get(100).unwrap().text, "world 100");
    }
}

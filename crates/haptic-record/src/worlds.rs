//! The worlds that a run has seen or may see, by number: what a recording must know of them.

use haptic_planar::scene::Scene;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is known of a world.
#[derive(Clone, Debug)]
pub struct WorldSource {
    /// The scene's name, as the user gave it.
    pub name: String,
    /// The scene file's text.
    pub text: String,
    /// The scene.
    pub scene: Arc<Scene>,
}

/// So many worlds are remembered, besides the first. Recordings write a world down when they meet it, so only those of the last
/// seconds are asked for; a run of months may be given any number.
const MAX_REMEMBERED: usize = 32;

/// The worlds of a run; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Worlds(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// The number of the next world that is like none of these.
    next: u64,
    /// From the one that was met longest ago to the newest.
    worlds: VecDeque<(u64, WorldSource)>,
}

impl Worlds {
    /// Only the first world.
    pub fn starting_with(source: WorldSource) -> Self {
        let worlds = Self::default();
        worlds.add(source);
        worlds
    }

    /// Takes note of another world, before the loop is given it, and says which number it shall have
    /// (`World::numbered`).
    pub fn add(&self, source: WorldSource) -> u64 {
        let mut known = self.lock();
        let is_the_same = |(_, other): &(u64, WorldSource)| (&other.name, &other.text) == (&source.name, &source.text);
        let met_before = known.worlds.iter().position(is_the_same).and_then(|place| known.worlds.remove(place));
        let (number, source) = met_before.unwrap_or_else(|| (known.next, source));
        known.next = known.next.max(number + 1);
        known.worlds.push_back((number, source));
        if known.worlds.len() > MAX_REMEMBERED + 1 {
            // Headers speak of the first world as long as the run lasts.
            let oldest = known.worlds.iter().position(|(number, _)| *number != 0);
            oldest.and_then(|place| known.worlds.remove(place));
        }
        number
    }

    /// What is known of a world.
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
    fn of_ever_more_worlds_the_newest_and_the_first_are_remembered() {
        let worlds = Worlds::starting_with(source("first"));
        let numbers: Vec<u64> = (1..=100).map(|index| worlds.add(source(&format!("world {index}")))).collect();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
        let remembered: Vec<u64> = (0..=100).filter(|&number| worlds.get(number).is_some()).collect();
        assert_eq!(remembered, [0].into_iter().chain(69..=100).collect::<Vec<_>>());
        assert_eq!(worlds.get(100).unwrap().text, "world 100");
    }
}

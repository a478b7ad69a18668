//! Checkpoints: the bits of a state as 64-bit words. A state that is restored from a checkpoint of the same scene
//! continues with the same bits.
//!
//! Neither the workspace of a step nor anything that follows from the scene is part of a checkpoint. Structs are
//! destructured without `..`, so that a new field causes a compile error until it is handled here.

use crate::collide::pair_table::Pair;
use crate::collide::warm_start::WarmStart;
use crate::collide::warm_start::{BlockImpulse, Loaded, Mode};
use crate::output::StepOutput;
use crate::scene::Scene;
use crate::scene::body_state::BodyState;
use crate::shape::features::{FeatureCache, FeatureId};
use crate::solve::energy::EnergyBalance;
use crate::state::State;
use nalgebra::Vector2;
use std::fmt;

/// Maximum number of words for a dynamic body: 8 for its state and 2 for flags.
const WORDS_PER_BODY: usize = 10;
/// Number of words for the box of a dynamic piece.
const WORDS_PER_PIECE: usize = 4;
/// Maximum number of words for a near pair.
const WORDS_PER_PAIR: usize = 10;
/// Maximum number of words for everything except bodies, pieces and near pairs.
const WORDS_BESIDES: usize = 32;

/// Visits the fields of a value in a fixed order, to write them into words or to read them back.
pub trait Archive {
    /// Writes the word, or replaces it with the next word that is read.
    fn word(&mut self, word: &mut u64);

    /// Visits a number, bit for bit.
    fn number(&mut self, number: &mut f64) {
        let mut word = number.to_bits();
        self.word(&mut word);
        *number = f64::from_bits(word);
    }

    /// Visits several numbers.
    fn numbers<const N: usize>(&mut self, numbers: [&mut f64; N]) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    /// Visits both components of a vector.
    fn vector(&mut self, vector: &mut Vector2<f64>) {
        self.number(&mut vector.x);
        self.number(&mut vector.y);
    }

    /// Visits a 32-bit count.
    fn count(&mut self, count: &mut u32) {
        let mut word = u64::from(*count);
        self.word(&mut word);
        *count = word as u32;
    }

    /// Visits a boolean.
    fn flag(&mut self, flag: &mut bool) {
        let mut word = u64::from(*flag);
        self.word(&mut word);
        *flag = word != 0;
    }

    /// Visits an optional value with `carry`, after a flag for whether it is present; `placeholder` is visited in place
    /// of `None`.
    fn optional<T: Copy>(&mut self, value: &mut Option<T>, placeholder: T, carry: impl FnOnce(&mut Self, &mut T))
    where
        Self: Sized,
    {
        let (mut is_there, mut inner) = (value.is_some(), value.unwrap_or(placeholder));
        self.flag(&mut is_there);
        carry(self, &mut inner);
        *value = is_there.then_some(inner);
    }
}

/// A checkpoint: 64-bit words in a buffer of fixed capacity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    words: Vec<u64>,
    capacity: usize,
    /// Whether a word did not fit into the capacity.
    has_overflowed: bool,
}

impl Checkpoint {
    /// Creates an empty checkpoint with a buffer for this many words. All pages of the buffer are touched, so that
    /// writing causes no page faults.
    pub fn with_capacity(words: usize) -> Self {
        let mut reserved = vec![1; words];
        reserved.clear();
        Self { words: reserved, capacity: words, has_overflowed: false }
    }

    /// Creates a checkpoint from recorded words.
    pub fn from_words(words: Vec<u64>) -> Self {
        Self { capacity: words.len(), words, has_overflowed: false }
    }

    /// Returns the words; `None` if they did not fit into the capacity.
    pub fn words(&self) -> Option<&[u64]> {
        (!self.has_overflowed).then_some(self.words.as_slice())
    }

    /// Clears the checkpoint and returns a writer that fills it. Real-time: constant.
    pub fn begin(&mut self) -> CheckpointWriter<'_> {
        self.words.clear();
        self.has_overflowed = false;
        CheckpointWriter { checkpoint: self }
    }

    /// Returns a reader that starts at the first word. It has nothing to read if the words did not fit into the
    /// capacity.
    pub fn read(&self) -> CheckpointReader<'_> {
        CheckpointReader { words: self.words().unwrap_or_default().iter(), is_short: false }
    }
}

/// Writes words into a checkpoint. Real-time: one store per word; never allocates.
#[derive(Debug)]
pub struct CheckpointWriter<'a> {
    checkpoint: &'a mut Checkpoint,
}

impl Archive for CheckpointWriter<'_> {
    fn word(&mut self, word: &mut u64) {
        if self.checkpoint.words.len() < self.checkpoint.capacity {
            self.checkpoint.words.push(*word);
        } else {
            self.checkpoint.has_overflowed = true;
        }
    }
}

/// Reads words from a checkpoint.
#[derive(Clone, Debug)]
pub struct CheckpointReader<'a> {
    words: std::slice::Iter<'a, u64>,
    is_short: bool,
}

impl Archive for CheckpointReader<'_> {
    fn word(&mut self, word: &mut u64) {
        match self.words.next() {
            Some(next) => *word = *next,
            None => self.is_short = true,
        }
    }
}

impl CheckpointReader<'_> {
    /// Checks that exactly the words of the checkpoint were read.
    ///
    /// # Errors
    /// Returns an error if words were missing or are left over.
    pub fn end(self) -> Result<(), BadCheckpoint> {
        if self.is_short || self.words.len() > 0 { Err(BadCheckpoint("has another length")) } else { Ok(()) }
    }
}

/// Error for a checkpoint that does not fit the scene or this version of the program, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadCheckpoint(pub &'static str);

impl fmt::Display for BadCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the checkpoint of the world {}: it belongs to another scene or another version", self.0)
    }
}

impl std::error::Error for BadCheckpoint {}

impl State {
    /// Returns the maximum number of words in a checkpoint of this scene.
    pub fn checkpoint_words(scene: &Scene) -> usize {
        scene.dynamic_bodies.len() * WORDS_PER_BODY
            + scene.dynamic_pieces.len() * WORDS_PER_PIECE
            + scene.pair_capacity * WORDS_PER_PAIR
            + WORDS_BESIDES
    }

    /// Writes a checkpoint of the state. Real-time: one pass over dynamic bodies, their pieces and near pairs.
    pub fn write_checkpoint(&self, scene: &Scene, out: &mut CheckpointWriter<'_>) {
        // Placed pieces are computed from the poses.
        let Self { placed: _, bodies, energy, broad_phase, had_contact_load, next_respawn } = self;
        let counts = [scene.dynamic_bodies.len(), scene.dynamic_pieces.len(), broad_phase.table.pairs().len()];
        counts.into_iter().for_each(|count| out.count(&mut (count as u32)));
        for &body in &scene.dynamic_bodies {
            archive_body(&mut { bodies[body] }, out);
            out.flag(&mut { had_contact_load[body] });
        }
        if scene.bounds.is_some() {
            out.count(&mut { *next_respawn });
            scene.dynamic_bodies.iter().for_each(|&body| out.flag(&mut { broad_phase.left[body] }));
        }
        archive_energy(&mut { *energy }, out);
        for &piece in &scene.dynamic_pieces {
            let mut around = broad_phase.box_of(piece);
            out.vector(&mut around.low);
            out.vector(&mut around.high);
        }
        for pair in broad_phase.table.pairs() {
            let mut pieces = u64::from(pair.pieces[0]) << 32 | u64::from(pair.pieces[1]);
            out.word(&mut pieces);
            archive_contact(&mut { pair.features }, &mut { pair.warm_start }, out);
        }
    }

    /// Restores the state from a checkpoint of the same scene.
    ///
    /// # Errors
    /// Returns an error if the numbers of bodies, pieces or pairs do not fit the scene, if a pair is repeated or refers to
    /// a piece that does not exist, or if the next body to put back does not exist. The state is then unspecified.
    /// Missing and surplus words are reported by [`CheckpointReader::end`].
    pub fn read_checkpoint(&mut self, scene: &Scene, from: &mut CheckpointReader<'_>) -> Result<(), BadCheckpoint> {
        let mut counts = [0_u32; 3];
        counts.iter_mut().for_each(|count| from.count(count));
        let [bodies, pieces, pairs] = counts.map(|count| count as usize);
        if (bodies, pieces) != (scene.dynamic_bodies.len(), scene.dynamic_pieces.len()) || pairs > scene.pair_capacity {
            return Err(BadCheckpoint("has another number of bodies"));
        }
        for &body in &scene.dynamic_bodies {
            archive_body(&mut self.bodies[body], from);
            from.flag(&mut self.had_contact_load[body]);
            let state = &self.bodies[body];
            for index in scene.bodies[body].pieces.clone() {
                self.placed[index].place(&scene.pieces[index], state.centre_m, state.rotation);
            }
        }
        if scene.bounds.is_some() {
            from.count(&mut self.next_respawn);
            if self.next_respawn as usize >= self.bodies.len().max(1) {
                return Err(BadCheckpoint("names a body that does not exist"));
            }
            scene.dynamic_bodies.iter().for_each(|&body| from.flag(&mut self.broad_phase.left[body]));
        }
        archive_energy(&mut self.energy, from);
        self.broad_phase.clear(scene);
        for &piece in &scene.dynamic_pieces {
            let mut around = self.broad_phase.box_of(piece);
            from.vector(&mut around.low);
            from.vector(&mut around.high);
            self.broad_phase.set_box(piece, around);
        }
        (0..pairs).try_for_each(|_| self.read_pair(scene, from))
    }

    fn read_pair(&mut self, scene: &Scene, from: &mut CheckpointReader<'_>) -> Result<(), BadCheckpoint> {
        let mut word = 0;
        from.word(&mut word);
        let pieces = [(word >> 32) as u32, word as u32];
        let table = &mut self.broad_phase.table;
        if pieces.iter().any(|&piece| piece as usize >= scene.pieces.len()) || table.contains(pieces[0], pieces[1]) {
            return Err(BadCheckpoint("names pieces that do not exist"));
        }
        let (mut features, mut warm_start) = (FeatureCache::default(), WarmStart::default());
        archive_contact(&mut features, &mut warm_start, from);
        table.insert(Pair { features, warm_start, ..Pair::new(scene, pieces) });
        Ok(())
    }
}

fn archive_body(motion: &mut BodyState, archive: &mut impl Archive) {
    let BodyState { centre_m, rotation, angle_rad, velocity_m_per_s, angular_velocity_rad_per_s } = motion;
    archive.vector(centre_m);
    archive.vector(rotation);
    archive.vector(velocity_m_per_s);
    archive.numbers([angle_rad, angular_velocity_rad_per_s]);
}

fn archive_energy(energy: &mut EnergyBalance, archive: &mut impl Archive) {
    let EnergyBalance {
        kinetic_j,
        potential_j,
        coupling_j,
        work_in_j,
        friction_j,
        impact_j,
        damping_j,
        gain_max_j,
        lowest_j,
    } = energy;
    archive.numbers([
        kinetic_j,
        potential_j,
        coupling_j,
        work_in_j,
        friction_j,
        impact_j,
        damping_j,
        gain_max_j,
        lowest_j,
    ]);
}

/// Visits the output of the last step. It is part of a checkpoint because a paused world continues to report it.
pub fn archive_output(output: &mut StepOutput, archive: &mut impl Archive) {
    let StepOutput {
        force_on_hand_n,
        tool_contacts,
        tool_penetration_m,
        tool_normal_n,
        tool_tangent_n,
        contacts,
        penetration_m,
        impacts,
        pairs_dropped,
        energy,
    } = output;
    archive.vector(force_on_hand_n);
    archive.numbers([tool_penetration_m, tool_normal_n, tool_tangent_n, penetration_m]);
    [tool_contacts, contacts, impacts, pairs_dropped].into_iter().for_each(|count| archive.count(count));
    archive_energy(energy, archive);
}

/// Visits the data of a near pair that lasts from tick to tick.
fn archive_contact(track: &mut FeatureCache, warm: &mut WarmStart, archive: &mut impl Archive) {
    let FeatureCache { seed, face } = track;
    let WarmStart { normal, impulse, mode, roll, id } = warm;
    let BlockImpulse { normal: impulses, tangent } = impulse;
    let mut small = [seed.a, seed.b, face.face_of, face.face, face.other, id.face_of, id.face, id.other];
    let mut word = u64::from_le_bytes(small);
    archive.word(&mut word);
    small = word.to_le_bytes();
    (seed.a, seed.b) = (small[0], small[1]);
    *face = FeatureId { face_of: small[2], face: small[3], other: small[4] };
    *id = FeatureId { face_of: small[5], face: small[6], other: small[7] };
    archive.vector(normal);
    let [first, second] = impulses;
    archive.numbers([first, second, tangent, roll]);
    let mut number = mode_number(*mode);
    archive.count(&mut number);
    *mode = mode_from_number(number);
}

const LOADED: [Loaded; 3] = [Loaded::Both, Loaded::First, Loaded::Second];

fn mode_number(mode: Mode) -> u32 {
    let at = |loaded: Loaded| LOADED.iter().position(|&each| each == loaded).unwrap_or(0) as u32;
    match mode {
        Mode::Open => 0,
        Mode::Stick(loaded) => 1 + at(loaded),
        Mode::SlideForward(loaded) => 4 + at(loaded),
        Mode::SlideBack(loaded) => 7 + at(loaded),
    }
}

fn mode_from_number(number: u32) -> Mode {
    let loaded = |from: u32| LOADED[(number - from) as usize % LOADED.len()];
    match number {
        1..4 => Mode::Stick(loaded(1)),
        4..7 => Mode::SlideForward(loaded(4)),
        7..10 => Mode::SlideBack(loaded(7)),
        _ => Mode::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_survives_its_number() {
        for number in 0..10 {
            assert_eq!(mode_number(mode_from_number(number)), number);
        }
        assert_eq!(mode_from_number(99), Mode::Open);
    }

    #[test]
    fn a_checkpoint_that_overflows_has_no_words_and_one_of_another_length_is_rejected() {
        let mut checkpoint = Checkpoint::with_capacity(2);
        let mut writer = checkpoint.begin();
        writer.vector(&mut Vector2::new(1.0, -0.0));
        assert_eq!(checkpoint.words(), Some(&[1.0_f64.to_bits(), (-0.0_f64).to_bits()][..]));
        let mut reader = checkpoint.read();
        reader.number(&mut 0.0);
        assert!(reader.clone().end().is_err());
        reader.number(&mut 0.0);
        assert!(reader.clone().end().is_ok());
        reader.number(&mut 0.0);
        assert!(reader.end().is_err());
        checkpoint.begin().numbers([&mut 1.0, &mut 2.0, &mut 3.0]);
        assert_eq!(checkpoint.words(), None);
    }

    #[test]
    fn none_stays_none() {
        let mut checkpoint = Checkpoint::with_capacity(4);
        let mut writer = checkpoint.begin();
        writer.optional(&mut None, 0.0, |archive, number| archive.number(number));
        writer.optional(&mut Some(2.5), 0.0, |archive, number| archive.number(number));
        let (mut first, mut second, mut reader) = (Some(1.0), None, checkpoint.read());
        reader.optional(&mut first, 0.0, |archive, number| archive.number(number));
        reader.optional(&mut second, 0.0, |archive, number| archive.number(number));
        assert_eq!((first, second, reader.end()), (None, Some(2.5), Ok(())));
    }
}

//! Near pairs: a list of fixed capacity with a hash index. Adding, finding and removing a pair take constant time on
//! average.

use crate::bits::GOLDEN_RATIO;
use crate::collide::warm_start::WarmStart;
use crate::scene::Scene;
use crate::shape::features::FeatureCache;

/// Two pieces that are near each other, with the data of their contact that lasts from tick to tick.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Indices of the pieces: the fixed one first or, if both are dynamic, the lower index first.
    pub pieces: [u32; 2],
    /// Indices of the bodies of the two pieces, in the same order.
    pub bodies: [u32; 2],
    /// Coulomb coefficient of the pair.
    pub friction: f64,
    /// Restitution of the pair.
    pub restitution: f64,
    /// Features of the pair in the last tick.
    pub features: FeatureCache,
    /// Impulses of the pair in the last tick.
    pub warm_start: WarmStart,
}

impl Pair {
    /// Creates a pair without features or impulses.
    pub fn new(scene: &Scene, pieces: [u32; 2]) -> Self {
        let bodies = pieces.map(|piece| scene.pieces[piece as usize].body);
        let [a, b] = bodies.map(|body| body as usize);
        Self {
            pieces,
            bodies,
            friction: scene.friction_of(a, b),
            restitution: scene.restitution_of(a, b),
            features: FeatureCache::default(),
            warm_start: WarmStart::default(),
        }
    }
}

const EMPTY: u32 = u32::MAX;

/// A list of near pairs with an open-addressing hash index over their pieces. The pairs are in insertion order, except
/// that a removal moves the last pair into the gap.
#[derive(Clone, Debug)]
pub struct PairTable {
    pairs: Vec<Pair>,
    capacity: usize,
    /// For each slot of the hash index, the position of a pair in `pairs`, or `EMPTY`. At most half of the slots are in
    /// use, so probes stay short.
    slots: Vec<u32>,
    mask: usize,
}

impl PairTable {
    /// Creates an empty table for up to `capacity` pairs. Allocates all memory that the table will ever need.
    pub fn with_capacity(capacity: usize) -> Self {
        let size = (capacity.max(1) * 2).next_power_of_two().max(8);
        Self { pairs: Vec::with_capacity(capacity), capacity, slots: vec![EMPTY; size], mask: size - 1 }
    }

    /// Returns all pairs.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Returns all pairs for modification.
    pub fn pairs_mut(&mut self) -> &mut [Pair] {
        &mut self.pairs
    }

    /// Whether the number of pairs has reached the capacity.
    pub fn is_full(&self) -> bool {
        self.pairs.len() >= self.capacity
    }

    /// Whether the pair of the pieces `a` and `b`, in this order, is in the table. Real-time: a short probe, in the
    /// worst case over as many slots as there are pairs.
    pub fn contains(&self, a: u32, b: u32) -> bool {
        self.slots[self.probe(a, b)] != EMPTY
    }

    /// Adds a pair that is not in the table; does nothing when the table is full.
    pub fn insert(&mut self, pair: Pair) {
        if self.is_full() {
            return;
        }
        let slot = self.probe(pair.pieces[0], pair.pieces[1]);
        self.slots[slot] = self.pairs.len() as u32;
        self.pairs.push(pair);
    }

    /// Removes the pair at an index; the last pair takes its place.
    pub fn remove(&mut self, index: usize) {
        let gone = self.pairs[index].pieces;
        self.vacate(self.probe(gone[0], gone[1]));
        let last = self.pairs.len() - 1;
        if index != last {
            let moved = self.pairs[last].pieces;
            let slot = self.probe(moved[0], moved[1]);
            self.slots[slot] = index as u32;
        }
        self.pairs.swap_remove(index);
    }

    /// Removes all pairs.
    pub fn clear(&mut self) {
        self.pairs.clear();
        self.slots.fill(EMPTY);
    }

    /// Keeps the pairs for which `keep` holds. Real-time: one pass over the pairs.
    pub fn retain(&mut self, keep: impl Fn(&Pair) -> bool) {
        let mut index = self.pairs.len();
        while index > 0 {
            index -= 1;
            if !keep(&self.pairs[index]) {
                self.remove(index);
            }
        }
    }

    /// Returns the slot of the pair of the pieces `a` and `b`, or the empty slot in which the pair would be inserted.
    fn probe(&self, a: u32, b: u32) -> usize {
        let mut slot = home(a, b) & self.mask;
        while self.slots[slot] != EMPTY && self.pairs[self.slots[slot] as usize].pieces != [a, b] {
            slot = (slot + 1) & self.mask;
        }
        slot
    }

    /// Empties a slot and moves later entries of its run back, so that every probe still finds its pair.
    fn vacate(&mut self, mut hole: usize) {
        self.slots[hole] = EMPTY;
        let mut slot = (hole + 1) & self.mask;
        while self.slots[slot] != EMPTY {
            let [a, b] = self.pairs[self.slots[slot] as usize].pieces;
            let wanted = home(a, b) & self.mask;
            if (slot.wrapping_sub(wanted) & self.mask) >= (slot.wrapping_sub(hole) & self.mask) {
                self.slots.swap(hole, slot);
                hole = slot;
            }
            slot = (slot + 1) & self.mask;
        }
    }
}

fn home(a: u32, b: u32) -> usize {
    let key = (u64::from(a) << 32) | u64::from(b);
    (key.wrapping_mul(GOLDEN_RATIO) >> 32) as usize
}

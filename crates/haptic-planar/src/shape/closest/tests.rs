//! Compares the walk with brute force, and brute force with an independent separating-axis test.

use super::*;
use crate::shape::piece::Piece;
use haptic_testing::Random;
use proptest::prelude::*;

/// Returns a core whose corners are unevenly spread on a random ellipse of about 1 m, always convex and anticlockwise.
fn random_core(random: &mut Random, count: usize) -> Piece {
    let (width, height) = (random.between(0.1, 1.0), random.between(0.1, 1.0));
    let outline: Vec<_> = (0..count)
        .map(|i| {
            let angle = (i as f64 + random.between(0.0, 0.9)) * std::f64::consts::TAU / count as f64;
            Vector2::new(width * libm::cos(angle), height * libm::sin(angle))
        })
        .collect();
    Piece::new(0, &outline, 0.0)
}

fn random_seed(random: &mut Random) -> Seed {
    Seed { a: random.bits() as u8, b: (random.bits() >> 8) as u8 }
}

fn placed(piece: &Piece, x: f64, y: f64, angle: f64) -> PlacedPiece {
    PlacedPiece::new(piece, Vector2::new(x, y), Vector2::new(libm::cos(angle), libm::sin(angle)))
}

fn box_at(x: f64, y: f64, angle: f64) -> PlacedPiece {
    let outline = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)].map(|(x, y)| Vector2::new(x, y));
    placed(&Piece::new(0, &outline, 0.0), x, y, angle)
}

fn segment(from: (f64, f64), to: (f64, f64)) -> PlacedPiece {
    let outline = [Vector2::new(from.0, from.1), Vector2::new(to.0, to.1)];
    placed(&Piece::new(0, &outline, 0.0), 0.0, 0.0, 0.0)
}

fn point(x: f64, y: f64) -> PlacedPiece {
    placed(&Piece::new(0, &[Vector2::new(x, y)], 0.0), 0.0, 0.0, 0.0)
}

/// Returns the widest gap between the projections onto any edge normal. Detects every separation if at least one of the
/// cores has an area.
fn widest_gap(a: &PlacedPiece, b: &PlacedPiece) -> f64 {
    let interval = |core: &PlacedPiece, axis: &Vector2<f64>| {
        let along = core.corners[..core.count].iter().map(|corner| corner.dot(axis));
        (along.clone().fold(f64::INFINITY, f64::min), along.fold(f64::NEG_INFINITY, f64::max))
    };
    let gap = |axis| {
        let ((low_a, high_a), (low_b, high_b)) = (interval(a, axis), interval(b, axis));
        f64::max(low_b - high_a, low_a - high_b)
    };
    a.normals[..a.count].iter().chain(&b.normals[..b.count]).map(gap).fold(f64::NEG_INFINITY, f64::max)
}

/// Checks the walk from this seed against brute force and returns its result.
fn check(a: &PlacedPiece, b: &PlacedPiece, seed: &mut Seed) -> Option<Closest> {
    let before = *seed;
    let (walked, reference) = (track(a, b, seed), brute_force(a, b));
    let same = match (&walked, &reference) {
        (Some(walked), Some(reference)) => agrees(walked, reference) && lies_on_features(a, b, walked),
        (None, None) => true,
        _ => false,
    };
    assert!(same, "from {before:?}\n{walked:?}\n{reference:?}\n{a:?}\n{b:?}");
    walked
}

/// Whether the distances agree to a relative 1e-12; the absolute part covers the rounding of coordinates of about 1 m.
fn agrees(walked: &Closest, reference: &Closest) -> bool {
    let tolerance = 1e-12 * reference.distance_m + 4e-16;
    let between = (walked.on_a - walked.on_b).norm();
    (walked.distance_m - reference.distance_m).abs() <= tolerance && (between - walked.distance_m).abs() <= 1e-14
}

fn lies_on_features(a: &PlacedPiece, b: &PlacedPiece, closest: &Closest) -> bool {
    let on = |core: &PlacedPiece, feature, point: Vector2<f64>| match feature {
        Feature::Corner(index) => (index as usize) < core.count && core.corners[index as usize] == point,
        Feature::Edge(index) => {
            let (from, to) = (core.corners[index as usize], corner(core, after(core, index as usize)));
            ((from - point).norm() + (to - point).norm() - (from - to).norm()).abs() < 1e-12
        }
    };
    let two_edges = matches!((closest.feature_a, closest.feature_b), (Feature::Edge(_), Feature::Edge(_)));
    !two_edges && on(a, closest.feature_a, closest.on_a) && on(b, closest.feature_b, closest.on_b)
}

/// Statistics of many walks.
#[derive(Default)]
struct Tally {
    queries: u32,
    steps: u32,
    longest: u32,
    fell_back: u32,
}

impl Tally {
    fn count(&mut self, closest: &Closest) {
        self.queries += 1;
        self.steps += closest.steps;
        self.longest = self.longest.max(closest.steps);
        self.fell_back += u32::from(closest.fell_back);
    }

    fn mean(&self) -> f64 {
        f64::from(self.steps) / f64::from(self.queries)
    }
}

/// Moves two cores past each other for 200 ticks, with up to 0.02 rad of orbit and 0.05 rad of rotation per tick.
fn sweep(random: &mut Random, corners_from: usize, tally: &mut Tally) {
    let count = |random: &mut Random| corners_from + random.index(MAX_CORNERS + 1 - corners_from);
    let (count_a, count_b) = (count(random), count(random));
    let (piece_a, piece_b) = (random_core(random, count_a), random_core(random, count_b));
    let (distance, mut bearing, mut rotation) = (random.between(0.2, 2.5), random.between(0.0, 6.0), 0.0);
    let (orbit, angular_velocity) = (random.between(-0.02, 0.02), random.between(-0.05, 0.05));
    let mut seed = Seed::default();
    for _ in 0..200 {
        (bearing, rotation) = (bearing + orbit, rotation + angular_velocity);
        let a = placed(&piece_a, 0.0, 0.0, -0.3 * rotation);
        let b = placed(&piece_b, distance * libm::cos(bearing), distance * libm::sin(bearing), rotation);
        if let Some(closest) = check(&a, &b, &mut seed) {
            tally.count(&closest);
        }
    }
}

#[test]
fn a_coherent_walk_agrees_with_all_pairs_forty_thousand_times() {
    let (mut random, mut tally) = (Random(0x9e37_79b9_7f4a_7c15), Tally::default());
    while tally.queries < 40_000 {
        sweep(&mut random, 3, &mut tally);
    }
    assert_eq!(tally.fell_back, 0);
    assert!(tally.longest <= 12, "longest walk {}", tally.longest);
    assert!(tally.mean() < 1.2, "mean steps {}", tally.mean());
}

#[test]
fn a_coherent_walk_takes_points_and_segments_too() {
    let (mut random, mut tally) = (Random(77), Tally::default());
    while tally.queries < 20_000 {
        sweep(&mut random, 1, &mut tally);
    }
    assert_eq!(tally.fell_back, 0);
}

#[test]
fn any_seed_reaches_the_same_distance_within_the_budget() {
    let (mut random, mut tally) = (Random(5), Tally::default());
    while tally.queries < 40_000 {
        let counts = (1 + random.index(16), 1 + random.index(16));
        let (piece_a, piece_b) = (random_core(&mut random, counts.0), random_core(&mut random, counts.1));
        let a = placed(&piece_a, 0.0, 0.0, random.between(-4.0, 4.0));
        let b = placed(&piece_b, random.between(-2.0, 2.0), random.between(-2.0, 2.0), random.between(-4.0, 4.0));
        if let Some(closest) = check(&a, &b, &mut random_seed(&mut random)) {
            tally.count(&closest);
        }
    }
    assert_eq!(tally.fell_back, 0);
    assert!(tally.longest <= 20, "longest walk {}", tally.longest);
    assert!(tally.mean() < 5.0, "mean steps {}", tally.mean());
}

#[test]
fn cores_are_apart_exactly_when_an_axis_separates_them() {
    let (mut random, mut overlapping) = (Random(123), 0);
    for _ in 0..40_000 {
        let counts = (3 + random.index(14), 1 + random.index(16));
        let (piece_a, piece_b) = (random_core(&mut random, counts.0), random_core(&mut random, counts.1));
        let a = placed(&piece_a, 0.0, 0.0, random.between(-4.0, 4.0));
        let b = placed(&piece_b, random.between(-1.0, 1.0), random.between(-1.0, 1.0), random.between(-4.0, 4.0));
        let gap = widest_gap(&a, &b);
        if gap.abs() > 2.0 * TOUCHING_M {
            assert_eq!(track(&a, &b, &mut random_seed(&mut random)).is_some(), gap > 0.0, "{a:?}\n{b:?}");
            assert_eq!(track(&b, &a, &mut random_seed(&mut random)).is_some(), gap > 0.0, "{a:?}\n{b:?}");
            assert_eq!(brute_force(&a, &b).is_some(), gap > 0.0, "{a:?}\n{b:?}");
            overlapping += u32::from(gap < 0.0);
        }
    }
    assert!(overlapping > 10_000 && overlapping < 35_000, "{overlapping} overlapping");
}

/// Returns the number of steps after which the walk itself proves overlap, if it does so within the budget.
fn steps_to_overlap(a: &PlacedPiece, b: &PlacedPiece, seed: Seed) -> Option<u32> {
    let mut walk = Walk::from_seed(a, b, seed);
    (1..=STEP_BUDGET).find(|_| {
        let finding = walk.look();
        walk.follow(finding) == Relation::Overlapping
    })
}

#[test]
fn overlap_is_proven_by_the_walk_without_comparing_all_pairs() {
    let (mut random, mut longest, mut proven) = (Random(99), 0, 0);
    while proven < 20_000 {
        let counts = (3 + random.index(14), 2 + random.index(15));
        let a = placed(&random_core(&mut random, counts.0), 0.0, 0.0, random.between(-4.0, 4.0));
        let b = placed(&random_core(&mut random, counts.1), random.between(-1.0, 1.0), random.between(-1.0, 1.0), 0.0);
        if widest_gap(&a, &b) < -TOUCHING_M {
            let steps = steps_to_overlap(&a, &b, random_seed(&mut random));
            (longest, proven) = (longest.max(steps.expect("a proof within the budget")), proven + 1);
        }
    }
    assert!(longest <= 20, "longest proof {longest}");
}

#[test]
fn a_core_one_micrometre_away_is_apart_and_one_inside_is_not() {
    for seed in [Seed::default(), Seed { a: 2, b: 3 }, Seed { a: 0x81, b: 2 }] {
        let near = check(&box_at(0.0, 0.0, 0.0), &box_at(0.3, 1.0 + 1e-6, 0.0), &mut { seed }).unwrap();
        assert!((near.distance_m - 1e-6).abs() < 1e-15);
        assert!(check(&box_at(0.0, 0.0, 0.0), &box_at(0.3, 1.0 - 1e-6, 0.0), &mut { seed }).is_none());
        assert!(check(&box_at(0.0, 0.0, 0.0), &box_at(0.3, 1.0, 0.0), &mut { seed }).is_none());
        assert!(check(&box_at(0.0, 0.0, 0.0), &box_at(0.0, 0.0, 0.0), &mut { seed }).is_none());
    }
}

#[test]
fn aligned_boxes_and_segments_are_right_from_every_seed() {
    let marks = [0, 1, 2, 3, EDGE_MARK, EDGE_MARK + 1, EDGE_MARK + 2, EDGE_MARK + 3];
    let seeds = || marks.into_iter().flat_map(|a| marks.map(|b| Seed { a, b }));
    for (x, y) in (-8..=8).flat_map(|x| (-8..=8).map(move |y| (f64::from(x) * 0.25, f64::from(y) * 0.25))) {
        let others = [box_at(x, y, 0.0), segment((x, y), (x + 1.0, y)), segment((x, y), (x, y + 0.5)), point(x, y)];
        for (core, other, mut seed) in
            others.iter().flat_map(|a| others.iter().flat_map(move |b| seeds().map(move |seed| (a, b, seed))))
        {
            let moved = PlacedPiece { corners: core.corners.map(|c| c - Vector2::new(x, y)), ..*core };
            check(&moved, other, &mut seed);
        }
    }
}

#[test]
fn parallel_edges_give_a_corner_and_an_edge() {
    for rotation in 0..50 {
        let angle = f64::from(rotation) * 0.1;
        let shift = nalgebra::Rotation2::new(angle) * Vector2::new(0.3, 1.25);
        let (a, b) = (box_at(0.0, 0.0, angle), box_at(shift.x, shift.y, angle));
        let closest = check(&a, &b, &mut Seed::default()).unwrap();
        let corners = [closest.feature_a, closest.feature_b].map(|f| matches!(f, Feature::Corner(_)));
        assert_eq!(corners.iter().filter(|is_corner| **is_corner).count(), 1, "{closest:?}");
        assert!((closest.distance_m - 0.25).abs() < 1e-15);
    }
}

#[test]
fn parallel_edges_keep_their_features_while_they_slide() {
    let mut seed = Seed::default();
    let first = check(&box_at(0.0, 0.0, 0.7), &at_slide(0.0), &mut seed).unwrap();
    for tick in 1..100 {
        let next = check(&box_at(0.0, 0.0, 0.7), &at_slide(f64::from(tick) * 1e-3), &mut seed).unwrap();
        assert_eq!((next.feature_a, next.feature_b, next.steps), (first.feature_a, first.feature_b, 1));
    }
}

fn at_slide(slide: f64) -> PlacedPiece {
    let shift = nalgebra::Rotation2::new(0.7) * Vector2::new(0.2 + slide, 1.1);
    box_at(shift.x, shift.y, 0.7)
}

#[test]
fn two_points_are_as_far_apart_as_they_are() {
    let closest = check(&point(1.0, 1.0), &point(4.0, 5.0), &mut Seed { a: 255, b: 255 }).unwrap();
    assert_eq!((closest.distance_m, closest.feature_a), (5.0, Feature::Corner(0)));
    assert!(check(&point(1.0, 1.0), &point(1.0, 1.0), &mut Seed::default()).is_none());
}

#[test]
fn a_segment_has_two_sides_and_two_ends() {
    let flat = segment((-1.0, 0.0), (1.0, 0.0));
    let cases = [
        (0.5, 2.0, 2.0, Feature::Edge(1)),
        (0.5, -2.0, 2.0, Feature::Edge(0)),
        (3.0, 0.0, 2.0, Feature::Corner(1)),
        (-1.5, 0.0, 0.5, Feature::Corner(0)),
    ];
    for (x, y, distance, feature) in cases {
        for mark in [0, 1, EDGE_MARK, EDGE_MARK + 1] {
            let closest = check(&flat, &point(x, y), &mut Seed { a: mark, b: 0 }).unwrap();
            assert_eq!((closest.distance_m, closest.feature_a, closest.fell_back), (distance, feature, false));
        }
    }
    assert!(check(&flat, &point(0.2, 0.0), &mut Seed::default()).is_none());
    assert!(check(&flat, &point(1.0, 0.0), &mut Seed::default()).is_none());
}

#[test]
fn segments_cross_touch_or_stand_on_one_line() {
    let flat = segment((-1.0, 0.0), (1.0, 0.0));
    for mark in [0, 1, EDGE_MARK, EDGE_MARK + 1] {
        let mut seed = Seed { a: mark, b: 1 };
        assert!(check(&flat, &segment((0.0, -1.0), (0.0, 1.0)), &mut { seed }).is_none());
        assert!(check(&flat, &segment((0.0, 0.0), (0.0, 1.0)), &mut { seed }).is_none());
        assert!(check(&flat, &segment((0.5, 0.0), (2.0, 0.0)), &mut { seed }).is_none());
        let line = check(&flat, &segment((1.5, 0.0), (2.0, 0.0)), &mut seed).unwrap();
        assert_eq!((line.distance_m, line.feature_a, line.feature_b), (0.5, Feature::Corner(1), Feature::Corner(0)));
    }
}

#[test]
fn a_walk_given_up_leaves_a_seed_that_the_next_confirms_in_one_step() {
    let (mut random, mut seed, mut apart) = (Random(2024), Seed::default(), 0);
    while apart < 1000 {
        let counts = (1 + random.index(16), 1 + random.index(16));
        let a = placed(&random_core(&mut random, counts.0), 0.0, 0.0, random.between(-4.0, 4.0));
        let b = placed(&random_core(&mut random, counts.1), random.between(-2.0, 2.0), random.between(-2.0, 2.0), 0.0);
        if let Some(given_up) = fall_back(&a, &b, &mut seed) {
            let next = track(&a, &b, &mut seed).unwrap();
            assert_eq!((given_up.fell_back, given_up.steps), (true, STEP_BUDGET));
            assert_eq!((next.fell_back, next.steps, next.distance_m), (false, 1, given_up.distance_m));
            apart += 1;
        }
    }
}

#[test]
fn what_is_not_a_number_ends_within_the_budget() {
    let mut broken = box_at(0.0, 3.0, 0.0);
    broken.corners[1].x = f64::NAN;
    broken.normals[2].y = f64::NAN;
    for seed in 0..=255 {
        track(&broken, &box_at(0.0, 0.0, 0.0), &mut Seed { a: seed, b: seed.rotate_left(4) });
    }
}

proptest! {
    #[test]
    fn the_order_of_the_cores_does_not_matter(
        bits in 1u64.., counts in (1usize..=16, 1usize..=16),
        x in -2.0f64..2.0, y in -2.0f64..2.0, angle in -4.0f64..4.0,
    ) {
        let mut random = Random(bits);
        let a = placed(&random_core(&mut random, counts.0), 0.0, 0.0, 0.0);
        let b = placed(&random_core(&mut random, counts.1), x, y, angle);
        let one = check(&a, &b, &mut random_seed(&mut random)).map(|closest| closest.distance_m);
        let other = check(&b, &a, &mut random_seed(&mut random)).map(|closest| closest.distance_m);
        prop_assert!((one.unwrap_or(0.0) - other.unwrap_or(0.0)).abs() <= 1e-14);
    }

    #[test]
    fn a_finished_walk_is_confirmed_in_one_step(
        bits in 1u64.., counts in (1usize..=16, 1usize..=16),
        x in -2.0f64..2.0, y in -2.0f64..2.0, angle in -4.0f64..4.0,
    ) {
        let mut random = Random(bits);
        let a = placed(&random_core(&mut random, counts.0), 0.0, 0.0, 0.0);
        let b = placed(&random_core(&mut random, counts.1), x, y, angle);
        let mut seed = random_seed(&mut random);
        if let Some(first) = track(&a, &b, &mut seed) {
            let again = track(&a, &b, &mut seed).unwrap();
            prop_assert_eq!((again.steps, again.distance_m), (1, first.distance_m));
            prop_assert_eq!((again.feature_a, again.feature_b), (first.feature_a, first.feature_b));
        }
    }
}

//! Properties of seams on floors of tiles and on bodies that are cut into parts.

use super::*;
use crate::scene::decompose::convex_parts;
use crate::scene::mass::box_corners;
use crate::scene::polygon::tests::points;

const RIGHT: Vector2<f64> = Vector2::new(1.0, 0.0);
const UP: Vector2<f64> = Vector2::new(0.0, 1.0);

/// Index of the lower left corner of a box. The other corners follow anticlockwise; the edges are given as bits.
const LOWER_LEFT: usize = 0;
const LOWER_RIGHT: usize = 1;
const UPPER_RIGHT: usize = 2;
const UPPER_LEFT: usize = 3;
const RIGHT_EDGE: u16 = 1 << 1;
const TOP_EDGE: u16 = 1 << 2;
const LEFT_EDGE: u16 = 1 << 3;
const BOTTOM_EDGE: u16 = 1 << 0;

/// Bodies and their convex pieces.
struct World {
    bodies: Vec<Body>,
    pieces: Vec<Piece>,
}

impl World {
    fn new() -> Self {
        Self { bodies: Vec::new(), pieces: Vec::new() }
    }

    fn add(
        mut self,
        fixed: bool,
        layer: i32,
        pose: (f64, f64, f64),
        parts: &[Vec<Vector2<f64>>],
        radius_m: f64,
    ) -> Self {
        let first = self.pieces.len();
        let body = self.bodies.len() as u32;
        self.pieces.extend(parts.iter().map(|part| Piece::new(body, part, radius_m)));
        self.bodies.push(Body {
            name: format!("body {body}"),
            fixed,
            pieces: first..self.pieces.len(),
            shapes: Vec::new(),
            mass_kg: f64::INFINITY,
            inertia_kg_m2: f64::INFINITY,
            reach_m: 0.0,
            gravity_m_per_s2: Vector2::zeros(),
            centre_m: Vector2::zeros(),
            position_m: Vector2::new(pose.0, pose.1),
            angle_rad: pose.2,
            velocity_m_per_s: Vector2::zeros(),
            angular_velocity_rad_per_s: 0.0,
            friction: 0.5,
            restitution: 0.2,
            layer,
            colour: String::new(),
        });
        self
    }

    /// Adds a fixed box; position and size in mm.
    fn tile(self, x: f64, y: f64, width: f64, height: f64) -> Self {
        let corners = box_corners(Vector2::new(width, height) * 1e-3).to_vec();
        self.add(true, 0, (x * 1e-3, y * 1e-3, 0.0), &[corners], 0.0)
    }

    fn seams(mut self) -> Vec<Option<Seams>> {
        fill_seams(&self.bodies, &mut self.pieces);
        self.pieces.into_iter().map(|piece| piece.seams.map(|seams| *seams)).collect()
    }
}

fn assert_between(cone: Cone, low: Vector2<f64>, high: Vector2<f64>) {
    let Cone::Between(found_low, found_high) = cone else { panic!("{cone:?} instead of a cut cone") };
    assert!((found_low - low).norm() < 1e-9 && (found_high - high).norm() < 1e-9, "{found_low} {found_high}");
}

#[test]
fn two_tiles_side_by_side_keep_only_up_at_their_joint() {
    let seams = World::new().tile(0.0, 0.0, 40.0, 20.0).tile(40.0, 0.0, 40.0, 20.0).seams();
    let (left, right) = (seams[0].as_ref().unwrap(), seams[1].as_ref().unwrap());
    assert_eq!(left.internal_edges, RIGHT_EDGE);
    assert_eq!(right.internal_edges, LEFT_EDGE);
    assert_between(left.cones[UPPER_RIGHT], UP, UP);
    assert_between(right.cones[UPPER_LEFT], UP, UP);
    assert_between(left.cones[LOWER_RIGHT], -UP, -UP);
    assert_eq!(left.cones[UPPER_LEFT], Cone::Full);
    assert_eq!(right.cones[LOWER_RIGHT], Cone::Full);
}

#[test]
fn four_tiles_in_a_square_close_their_common_corner() {
    let world = World::new().tile(-10.0, -10.0, 20.0, 20.0).tile(10.0, -10.0, 20.0, 20.0);
    let seams = world.tile(-10.0, 10.0, 20.0, 20.0).tile(10.0, 10.0, 20.0, 20.0).seams();
    let centres = [UPPER_RIGHT, UPPER_LEFT, LOWER_RIGHT, LOWER_LEFT];
    for (tile, centre) in centres.into_iter().enumerate() {
        assert_eq!(seams[tile].as_ref().unwrap().cones[centre], Cone::Empty);
        assert_eq!(seams[tile].as_ref().unwrap().internal_edges.count_ones(), 2);
    }
}

#[test]
fn the_cut_of_an_l_shape_is_internal_and_its_inner_corner_closed() {
    let outline = points(&[[0.0, 0.0], [0.03, 0.0], [0.03, 0.01], [0.01, 0.01], [0.01, 0.03], [0.0, 0.03]]);
    let parts = convex_parts(&outline).unwrap();
    for (fixed, angle, radius_m) in [(true, 0.0, 0.0), (true, 0.7, 0.0), (false, 0.7, 0.0), (false, 0.0, 0.002)] {
        let world = World::new().add(fixed, 0, (0.1, 0.2, angle), &parts, radius_m);
        for (part, seams) in parts.iter().zip(world.seams()) {
            let seams = seams.unwrap();
            let inner = part.iter().position(|corner| *corner == outline[3]).unwrap();
            let outer = part.iter().position(|corner| *corner == outline[0]).unwrap();
            assert_eq!(seams.internal_edges.count_ones(), 1);
            assert_eq!(seams.cones[inner], Cone::Empty);
            assert_between(seams.cones[outer], -RIGHT, -UP);
        }
    }
}

#[test]
fn at_a_t_junction_the_stem_is_closed_and_the_bar_keeps_its_ends() {
    // Two bar tiles meet over the middle of a stem.
    let world = World::new().tile(-20.0, 10.0, 40.0, 20.0).tile(20.0, 10.0, 40.0, 20.0).tile(0.0, -20.0, 20.0, 40.0);
    let seams = world.seams();
    let (left, stem) = (seams[0].as_ref().unwrap(), seams[2].as_ref().unwrap());
    assert_eq!(stem.internal_edges, TOP_EDGE, "two neighbours cover it together");
    assert_eq!(stem.cones[UPPER_LEFT], Cone::Empty);
    assert_eq!(left.internal_edges, RIGHT_EDGE, "the bar's underside is covered only in part");
    assert_eq!(left.cones[LOWER_RIGHT], Cone::Empty);
    assert_between(left.cones[UPPER_RIGHT], UP, UP);
    assert_eq!(left.cones[LOWER_LEFT], Cone::Full);
}

#[test]
fn a_box_on_a_wider_box_loses_its_underside_and_lower_corners_only() {
    let seams = World::new().tile(0.0, 0.0, 100.0, 20.0).tile(0.0, 20.0, 20.0, 20.0).seams();
    let upper = seams[1].as_ref().unwrap();
    assert!(seams[0].is_none(), "the wider box keeps its whole outline");
    assert_eq!(upper.internal_edges, BOTTOM_EDGE);
    assert_eq!(upper.cones[LOWER_LEFT], Cone::Empty);
    assert_eq!(upper.cones[LOWER_RIGHT], Cone::Empty);
    assert_eq!(upper.cones[UPPER_LEFT], Cone::Full);
}

#[test]
fn a_step_of_ten_micrometres_is_flush() {
    let seams = World::new().tile(0.0, 0.0, 40.0, 20.0).tile(40.0, 0.010, 40.0, 20.0).seams();
    let (left, right) = (seams[0].as_ref().unwrap(), seams[1].as_ref().unwrap());
    assert_eq!((left.internal_edges, right.internal_edges), (RIGHT_EDGE, LEFT_EDGE));
    assert_between(left.cones[UPPER_RIGHT], UP, UP);
    assert_between(right.cones[UPPER_LEFT], UP, UP);
}

#[test]
fn a_step_of_a_millimetre_is_felt() {
    let seams = World::new().tile(0.0, 0.0, 40.0, 20.0).tile(40.0, 1.0, 40.0, 20.0).seams();
    let (left, right) = (seams[0].as_ref().unwrap(), seams[1].as_ref().unwrap());
    assert_eq!(right.internal_edges, 0, "a millimetre of it stands out");
    assert_eq!(right.cones[UPPER_LEFT], Cone::Full);
    assert_eq!(left.cones[UPPER_RIGHT], Cone::Empty);
}

#[test]
fn a_gap_of_a_tenth_of_a_millimetre_is_no_seam() {
    assert!(World::new().tile(0.0, 0.0, 40.0, 20.0).tile(40.1, 0.0, 40.0, 20.0).seams().iter().all(Option::is_none));
}

#[test]
fn a_piece_that_ends_flush_inside_another_hides_nothing_of_it() {
    let seams = World::new().tile(0.0, 0.0, 40.0, 20.0).tile(0.0, 5.0, 20.0, 10.0).seams();
    assert!(seams[0].is_none(), "the large tile's top stays a top");
    let inner = seams[1].as_ref().unwrap();
    assert_eq!(inner.internal_edges, LEFT_EDGE | RIGHT_EDGE | BOTTOM_EDGE);
    assert_eq!(inner.cones[LOWER_LEFT], Cone::Empty);
}

#[test]
fn three_blocks_do_not_make_a_floor_vanish() {
    let world = World::new().tile(0.0, 0.0, 100.0, 20.0).tile(-48.0, 15.0, 2.0, 10.0);
    let seams = world.tile(0.0, 15.0, 2.0, 10.0).tile(48.0, 15.0, 2.0, 10.0).seams();
    assert!(seams[0].is_none());
}

#[test]
fn a_sloping_neighbour_leaves_the_directions_between_the_two_faces() {
    let slope = points(&[[0.0, -0.02], [0.04, -0.03], [0.04, -0.01], [0.0, 0.0]]);
    let world = World::new().tile(-20.0, -10.0, 40.0, 20.0).add(true, 0, (0.0, 0.0, 0.0), &[slope], 0.0);
    let seams = world.seams();
    let across = Vector2::new(0.01, 0.04).normalize();
    assert_between(seams[0].as_ref().unwrap().cones[UPPER_RIGHT], across, UP);
    assert_between(seams[1].as_ref().unwrap().cones[3], across, UP);
}

#[test]
fn cones_are_given_in_the_frame_of_a_turned_body() {
    let square = vec![box_corners(Vector2::new(0.02, 0.02)).to_vec()];
    let quarter = std::f64::consts::FRAC_PI_2;
    let world = World::new().tile(0.0, 0.0, 20.0, 20.0).add(true, 0, (0.02, 0.0, quarter), &square, 0.0);
    let turned = world.seams()[1].clone().unwrap();
    // After a quarter turn, the body's own right points up in the world.
    assert_eq!(turned.internal_edges, TOP_EDGE);
    assert_between(turned.cones[UPPER_RIGHT], RIGHT, RIGHT);
}

#[test]
fn other_layers_moving_bodies_and_other_roundings_make_no_seams() {
    let square = vec![box_corners(Vector2::new(0.02, 0.02)).to_vec()];
    let beside = |fixed, layer, radius_m| {
        let world = World::new().tile(0.0, 0.0, 20.0, 20.0).add(fixed, layer, (0.02, 0.0, 0.0), &square, radius_m);
        world.seams().iter().any(Option::is_some)
    };
    assert!(beside(true, 0, 0.0));
    assert!(!beside(true, 1, 0.0));
    assert!(!beside(false, 0, 0.0));
    assert!(!beside(true, 0, 0.001));
}

#[test]
fn rounded_tiles_keep_the_groove_between_them() {
    let square = vec![box_corners(Vector2::new(0.018, 0.018)).to_vec()];
    let world = World::new().add(true, 0, (0.0, 0.0, 0.0), &square, 0.001);
    assert!(world.add(true, 0, (0.02, 0.0, 0.0), &square, 0.001).seams().iter().all(Option::is_none));
}

#[test]
fn a_floor_of_ten_thousand_tiles_is_one_smooth_surface() {
    let mut world = World::new();
    for i in 0..10_000 {
        let (column, row) = (f64::from(i % 100), f64::from(i / 100));
        world = world.tile(column * 2.0, row * 2.0, 2.0, 2.0);
    }
    let seams = world.seams();
    let inner = seams[5050].as_ref().unwrap();
    assert_eq!(inner.internal_edges, 0b1111);
    assert!(inner.cones[..4].iter().all(|cone| *cone == Cone::Empty));
    let top = seams[9950].as_ref().unwrap();
    assert_eq!(top.internal_edges, 0b1111 & !TOP_EDGE);
    assert_between(top.cones[UPPER_LEFT], UP, UP);
    assert_eq!(seams.iter().flatten().count(), 10_000);
}

/// Whether all features of an outline that are not neighbours are much farther apart than [`FLUSH_M`].
fn is_coarse(outline: &[Vector2<f64>]) -> bool {
    let count = outline.len();
    (0..count).all(|corner| {
        let others = (0..count).filter(|&edge| edge != corner && (edge + 1) % count != corner);
        others
            .into_iter()
            .all(|edge| distance_to_segment_m(outline[corner], outline[edge], outline[(edge + 1) % count]) > 1e-3)
    })
}

/// Checks one part against the outline it was cut from.
fn assert_only_the_outline_is_bare(outline: &[Vector2<f64>], part: &[Vector2<f64>], seams: Option<&Seams>) {
    let whole = Piece::new(0, part, 0.0);
    let (count, parts_count) = (outline.len(), part.len());
    let at = |corner: Vector2<f64>| outline.iter().position(|c| *c == corner).unwrap();
    let normal = |edge: usize| {
        let along = (outline[(edge + 1) % count] - outline[edge]).normalize();
        Vector2::new(along.y, -along.x)
    };
    for i in 0..parts_count {
        let (here, next) = (at(part[i]), at(part[(i + 1) % parts_count]));
        let internal = seams.is_some_and(|seams| seams.internal_edges >> i & 1 == 1);
        assert_eq!(internal, next != (here + 1) % count, "edge {i}");
        let (before, after) = (normal((here + count - 1) % count), normal(here));
        let cone = match seams.map_or(Cone::Full, |seams| seams.cones[i]) {
            Cone::Full => Some((whole.normals[(i + parts_count - 1) % parts_count], whole.normals[i])),
            Cone::Between(low, high) => Some((low, high)),
            Cone::Empty => None,
        };
        let rotation = before.x * after.y - before.y * after.x;
        if rotation.abs() < 4e-3 {
            // Almost flat: one direction or none may be left.
            continue;
        } else if rotation < 0.0 {
            assert!(cone.is_none(), "reflex corner {i} is open");
        } else {
            let (low, high) = cone.expect("a corner that sticks out is closed");
            assert!((low - before).norm() < 2e-3 && (high - after).norm() < 2e-3, "corner {i}");
        }
    }
}

proptest::proptest! {
    #[test]
    fn of_a_cut_body_exactly_the_outline_can_be_touched(outline in crate::scene::polygon::tests::star_outlines()) {
        let tidied = crate::scene::polygon::tidy(&outline);
        proptest::prop_assume!(tidied.as_ref().is_ok_and(|outline| is_coarse(outline)));
        let outline = tidied.unwrap();
        let parts = convex_parts(&outline);
        proptest::prop_assume!(parts.is_ok());
        let parts = parts.unwrap();
        let seams = World::new().add(false, 0, (0.0, 0.0, 0.0), &parts, 0.0).seams();
        for (part, seams) in parts.iter().zip(&seams) {
            assert_only_the_outline_is_bare(&outline, part, seams.as_ref());
        }
    }
}

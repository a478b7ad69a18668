//! Outlines of bodies and individual pieces.
//!
//! Pieces cut from one polygon share whole edges, bit for bit, once in each direction. Removing the shared edges leaves
//! the edges of the polygon, which are then put in order.

use haptic_planar::shape::piece::Piece;
use nalgebra::Vector2;
use std::f64::consts::TAU;

/// Number of corners in a full turn of a rounded outline.
const CORNERS_PER_TURN: f64 = 48.0;

type Edge = [Vector2<f64>; 2];

/// Returns the closed outlines of the cores of a body's pieces, relative to the centre of mass, m. A disc has one point
/// and a capsule two; the radius of the pieces is not included.
pub fn cores(pieces: &[Piece]) -> Vec<Vec<Vector2<f64>>> {
    let (solid, thin): (Vec<&Piece>, Vec<&Piece>) = pieces.iter().partition(|piece| piece.count > 2);
    let mut edges: Vec<Edge> = solid.iter().flat_map(|piece| edges_of(piece)).collect();
    drop_shared(&mut edges);
    let mut outlines: Vec<Vec<Vector2<f64>>> = thin.iter().map(|piece| piece.outline().to_vec()).collect();
    while let Some(first) = edges.pop() {
        outlines.push(follow(first, &mut edges));
    }
    outlines
}

fn edges_of(piece: &Piece) -> Vec<Edge> {
    let corners = piece.outline();
    (0..corners.len()).map(|index| [corners[index], corners[(index + 1) % corners.len()]]).collect()
}

fn drop_shared(edges: &mut Vec<Edge>) {
    let all = edges.clone();
    edges.retain(|[from, to]| !all.contains(&[*to, *from]));
}

/// Follows the closed outline that starts with `first`, removing its edges from `edges`, and returns its corners.
fn follow(first: Edge, edges: &mut Vec<Edge>) -> Vec<Vector2<f64>> {
    let mut corners = vec![first[0], first[1]];
    while let Some(next) = edges.iter().position(|edge| edge[0] == corners[corners.len() - 1]) {
        corners.push(edges.swap_remove(next)[1]);
    }
    corners.pop_if(|last| *last == first[0]);
    corners
}

/// Returns the outline of a piece with its rounding, anticlockwise, m. `centre_m` is the centre of mass in the frame of
/// the result.
pub fn rounded(piece: &Piece, centre_m: Vector2<f64>) -> Vec<Vector2<f64>> {
    let corners = piece.outline();
    let count = corners.len();
    (0..count)
        .flat_map(|index| {
            let (before, here, after) =
                (corners[(index + count - 1) % count], corners[index], corners[(index + 1) % count]);
            let directions = arc(here - before, after - here).into_iter();
            directions.map(move |direction| here + centre_m + direction * piece.radius_m)
        })
        .collect()
}

/// Returns unit vectors from the outward normal of the edge before a corner to the normal of the edge after it; a full
/// turn for a single point.
fn arc(before: Vector2<f64>, after: Vector2<f64>) -> Vec<Vector2<f64>> {
    let outward = |edge: Vector2<f64>| libm::atan2(-edge.x, edge.y);
    let is_point = before == Vector2::zeros();
    let start = if is_point { 0.0 } else { outward(before) };
    let turn = if is_point { TAU } else { (outward(after) - start).rem_euclid(TAU) };
    let steps = (turn / TAU * CORNERS_PER_TURN).ceil().max(1.0) as u32;
    (0..=steps)
        .map(|step| {
            let (sine, cosine) = libm::sincos(start + turn * f64::from(step) / f64::from(steps));
            Vector2::new(cosine, sine)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_planar::scene::decompose::convex_parts;
    use haptic_planar::scene::polygon::signed_area_m2;

    fn points(corners: &[[f64; 2]]) -> Vec<Vector2<f64>> {
        corners.iter().map(|&[x, y]| Vector2::new(x, y)).collect()
    }

    #[test]
    fn a_concave_polygon_gets_its_own_outline_back() {
        let slot =
            points(&[[0.0, 0.0], [5.0, 0.0], [5.0, 4.0], [3.0, 4.0], [3.0, 1.0], [2.0, 1.0], [2.0, 4.0], [0.0, 4.0]]);
        let parts = convex_parts(&slot).unwrap();
        assert!(parts.len() > 1);
        let pieces: Vec<Piece> = parts.iter().map(|part| Piece::new(0, part, 0.0)).collect();
        let [outline] = &cores(&pieces)[..] else { panic!("one outline") };
        assert_eq!(outline.len(), slot.len());
        assert!(slot.iter().all(|corner| outline.contains(corner)));
        assert_eq!(signed_area_m2(outline), signed_area_m2(&slot));
    }

    #[test]
    fn discs_and_capsules_keep_their_cores() {
        let disc = Piece::new(0, &points(&[[1.0, 2.0]]), 0.5);
        let capsule = Piece::new(0, &points(&[[0.0, 0.0], [1.0, 0.0]]), 0.5);
        assert_eq!(cores(&[disc, capsule]).iter().map(Vec::len).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_disc_is_drawn_round_and_a_box_keeps_its_corners() {
        let disc = rounded(&Piece::new(0, &[Vector2::zeros()], 0.5), Vector2::new(1.0, 0.0));
        assert!(disc.len() > 40);
        assert!(disc.iter().all(|point| ((point - Vector2::new(1.0, 0.0)).norm() - 0.5).abs() < 1e-12));
        let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(Vector2::from);
        let square = rounded(&Piece::new(0, &corners, 0.0), Vector2::zeros());
        assert!(square.iter().all(|point| corners.contains(point)));
    }

    #[test]
    fn a_capsule_is_longer_than_its_core_and_as_wide_as_twice_its_radius() {
        let core = [Vector2::zeros(), Vector2::new(2.0, 0.0)];
        let outline = rounded(&Piece::new(0, &core, 0.25), Vector2::zeros());
        let reach = |pick: fn(&Vector2<f64>) -> f64| outline.iter().map(pick).fold(f64::MIN, f64::max);
        assert!((reach(|point| point.x) - 2.25).abs() < 1e-3);
        assert!((reach(|point| point.y) - 0.25).abs() < 1e-12);
        assert!((reach(|point| -point.y) - 0.25).abs() < 1e-12);
    }
}

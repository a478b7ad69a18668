//! One outline for a body of several convex parts.
//!
//! Parts that come from one polygon share whole edges, bit for bit, once in each direction. Taking those away leaves
//! the polygon's own edges, which are then put in order.

use haptic_planar::shape::piece::Piece;
use nalgebra::Vector2;

type Edge = [Vector2<f64>; 2];

/// Closed outlines of the cores of some pieces, relative to the centre of mass, m. A disc gives a single point and a
/// capsule two; the growth radius is not included.
pub fn outlines(pieces: &[Piece]) -> Vec<Vec<Vector2<f64>>> {
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

/// The closed way that an edge begins; its edges are taken out.
fn follow(first: Edge, edges: &mut Vec<Edge>) -> Vec<Vector2<f64>> {
    let mut corners = vec![first[0], first[1]];
    while let Some(next) = edges.iter().position(|edge| edge[0] == corners[corners.len() - 1]) {
        corners.push(edges.swap_remove(next)[1]);
    }
    corners.pop_if(|last| *last == first[0]);
    corners
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
        let [outline] = &outlines(&pieces)[..] else { panic!("one outline") };
        assert_eq!(outline.len(), slot.len());
        assert!(slot.iter().all(|corner| outline.contains(corner)));
        assert_eq!(signed_area_m2(outline), signed_area_m2(&slot));
    }

    #[test]
    fn discs_and_capsules_keep_their_cores() {
        let disc = Piece::new(0, &points(&[[1.0, 2.0]]), 0.5);
        let capsule = Piece::new(0, &points(&[[0.0, 0.0], [1.0, 0.0]]), 0.5);
        assert_eq!(outlines(&[disc, capsule]).iter().map(Vec::len).collect::<Vec<_>>(), [1, 2]);
    }
}

//! Paints a scene on a canvas, to scale.

use crate::canvas::Canvas;
use crate::frame::Frame;
use haptic_draw::bounds::Bounds;
use haptic_draw::colour::Rgb;
use haptic_draw::placement::Placement;
use haptic_draw::view::{BodyView, SceneView};
use haptic_planar::math::distance_to_segment_m;
use haptic_planar::math::rotate;
use haptic_planar::shape::piece::Piece;
use nalgebra::Vector2;

/// Colour of the hand and of the line from the handle to the hand.
const HAND: Rgb = Rgb(0xf8, 0xf9, 0xfa);
/// Colour of the force arrow.
const FORCE: Rgb = Rgb(0xff, 0xd1, 0x66);
const BLACK: Rgb = Rgb(0, 0, 0);
/// Length of the force arrow per newton, as a fraction of the canvas width.
const ARROW_PER_N: f64 = 0.06;
/// Smallest force to draw, N. The arrow of a smaller force would be a flickering dot.
const SMALL_N: f64 = 0.05;
/// Radius of the circle that marks the hand, dots.
const HAND_DOTS: f64 = 2.5;

/// Projection of the world onto the canvas.
#[derive(Clone, Copy, Debug)]
pub struct Projection {
    dots_per_m: f64,
    /// Position of the world's origin on the canvas, in dots from the upper left corner.
    origin: Vector2<f64>,
}

impl Projection {
    /// Fits a part of the world into the canvas without distortion. The part is centred horizontally and aligned with
    /// the bottom, so that the ground is close to the caption.
    pub fn new(bounds: &Bounds, width: usize, height: usize) -> Self {
        let size_m = bounds.size_m().sup(&Vector2::repeat(1e-6));
        let dots_per_m = (width as f64 / size_m.x).min(height as f64 / size_m.y);
        let left = width as f64 / 2.0 - bounds.middle_m().x * dots_per_m;
        Self { dots_per_m, origin: Vector2::new(left, height as f64 + bounds.low_m.y * dots_per_m) }
    }

    /// Converts a position in the world frame, m, to a position on the canvas, dots.
    pub fn to_dots(&self, point_m: Vector2<f64>) -> Vector2<f64> {
        self.origin + Vector2::new(point_m.x, -point_m.y) * self.dots_per_m
    }

    /// Returns the centre of a dot in the world frame, m.
    pub fn to_world(&self, x: i64, y: i64) -> Vector2<f64> {
        let at = (Vector2::new(x as f64 + 0.5, y as f64 + 0.5) - self.origin) / self.dots_per_m;
        Vector2::new(at.x, -at.y)
    }
}

/// Paints fixed bodies, dynamic bodies, the tool, the hand and the force on the hand, in this order.
pub fn paint(canvas: &mut Canvas, view: &SceneView, frame: &Frame) {
    let projection = Projection::new(&frame.bounds, canvas.width(), canvas.height());
    let order = |body: &usize| (view.is_tool(*body), !view.bodies[*body].fixed);
    let mut bodies: Vec<usize> = (0..view.bodies.len().min(frame.placements.len())).collect();
    bodies.sort_by_key(order);
    for body in bodies.into_iter().filter(|&body| !frame.placements[body].is_removed) {
        paint_body(canvas, &projection, &view.bodies[body], &frame.placements[body], view.is_tool(body));
    }
    paint_hand(canvas, &projection, view, frame);
}

fn paint_body(canvas: &mut Canvas, projection: &Projection, body: &BodyView, placement: &Placement, is_tool: bool) {
    let bounds = body.bounds(placement);
    if bounds.is_empty() {
        return;
    }
    let stencil = Stencil::new(canvas, projection, body, placement, &bounds);
    let dark = if is_tool { 0.35 } else { 0.6 };
    let (ink, tint) = (body.colour.mixed(HAND, 0.15), body.colour.mixed(BLACK, dark));
    for (x, y) in stencil.dots() {
        canvas.cover(x, y, tint);
    }
    for (x, y) in stencil.dots().filter(|&(x, y)| stencil.is_edge(x, y)) {
        canvas.dot(x, y, ink);
    }
    // A body smaller than a dot is drawn as one dot.
    let middle = projection.to_dots(placement.centre_m);
    if stencil.dots().next().is_none() {
        canvas.dot(middle.x.floor() as i64, middle.y.floor() as i64, ink);
    }
}

/// The dots covered by a body, within its bounding box and a margin of one dot.
struct Stencil {
    left: i64,
    top: i64,
    width: usize,
    covered: Vec<bool>,
}

impl Stencil {
    fn new(canvas: &Canvas, projection: &Projection, body: &BodyView, placement: &Placement, bounds: &Bounds) -> Self {
        let corner = |x_m: f64, y_m: f64| projection.to_dots(Vector2::new(x_m, y_m)).map(f64::floor);
        let (low, high) = (corner(bounds.low_m.x, bounds.high_m.y), corner(bounds.high_m.x, bounds.low_m.y));
        let within = |value: f64, limit: usize| value.clamp(-2.0, limit as f64 + 1.0) as i64;
        let (left, right) = (within(low.x - 1.0, canvas.width()), within(high.x + 1.0, canvas.width()));
        let (top, bottom) = (within(low.y - 1.0, canvas.height()), within(high.y + 1.0, canvas.height()));
        let dots = (top..=bottom).flat_map(|y| (left..=right).map(move |x| (x, y)));
        let covered = dots.map(|(x, y)| is_inside(body, placement, projection.to_world(x, y))).collect();
        Self { left, top, width: (right - left + 1) as usize, covered }
    }

    fn dots(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let place = |index: usize| (self.left + (index % self.width) as i64, self.top + (index / self.width) as i64);
        self.covered.iter().enumerate().filter(|(_, covered)| **covered).map(move |(index, _)| place(index))
    }

    /// Whether a covered dot has a neighbour that is not covered.
    fn is_edge(&self, x: i64, y: i64) -> bool {
        [(1, 0), (-1, 0), (0, 1), (0, -1)].iter().any(|(dx, dy)| !self.is_covered(x + dx, y + dy))
    }

    fn is_covered(&self, x: i64, y: i64) -> bool {
        let (across, down) = (x - self.left, y - self.top);
        let is_inside = across >= 0 && (across as usize) < self.width && down >= 0;
        is_inside && self.covered.get(down as usize * self.width + across as usize).copied().unwrap_or(false)
    }
}

fn is_inside(body: &BodyView, placement: &Placement, point_m: Vector2<f64>) -> bool {
    let back = Vector2::new(placement.rotation.x, -placement.rotation.y);
    let local_m = rotate(back, point_m - placement.centre_m);
    body.pieces.iter().any(|piece| is_in_piece(piece, local_m))
}

fn is_in_piece(piece: &Piece, point_m: Vector2<f64>) -> bool {
    let corners = piece.outline();
    let count = corners.len();
    let is_in_core = count > 2 && (0..count).all(|edge| piece.normals[edge].dot(&(point_m - corners[edge])) <= 0.0);
    let distance_m = |edge: usize| distance_to_segment_m(point_m, corners[edge], corners[(edge + 1) % count]);
    is_in_core
        || match count {
            1 => (point_m - corners[0]).norm() <= piece.radius_m,
            _ => piece.radius_m > 0.0 && (0..count).any(|edge| distance_m(edge) <= piece.radius_m),
        }
}

fn paint_hand(canvas: &mut Canvas, projection: &Projection, view: &SceneView, frame: &Frame) {
    let (Some(hand_m), Some(handle_m)) = (frame.hand_m, view.handle_m(&frame.placements)) else { return };
    let (hand, handle) = (projection.to_dots(hand_m), projection.to_dots(handle_m));
    canvas.line(handle, hand, HAND);
    canvas.circle(hand, HAND_DOTS, HAND);
    if frame.force_n.norm() > SMALL_N {
        let length = ARROW_PER_N * canvas.width() as f64;
        arrow(canvas, hand, Vector2::new(frame.force_n.x, -frame.force_n.y) * length);
    }
}

fn arrow(canvas: &mut Canvas, from: Vector2<f64>, along: Vector2<f64>) {
    let tip = from + along;
    canvas.line(from, tip, FORCE);
    let back = along.normalize() * -4.0;
    let aside = Vector2::new(-back.y, back.x) * 0.6;
    canvas.line(tip, tip + back + aside, FORCE);
    canvas.line(tip, tip + back - aside, FORCE);
}

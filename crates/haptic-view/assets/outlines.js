/** Paths of bodies, in metres in their own frame. */

/** @typedef {import('./protocol.js').Body} Body */
/** @typedef {import('./protocol.js').Shape} Shape */
/** @typedef {import('./protocol.js').PlacedShape} PlacedShape */
/** @typedef {import('./protocol.js').Vector} Vector */

/** A shape of a body, ready to draw.
 * @typedef {object} DrawnShape
 * @property {Path2D} path Without the rounding, which is drawn as a line width.
 * @property {number} rounding m
 */

/** @param {{length_m: number, radius_m: number}} capsule */
function capsulePath({ length_m: length, radius_m: radius }) {
    const path = new Path2D();
    path.arc(length / 2, 0, radius, -Math.PI / 2, Math.PI / 2);
    path.arc(-length / 2, 0, radius, Math.PI / 2, 1.5 * Math.PI);
    path.closePath();
    return path;
}

/** @param {Vector[][]} outlines The material is on their left. */
function outlinePath(outlines) {
    const path = new Path2D();
    for (const [[x, y], ...others] of outlines) {
        path.moveTo(x, y);
        others.forEach((corner) => path.lineTo(...corner));
        path.closePath();
    }
    return path;
}

/** Corners of a polygon or of walls.
 * @param {Shape} shape
 * @returns {Vector[][]} */
function outlinesOf(shape) {
    return shape.polygon_m ? [shape.polygon_m] : shape.walls_m?.outlines_m ?? [];
}

/** @param {Shape} shape */
function shapePath(shape) {
    const { box_m: box, disc_radius_m: radius, capsule_m: capsule } = shape;
    if (box) {
        const path = new Path2D();
        path.rect(-box[0] / 2, -box[1] / 2, box[0], box[1]);
        return path;
    }
    if (radius !== undefined) {
        const path = new Path2D();
        path.arc(0, 0, radius, 0, 2 * Math.PI);
        return path;
    }
    return capsule ? capsulePath(capsule) : outlinePath(outlinesOf(shape));
}

/** @param {Body} body
 * @returns {PlacedShape[]} */
function placedShapes({ shape, shapes, rounding_m: rounding = 0 }) {
    return shapes ?? (shape ? [{ ...shape, position_m: [0, 0], angle_rad: 0, rounding_m: rounding }] : []);
}

/** @param {Body} body
 * @returns {DrawnShape[]} */
export function shapesOf(body) {
    return placedShapes(body).map((shape) => {
        const path = new Path2D();
        const place = new DOMMatrix().translate(...shape.position_m).rotate(shape.angle_rad * (180 / Math.PI));
        path.addPath(shapePath(shape), place);
        return { path, rounding: shape.rounding_m };
    });
}

/** Largest distance of a shape from the origin of its frame, m, without the rounding.
 * @param {Shape} shape */
function reachOfShape(shape) {
    const { box_m: box, disc_radius_m: radius, capsule_m: capsule } = shape;
    if (box) return Math.hypot(...box) / 2;
    if (capsule) return capsule.length_m / 2 + capsule.radius_m;
    return radius ?? Math.max(...outlinesOf(shape).flat().map((corner) => Math.hypot(...corner)));
}

/** Largest distance of the body from its frame's origin, m.
 * @param {Body} body */
export function reachOf(body) {
    return Math.max(...placedShapes(body).map((shape) => (
        Math.hypot(...shape.position_m) + reachOfShape(shape) + shape.rounding_m)));
}

/** Width and height of an upright rectangle around the frame's origin that lies inside the body, m: space for a name.
 * @param {Body} body
 * @returns {Vector} */
export function labelSpace({ shape = {} }) {
    const { box_m: box, disc_radius_m: radius, capsule_m: capsule } = shape;
    if (box) return box;
    if (radius !== undefined) return [1.35 * radius, 1.2 * radius];
    return capsule ? [capsule.length_m, 1.6 * capsule.radius_m] : [0, 0];
}

/** Length of a line that shows the angle of a round body; other bodies show it by their corners.
 * @param {Body} body
 * @returns {number|null} its length from the centre, m */
export function spokeLength({ shape, rounding_m: rounding = 0 }) {
    return shape?.disc_radius_m === undefined ? null : shape.disc_radius_m + rounding;
}

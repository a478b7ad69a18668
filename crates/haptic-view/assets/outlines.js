/** Paths of bodies, in metres in their own frame. */

/** @typedef {import('./protocol.js').Body} Body */
/** @typedef {import('./protocol.js').Vector} Vector */

/** @param {Body} body */
function capsulePath({ shape }) {
    const capsule = /** @type {{length_m: number, radius_m: number}} */ (shape.capsule_m);
    const { length_m: length, radius_m: radius } = capsule;
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
 * @param {Body} body
 * @returns {Vector[][]} */
function outlinesOf({ shape }) {
    return shape.polygon_m ? [shape.polygon_m] : shape.walls_m?.outlines_m ?? [];
}

/** Path of a body without its rounding, which is drawn as a line width.
 * @param {Body} body */
export function bodyPath(body) {
    const { box_m: box, disc_radius_m: radius, capsule_m: capsule } = body.shape;
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
    return capsule ? capsulePath(body) : outlinePath(outlinesOf(body));
}

/** Largest distance of the body from its frame's origin, m.
 * @param {Body} body */
export function reachOf(body) {
    const { shape, rounding_m: rounding = 0 } = body;
    const { box_m: box, disc_radius_m: radius, capsule_m: capsule } = shape;
    if (box) return Math.hypot(...box) / 2 + rounding;
    if (capsule) return capsule.length_m / 2 + capsule.radius_m + rounding;
    return (radius ?? Math.max(...outlinesOf(body).flat().map((corner) => Math.hypot(...corner)))) + rounding;
}

/** Width and height of an upright rectangle around the frame's origin that lies inside the body, m: space for a name.
 * @param {Body} body
 * @returns {Vector} */
export function labelSpace(body) {
    const { box_m: box, disc_radius_m: radius, capsule_m: capsule } = body.shape;
    if (box) return box;
    if (radius !== undefined) return [1.35 * radius, 1.2 * radius];
    return capsule ? [capsule.length_m, 1.6 * capsule.radius_m] : [0, 0];
}

/** Length of a line that shows the angle of a round body; other bodies show it by their corners.
 * @param {Body} body
 * @returns {number|null} its length from the centre, m */
export function spokeLength(body) {
    return body.shape.disc_radius_m === undefined ? null : body.shape.disc_radius_m + (body.rounding_m ?? 0);
}

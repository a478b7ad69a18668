/** Draws bodies in their colours, with their names where they fit. */

import { labelSpace, reachOf, shapesOf, spokeLength } from './outlines.js';
import { colour, mix, readableOn } from './palette.js';

/** @typedef {import('./protocol.js').Body} Body */
/** @typedef {import('./protocol.js').Vector} Vector */
/** @typedef {import('./camera.js').Camera} Camera */
/** @typedef {import('./surface.js').Surface} Surface */
/** @typedef {[number, number, number]} Pose x and y in m, angle in rad */

/** Opacity of bodies that are not in the tool's layer: the tool cannot touch them. */
const OTHER_LAYER_OPACITY = 0.35;

/** @typedef {object} DrawnBody
 * @property {Body} body
 * @property {number} index Index in the scene.
 * @property {import('./outlines.js').DrawnShape[]} shapes
 * @property {number} reach Largest distance from the frame's origin, m.
 * @property {Pose} start
 * @property {boolean} isTool
 * @property {boolean} isTouchable Whether it is in the tool's layer.
 */

/** @param {import('./protocol.js').Scene} scene
 * @returns {DrawnBody[]} from the lowest layer up */
export function prepareBodies(scene) {
    const layer = scene.tool ? scene.bodies[scene.tool.body].layer : null;
    const drawn = scene.bodies.map((body, index) => ({
        body,
        index,
        shapes: shapesOf(body),
        reach: reachOf(body),
        start: /** @type {Pose} */ ([...body.position_m, body.angle_rad]),
        isTool: scene.tool?.body === index,
        isTouchable: layer === null || body.layer === layer,
    }));
    return drawn.sort((a, b) => a.body.layer - b.body.layer);
}

/** Sets the transform to the body's frame.
 * @param {CanvasRenderingContext2D} context
 * @param {Surface} surface
 * @param {Camera} camera
 * @param {Pose} pose */
function enterFrame(context, { ratio }, camera, [x, y, angle]) {
    const [left, top] = camera.toScreen([x, y]);
    const scale = camera.scale * ratio;
    const [along, across] = [scale * Math.cos(angle), scale * Math.sin(angle)];
    context.setTransform(along, -across, -across, -along, left * ratio, top * ratio);
}

/** @param {CanvasRenderingContext2D} context
 * @param {Surface} surface */
export function leaveFrame(context, { ratio }) {
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

/** @param {CanvasRenderingContext2D} context
 * @param {Surface} surface
 * @param {Camera} camera
 * @param {DrawnBody} drawn
 * @param {Pose} pose */
export function drawBody(context, surface, camera, drawn, pose) {
    const { body, shapes } = drawn;
    context.globalAlpha = drawn.isTouchable ? 1 : OTHER_LAYER_OPACITY;
    enterFrame(context, surface, camera, pose);
    context.lineJoin = 'round';
    if (!body.fixed) {
        context.strokeStyle = drawn.isTool ? colour('ink') : mix(body.colour, colour('ink'), 0.5);
        for (const { path, rounding } of shapes) {
            context.lineWidth = 2 * rounding + (drawn.isTool ? 4 : 2.5) / camera.scale;
            context.stroke(path);
        }
    }
    context.fillStyle = body.colour;
    context.strokeStyle = body.colour;
    for (const { path, rounding } of shapes) {
        context.fill(path);
        if (rounding > 0) {
            context.lineWidth = 2 * rounding;
            context.stroke(path);
        }
    }
    drawSpoke(context, camera, body);
    leaveFrame(context, surface);
    context.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} context
 * @param {Camera} camera
 * @param {Body} body */
function drawSpoke(context, camera, body) {
    const length = spokeLength(body);
    if (length === null || body.fixed) return;
    context.strokeStyle = mix(body.colour, readableOn(body.colour), 0.55);
    context.lineWidth = 1.5 / camera.scale;
    context.beginPath();
    context.moveTo(0.72 * length, 0);
    context.lineTo(0.95 * length, 0);
    context.stroke();
}

/** Whether a body is under a point. The distance is checked first: most bodies are far away, and a path test is slow.
 * @param {CanvasRenderingContext2D} context
 * @param {Surface} surface
 * @param {Camera} camera
 * @param {DrawnBody} drawn
 * @param {Pose} pose
 * @param {Vector} point CSS px */
export function isUnder(context, surface, camera, { shapes, reach }, pose, [x, y]) {
    const [left, top] = camera.toScreen([pose[0], pose[1]]);
    if (Math.hypot(x - left, y - top) > reach * camera.scale) return false;
    const [across, down] = [x * surface.ratio, y * surface.ratio];
    enterFrame(context, surface, camera, pose);
    const isHit = shapes.some(({ path, rounding }) => {
        // Setting a width of zero has no effect; the previous one would stay in force.
        if (rounding > 0) context.lineWidth = 2 * rounding;
        return context.isPointInPath(path, across, down) || (rounding > 0 && context.isPointInStroke(path, across, down));
    });
    leaveFrame(context, surface);
    return isHit;
}

/** A name on a body, in CSS px.
 * @typedef {object} Name
 * @property {string} text
 * @property {Vector} at Its centre.
 * @property {Vector} half Half its width and height.
 * @property {string} ink
 * @property {number} opacity
 */

/** Names of the fixed bodies that are in view, large enough for a name and not under another body. Dynamic bodies have
 * none, because it would flicker as they rotate; their names are in the tooltip.
 * @param {CanvasRenderingContext2D} context
 * @param {Surface} surface
 * @param {Camera} camera
 * @param {DrawnBody[]} bodies From the lowest layer up.
 * @returns {Name[]} */
export function namesOf(context, surface, camera, bodies) {
    const inView = bodies.filter((drawn) => drawn.body.fixed && isInView(camera, drawn));
    context.font = surface.font(NAME_REM);
    return inView.flatMap((drawn, index) => {
        const name = nameOf(context, surface, camera, drawn);
        if (!name) return [];
        const isCovered = inView.slice(index + 1).some((other) => (
            isUnder(context, surface, camera, other, other.start, name.at)));
        return isCovered ? [] : [name];
    });
}

/** @param {CanvasRenderingContext2D} context With the font of names.
 * @param {Surface} surface
 * @param {Camera} camera
 * @param {DrawnBody} drawn
 * @returns {Name|null} null if it does not fit */
function nameOf(context, surface, camera, { body, start: [x, y, angle], isTouchable }) {
    const size = nameSize(surface);
    const [width, height] = labelSpace(body).map((extent) => extent * camera.scale);
    if (Math.min(width, height) < 1.3 * size) return null;
    // Names stay upright. On a body turned by 90°, width and height change places.
    const [cosine, sine] = [Math.abs(Math.cos(angle)), Math.abs(Math.sin(angle))];
    const [across, up] = cosine > sine ? [width, height] : [height, width];
    const wanted = context.measureText(body.name).width;
    if (Math.max(cosine, sine) <= 0.995 || up < 1.3 * size || across < wanted + size) return null;
    return {
        text: body.name,
        at: camera.toScreen([x, y]),
        half: [wanted / 2, size / 2],
        ink: readableOn(body.colour),
        opacity: isTouchable ? 1 : OTHER_LAYER_OPACITY,
    };
}

/** Whether a fixed body may be in view.
 * @param {Camera} camera
 * @param {DrawnBody} drawn */
function isInView(camera, { start: [x, y], reach }) {
    const [left, top] = camera.toScreen([x, y]);
    const radius = reach * camera.scale;
    return left + radius > 0 && left - radius < camera.width && top + radius > 0 && top - radius < camera.height;
}

const NAME_REM = 0.8;

/** @param {Surface} surface */
const nameSize = ({ rem }) => rem * NAME_REM;

/** Draws names. A name close to a mark fades, so that the two do not overlap.
 * @param {CanvasRenderingContext2D} context
 * @param {Surface} surface
 * @param {Name[]} names
 * @param {Vector[]} marks Covered points, CSS px. */
export function drawNames(context, surface, names, marks) {
    context.font = surface.font(NAME_REM);
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    for (const { text, at, half, ink, opacity } of names) {
        const gap = (/** @type {Vector} */ mark, /** @type {0|1} */ axis) => (
            Math.max(Math.abs(mark[axis] - at[axis]) - half[axis], 0));
        const gaps = marks.map((mark) => Math.hypot(gap(mark, 0), gap(mark, 1)));
        context.globalAlpha = opacity * Math.min(Math.max(Math.min(...gaps) / nameSize(surface) - 1, 0), 1);
        context.fillStyle = ink;
        context.fillText(text, ...at);
    }
    context.globalAlpha = 1;
}

/** Marks over the bodies: hand, coupling, contacts, forces. All in CSS px. */

import { colour, loadColour } from './palette.js';

/** @typedef {import('./protocol.js').Vector} Vector */

const HALO_PX = 3;
/** Maximum length of an arrow, px. A longer one is cut off and drawn with a double head. */
const MAX_ARROW_PX = 220;
/** A coupling shorter than this is a plain line, because its windings would merge, px. */
const SHORTEST_ZIGZAG_PX = 12;
/** Smallest force to draw, N. */
const LEAST_FORCE_N = 0.01;

/** Strokes a line with a halo in the background's colour, so that it is visible on any body.
 * @param {CanvasRenderingContext2D} context
 * @param {string} line
 * @param {number} width */
function strokeWithHalo(context, line, width) {
    context.lineCap = 'round';
    context.lineJoin = 'round';
    context.strokeStyle = colour('stage');
    context.lineWidth = width + HALO_PX;
    context.stroke();
    context.strokeStyle = line;
    context.lineWidth = width;
    context.stroke();
}

/** Radius of the hand, px. */
export const HAND_PX = 11;

/** @param {CanvasRenderingContext2D} context
 * @param {Vector} at
 * @param {boolean} isHeld Whether this page controls it. */
export function drawHand(context, [x, y], isHeld) {
    context.beginPath();
    context.arc(x, y, HAND_PX, 0, 2 * Math.PI);
    context.fillStyle = colour('surface');
    context.globalAlpha = 0.45;
    context.fill();
    context.globalAlpha = 1;
    if (!isHeld) context.setLineDash([4, 3.2]);
    context.strokeStyle = isHeld ? colour('accent') : colour('ink');
    context.lineWidth = isHeld ? 3 : 2;
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.arc(x, y, 2, 0, 2 * Math.PI);
    context.fillStyle = context.strokeStyle;
    context.fill();
}

const stillness = matchMedia('(prefers-reduced-motion: reduce)');
/** Fixed phase of the ring for users who prefer reduced motion. */
const STILL_AGE = 0.3;

/** A ring that repeatedly widens and fades, to draw attention to the hand.
 * @param {CanvasRenderingContext2D} context
 * @param {Vector} at
 * @param {number} now ms */
export function drawBeacon(context, [x, y], now) {
    const age = stillness.matches ? STILL_AGE : now % 1600 / 1600;
    context.beginPath();
    context.arc(x, y, HAND_PX + 26 * age, 0, 2 * Math.PI);
    context.globalAlpha = 0.9 * (1 - age);
    context.strokeStyle = colour('accent');
    context.lineWidth = 3;
    context.stroke();
    context.globalAlpha = 1;
}

/** The target of the hand.
 * @param {CanvasRenderingContext2D} context
 * @param {Vector} hand
 * @param {Vector} target */
export function drawTarget(context, hand, [x, y]) {
    context.beginPath();
    context.moveTo(...hand);
    context.lineTo(x, y);
    context.setLineDash([2, 4]);
    context.strokeStyle = colour('accent');
    context.lineWidth = 1.5;
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    for (const [dx, dy] of [[6, 0], [0, 6]]) {
        context.moveTo(x - dx, y - dy);
        context.lineTo(x + dx, y + dy);
    }
    strokeWithHalo(context, colour('accent'), 2);
}

/** The coupling: a zigzag whose colour and width show its load.
 * @param {CanvasRenderingContext2D} context
 * @param {Vector} from
 * @param {Vector} to
 * @param {number} load Fraction of the maximum force, 0 to 1. */
export function drawSpring(context, from, to, load) {
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    const length = Math.hypot(dx, dy);
    if (length < 1) return;
    const [ux, uy] = [dx / length, dy / length];
    const [turns, swing] = [length < SHORTEST_ZIGZAG_PX ? 0 : 6, Math.min(6, length / 3)];
    context.beginPath();
    context.moveTo(...from);
    for (let turn = 0; turn < turns; turn += 1) {
        const along = length * (0.1 + 0.8 * (turn + 0.5) / turns);
        const side = turn % 2 ? swing : -swing;
        context.lineTo(from[0] + ux * along - uy * side, from[1] + uy * along + ux * side);
    }
    context.lineTo(...to);
    strokeWithHalo(context, loadColour(load), 1.5 + 2 * load);
}

/** @typedef {object} Arrow
 * @property {number} pxPerNewton
 * @property {string} line Its colour.
 * @property {number} width px
 * @property {number|null} ends Distance between its head and the point, px; null: it starts at the point.
 */

/** Position of an arrow on the screen.
 * @param {Vector} at
 * @param {Vector} force N, world
 * @param {Arrow} arrow
 * @returns {{from: Vector, to: Vector, along: Vector, isCut: boolean}|null} null for a force too small to draw */
export function placeArrow([x, y], [fx, fy], { pxPerNewton, ends }) {
    const size = Math.hypot(fx, fy);
    if (!(size > LEAST_FORCE_N)) return null;
    const length = Math.min(size * pxPerNewton, MAX_ARROW_PX);
    const [ux, uy] = [fx / size, -fy / size];
    const at = (/** @type {number} */ distance) => /** @type {Vector} */ ([x + ux * distance, y + uy * distance]);
    const [from, to] = ends === null ? [0, length] : [-ends - length, -ends];
    return { from: at(from), to: at(to), along: [ux, uy], isCut: size * pxPerNewton > MAX_ARROW_PX };
}

/** @param {CanvasRenderingContext2D} context
 * @param {Vector} at
 * @param {Vector} force N, world
 * @param {Arrow} arrow */
export function drawForce(context, at, force, arrow) {
    const placed = placeArrow(at, force, arrow);
    if (!placed) return;
    const { from, to, along: [ux, uy], isCut } = placed;
    const { line, width } = arrow;
    // The head is shorter than the arrow, so that its direction stays visible.
    const head = Math.min(4 + 2 * width, Math.max(0.6 * Math.hypot(to[0] - from[0], to[1] - from[1]), 4));
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    for (const back of isCut ? [0, head] : [0]) {
        addHead(context, [to[0] - ux * back, to[1] - uy * back], [ux, uy], head);
    }
    strokeWithHalo(context, line, width);
}

/** @param {CanvasRenderingContext2D} context
 * @param {Vector} tip
 * @param {Vector} along
 * @param {number} size */
function addHead(context, [x, y], [ux, uy], size) {
    context.moveTo(x - ux * size - uy * size * 0.55, y - uy * size + ux * size * 0.55);
    context.lineTo(x, y);
    context.lineTo(x - ux * size + uy * size * 0.55, y - uy * size - ux * size * 0.55);
}

/** Draws all contact points in one path, since a pile has hundreds.
 * @param {CanvasRenderingContext2D} context
 * @param {Vector[]} places
 * @param {number} radius px
 * @param {boolean} hasHalo */
export function drawContacts(context, places, radius, hasHalo) {
    context.beginPath();
    for (const [x, y] of places) {
        context.moveTo(x + radius, y);
        context.arc(x, y, radius, 0, 2 * Math.PI);
    }
    context.strokeStyle = colour('stage');
    context.lineWidth = 2;
    if (hasHalo) context.stroke();
    context.fillStyle = colour('touch');
    context.fill();
}

/** Text with a halo.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {Vector} at
 * @param {string} ink
 * @param {string} [ground] Colour name of the halo. */
export function drawText(context, text, [x, y], ink, ground = 'stage') {
    context.lineJoin = 'round';
    context.strokeStyle = colour(ground);
    context.lineWidth = 4;
    context.strokeText(text, x, y);
    context.fillStyle = ink;
    context.fillText(text, x, y);
}

/** @param {CanvasRenderingContext2D} context
 * @param {'hinge'|'slider'|'weld'} kind
 * @param {Vector} at
 * @param {number} angle Angle of a slider's axis on the screen, rad. */
export function drawJoint(context, kind, [x, y], angle) {
    context.beginPath();
    if (kind === 'hinge') {
        context.arc(x, y, 5, 0, 2 * Math.PI);
    } else if (kind === 'slider') {
        const [ux, uy] = [Math.cos(angle), Math.sin(angle)];
        context.moveTo(x - 14 * ux - 4 * uy, y - 14 * uy + 4 * ux);
        context.lineTo(x + 14 * ux - 4 * uy, y + 14 * uy + 4 * ux);
        context.moveTo(x - 14 * ux + 4 * uy, y - 14 * uy - 4 * ux);
        context.lineTo(x + 14 * ux + 4 * uy, y + 14 * uy - 4 * ux);
    } else {
        context.moveTo(x - 5, y - 5);
        context.lineTo(x + 5, y + 5);
        context.moveTo(x + 5, y - 5);
        context.lineTo(x - 5, y + 5);
    }
    strokeWithHalo(context, colour('ink'), 2);
}

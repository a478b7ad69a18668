/** Draws the world to scale, with hand, coupling, contacts and force. */

import { Backdrop } from './backdrop.js';
import { drawBody, drawNames, isUnder, leaveFrame, prepareBodies } from './bodies.js';
import {
    HAND_PX, drawBeacon, drawContacts, drawForce, drawHand, drawJoint, drawSpring, drawTarget, drawText, placeArrow,
} from './marks.js';
import { colour } from './palette.js';
import { poses } from './protocol.js';
import { Surface } from './surface.js';
import { quantity } from './units.js';

/** @typedef {import('./protocol.js').Vector} Vector */
/** @typedef {import('./bodies.js').DrawnBody} DrawnBody */
/** @typedef {import('./bodies.js').Pose} Pose */
/** @typedef {import('./protocol.js').Contact} Contact */

/** Length of the arrow of the maximum force, as a fraction of the shorter side of the canvas. */
const MAX_ARROW = 0.3;

/** Size of a rem in the page's normal type, px. */
const NORMAL_REM_PX = 14;
/** Below this width of the scene, marks are drawn smaller, px. */
const NORMAL_WIDTH_PX = 700;

export class SceneView {
    /** @type {Set<number>} Hidden layers. */
    hiddenLayers = new Set();
    /** @type {Pose[]} Poses drawn last. */
    poses = [];
    /** Whether the hand is highlighted for a first-time visitor. */
    isHandHighlighted = false;
    #backdrop = new Backdrop();
    /** @type {DrawnBody[]} */
    #fixed = [];
    /** @type {DrawnBody[]} */
    #moving = [];

    /** @param {HTMLCanvasElement} canvas
     * @param {import('./session.js').Session} session
     * @param {import('./camera.js').Camera} camera
     * @param {import('./hand-guide.js').HandGuide} guide */
    constructor(canvas, session, camera, guide) {
        this.session = session;
        this.camera = camera;
        this.guide = guide;
        this.surface = new Surface(canvas, () => this.#resize(), true);
        session.addEventListener('scene', () => this.#applyScene());
        this.#resize();
    }

    /** Scale of the marks. They grow with the page's type size and shrink on a phone. */
    get #markScale() {
        const fraction = Math.min(Math.max(this.camera.width / NORMAL_WIDTH_PX, 0.7), 1);
        return fraction * this.surface.rem / NORMAL_REM_PX;
    }

    /** Length of an arrow for one newton, px. */
    get pxPerNewton() {
        return MAX_ARROW * Math.min(this.camera.width, this.camera.height) / this.session.maxForceN;
    }

    fit() {
        if (this.session.scene) this.camera.fit(this.session.scene.bounds_m);
    }

    /** Selects the bodies to draw. Called when layers are hidden or shown. */
    chooseBodies() {
        if (!this.session.scene) return;
        const bodies = prepareBodies(this.session.scene);
        const shown = bodies.filter(({ body }) => !this.hiddenLayers.has(body.layer));
        this.#fixed = shown.filter(({ body }) => body.fixed);
        this.#moving = shown.filter(({ body }) => !body.fixed);
    }

    draw() {
        const { surface, session: { scene, state } } = this;
        const { context } = surface;
        this.#backdrop.draw(surface, this.camera, this.#fixed);
        leaveFrame(context, surface);
        const force = scene?.tool && state ? this.#placeForce(state) : null;
        drawNames(context, surface, this.#backdrop.names, force ? this.#covered(force) : []);
        if (!scene || !state) return;
        this.poses = poses(scene, state);
        for (const drawn of this.#present()) drawBody(context, surface, this.camera, drawn, this.poses[drawn.index]);
        const scale = surface.ratio * this.#markScale;
        context.setTransform(scale, 0, 0, scale, 0, 0);
        this.#drawJoints(scene);
        if (force) this.#drawMarks(state, force);
    }

    /** The topmost body under a point.
     * @param {Vector} point CSS px
     * @returns {import('./protocol.js').Body|null} */
    bodyAt(point) {
        const { surface, camera } = this;
        const topmost = [...this.#fixed, ...this.#present()].reverse().find((drawn) => (
            isUnder(surface.context, surface, camera, drawn, this.poses[drawn.index] ?? drawn.start, point)));
        return topmost?.body ?? null;
    }

    /** The dynamic bodies without those that left the bounds of the scene. */
    #present() {
        const removed = this.session.state?.removed;
        return removed ? this.#moving.filter(({ index }) => !removed.includes(index)) : this.#moving;
    }

    #applyScene() {
        this.hiddenLayers.clear();
        this.poses = [];
        this.chooseBodies();
        this.fit();
    }

    #resize() {
        this.camera.resize(this.surface.width, this.surface.height);
        if (!this.camera.isMoved) this.fit();
        this.draw();
    }

    /** @param {import('./protocol.js').Scene} scene */
    #drawJoints(scene) {
        for (const { kind, bodies: [body], anchor_m: anchor, axis } of scene.joints ?? []) {
            const { position_m: [x, y], angle_rad: angle } = scene.bodies[body];
            const pose = this.poses[body];
            const local = rotated([anchor[0] - x, anchor[1] - y], -angle);
            const slope = axis ? -Math.atan2(axis[1], axis[0]) - (pose[2] - angle) : 0;
            drawJoint(this.surface.context, kind, this.#mark(placed(pose, local)), slope);
        }
    }

    /** A position of the world in the px of marks.
     * @param {Vector} position m
     * @returns {Vector} */
    #mark(position) {
        const [x, y] = this.camera.toScreen(position);
        return [x / this.#markScale, y / this.#markScale];
    }

    /** @param {import('./protocol.js').State} state
     * @param {ForceMark} force */
    #drawMarks(state, force) {
        const { context } = this.surface;
        const { hand, arrow: { pxPerNewton } } = force;
        const load = Math.min(Math.hypot(...state.coupling_force_n) / this.session.maxForceN, 1);
        this.#drawContacts(state, pxPerNewton);
        if (this.guide.target) drawTarget(context, hand, this.#mark(this.guide.target));
        if (this.isHandHighlighted) drawBeacon(context, hand, performance.now());
        drawHand(context, hand, this.guide.isHolding);
        if (state.tool) drawSpring(context, hand, this.#mark(state.tool.handle_m), load);
        this.#drawForce(force, state.force_n);
    }

    /** Draws contact points, and the contact forces on the tool.
     * @param {import('./protocol.js').State} state
     * @param {number} pxPerNewton */
    #drawContacts({ contacts }, pxPerNewton) {
        const { context } = this.surface;
        const tool = this.session.scene?.tool?.body ?? -1;
        const isToolContact = (/** @type {Contact} */ { bodies }) => bodies.includes(tool);
        const points = (/** @type {Contact[]} */ some) => some.map(({ point_m: point }) => this.#mark(point));
        const toolContacts = contacts.filter(isToolContact);
        drawContacts(context, points(contacts.filter((contact) => !isToolContact(contact))), 1.75, false);
        for (const { point_m: point, force_n: [x, y], bodies } of toolContacts) {
            const sign = bodies[1] === tool ? 1 : -1;
            const arrow = { pxPerNewton, line: colour('touch'), width: 2, ends: null };
            drawForce(context, this.#mark(point), [sign * x, sign * y], arrow);
        }
        drawContacts(context, points(toolContacts), 3.5, true);
    }

    /** Position of the force arrow and its label. The arrow points at the hand from the side away from the coupling;
     * the label is at its far end, where there is space.
     * @param {import('./protocol.js').State} state
     * @returns {ForceMark} */
    #placeForce({ hand_m: position, force_n: force }) {
        const { context } = this.surface;
        const hand = this.#mark(position);
        const pxPerNewton = this.pxPerNewton / this.#markScale;
        const arrow = { pxPerNewton, line: colour('felt'), width: 4, ends: HAND_PX + 4 };
        const end = placeArrow(hand, force, arrow)?.from ?? null;
        if (!end) return { hand, arrow, end, label: '', labelAt: hand, width: 0 };
        const label = quantity(Math.hypot(...(this.session.displayed?.force_n ?? force)), 2, 'N');
        context.font = this.#labelFont;
        const { width } = context.measureText(label);
        const [gap, edge] = [1.6 * NORMAL_REM_PX, this.camera.width / this.#markScale];
        const hasSpaceOnTheRight = end[0] + gap + width + NORMAL_REM_PX < edge;
        const isRight = end[0] < gap + width + NORMAL_REM_PX || (end[0] >= hand[0] && hasSpaceOnTheRight);
        return { hand, arrow, end, label, labelAt: [isRight ? end[0] + gap : end[0] - gap - width, end[1]], width };
    }

    get #labelFont() {
        return this.surface.font(0.95 / this.#markScale, 600);
    }

    /** Points covered by hand, arrow and label, CSS px.
     * @param {ForceMark} force
     * @returns {Vector[]} */
    #covered({ hand, end, labelAt: [x, y], width }) {
        const covered = end ? [...along(hand, end), ...along([x, y], [x + width, y])] : [hand];
        return covered.map(([left, top]) => [left * this.#markScale, top * this.#markScale]);
    }

    /** @param {ForceMark} mark
     * @param {Vector} force N */
    #drawForce({ hand, arrow, end, label, labelAt }, force) {
        if (!end) return;
        const { context } = this.surface;
        drawForce(context, hand, force, arrow);
        context.font = this.#labelFont;
        context.textAlign = 'left';
        context.textBaseline = 'middle';
        drawText(context, label, labelAt, colour('felt'));
    }
}

/** The force on the hand, in the px of marks.
 * @typedef {object} ForceMark
 * @property {Vector} hand
 * @property {import('./marks.js').Arrow} arrow
 * @property {Vector|null} end The arrow's far end; null without a force.
 * @property {string} label Magnitude of the force.
 * @property {Vector} labelAt
 * @property {number} width Of the label.
 */

/** Points along a line, close enough that a name does not fit between two of them.
 * @param {Vector} from
 * @param {Vector} to
 * @returns {Vector[]} */
function along(from, to) {
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    const steps = Math.ceil(Math.hypot(dx, dy) / HAND_PX);
    const divisor = Math.max(steps, 1);
    return Array.from({ length: steps + 1 }, (_, step) => (
        [from[0] + dx * step / divisor, from[1] + dy * step / divisor]));
}

/** @param {Vector} point
 * @param {number} angle
 * @returns {Vector} */
function rotated([x, y], angle) {
    const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
    return [cosine * x - sine * y, sine * x + cosine * y];
}

/** A point of a body's frame, in the world.
 * @param {Pose} pose
 * @param {Vector} local
 * @returns {Vector} */
function placed([x, y, angle], local) {
    const [dx, dy] = rotated(local, angle);
    return [x + dx, y + dy];
}

/** The world to scale, with the forces on hand and tool. */

import { Backdrop } from './backdrop.js';
import { drawBody, drawNames, isUnder, leaveFrame, prepareBodies } from './bodies.js';
import { HAND_PX, drawBeacon, drawContacts, drawForce, drawHand, drawJoint, drawSpring, drawTarget, drawWords, placeArrow } from './marks.js';
import { colour } from './palette.js';
import { poses } from './protocol.js';
import { Surface } from './surface.js';
import { quantity } from './units.js';

/** @typedef {import('./protocol.js').Vector} Vector */
/** @typedef {import('./bodies.js').DrawnBody} DrawnBody */
/** @typedef {import('./bodies.js').Pose} Pose */

/** Length of the arrow of the maximum force, as a fraction of the shorter side of the canvas. */
const GREATEST_ARROW = 0.3;

/** Pixels of a rem in the page's ordinary type. */
const ORDINARY_REM_PX = 14;
/** Below this width marks are drawn smaller. */
const ORDINARY_WIDTH_PX = 700;

export class SceneView {
    /** @type {Set<number>} Hidden layers. */
    hiddenLayers = new Set();
    /** @type {Pose[]} As drawn last. */
    poses = [];
    /** Whether to point out the hand, for a first visit. */
    isHandPointedOut = false;
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
        session.addEventListener('scene', () => this.#takeScene());
        this.#resize();
    }

    /** Scale of the marks: larger with large type, smaller on a phone. */
    get #enlargement() {
        const room = Math.min(Math.max(this.camera.width / ORDINARY_WIDTH_PX, 0.7), 1);
        return room * this.surface.rem / ORDINARY_REM_PX;
    }

    /** Length of an arrow per newton, px. */
    get pxPerNewton() {
        return GREATEST_ARROW * Math.min(this.camera.width, this.camera.height) / this.session.maxForceN;
    }

    fit() {
        if (this.session.scene) this.camera.fit(this.session.scene.bounds_m);
    }

    /** Selects the drawn bodies; called when layers are hidden or shown. */
    chooseBodies() {
        if (!this.session.scene) return;
        const shown = prepareBodies(this.session.scene).filter(({ body }) => !this.hiddenLayers.has(body.layer));
        this.#fixed = shown.filter(({ body }) => body.fixed);
        this.#moving = shown.filter(({ body }) => !body.fixed);
    }

    draw() {
        const { surface, session: { scene, state } } = this;
        const { context } = surface;
        this.#backdrop.draw(surface, this.camera, this.#fixed);
        leaveFrame(context, surface);
        const felt = scene?.tool && state ? this.#placeFelt(state) : null;
        drawNames(context, surface, this.#backdrop.names, felt ? this.#covered(felt) : []);
        if (!scene || !state) return;
        this.poses = poses(scene, state);
        for (const drawn of this.#moving) drawBody(context, surface, this.camera, drawn, this.poses[drawn.index]);
        const scale = surface.ratio * this.#enlargement;
        context.setTransform(scale, 0, 0, scale, 0, 0);
        this.#drawJoints(scene);
        if (felt) this.#drawFelt(state, felt);
    }

    /** The topmost body under a point.
     * @param {Vector} point CSS px
     * @returns {import('./protocol.js').Body|null} */
    bodyAt(point) {
        const { surface, camera } = this;
        const topmost = [...this.#fixed, ...this.#moving].reverse().find((drawn) => (
            isUnder(surface.context, surface, camera, drawn, this.poses[drawn.index] ?? drawn.start, point)));
        return topmost?.body ?? null;
    }

    #takeScene() {
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
            const local = turned([anchor[0] - x, anchor[1] - y], -angle);
            const slope = axis ? -Math.atan2(axis[1], axis[0]) - (pose[2] - angle) : 0;
            drawJoint(this.surface.context, kind, this.#mark(placed(pose, local)), slope);
        }
    }

    /** Position of a world point in the pixels of the marks.
     * @param {Vector} place m
     * @returns {Vector} */
    #mark(place) {
        const [x, y] = this.camera.toScreen(place);
        return [x / this.#enlargement, y / this.#enlargement];
    }

    /** @param {import('./protocol.js').State} state
     * @param {FeltMark} felt */
    #drawFelt(state, felt) {
        const { context } = this.surface;
        const { hand, arrow: { pxPerNewton } } = felt;
        const load = Math.min(Math.hypot(...state.coupling_force_n) / this.session.maxForceN, 1);
        this.#drawContacts(state, pxPerNewton);
        if (this.guide.target) drawTarget(context, hand, this.#mark(this.guide.target));
        if (this.isHandPointedOut) drawBeacon(context, hand, performance.now());
        drawHand(context, hand, this.guide.isHolding);
        if (state.tool) drawSpring(context, hand, this.#mark(state.tool.handle_m), load);
        this.#drawFeltForce(felt, state.force_n);
    }

    /** Contact points, and contact forces on the tool.
     * @param {import('./protocol.js').State} state
     * @param {number} pxPerNewton */
    #drawContacts({ contacts }, pxPerNewton) {
        const { context } = this.surface;
        const tool = this.session.scene?.tool?.body ?? -1;
        const isTools = (/** @type {import('./protocol.js').Contact} */ { bodies }) => bodies.includes(tool);
        const places = (/** @type {import('./protocol.js').Contact[]} */ some) => some.map(({ point_m: point }) => this.#mark(point));
        const ours = contacts.filter(isTools);
        drawContacts(context, places(contacts.filter((contact) => !isTools(contact))), 1.75, false);
        for (const { point_m: point, force_n: [x, y], bodies } of ours) {
            const sign = bodies[1] === tool ? 1 : -1;
            drawForce(context, this.#mark(point), [sign * x, sign * y], { pxPerNewton, line: colour('touch'), width: 2, ends: null });
        }
        drawContacts(context, places(ours), 3.5, true);
    }

    /** The force as an arrow that pushes the hand, on the side opposite to the coupling, with its magnitude at the far end of the
     * arrow.
     * @param {import('./protocol.js').State} state
     * @returns {FeltMark} */
    #placeFelt({ hand_m: place, force_n: force }) {
        const { context } = this.surface;
        const hand = this.#mark(place);
        const arrow = { pxPerNewton: this.pxPerNewton / this.#enlargement, line: colour('felt'), width: 4, ends: HAND_PX + 4 };
        const end = placeArrow(hand, force, arrow)?.from ?? null;
        if (!end) return { hand, arrow, end, words: '', wordsAt: hand, width: 0 };
        const words = quantity(Math.hypot(...(this.session.displayed?.force_n ?? force)), 2, 'N');
        context.font = this.#wordsFont;
        const { width } = context.measureText(words);
        const [gap, edge] = [1.6 * ORDINARY_REM_PX, this.camera.width / this.#enlargement];
        const isRoomOnTheRight = end[0] + gap + width + ORDINARY_REM_PX < edge;
        const isRight = end[0] < gap + width + ORDINARY_REM_PX || (end[0] >= hand[0] && isRoomOnTheRight);
        return { hand, arrow, end, words, wordsAt: [isRight ? end[0] + gap : end[0] - gap - width, end[1]], width };
    }

    get #wordsFont() {
        return this.surface.font(0.95 / this.#enlargement, 600);
    }

    /** Positions covered by hand, arrow and text, CSS px.
     * @param {FeltMark} felt
     * @returns {Vector[]} */
    #covered({ hand, end, wordsAt: [x, y], width }) {
        const covered = end ? [...along(hand, end), ...along([x, y], [x + width, y])] : [hand];
        return covered.map(([left, top]) => [left * this.#enlargement, top * this.#enlargement]);
    }

    /** @param {FeltMark} felt
     * @param {Vector} force N */
    #drawFeltForce({ hand, arrow, end, words, wordsAt }, force) {
        if (!end) return;
        const { context } = this.surface;
        drawForce(context, hand, force, arrow);
        context.font = this.#wordsFont;
        context.textAlign = 'left';
        context.textBaseline = 'middle';
        drawWords(context, words, wordsAt, colour('felt'));
    }
}

/** The force on the screen, in the pixels of the marks.
 * @typedef {object} FeltMark
 * @property {Vector} hand
 * @property {import('./marks.js').Arrow} arrow
 * @property {Vector|null} end The arrow's far end; null without force.
 * @property {string} words Its size.
 * @property {Vector} wordsAt
 * @property {number} width Of the words.
 */

/** Points along a line, close enough that no name fits between them.
 * @param {Vector} from
 * @param {Vector} to
 * @returns {Vector[]} */
function along(from, to) {
    const steps = Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]) / HAND_PX);
    return Array.from({ length: steps + 1 }, (_, step) => [
        from[0] + (to[0] - from[0]) * step / Math.max(steps, 1), from[1] + (to[1] - from[1]) * step / Math.max(steps, 1)]);
}

/** @param {Vector} point
 * @param {number} angle
 * @returns {Vector} */
function turned([x, y], angle) {
    const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
    return [cosine * x - sine * y, sine * x + cosine * y];
}

/** A point of a body's frame, in the world.
 * @param {Pose} pose
 * @param {Vector} local
 * @returns {Vector} */
function placed([x, y, angle], local) {
    const [dx, dy] = turned(local, angle);
    return [x + dx, y + dy];
}

/** Mouse and touch on the scene: drag the hand, move the view, zoom. */

/** @typedef {import('./protocol.js').Vector} Vector */

/** Distance from the hand within which a press takes it, px. */
const MOUSE_REACH_PX = 26;
const TOUCH_REACH_PX = 46;
const WHEEL_ZOOM = 0.0015;
/** Minimum time between two targets sent before the end of a frame, ms. A mouse can report 1000 moves per second; the
 * daemon accepts 500. The last move of a frame is always sent. This adds at most 200 targets per second, and none on a
 * screen faster than 200 Hz. */
const EARLY_PULL_INTERVAL_MS = 5;

export class Pointer {
    /** @type {Map<number, Vector>} Position of each pressed finger or of the mouse, px. */
    #pressed = new Map();
    /** The pointer that holds the hand; -1 if none. */
    #holder = -1;
    /** @type {Vector} From the pointer to the target, m, so that taking the hand does not move it. */
    #offset = [0, 0];
    #pulledAt = -Infinity;
    /** @type {Vector|null} Position of the mouse, px; null outside the scene. */
    hover = null;

    /** @param {import('./scene-view.js').SceneView} view */
    constructor(view) {
        this.view = view;
        const canvas = view.surface.canvas;
        canvas.addEventListener('pointerdown', (event) => this.#press(event));
        canvas.addEventListener('pointermove', (event) => this.#move(event));
        // Moves arrive with the next frame, up to 17 ms late. Raw updates, where supported, arrive at once.
        canvas.addEventListener('pointerrawupdate', (event) => this.#pullEarly(/** @type {PointerEvent} */ (event)));
        canvas.addEventListener('pointerup', (event) => this.#lift(event));
        canvas.addEventListener('pointercancel', (event) => this.#lift(event));
        canvas.addEventListener('pointerleave', () => { this.hover = null; });
        canvas.addEventListener('wheel', (event) => this.#wheel(event), { passive: false });
        canvas.addEventListener('dblclick', () => view.fit());
        // A finger on the hand does not scroll the page; a finger elsewhere may.
        canvas.addEventListener('touchstart', (event) => this.#claimTouch(event), { passive: false });
        view.guide.addEventListener('change', () => { if (!view.guide.isHolding) this.#forgetHolder(); });
    }

    /** Whether a press here would take the hand.
     * @param {Vector} point px
     * @param {number} reach px */
    isOnHand(point, reach) {
        const { session, camera } = this.view;
        if (!session.state || !session.isHandFree || !session.scene?.tool) return false;
        const [x, y] = camera.toScreen(session.state.hand_m);
        if (Math.hypot(point[0] - x, point[1] - y) <= reach) return true;
        return this.view.bodyAt(point) === session.scene.bodies[session.scene.tool.body];
    }

    /** @param {{offsetX: number, offsetY: number}} event
     * @returns {Vector} */
    #position({ offsetX, offsetY }) {
        return [offsetX, offsetY];
    }

    /** @param {TouchEvent} event */
    #claimTouch(event) {
        const box = this.view.surface.canvas.getBoundingClientRect();
        const onHand = [...event.changedTouches].some(({ clientX, clientY }) => (
            this.isOnHand([clientX - box.left, clientY - box.top], TOUCH_REACH_PX)));
        if (onHand || this.#holder >= 0 || event.touches.length > 1) event.preventDefault();
    }

    /** @param {PointerEvent} event */
    #press(event) {
        if (event.button !== 0) return;
        const point = this.#position(event);
        const canvas = this.view.surface.canvas;
        canvas.setPointerCapture(event.pointerId);
        this.#pressed.set(event.pointerId, point);
        const reach = event.pointerType === 'touch' ? TOUCH_REACH_PX : MOUSE_REACH_PX;
        if (this.#holder < 0 && this.isOnHand(point, reach)) this.#take(event.pointerId, point);
    }

    /** @param {number} pointer
     * @param {Vector} point */
    #take(pointer, point) {
        const { session, camera, guide } = this.view;
        if (!session.state) return;
        const [x, y] = camera.toWorld(point);
        const [handX, handY] = session.state.hand_m;
        this.#holder = pointer;
        this.#offset = [handX - x, handY - y];
        guide.pull([handX, handY]);
    }

    /** After a release for any reason, a pointer that is still pressed has no effect until it is pressed again. */
    #forgetHolder() {
        this.#pressed.delete(this.#holder);
        this.#holder = -1;
    }

    /** @param {PointerEvent} event */
    #move(event) {
        const point = this.#position(event);
        if (event.pointerType !== 'touch') this.hover = point;
        const before = this.#pressed.get(event.pointerId);
        if (!before) return;
        if (event.pointerId === this.#holder) this.#pull(event);
        else if (this.#fingers().length === 2) this.#pinch(event.pointerId, before, point);
        else this.view.camera.pan(point[0] - before[0], point[1] - before[1]);
        this.#pressed.set(event.pointerId, point);
    }

    /** @param {PointerEvent} event */
    #pullEarly(event) {
        if (event.pointerId !== this.#holder || event.timeStamp - this.#pulledAt < EARLY_PULL_INTERVAL_MS) return;
        this.#pull(event);
    }

    /** @param {PointerEvent} event */
    #pull(event) {
        this.#pulledAt = event.timeStamp;
        const [x, y] = this.view.camera.toWorld(this.#position(event));
        this.view.guide.pull([x + this.#offset[0], y + this.#offset[1]]);
    }

    /** Fingers that do not hold the hand. */
    #fingers() {
        return [...this.#pressed].filter(([pointer]) => pointer !== this.#holder);
    }

    /** Pinch: the point between the fingers stays under them, and their distance sets the zoom.
     * @param {number} pointer
     * @param {Vector} before
     * @param {Vector} after */
    #pinch(pointer, before, after) {
        const other = this.#fingers().find(([id]) => id !== pointer)?.[1];
        if (!other) return;
        const distance = (/** @type {Vector} */ [x, y]) => Math.max(Math.hypot(x - other[0], y - other[1]), 10);
        const { camera } = this.view;
        camera.pan((after[0] - before[0]) / 2, (after[1] - before[1]) / 2);
        camera.zoom(distance(after) / distance(before), [(after[0] + other[0]) / 2, (after[1] + other[1]) / 2]);
    }

    /** @param {PointerEvent} event */
    #lift(event) {
        this.#pressed.delete(event.pointerId);
        if (event.pointerId === this.#holder) this.view.guide.release();
    }

    /** @param {WheelEvent} event */
    #wheel(event) {
        event.preventDefault();
        const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
        const steps = Math.max(-300, Math.min(300, event.deltaY * lines));
        this.view.camera.zoom(Math.exp(-steps * WHEEL_ZOOM), this.#position(event));
    }
}

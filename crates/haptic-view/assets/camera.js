/** Converts metres of the world to pixels of a canvas, and back. */

/** @typedef {import('./protocol.js').Vector} Vector */

/** Limits of the zoom, px/m. */
const MIN_SCALE = 50;
const MAX_SCALE = 200_000;
/** Space for the zoom buttons at the foot of the canvas when a scene is fitted, px. */
const FOOT_PX = 48;

export class Camera {
    /** @type {Vector} Position at the centre of the canvas, m. */
    centre = [0, 0];
    /** px/m, in CSS pixels */
    scale = 3000;
    /** Of the canvas, CSS pixels. */
    width = 1;
    height = 1;
    /** Whether the user moved the view; a resize then keeps it. */
    isMoved = false;
    /** Incremented with every change of the view, for caches of drawings. */
    version = 0;

    /** @param {Vector} point
     * @returns {Vector} */
    toScreen([x, y]) {
        return [(x - this.centre[0]) * this.scale + this.width / 2, this.height / 2 - (y - this.centre[1]) * this.scale];
    }

    /** @param {Vector} point
     * @returns {Vector} */
    toWorld([x, y]) {
        return [(x - this.width / 2) / this.scale + this.centre[0], (this.height / 2 - y) / this.scale + this.centre[1]];
    }

    /** @param {number} width
     * @param {number} height */
    resize(width, height) {
        [this.width, this.height] = [Math.max(width, 1), Math.max(height, 1)];
        this.version += 1;
    }

    /** Shows a whole rectangle with a margin.
     * @param {[Vector, Vector]} bounds m */
    fit([[left, bottom], [right, top]]) {
        const room = Math.min(0.05 * this.width, 0.1 * this.height) + 4;
        const foot = Math.max(room, FOOT_PX);
        const across = Math.max(this.width - 2 * room, 1) / Math.max(right - left, 1e-3);
        const up = Math.max(this.height - room - foot, 1) / Math.max(top - bottom, 1e-3);
        this.scale = Math.min(Math.max(Math.min(across, up), MIN_SCALE), MAX_SCALE);
        const below = this.height / 2 - (top - bottom) / 2 * this.scale;
        const raised = Math.max(foot - below, 0) / this.scale;
        this.centre = [(left + right) / 2, (bottom + top) / 2 - raised];
        this.isMoved = false;
        this.version += 1;
    }

    /** Moves the view by pixels.
     * @param {number} x
     * @param {number} y */
    pan(x, y) {
        this.centre = [this.centre[0] - x / this.scale, this.centre[1] + y / this.scale];
        this.isMoved = true;
        this.version += 1;
    }

    /** Zooms around a point of the canvas.
     * @param {number} factor
     * @param {Vector} at px */
    zoom(factor, at = [this.width / 2, this.height / 2]) {
        const before = this.toWorld(at);
        this.scale = Math.min(Math.max(this.scale * factor, MIN_SCALE), MAX_SCALE);
        const after = this.toWorld(at);
        this.centre = [this.centre[0] + before[0] - after[0], this.centre[1] + before[1] - after[1]];
        this.isMoved = true;
        this.version += 1;
    }
}

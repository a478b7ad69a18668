/** Converts between metres of the world and pixels of a canvas. */

/** @typedef {import('./protocol.js').Vector} Vector */

/** Limits of the zoom, px/m. */
const MIN_SCALE = 50;
const MAX_SCALE = 200_000;
/** Space that a fitted scene leaves for the zoom buttons at the bottom of the canvas, px. */
const FOOT_PX = 48;

export class Camera {
    /** @type {Vector} Position in the middle of the canvas, m. */
    centre = [0, 0];
    /** Scale, CSS px per m. */
    scale = 3000;
    /** Size of the canvas, CSS px. */
    width = 1;
    height = 1;
    /** Whether the user moved the view; it is then not fitted automatically. */
    isMoved = false;
    /** Changes with the view, so that drawings made for it can be cached. */
    version = 0;

    /** @param {Vector} point
     * @returns {Vector} */
    toScreen([x, y]) {
        const [centreX, centreY] = this.centre;
        return [(x - centreX) * this.scale + this.width / 2, this.height / 2 - (y - centreY) * this.scale];
    }

    /** @param {Vector} point
     * @returns {Vector} */
    toWorld([x, y]) {
        const [centreX, centreY] = this.centre;
        return [(x - this.width / 2) / this.scale + centreX, (this.height / 2 - y) / this.scale + centreY];
    }

    /** @param {number} width
     * @param {number} height */
    resize(width, height) {
        [this.width, this.height] = [Math.max(width, 1), Math.max(height, 1)];
        this.version += 1;
    }

    /** Fits a rectangle into the canvas with a margin.
     * @param {[Vector, Vector]} bounds m */
    fit([[left, bottom], [right, top]]) {
        const margin = Math.min(0.05 * this.width, 0.1 * this.height) + 4;
        const foot = Math.max(margin, FOOT_PX);
        const across = Math.max(this.width - 2 * margin, 1) / Math.max(right - left, 1e-3);
        const up = Math.max(this.height - margin - foot, 1) / Math.max(top - bottom, 1e-3);
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

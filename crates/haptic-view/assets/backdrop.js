/** Background of the scene: grid and fixed bodies. Drawn once per view, then copied. */

import { drawBody, namesOf } from './bodies.js';
import { colour } from './palette.js';
import { niceAbove } from './units.js';

/** @typedef {import('./camera.js').Camera} Camera */
/** @typedef {import('./bodies.js').DrawnBody} DrawnBody */

/** Minimum distance of grid lines, px. */
const GRID_PX = 14;

/** @param {CanvasRenderingContext2D} context
 * @param {Camera} camera
 * @param {number} step m
 * @param {string} line */
function drawGrid(context, camera, step, line) {
    const [left, top] = camera.toWorld([0, 0]);
    const [right, bottom] = camera.toWorld([camera.width, camera.height]);
    context.beginPath();
    for (let index = Math.ceil(left / step); index * step <= right; index += 1) {
        const x = Math.round(camera.toScreen([index * step, 0])[0]) + 0.5;
        context.moveTo(x, 0);
        context.lineTo(x, camera.height);
    }
    for (let index = Math.ceil(bottom / step); index * step <= top; index += 1) {
        const y = Math.round(camera.toScreen([0, index * step])[1]) + 0.5;
        context.moveTo(0, y);
        context.lineTo(camera.width, y);
    }
    context.strokeStyle = line;
    context.lineWidth = 1;
    context.stroke();
}

export class Backdrop {
    /** @type {import('./bodies.js').Name[]} Names of the fixed bodies. Drawn per frame, since marks may cover them. */
    names = [];
    #canvas = document.createElement('canvas');
    /** @type {unknown[]} What the picture was drawn for. */
    #drawnFor = [];

    /** Copies the background to the canvas; redraws it first if view, theme or bodies have changed.
     * @param {import('./surface.js').Surface} surface
     * @param {Camera} camera
     * @param {DrawnBody[]} bodies */
    draw(surface, camera, bodies) {
        const wanted = [camera.version, bodies, surface.ratio, colour('stage'), surface.rem];
        if (wanted.some((value, index) => value !== this.#drawnFor[index])) this.#redraw(surface, camera, bodies);
        this.#drawnFor = wanted;
        surface.context.setTransform(1, 0, 0, 1, 0, 0);
        surface.context.drawImage(this.#canvas, 0, 0);
    }

    /** @param {import('./surface.js').Surface} surface
     * @param {Camera} camera
     * @param {DrawnBody[]} bodies */
    #redraw(surface, camera, bodies) {
        this.#canvas.width = surface.canvas.width;
        this.#canvas.height = surface.canvas.height;
        const context = this.#canvas.getContext('2d', { alpha: false });
        if (!context) return;
        context.setTransform(surface.ratio, 0, 0, surface.ratio, 0, 0);
        context.fillStyle = colour('stage');
        context.fillRect(0, 0, camera.width, camera.height);
        drawGrid(context, camera, niceAbove(GRID_PX / camera.scale), colour('grid'));
        drawGrid(context, camera, 10 ** Math.ceil(Math.log10(3 * GRID_PX / camera.scale)), colour('grid-strong'));
        for (const body of bodies) drawBody(context, surface, camera, body, body.start);
        this.names = namesOf(context, surface, camera, bodies);
    }
}

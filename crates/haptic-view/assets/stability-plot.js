/** Stability plot: passive and stable stiffness over damping, and the gains in use, as a point that can be dragged. */

import { colour } from './palette.js';
import { Surface } from './surface.js';
import { plain } from './units.js';

/** @typedef {import('./protocol.js').RegionPoint} RegionPoint */
/** @typedef {{x: number, y: number, width: number, height: number}} Area */

export class StabilityPlot {
    /** @type {CanvasPattern|null} */
    #hatch = null;
    #hatchFor = '';

    /** @param {HTMLCanvasElement} canvas
     * @param {import('./session.js').Session} session
     * @param {import('./gains.js').Gains} gains */
    constructor(canvas, session, gains) {
        this.session = session;
        this.gains = gains;
        this.surface = new Surface(canvas, () => this.draw());
        gains.addEventListener('change', () => this.draw());
        canvas.addEventListener('pointerdown', (event) => {
            canvas.setPointerCapture(event.pointerId);
            this.#drag(event);
        });
        canvas.addEventListener('pointermove', (event) => {
            if (canvas.hasPointerCapture(event.pointerId)) this.#drag(event);
        });
    }

    draw() {
        const context = this.surface.begin();
        const area = this.#area();
        if (area.width < 1 || area.height < 1) return;
        if (this.session.settings) this.#drawRegion(context, area, this.session.settings.stability.region);
        this.#drawAxes(context, area);
        this.#drawPoint(context, area);
    }

    /** @param {CanvasRenderingContext2D} context
     * @param {Area} area
     * @param {RegionPoint[]} region */
    #drawRegion(context, area, region) {
        context.fillStyle = this.#unstable(context);
        context.fillRect(area.x, area.y, area.width, area.height);
        this.#fillBelow(context, area, region, 'stable', ({ stiffness_stable_n_per_m: limit }) => limit);
        this.#fillBelow(context, area, region, 'passive', ({ stiffness_passive_n_per_m: limit }) => limit);
    }

    /** @returns {Area} */
    #area() {
        const { width, height, rem, context } = this.surface;
        context.font = this.surface.font(0.75);
        const { stiffness_n_per_m: stiffness } = this.gains.scales;
        const widths = stiffness.decades().map((decade) => context.measureText(plain(decade)).width);
        const left = Math.max(...widths) + 0.45 * rem;
        return { x: left, y: 1.75 * rem, width: width - left - 0.6 * rem, height: height - 4.05 * rem };
    }

    /** Hatched, so that the region is recognisable without colours.
     * @param {CanvasRenderingContext2D} context */
    #unstable(context) {
        if (this.#hatchFor !== colour('unstable')) {
            const tile = document.createElement('canvas');
            [tile.width, tile.height] = [8, 8];
            const pen = /** @type {CanvasRenderingContext2D} */ (tile.getContext('2d'));
            pen.fillStyle = colour('unstable');
            pen.fillRect(0, 0, 8, 8);
            pen.strokeStyle = colour('line');
            pen.lineWidth = 1.5;
            for (const x of [-8, 0, 8]) {
                pen.moveTo(x, 8);
                pen.lineTo(x + 8, 0);
            }
            pen.stroke();
            this.#hatch = context.createPattern(tile, 'repeat');
            this.#hatchFor = colour('unstable');
        }
        return this.#hatch ?? colour('unstable');
    }

    /** @param {CanvasRenderingContext2D} context
     * @param {Area} area
     * @param {RegionPoint[]} region
     * @param {string} fill
     * @param {(point: RegionPoint) => number} limit N/m */
    #fillBelow(context, area, region, fill, limit) {
        const inside = region.filter((point) => limit(point) > this.gains.scales.stiffness_n_per_m.low);
        if (inside.length === 0) return;
        const { damping_n_s_per_m: damping, stiffness_n_per_m: stiffness } = this.gains.scales;
        const x = (/** @type {number} */ value) => area.x + area.width * damping.position(value);
        const base = area.y + area.height;
        context.beginPath();
        context.moveTo(x(inside[0].damping_n_s_per_m), base);
        for (const point of inside) {
            context.lineTo(x(point.damping_n_s_per_m), base - area.height * stiffness.position(limit(point)));
        }
        context.lineTo(x(inside[inside.length - 1].damping_n_s_per_m), base);
        context.closePath();
        context.fillStyle = colour(fill);
        context.fill();
        context.strokeStyle = colour('good');
        context.lineWidth = 1;
        context.stroke();
    }

    /** @param {CanvasRenderingContext2D} context
     * @param {Area} area */
    #drawAxes(context, area) {
        const { surface: { rem }, gains: { scales } } = this;
        context.font = this.surface.font(0.75);
        context.strokeStyle = colour('strong-line');
        context.lineWidth = 1;
        const [x, y, width, height] = [area.x, area.y, area.width, area.height].map(Math.round);
        context.strokeRect(x + 0.5, y + 0.5, width, height);
        context.fillStyle = colour('quiet');
        context.textAlign = 'right';
        context.textBaseline = 'middle';
        for (const decade of scales.stiffness_n_per_m.decades()) {
            const level = area.y + area.height * (1 - scales.stiffness_n_per_m.position(decade));
            context.fillText(plain(decade), area.x - 0.35 * rem, level);
        }
        context.textAlign = 'center';
        context.textBaseline = 'alphabetic';
        const bottom = area.y + area.height;
        for (const decade of scales.damping_n_s_per_m.decades()) {
            const column = area.x + area.width * scales.damping_n_s_per_m.position(decade);
            const isZero = scales.damping_n_s_per_m.hasZero && column - area.x < 1;
            context.fillText(isZero ? '0' : plain(decade), column, bottom + 1.05 * rem);
        }
        context.fillText('damping, N·s/m', area.x + area.width / 2, bottom + 2.1 * rem);
        context.textAlign = 'left';
        context.fillText('stiffness, N/m', 0, 0.8 * rem);
    }

    /** @param {CanvasRenderingContext2D} context
     * @param {Area} area */
    #drawPoint(context, area) {
        const { shown, scales } = this.gains;
        if (!shown) return;
        const x = area.x + area.width * scales.damping_n_s_per_m.position(shown.damping_n_s_per_m);
        const y = area.y + area.height * (1 - scales.stiffness_n_per_m.position(shown.stiffness_n_per_m));
        context.setLineDash([2, 3]);
        context.strokeStyle = colour('quiet');
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(area.x, y);
        context.lineTo(x, y);
        context.lineTo(x, area.y + area.height);
        context.stroke();
        context.setLineDash([]);
        context.beginPath();
        context.arc(x, y, 6, 0, 2 * Math.PI);
        context.fillStyle = colour('surface');
        context.fill();
        context.lineWidth = 3;
        context.strokeStyle = colour('ink');
        context.stroke();
    }

    /** @param {PointerEvent} event */
    #drag({ offsetX, offsetY }) {
        const area = this.#area();
        const { damping_n_s_per_m: damping, stiffness_n_per_m: stiffness } = this.gains.scales;
        this.gains.request({
            damping_n_s_per_m: damping.value((offsetX - area.x) / area.width),
            stiffness_n_per_m: stiffness.value(Math.max(1 - (offsetY - area.y) / area.height, 0)),
        });
    }
}

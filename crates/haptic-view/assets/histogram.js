/** Histogram of wake-up latency and tick time. Both axes are logarithmic, so that rare values show. */

import { colour } from './palette.js';
import { Surface, drawLine } from './surface.js';

const MIN_NS = 100;
const MAX_NS = 1e7;
/** Bars per power of ten. */
const BARS = 6;
const COUNT = Math.round(Math.log10(MAX_NS / MIN_NS) * BARS);

/** @type {[number, string][]} */
const DECADE_LABELS = [[1e3, '1 µs'], [1e4, '10 µs'], [1e5, '100 µs'], [1e6, '1 ms']];

const COUNT_LABELS = ['1', '10', '100', '1k', '10k', '100k', '1M', '10M', '100M', '1G'];

/** @param {number} ns
 * @returns {number} 0 at the left, 1 at the right */
function position(ns) {
    const fraction = Math.log(ns / MIN_NS) / Math.log(MAX_NS / MIN_NS);
    return Math.min(Math.max(fraction, 0), 1);
}

/** @param {[number, number][]} histogram Upper bounds in ns, counts. */
function intoBars(histogram) {
    const bars = new Array(COUNT).fill(0);
    for (const [upper, count] of histogram) {
        bars[Math.min(COUNT - 1, Math.floor(position(upper * 0.999) * COUNT))] += count;
    }
    return bars;
}

export class Histogram {
    /** @param {HTMLCanvasElement} canvas
     * @param {import('./session.js').Session} session */
    constructor(canvas, session) {
        this.session = session;
        this.surface = new Surface(canvas, () => this.draw());
        session.addEventListener('timing', () => this.draw());
    }

    draw() {
        const { surface, session: { timing } } = this;
        const context = surface.begin();
        const { width, height, rem } = surface;
        const area = { x: 2.2 * rem, y: 1.5 * rem, width: width - 2.4 * rem, height: height - 2.9 * rem };
        if (area.width < 1 || area.height < 1) return;
        const wake = intoBars(timing?.wake_histogram ?? []);
        const compute = intoBars(timing?.compute_histogram ?? []);
        const decades = Math.max(3, Math.ceil(Math.log10(Math.max(1, ...wake, ...compute))));
        this.#drawAxes(context, area, decades);
        this.#drawBars(context, area, compute, decades, 'series-tick', 0);
        this.#drawBars(context, area, wake, decades, 'series-wake', 0.5);
        this.#drawBudget(context, area, timing?.budget_ns ?? 1e6);
    }

    /** @param {CanvasRenderingContext2D} context
     * @param {Area} area
     * @param {number} decades */
    #drawAxes(context, area, decades) {
        const { rem } = this.surface;
        context.font = this.surface.font(0.75);
        context.fillStyle = colour('quiet');
        context.strokeStyle = colour('line');
        context.lineWidth = 1;
        context.textBaseline = 'middle';
        context.textAlign = 'right';
        for (let decade = 0; decade <= decades; decade += decades > 5 ? 3 : 2) {
            const y = Math.round(area.y + area.height * (1 - decade / decades)) + 0.5;
            drawLine(context, area.x, y, area.x + area.width, y);
            context.fillText(COUNT_LABELS[decade] ?? '', area.x - 0.3 * rem, y);
        }
        context.textAlign = 'center';
        context.textBaseline = 'alphabetic';
        for (const [ns, name] of DECADE_LABELS) {
            const x = Math.round(area.x + area.width * position(ns)) + 0.5;
            drawLine(context, x, area.y, x, area.y + area.height);
            context.fillText(name, x, area.y + area.height + 1.1 * rem);
        }
        context.textAlign = 'left';
        context.fillText('ticks', 0, 0.7 * rem);
    }

    /** @param {CanvasRenderingContext2D} context
     * @param {Area} area
     * @param {number[]} bars
     * @param {number} decades
     * @param {string} fill
     * @param {number} offset Of the bar within its column, 0 or 0.5. */
    #drawBars(context, area, bars, decades, fill, offset) {
        context.fillStyle = colour(fill);
        const step = area.width / COUNT;
        bars.forEach((count, index) => {
            if (count === 0) return;
            // A single tick is visible too: a bar starts below its own count.
            const tall = area.height * Math.max(Math.log10(count) + 0.15, 0.15) / (decades + 0.15);
            context.fillRect(area.x + (index + offset) * step, area.y + area.height - tall, 0.5 * step, tall);
        });
    }

    /** @param {CanvasRenderingContext2D} context
     * @param {Area} area
     * @param {number} budget ns */
    #drawBudget(context, area, budget) {
        const x = Math.round(area.x + area.width * position(budget)) + 0.5;
        context.strokeStyle = colour('budget');
        context.lineWidth = 1.5;
        context.setLineDash([5, 3]);
        drawLine(context, x, area.y, x, area.y + area.height);
        context.setLineDash([]);
        context.fillStyle = colour('budget');
        context.textAlign = 'center';
        context.textBaseline = 'alphabetic';
        context.fillText('budget', x, 1.2 * this.surface.rem);
    }
}

/** @typedef {{x: number, y: number, width: number, height: number}} Area */

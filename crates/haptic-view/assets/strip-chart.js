/** A scrolling chart of the last seconds. */

import { SPAN_S } from './history.js';
import { drawText } from './marks.js';
import { colour } from './palette.js';
import { Surface, drawLine } from './surface.js';
import { fixed, niceAbove, plain } from './units.js';

/** @typedef {object} Series
 * @property {string} name Empty: drawn but not listed.
 * @property {number} value Index into a sample.
 * @property {string} colour Name in the theme.
 * @property {boolean} [isDashed]
 * @property {boolean} [isRight] Measured on the right axis.
 * @property {boolean} [isQuiet] Listed without its number.
 * @property {string} title Tooltip.
 *
 * @typedef {object} ChartDescription
 * @property {string} title
 * @property {string} unit
 * @property {number} factor From SI to the unit.
 * @property {number} decimals
 * @property {number} minRange Smallest range of the axis, in the unit.
 * @property {boolean} [isLogarithmic]
 * @property {{unit: string, factor: number, decimals: number}} [right]
 * @property {{value: number, name: string}} [line] A marked level, in the unit.
 * @property {Series[]} series
 */

export class StripChart {
    /** @type {HTMLElement[]} */
    #values = [];

    /** @param {HTMLElement} parent
     * @param {ChartDescription} description
     * @param {import('./history.js').History} history */
    constructor(parent, description, history) {
        this.description = description;
        this.history = history;
        const figure = document.createElement('figure');
        figure.className = 'chart';
        const canvas = document.createElement('canvas');
        canvas.setAttribute('role', 'img');
        canvas.setAttribute('aria-label', `${description.title} over the last ${SPAN_S} s`);
        figure.append(this.#caption(), canvas);
        parent.append(figure);
        this.surface = new Surface(canvas, () => this.draw());
    }

    #caption() {
        const caption = document.createElement('figcaption');
        const title = document.createElement('h2');
        title.textContent = this.description.title;
        const entries = this.description.series.map((series) => this.#entry(series));
        caption.append(title, ...entries.filter((_, index) => this.description.series[index].name));
        return caption;
    }

    /** @param {Series} series */
    #entry(series) {
        const entry = document.createElement('span');
        entry.className = 'series';
        entry.title = series.title;
        const stroke = document.createElement('i');
        stroke.className = series.isDashed ? 'dashed' : '';
        stroke.style.color = `var(--${series.isQuiet ? 'quiet' : series.colour})`;
        const [name, value] = [document.createElement('span'), document.createElement('span')];
        name.className = 'name';
        name.textContent = series.name;
        value.className = 'value';
        this.#values.push(value);
        entry.append(stroke, name, value);
        return entry;
    }

    /** Shows the numbers of a sample beside the names.
     * @param {number[]} sample */
    showValues(sample) {
        this.description.series.forEach((series, index) => {
            if (series.isQuiet) return;
            const { unit, factor, decimals } = this.#scaleOf(series);
            this.#values[index].textContent = `${fixed(sample[series.value] * factor, decimals)}\u202f${unit}`;
        });
    }

    /** @param {Series} series */
    #scaleOf(series) {
        return series.isRight && this.description.right ? this.description.right : this.description;
    }

    draw() {
        const { surface, description } = this;
        const context = surface.begin();
        const left = this.#span(description.series.filter(({ isRight }) => !isRight), description.factor);
        const right = description.right
            && this.#span(description.series.filter(({ isRight }) => isRight), description.right.factor, true);
        context.font = surface.font(0.75);
        const leftLabels = labelsOf(left, description.unit, false);
        const rightLabels = right && description.right ? labelsOf(right, description.right.unit, true) : [];
        const area = this.#area(widest(context, leftLabels), widest(context, rightLabels));
        this.#drawAxis(context, area, left, leftLabels, false);
        if (right) this.#drawAxis(context, area, right, rightLabels, true);
        this.#drawTime(context, area);
        for (const series of description.series) {
            this.#drawSeries(context, area, series, series.isRight && right ? right : left);
        }
        if (description.line) this.#drawLevel(context, area, left, description.line);
    }

    /** Plot area beside the labels of the axes.
     * @param {number} leftLabels px
     * @param {number} rightLabels px */
    #area(leftLabels, rightLabels) {
        const { width, height, rem } = this.surface;
        const [left, right] = [leftLabels + 0.4 * rem, rightLabels + 0.4 * rem];
        const [plotWidth, plotHeight] = [Math.max(width - left - right, 1), Math.max(height - 2 * rem, 1)];
        return { x: left, y: 0.75 * rem, width: plotWidth, height: plotHeight };
    }

    /** Range of an axis, in its unit.
     * @param {Series[]} series
     * @param {number} factor
     * @param {boolean} [fromZero]
     * @returns {Span} */
    #span(series, factor, fromZero = false) {
        if (this.description.isLogarithmic) return { low: 1, high: 5000, isLogarithmic: true };
        const range = this.history.range(series.map(({ value }) => value)) ?? [0, 0];
        const [low, high] = range.map((value) => value * factor);
        const { minRange } = this.description;
        if (fromZero) return { low: 0, high: niceAbove(Math.max(high, minRange)), isLogarithmic: false };
        const [bottom, top] = [Math.min(low, 0), Math.max(high, 0)];
        const step = niceAbove(Math.max(high - bottom, top - low, minRange) / 4);
        const [floor, ceiling] = [Math.floor(bottom / step) * step, Math.ceil(top / step) * step];
        return { low: floor, high: ceiling > floor ? ceiling : floor + step, isLogarithmic: false };
    }

    /** @param {CanvasRenderingContext2D} context
     * @param {Area} area
     * @param {Span} span
     * @param {Label[]} labels
     * @param {boolean} isRight */
    #drawAxis(context, area, span, labels, isRight) {
        const { rem } = this.surface;
        context.textBaseline = 'middle';
        context.textAlign = isRight ? 'left' : 'right';
        context.lineWidth = 1;
        const x = isRight ? area.x + area.width + 0.35 * rem : area.x - 0.35 * rem;
        for (const [level, text] of labels) {
            const y = Math.round(height(area, span, level)) + 0.5;
            context.strokeStyle = colour(level === 0 ? 'strong-line' : 'line');
            if (!isRight) drawLine(context, area.x, y, area.x + area.width, y);
            context.fillStyle = colour('quiet');
            context.fillText(text, x, y);
        }
    }

    /** @param {CanvasRenderingContext2D} context
     * @param {Area} area */
    #drawTime(context, area) {
        const { rem } = this.surface;
        context.fillStyle = colour('quiet');
        context.textBaseline = 'alphabetic';
        const y = area.y + area.height + 1.05 * rem;
        context.textAlign = 'left';
        context.fillText(`−${SPAN_S}\u202fs`, area.x, y);
        context.textAlign = 'right';
        context.fillText('now', area.x + area.width, y);
    }

    /** @param {CanvasRenderingContext2D} context
     * @param {Area} area
     * @param {Span} span
     * @param {{value: number, name: string}} level */
    #drawLevel(context, area, span, { value, name }) {
        const y = Math.round(height(area, span, value)) + 0.5;
        context.setLineDash([5, 3]);
        context.strokeStyle = colour('budget');
        context.lineWidth = 1.5;
        drawLine(context, area.x, y, area.x + area.width, y);
        context.setLineDash([]);
        context.textAlign = 'right';
        context.textBaseline = 'alphabetic';
        // With a halo, because the curve of a long tick crosses the text.
        drawText(context, name, [area.x + area.width, y - 4], colour('budget'), 'surface');
    }

    /** @param {CanvasRenderingContext2D} context
     * @param {Area} area
     * @param {Series} series
     * @param {Span} span */
    #drawSeries(context, area, series, span) {
        const { factor } = this.#scaleOf(series);
        context.beginPath();
        this.history.each(series.value, (position, min, max) => {
            const x = area.x + position * area.width;
            const [top, bottom] = [height(area, span, max * factor), height(area, span, min * factor)];
            context.lineTo(x, top);
            if (bottom - top > 0.5) context.lineTo(x, bottom);
        });
        context.lineWidth = 1.5;
        context.lineJoin = 'bevel';
        context.strokeStyle = colour(series.colour);
        if (series.isDashed) context.setLineDash([4, 3]);
        context.stroke();
        context.setLineDash([]);
    }
}

/** @typedef {{x: number, y: number, width: number, height: number}} Area */
/** @typedef {{low: number, high: number, isLogarithmic: boolean}} Span */
/** @typedef {[number, string]} Label A level and its text. */

/** Height of a value, px from the top.
 * @param {Area} area
 * @param {Span} span
 * @param {number} value */
function height(area, { low, high, isLogarithmic }, value) {
    const fraction = isLogarithmic
        ? Math.log(Math.max(value, low) / low) / Math.log(high / low)
        : (value - low) / (high - low);
    return area.y + area.height * (1 - Math.min(Math.max(fraction, 0), 1));
}

/** Labels of an axis; the topmost has the unit.
 * @param {Span} span
 * @param {string} unit
 * @param {boolean} isRight
 * @returns {Label[]} */
function labelsOf(span, unit, isRight) {
    if (span.isLogarithmic) return [[1, '1 µs'], [10, '10 µs'], [100, '100 µs'], [1000, '1 ms']];
    const levels = isRight ? [span.low, span.high] : levelsOf(span);
    const isTop = (/** @type {number} */ index) => index === levels.length - 1;
    return levels.map((level, index) => [level, isTop(index) ? `${plain(level)}\u202f${unit}` : plain(level)]);
}

/** @param {CanvasRenderingContext2D} context
 * @param {Label[]} labels */
function widest(context, labels) {
    return labels.reduce((max, [, text]) => Math.max(max, context.measureText(text).width), 0);
}

/** @param {Span} span */
function levelsOf({ low, high }) {
    const step = niceAbove((high - low) / 4.01);
    const ticks = [];
    for (let index = Math.ceil(low / step - 1e-9); index * step <= high + 1e-9 * step; index += 1) {
        ticks.push(index * step);
    }
    return ticks;
}

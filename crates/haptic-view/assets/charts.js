/** The four strip charts: force, position, energy, tick time. */

import { SAMPLE } from './protocol.js';
import { StripChart } from './strip-chart.js';
import { plain } from './units.js';

/** Charts repainted per frame. Each still moves thirty times per second, and a frame stays cheap. */
const CHARTS_PER_FRAME = 2;

/** @type {import('./strip-chart.js').ChartDescription[]} */
const DESCRIPTIONS = [
    {
        title: 'Force on hand', unit: 'N', factor: 1, decimals: 2, minRange: 0.5,
        series: [
            { name: 'x', value: SAMPLE.forceX, colour: 'series-x',
                title: 'Force on the hand to the right, after all limits' },
            { name: 'y', value: SAMPLE.forceY, colour: 'series-y',
                title: 'Force on the hand upwards, after all limits' },
        ],
    },
    {
        title: 'Hand position', unit: 'mm', factor: 1e3, decimals: 1, minRange: 5,
        series: [
            { name: 'x', value: SAMPLE.handX, colour: 'series-x', title: 'Hand, horizontal' },
            { name: 'y', value: SAMPLE.handY, colour: 'series-y', title: 'Hand, vertical' },
            { name: 'tool', value: SAMPLE.toolX, colour: 'series-x', isDashed: true, isQuiet: true,
                title: 'Dashed: the handle of the tool, which stays behind the hand at an obstacle' },
            { name: '', value: SAMPLE.toolY, colour: 'series-y', isDashed: true, isQuiet: true, title: '' },
        ],
    },
    {
        title: 'Energy', unit: 'mJ', factor: 1e3, decimals: 2, minRange: 1,
        right: { unit: 'J', factor: 1, decimals: 3 },
        series: [
            { name: 'world', value: SAMPLE.energy, colour: 'series-energy',
                title: 'Kinetic, potential and coupling energy; left axis' },
            { name: 'tank', value: SAMPLE.tank, colour: 'series-tank', isRight: true,
                title: 'Energy that the device may still deliver; right axis. At zero the force is reduced' },
        ],
    },
    {
        title: 'Tick time', unit: 'µs', factor: 1e-3, decimals: 0, minRange: 1, isLogarithmic: true,
        line: { value: 1000, name: 'budget 1 ms' },
        series: [
            { name: 'compute', value: SAMPLE.compute, colour: 'series-tick',
                title: 'Time to compute a tick, of 1000 µs available' },
        ],
    },
];

export class Charts {
    #next = 0;

    /** @param {HTMLElement} parent
     * @param {import('./session.js').Session} session */
    constructor(parent, session) {
        this.session = session;
        this.charts = DESCRIPTIONS.map((description) => new StripChart(parent, description, session.history));
        session.addEventListener('timing', () => this.#applyBudget());
    }

    /** Called once per frame.
     * @param {boolean} isNew Whether a state arrived since the last frame. */
    advance(isNew) {
        if (!isNew) return;
        for (let count = 0; count < CHARTS_PER_FRAME; count += 1) {
            this.charts[this.#next].draw();
            this.#next = (this.#next + 1) % this.charts.length;
        }
    }

    redraw() {
        for (const chart of this.charts) chart.draw();
    }

    /** Updates the numbers. Called a few times per second. */
    showValues() {
        const sample = this.session.displayed?.samples?.at(-1);
        if (!sample) return;
        for (const chart of this.charts) chart.showValues(sample);
    }

    #applyBudget() {
        const { line } = this.charts[3].description;
        if (!line || !this.session.timing) return;
        line.value = this.session.timing.budget_ns / 1e3;
        line.name = `budget ${plain(this.session.timing.budget_ns / 1e6)} ms`;
    }
}

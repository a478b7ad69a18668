/** The gains of the coupling: what is in use, what is wished for, and the way from the one to the other. */

import { LogScale } from './log-scale.js';
import { ask } from './requests.js';

/** @typedef {import('./protocol.js').Coupling} Coupling */
/** @typedef {'stiffness_n_per_m'|'damping_n_s_per_m'} MainGain */

/** Where the sliders begin; softer than this is not felt. */
const LEAST_STIFFNESS_N_PER_M = 10;
const LEAST_DAMPING_N_S_PER_M = 0.01;
/** At most so often is the daemon asked while a slider moves, ms. */
const PAUSE_MS = 40;

/** Tells of `change` (of what to show) and `refused` (detail: why). */
export class Gains extends EventTarget {
    /** @type {Coupling|null} What to show: the wish while there is one, else what is in use. */
    shown = null;
    /** @type {Record<MainGain, LogScale>} */
    scales = {
        stiffness_n_per_m: new LogScale(LEAST_STIFFNESS_N_PER_M, 10_000, false),
        damping_n_s_per_m: new LogScale(LEAST_DAMPING_N_S_PER_M, 50, true),
    };
    /** @type {Partial<Coupling>|null} Not sent yet. */
    #wish = null;
    #isAsking = false;

    /** @param {import('./session.js').Session} session */
    constructor(session) {
        super();
        this.session = session;
        session.addEventListener('settings', () => this.#takeSettings());
    }

    /** Asks for other gains. While an answer is awaited only the newest wish is kept.
     * @param {Partial<Coupling>} wish */
    async request(wish) {
        if (!this.shown) return;
        this.#show({ ...this.shown, ...wish });
        this.#wish = { ...this.#wish, ...wish };
        if (this.#isAsking) return;
        this.#isAsking = true;
        try {
            while (this.#wish) {
                await this.#send();
                await new Promise((resolve) => { setTimeout(resolve, PAUSE_MS); });
            }
        } finally {
            this.#isAsking = false;
        }
        this.#takeSettings();
    }

    /** What was typed is no number: nothing is asked for, and what was said of the last wish is over. */
    drop() {
        this.dispatchEvent(new CustomEvent('refused', { detail: '' }));
    }

    async #send() {
        const wish = this.#wish;
        this.#wish = null;
        try {
            const coupling = await ask('PATCH', '/api/coupling', wish ?? {});
            const settings = this.session.settings;
            if (settings && coupling?.stiffness_n_per_m !== undefined) settings.coupling = { ...settings.coupling, ...coupling };
            this.dispatchEvent(new CustomEvent('refused', { detail: '' }));
        } catch (error) {
            this.dispatchEvent(new CustomEvent('refused', { detail: /** @type {Error} */ (error).message }));
        }
    }

    #takeSettings() {
        const { settings } = this.session;
        if (!settings || this.#isAsking) return;
        this.#takeLimits(settings.limits);
        this.#show(settings.coupling);
    }

    /** @param {import('./protocol.js').Limits} limits */
    #takeLimits({ stiffness_n_per_m: stiffness, damping_n_s_per_m: damping }) {
        if (stiffness[1] > 0) this.scales.stiffness_n_per_m = new LogScale(LEAST_STIFFNESS_N_PER_M, stiffness[1], false);
        if (damping[1] > 0) this.scales.damping_n_s_per_m = new LogScale(LEAST_DAMPING_N_S_PER_M, damping[1], true);
    }

    /** @param {Coupling} coupling */
    #show(coupling) {
        this.shown = coupling;
        this.dispatchEvent(new Event('change'));
    }
}

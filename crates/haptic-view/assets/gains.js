/** The gains of the coupling: in use, requested, and the requests to the daemon. */

import { LogScale } from './log-scale.js';
import { ask } from './requests.js';

/** @typedef {import('./protocol.js').Coupling} Coupling */
/** @typedef {'stiffness_n_per_m'|'damping_n_s_per_m'} MainGain */

/** Lower end of the sliders; smaller gains cannot be felt. */
const LEAST_STIFFNESS_N_PER_M = 10;
const LEAST_DAMPING_N_S_PER_M = 0.01;
/** Minimum interval of requests while a slider moves, ms. */
const PAUSE_MS = 40;

/** Emits `change` (of the shown gains) and `refused` (detail: reason). */
export class Gains extends EventTarget {
    /** @type {Coupling|null} Shown gains: the requested ones while a request is pending, else those in use. */
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

    /** Requests other gains. While a response is pending only the newest request is kept.
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

    /** Handles an input that is not a number: sends nothing and clears the last error. */
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

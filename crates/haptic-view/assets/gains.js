/** The gains of the coupling: those in use, those requested, and the requests to the daemon. */

import { LogScale } from './log-scale.js';
import { request } from './requests.js';

/** @typedef {import('./protocol.js').Coupling} Coupling */
/** @typedef {'stiffness_n_per_m'|'damping_n_s_per_m'} MainGain */

/** Lower ends of the sliders. Softer couplings cannot be felt. */
const MIN_STIFFNESS_N_PER_M = 10;
const MIN_DAMPING_N_S_PER_M = 0.01;
/** Time between two requests while a slider moves, ms. */
const REQUEST_INTERVAL_MS = 40;

/** Dispatches `change` (of the gains to show) and `rejected` (detail: the reason, or empty). */
export class Gains extends EventTarget {
    /** @type {Coupling|null} Gains to show: those requested, otherwise those in use. */
    shown = null;
    /** @type {Record<MainGain, LogScale>} */
    scales = {
        stiffness_n_per_m: new LogScale(MIN_STIFFNESS_N_PER_M, 10_000, false),
        damping_n_s_per_m: new LogScale(MIN_DAMPING_N_S_PER_M, 50, true),
    };
    /** @type {Partial<Coupling>|null} Requested but not sent yet. */
    #pending = null;
    #isSending = false;

    /** @param {import('./session.js').Session} session */
    constructor(session) {
        super();
        this.session = session;
        session.addEventListener('settings', () => this.#applySettings());
    }

    /** Requests other gains. While a request is in flight, only the newest values are retained.
     * @param {Partial<Coupling>} gains */
    async request(gains) {
        if (!this.shown) return;
        this.#show({ ...this.shown, ...gains });
        this.#pending = { ...this.#pending, ...gains };
        if (this.#isSending) return;
        this.#isSending = true;
        try {
            while (this.#pending) {
                await this.#send();
                await new Promise((resolve) => { setTimeout(resolve, REQUEST_INTERVAL_MS); });
            }
        } finally {
            this.#isSending = false;
        }
        this.#applySettings();
    }

    /** Clears the error of the last request. For an empty field, which is not sent. */
    clearError() {
        this.reject('');
    }

    /** Reports why input was rejected.
     * @param {string} reason */
    reject(reason) {
        this.dispatchEvent(new CustomEvent('rejected', { detail: reason }));
    }

    async #send() {
        const gains = this.#pending;
        this.#pending = null;
        try {
            const coupling = await request('PATCH', '/api/coupling', gains ?? {});
            const settings = this.session.settings;
            if (settings && coupling?.stiffness_n_per_m !== undefined) {
                settings.coupling = { ...settings.coupling, ...coupling };
            }
            this.reject('');
        } catch (error) {
            this.reject(/** @type {Error} */ (error).message);
        }
    }

    #applySettings() {
        const { settings } = this.session;
        if (!settings || this.#isSending) return;
        this.#applyLimits(settings.limits);
        this.#show(settings.coupling);
    }

    /** @param {import('./protocol.js').Limits} limits */
    #applyLimits({ stiffness_n_per_m: stiffness, damping_n_s_per_m: damping }) {
        if (stiffness[1] > 0) this.scales.stiffness_n_per_m = new LogScale(MIN_STIFFNESS_N_PER_M, stiffness[1], false);
        if (damping[1] > 0) this.scales.damping_n_s_per_m = new LogScale(MIN_DAMPING_N_S_PER_M, damping[1], true);
    }

    /** @param {Coupling} coupling */
    #show(coupling) {
        this.shown = coupling;
        this.dispatchEvent(new Event('change'));
    }
}

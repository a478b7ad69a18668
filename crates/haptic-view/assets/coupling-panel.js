/** Sliders and fields for the gains, and their stability. */

import { byId } from './dom.js';
import { parseNumber } from './number-input.js';
import { plain } from './units.js';

/** @typedef {import('./gains.js').Gains} Gains */

const STEPS = 1000;

/** @type {{key: import('./gains.js').MainGain, name: string, unit: string, title: string}[]} */
const SLIDERS = [
    { key: 'stiffness_n_per_m', name: 'Stiffness', unit: 'N/m',
        title: 'Force per metre between hand and tool; higher feels harder' },
    { key: 'damping_n_s_per_m', name: 'Damping', unit: 'N·s/m', title: 'Force per speed between hand and tool' },
];

const VERDICTS = {
    good: 'Passive: stable with any hand.',
    warning: 'Stable as modelled, but not passive: the energy tank may cut the force.',
    bad: 'Unstable as modelled: it oscillates; the energy tank limits the force.',
};

class GainControl {
    /** Whether the field contains a value that was not sent yet. */
    #isTyping = false;

    /** @param {Gains} gains
     * @param {typeof SLIDERS[number]} description */
    constructor(gains, { key, name, unit, title }) {
        this.gains = gains;
        this.key = key;
        this.element = document.createElement('div');
        this.element.className = 'gain';
        this.element.title = title;
        const label = document.createElement('label');
        label.textContent = name;
        label.htmlFor = key;
        // A field of type `number` would drop a comma and turn 350,5 into 3505.
        this.field = Object.assign(document.createElement('input'), {
            type: 'text', inputMode: 'decimal', autocomplete: 'off', id: key,
        });
        const unitLabel = Object.assign(document.createElement('span'), { className: 'unit', textContent: unit });
        const entry = Object.assign(document.createElement('span'), { className: 'entry' });
        entry.append(this.field, unitLabel);
        this.slider = Object.assign(document.createElement('input'), {
            type: 'range', min: '0', max: String(STEPS), id: `${key}-slider`,
        });
        this.slider.setAttribute('aria-label', `${name}, logarithmic, ${unit}`);
        this.element.append(label, entry, this.slider);
        this.slider.addEventListener('input', () => {
            this.#request(gains.scales[key].value(Number(this.slider.value) / STEPS));
        });
        this.field.addEventListener('input', () => { this.#isTyping = true; });
        this.field.addEventListener('change', () => {
            this.#isTyping = false;
            this.#requestTyped();
        });
        this.field.addEventListener('blur', () => {
            this.#isTyping = false;
            this.show();
        });
    }

    /** @param {number} value */
    #request(value) {
        void this.gains.request({ [this.key]: value });
    }

    #requestTyped() {
        const current = this.gains.shown?.[this.key] ?? 0;
        const read = parseNumber(this.field.value, String(Number(current.toPrecision(6))));
        if ('value' in read) return this.#request(read.value);
        if (this.field.value.trim() === '') this.gains.clearError();
        else this.gains.reject(read.problem);
        this.show();
    }

    show() {
        const value = this.gains.shown?.[this.key];
        if (value === undefined) return;
        this.slider.value = String(Math.round(this.gains.scales[this.key].position(value) * STEPS));
        this.slider.setAttribute('aria-valuetext', plain(value));
        if (!this.#isTyping) this.field.value = String(Number(value.toPrecision(6)));
    }
}

/** @param {HTMLElement} parent
 * @param {Gains} gains
 * @param {import('./session.js').Session} session */
export function buildCouplingPanel(parent, gains, session) {
    const controls = SLIDERS.map((description) => new GainControl(gains, description));
    parent.append(...controls.map(({ element }) => element));
    gains.addEventListener('change', () => controls.forEach((control) => control.show()));
    const error = byId('gains-error');
    gains.addEventListener('rejected', (event) => {
        const { detail } = /** @type {CustomEvent<string>} */ (event);
        error.textContent = detail;
        error.hidden = detail === '';
    });
    session.addEventListener('settings', () => showVerdict(session));
}

/** @param {import('./session.js').Session} session */
function showVerdict({ settings }) {
    const verdict = byId('stability-text');
    if (!settings) return;
    const { passive, stable, text } = settings.stability;
    const kind = passive ? 'good' : stable ? 'warning' : 'bad';
    verdict.textContent = VERDICTS[kind];
    verdict.dataset.verdict = kind;
    byId('margins').replaceChildren(...text.trim().split('\n').map((line) => (
        Object.assign(document.createElement('li'), { textContent: line }))));
}

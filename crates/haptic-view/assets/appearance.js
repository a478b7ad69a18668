/** Light or dark, and the size of type. */

import { forgetColours } from './palette.js';

const ORDER = ['system', 'light', 'dark'];

/** @param {string} key
 * @param {string|null} value */
function keep(key, value) {
    try {
        if (value === null) localStorage.removeItem(key);
        else localStorage.setItem(key, value);
    } catch {
        // A browser that keeps nothing forgets the choice with the page.
    }
}

export class Appearance {
    #theme = 'system';
    #dark = matchMedia('(prefers-color-scheme: dark)');

    /** @param {() => void} onChange */
    constructor(onChange) {
        this.onChange = onChange;
        this.button = /** @type {HTMLButtonElement} */ (document.getElementById('theme'));
        this.largeType = /** @type {HTMLButtonElement} */ (document.getElementById('large-type'));
        try {
            this.#theme = localStorage.getItem('hapticd.theme') ?? 'system';
        } catch {
            // As above.
        }
        this.button.addEventListener('click', () => this.next());
        this.#dark.addEventListener('change', () => this.#apply());
        this.largeType.addEventListener('click', () => this.#toggleType());
        this.largeType.setAttribute('aria-pressed', String(document.documentElement.dataset.type === 'large'));
        this.#apply();
    }

    /** The next theme in turn. */
    next() {
        this.#theme = ORDER[(ORDER.indexOf(this.#theme) + 1) % ORDER.length];
        keep('hapticd.theme', this.#theme === 'system' ? null : this.#theme);
        this.#apply();
    }

    #apply() {
        const isDark = this.#theme === 'dark' || (this.#theme === 'system' && this.#dark.matches);
        document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
        const words = this.#theme === 'system' ? `as the system has it (${isDark ? 'dark' : 'light'})` : this.#theme;
        this.button.title = `Theme: ${words} (T)`;
        this.button.setAttribute('aria-label', `Theme: ${words}`);
        forgetColours();
        this.onChange();
    }

    #toggleType() {
        const isLarge = document.documentElement.dataset.type !== 'large';
        document.documentElement.dataset.type = isLarge ? 'large' : '';
        keep('hapticd.large-type', isLarge ? 'yes' : null);
        this.largeType.setAttribute('aria-pressed', String(isLarge));
        this.onChange();
    }
}

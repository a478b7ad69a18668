/** Theme and type size. */

import { byId } from './dom.js';
import { clearColours } from './palette.js';
import { load, store } from './storage.js';

const ORDER = ['system', 'light', 'dark'];

export class Appearance {
    #theme = load('hapticd.theme') ?? 'system';
    #dark = matchMedia('(prefers-color-scheme: dark)');

    /** @param {() => void} onChange */
    constructor(onChange) {
        this.onChange = onChange;
        this.button = byId('theme');
        this.largeType = byId('large-type');
        this.button.addEventListener('click', () => this.next());
        this.#dark.addEventListener('change', () => this.#apply());
        this.largeType.addEventListener('click', () => this.#toggleType());
        this.largeType.setAttribute('aria-pressed', String(document.documentElement.dataset.type === 'large'));
        this.#apply();
    }

    /** Switches to the next theme. */
    next() {
        this.#theme = ORDER[(ORDER.indexOf(this.#theme) + 1) % ORDER.length];
        store('hapticd.theme', this.#theme === 'system' ? null : this.#theme);
        this.#apply();
    }

    #apply() {
        const isDark = this.#theme === 'dark' || (this.#theme === 'system' && this.#dark.matches);
        document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
        const name = this.#theme === 'system' ? `system (${isDark ? 'dark' : 'light'})` : this.#theme;
        this.button.title = `Theme: ${name} (T)`;
        this.button.setAttribute('aria-label', `Theme: ${name}`);
        clearColours();
        this.onChange();
    }

    #toggleType() {
        const isLarge = document.documentElement.dataset.type !== 'large';
        document.documentElement.dataset.type = isLarge ? 'large' : '';
        store('hapticd.large-type', isLarge ? 'yes' : null);
        this.largeType.setAttribute('aria-pressed', String(isLarge));
        this.onChange();
    }
}

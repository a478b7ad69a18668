/** Notifications: a banner for conditions, a toast for events, a list of faults. */

import { byId } from './dom.js';
import { quantity } from './units.js';

/** @typedef {import('./session.js').Session} Session */

const TOAST_MS = 6000;
const FAULTS_KEPT = 20;

/** A note at the foot of the page that disappears after a few seconds.
 * @param {string} text */
export function toast(text) {
    const note = Object.assign(document.createElement('p'), { className: 'toast', textContent: text });
    byId('toasts').replaceChildren(note);
    setTimeout(() => note.remove(), TOAST_MS);
}

/** Runs an action and shows its error, if it fails.
 * @param {() => Promise<unknown>} action */
export async function orToast(action) {
    try {
        await action();
    } catch (error) {
        toast(/** @type {Error} */ (error).message);
    }
}

export class Notices {
    /** Tick of the newest state; it decreases when the daemon has restarted. */
    #tick = 0;
    /** Key of the last listed fault. */
    #listed = '';
    /** Tick of the newest fault after which full force was reached again; the banner no longer shows it. */
    #overcome = -1;

    /** @param {Session} session */
    constructor(session) {
        this.session = session;
        this.list = byId('faults');
        this.needy = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[data-needs-daemon]')]);
        this.#clearList();
        session.connection.addEventListener('change', () => this.show());
        session.addEventListener('error', (event) => toast(/** @type {CustomEvent<string>} */ (event).detail));
        setTimeout(() => this.show(), 1500);
    }

    /** Updates banner, phase and faults; called a few times per second. */
    show() {
        const { state, connection } = this.session;
        if (state && state.tick < this.#tick) this.#clearList();
        this.#tick = state?.tick ?? 0;
        if (state?.fault) this.#list(state.fault);
        if (state?.fault && state.phase === 'engaged' && !state.paused) this.#overcome = state.fault.tick;
        // Once force ramps up again the fault is over, even if this page has not seen it.
        const isOff = state?.phase === 'waiting' && !state.paused;
        const fault = isOff && state.fault?.tick !== this.#overcome ? state.fault : null;
        this.#showPhase(fault !== null);
        const isGone = !connection.connected && (connection.needsToken || connection.wasConnected || performance.now() > 1500);
        // Disables the controls that need the daemon.
        for (const element of this.needy) if (element.inert !== isGone) element.inert = isGone;
        if (isGone && connection.needsToken) {
            this.#banner('warning', 'This page needs a token. Open the complete address that hapticd printed at its start; its token changes with every start.');
        } else if (isGone) {
            this.#banner('warning', `${connection.wasConnected ? 'Connection to the daemon lost' : 'The daemon does not answer'}. Reconnecting; the page shows the last data received.`);
        } else if (fault) {
            const condition = state?.stale ? 'the device is connected and the tool is' : 'the tool is';
            this.#banner('bad', `Fault: ${sentence(fault.text)} The force is off until ${condition} free of contact.`);
        } else {
            byId('banner').hidden = true;
        }
    }

    /** @param {boolean} isFaulty */
    #showPhase(isFaulty) {
        const { state, connection } = this.session;
        const offline = connection.wasConnected ? 'disconnected' : 'connecting';
        const [phase, word] = connection.connected ? phaseOf(state, isFaulty) : [offline, offline];
        // Not part of the word, which screen readers announce on every change.
        const share = phase === 'ramping' ? ` ${quantity((state?.share ?? 0) * 100, 0, '%')}` : '';
        if (byId('phase-share').textContent !== share) byId('phase-share').textContent = share;
        if (byId('phase-word').textContent === word) return;
        byId('phase-word').textContent = word;
        const element = byId('phase');
        element.dataset.phase = phase;
        element.title = PHASES[phase] ?? '';
        document.documentElement.dataset.connected = String(connection.connected);
    }

    /** @param {string} kind
     * @param {string} text */
    #banner(kind, text) {
        const banner = byId('banner');
        banner.hidden = false;
        banner.dataset.kind = kind;
        if (banner.textContent !== text) banner.textContent = text;
    }

    #clearList() {
        [this.#listed, this.#overcome] = ['', -1];
        this.list.innerHTML = '<li class="none">None so far. Every fault ends at zero force.</li>';
    }

    /** @param {import('./protocol.js').Fault} fault The newest. */
    #list({ tick, kind, text }) {
        const key = `${tick} ${kind}`;
        if (this.#listed === key) return;
        if (this.#listed === '') this.list.replaceChildren();
        this.#listed = key;
        const entry = document.createElement('li');
        const rate = this.session.timing?.rate_hz ?? 1000;
        entry.append(Object.assign(document.createElement('time'), { textContent: `at ${quantity(tick / rate, 3, 's')}` }), text);
        this.list.prepend(entry);
        while (this.list.children.length > FAULTS_KEPT) this.list.lastElementChild?.remove();
    }
}

/** @param {string} text */
const sentence = (text) => `${text.replace(/\.$/, '')}.`;

/** @type {Record<string, string>} Description of each phase. */
const PHASES = {
    engaged: 'Full force on the hand',
    ramping: 'Force ramping up',
    waiting: 'Waiting for the tool to be free of contact',
    paused: 'Paused; the force is zero',
    stale: 'No new data from the device: no force',
    fault: 'Fault: the force is off',
    disconnected: 'Connection to the daemon lost; reconnecting',
};

/** @param {import('./protocol.js').State|null} state
 * @param {boolean} isFaulty
 * @returns {[string, string]} */
function phaseOf(state, isFaulty) {
    if (!state) return ['connecting', 'connecting'];
    if (state.paused) return ['paused', 'paused'];
    if (state.stale) return ['stale', 'no reading'];
    if (state.phase === 'ramping') return ['ramping', 'ramping'];
    if (isFaulty) return ['fault', 'fault'];
    return [state.phase, state.phase];
}

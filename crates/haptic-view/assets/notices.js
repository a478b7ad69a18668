/** Tells what went wrong, or well: a banner for what lasts, a short note for what has happened, a list of faults. */

import { byId } from './dom.js';
import { quantity } from './units.js';

/** @typedef {import('./session.js').Session} Session */

const TOAST_MS = 6000;
const FAULTS_KEPT = 20;

/** A note at the foot of the page that goes by itself.
 * @param {string} text */
export function toast(text) {
    const note = Object.assign(document.createElement('p'), { className: 'toast', textContent: text });
    byId('toasts').replaceChildren(note);
    setTimeout(() => note.remove(), TOAST_MS);
}

/** Does something that may fail, and says why if it does.
 * @param {() => Promise<unknown>} action */
export async function orTell(action) {
    try {
        await action();
    } catch (error) {
        toast(/** @type {Error} */ (error).message);
    }
}

export class Notices {
    /** Of the newest state; it goes back when the daemon has started anew. */
    #tick = 0;
    /** Which fault was listed last. */
    #listed = '';
    /** The tick of the newest fault that was followed by full force again; what comes later is no matter of it. */
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

    /** Brings banner, state and faults up to date; called a few times a second. */
    show() {
        const { state, connection } = this.session;
        if (state && state.tick < this.#tick) this.#clearList();
        this.#tick = state?.tick ?? 0;
        if (state?.fault) this.#list(state.fault);
        if (state?.fault && state.phase === 'engaged' && !state.paused) this.#overcome = state.fault.tick;
        // Once force comes on again the fault is history, whether this page has seen that or not.
        const isOff = state?.phase === 'waiting' && !state.paused;
        const fault = isOff && state.fault?.tick !== this.#overcome ? state.fault : null;
        this.#showPhase(fault !== null);
        const isGone = !connection.connected && (connection.needsToken || connection.wasConnected || performance.now() > 1500);
        // What needs the daemon shows that it would do nothing.
        for (const element of this.needy) if (element.inert !== isGone) element.inert = isGone;
        if (isGone && connection.needsToken) {
            this.#banner('warning', 'This page lacks the daemon’s token. Open the whole address that hapticd printed at its start; the token in it is new each time.');
        } else if (isGone) {
            this.#banner('warning', `${connection.wasConnected ? 'Connection to the daemon lost' : 'The daemon does not answer'}. Trying again by itself; what you see is the last that came.`);
        } else if (fault) {
            const condition = state?.stale ? 'the device is back and the world is' : 'the world is';
            this.#banner('bad', `Fault: ${sentence(fault.text)} The force is off until ${condition} quiet in the hand.`);
        } else {
            byId('banner').hidden = true;
        }
    }

    /** @param {boolean} isFaulty */
    #showPhase(isFaulty) {
        const { state, connection } = this.session;
        const offline = connection.wasConnected ? 'disconnected' : 'connecting';
        const [phase, word] = connection.connected ? phaseOf(state, isFaulty) : [offline, offline];
        // Not part of the word, which is spoken when it changes: nobody wants to hear every percent.
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

/** @type {Record<string, string>} What each state means. */
const PHASES = {
    engaged: 'The hand feels the world',
    ramping: 'The force comes on gently',
    waiting: 'No force until the world is quiet in the hand',
    paused: 'The world stands still and the force is zero',
    stale: 'The device has sent nothing new: no force',
    fault: 'Something failed: the force is off',
    disconnected: 'The page lost the daemon and tries again by itself',
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

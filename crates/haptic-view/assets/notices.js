/** Notices: a banner for lasting conditions, a toast for single events, a list of faults. */

import { byId } from './dom.js';
import { quantity } from './units.js';

/** @typedef {import('./session.js').Session} Session */

const TOAST_MS = 6000;
const MAX_FAULTS = 20;
/** Time for the first connection, before the page reports that the daemon does not respond. */
const START_MS = 1500;

/** Shows a message at the bottom of the page for a few seconds.
 * @param {string} text */
export function toast(text) {
    const note = Object.assign(document.createElement('p'), { className: 'toast', textContent: text });
    byId('toasts').replaceChildren(note);
    setTimeout(() => note.remove(), TOAST_MS);
}

/** Runs an action and shows its error, if any, as a toast.
 * @param {() => Promise<unknown>} action */
export async function orToast(action) {
    try {
        await action();
    } catch (error) {
        toast(/** @type {Error} */ (error).message);
    }
}

export class Notices {
    /** Tick of the newest state. It decreases when the daemon was restarted. */
    #tick = 0;
    /** Key of the fault listed last. */
    #listed = '';
    /** Tick of the newest fault after which the force was engaged again; a later wait has another cause. */
    #clearedFault = -1;

    /** @param {Session} session */
    constructor(session) {
        this.session = session;
        this.list = byId('faults');
        this.daemonControls = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[data-needs-daemon]')]);
        this.#clearList();
        session.connection.addEventListener('change', () => this.show());
        session.addEventListener('error', (event) => toast(/** @type {CustomEvent<string>} */ (event).detail));
        setTimeout(() => this.show(), START_MS);
    }

    /** Updates banner, phase and faults. Called a few times per second. */
    show() {
        const { state, connection } = this.session;
        if (state && state.tick < this.#tick) this.#clearList();
        this.#tick = state?.tick ?? 0;
        if (state?.fault) this.#list(state.fault);
        if (state?.fault && state.phase === 'engaged' && !state.paused) this.#clearedFault = state.fault.tick;
        // A fault is over as soon as the force ramps up again, even if this page did not see that.
        const isOff = state?.phase === 'waiting' && !state.paused;
        const fault = isOff && state.fault?.tick !== this.#clearedFault ? state.fault : null;
        this.#showPhase(fault !== null);
        const isPastStart = connection.needsToken || connection.wasConnected || performance.now() > START_MS;
        const isOffline = !connection.connected && isPastStart;
        // Controls that need the daemon are disabled without it.
        for (const element of this.daemonControls) if (element.inert !== isOffline) element.inert = isOffline;
        if (isOffline && connection.needsToken) {
            this.#banner('warning', 'The daemon requires a token. Open the full address that hapticd printed at start; '
                + 'its token changes with every start.');
        } else if (isOffline) {
            const problem = connection.wasConnected ? 'Connection to the daemon lost' : 'The daemon does not respond';
            this.#banner('warning', `${problem}. Reconnecting; the page shows the last data received.`);
        } else if (state?.phase === 'stopped') {
            this.#banner('bad', stopText(state));
        } else if (fault) {
            const remedy = state?.stale ? 'Check the cable and the power of the device.' : 'Hold the handle still.';
            this.#banner('bad', `Fault: ${sentence(fault.text)} Force is off. ${remedy}`);
        } else {
            byId('banner').hidden = true;
        }
    }

    /** @param {boolean} isFaulty */
    #showPhase(isFaulty) {
        const { state, connection } = this.session;
        const offline = connection.wasConnected ? 'disconnected' : 'connecting';
        const [phase, word] = connection.connected ? phaseOf(state, isFaulty) : [offline, offline];
        // Outside the live region, so that a screen reader does not announce every percent.
        const percent = phase === 'ramping' ? ` ${quantity((state?.share ?? 0) * 100, 0, '%')}` : '';
        if (byId('phase-share').textContent !== percent) byId('phase-share').textContent = percent;
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
        [this.#listed, this.#clearedFault] = ['', -1];
        this.list.innerHTML = '<li class="none">None so far. Every fault sets the force to zero.</li>';
    }

    /** @param {import('./protocol.js').Fault} fault The newest fault. */
    #list({ tick, kind, text }) {
        const key = `${tick} ${kind}`;
        if (this.#listed === key) return;
        if (this.#listed === '') this.list.replaceChildren();
        this.#listed = key;
        const entry = document.createElement('li');
        const rate = this.session.timing?.rate_hz ?? 1000;
        const time = document.createElement('time');
        time.textContent = `at ${quantity(tick / rate, 3, 's')}`;
        entry.append(time, text);
        this.list.prepend(entry);
        while (this.list.children.length > MAX_FAULTS) this.list.lastElementChild?.remove();
    }
}

/** What to do after an emergency stop. A board may have a stop of its own, which only a person at the board releases.
 * @param {import('./protocol.js').State} state */
function stopText({ fault }) {
    const isOfDevice = fault?.kind === 'stopped' && fault.text.includes('of the device');
    return isOfDevice
        ? 'The emergency stop of the device is pressed: force is off. Release it at the device; if Stop was pressed here '
            + 'too, press Release.'
        : 'Emergency stop: force is off. When nobody is in danger, press Release; the force ramps up.';
}

/** @param {string} text */
const sentence = (text) => `${text.replace(/\.$/, '')}.`;

/** @type {Record<string, string>} Tooltip of each phase. */
const PHASES = {
    engaged: 'Force is on',
    ramping: 'Force is ramping up',
    waiting: 'Force is off; it ramps up as soon as the hand can be read',
    stopped: 'Emergency stop: force is off until it is released',
    paused: 'The world is paused and the force is zero',
    stale: 'No new data from the device; force is off',
    fault: 'Force is off after a fault',
    disconnected: 'Connection lost; reconnecting',
};

/** @param {import('./protocol.js').State|null} state
 * @param {boolean} isFaulty
 * @returns {[string, string]} */
function phaseOf(state, isFaulty) {
    if (!state) return ['connecting', 'connecting'];
    if (state.phase === 'stopped') return ['stopped', 'stopped'];
    if (state.paused) return ['paused', 'paused'];
    if (state.stale) return ['stale', 'no data'];
    if (state.phase === 'ramping') return ['ramping', 'ramping'];
    if (isFaulty) return ['fault', 'fault'];
    return [state.phase, state.phase];
}

/** Pause, step, reset, record. */

import { orTell, toast } from './notices.js';
import { ask } from './requests.js';
import { quantity, size } from './units.js';

/** @param {string} id */
const button = (id) => /** @type {HTMLButtonElement} */ (document.getElementById(id));

export class Transport {
    /** @param {import('./session.js').Session} session */
    constructor(session) {
        this.session = session;
        button('pause').addEventListener('click', () => this.pause());
        button('step').addEventListener('click', () => this.step());
        button('reset').addEventListener('click', () => this.reset());
        button('record').addEventListener('click', () => this.record());
    }

    pause() {
        return orTell(() => ask('POST', '/api/pause', { paused: !this.session.state?.paused }));
    }

    step() {
        if (!this.session.state?.paused) return toast('Pause first: a running world takes a thousand steps a second.');
        return orTell(() => ask('POST', '/api/step', { ticks: 1 }));
    }

    reset() {
        return orTell(() => ask('POST', '/api/reset', {}));
    }

    record() {
        return orTell(async () => {
            if (!this.session.state?.recording) return ask('POST', '/api/record/start', {});
            const answer = await ask('POST', '/api/record/stop', {});
            return toast(`Recording kept: ${answer?.file ?? 'see the daemon’s log'}`);
        });
    }

    /** Brings the buttons up to date; called a few times a second. */
    show() {
        const { state } = this.session;
        if (!state) return;
        press('pause', state.paused);
        write('pause-label', state.paused ? 'Resume' : 'Pause');
        if (button('step').disabled === state.paused) button('step').disabled = !state.paused;
        const { recording } = state;
        press('record', Boolean(recording));
        write('record-label', recording ? `${quantity(recording.seconds, 0, 's')}, ${size(recording.bytes)}` : 'Record');
        button('record').title = recording ? `Stop recording to ${recording.file}` : 'Record every tick to a file on the daemon’s machine';
    }
}

/** @param {string} id
 * @param {boolean} isPressed */
function press(id, isPressed) {
    if (button(id).getAttribute('aria-pressed') !== String(isPressed)) button(id).setAttribute('aria-pressed', String(isPressed));
}

/** @param {string} id
 * @param {string} text */
function write(id, text) {
    if (button(id).textContent !== text) button(id).textContent = text;
}

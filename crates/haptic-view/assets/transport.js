/** Pause, step, reset, record. */

import { byId } from './dom.js';
import { orTell, toast } from './notices.js';
import { ask } from './requests.js';
import { quantity, size } from './units.js';

export class Transport {
    /** @param {import('./session.js').Session} session */
    constructor(session) {
        this.session = session;
        /** @type {HTMLButtonElement} */
        this.stepButton = byId('step');
        byId('pause').addEventListener('click', () => this.pause());
        this.stepButton.addEventListener('click', () => this.step());
        byId('reset').addEventListener('click', () => this.reset());
        byId('record').addEventListener('click', () => this.record());
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
        mark('pause', state.paused);
        write('pause-label', state.paused ? 'Resume' : 'Pause');
        if (this.stepButton.disabled === state.paused) this.stepButton.disabled = !state.paused;
        const { recording } = state;
        mark('record', Boolean(recording));
        byId('record-stop').hidden = !recording;
        write('record-label', recording ? `${quantity(recording.seconds, 0, 's')}, ${size(recording.bytes)}` : 'Record');
        byId('record').title = recording ? `Stop recording to ${recording.file}` : 'Record every tick to a file on the daemon’s machine';
    }
}

/** How a button looks. It is not told as pressed: its name changes instead, and both would say the opposite.
 * @param {string} id
 * @param {boolean} isOn */
function mark(id, isOn) {
    if (byId(id).dataset.on !== String(isOn)) byId(id).dataset.on = String(isOn);
}

/** @param {string} id
 * @param {string} text */
function write(id, text) {
    if (byId(id).textContent !== text) byId(id).textContent = text;
}

/** Pause, step, reset, record. */

import { byId } from './dom.js';
import { orToast, toast } from './notices.js';
import { request } from './requests.js';
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
        return orToast(() => request('POST', '/api/pause', { paused: !this.session.state?.paused }));
    }

    step() {
        if (!this.session.state?.paused) return toast('Pause the world first; single steps need a paused world.');
        return orToast(() => request('POST', '/api/step', { ticks: 1 }));
    }

    reset() {
        return orToast(() => request('POST', '/api/reset', {}));
    }

    record() {
        return orToast(async () => {
            if (!this.session.state?.recording) return request('POST', '/api/record/start', {});
            const response = await request('POST', '/api/record/stop', {});
            return toast(`Recording saved: ${response?.file ?? 'see the daemon’s log'}`);
        });
    }

    /** Updates the buttons. Called a few times per second. */
    show() {
        const { state } = this.session;
        if (!state) return;
        mark('pause', state.paused);
        write('pause-label', state.paused ? 'Resume' : 'Pause');
        if (this.stepButton.disabled === state.paused) this.stepButton.disabled = !state.paused;
        const { recording } = state;
        mark('record', Boolean(recording));
        byId('record-stop').hidden = !recording;
        const progress = recording && `${quantity(recording.seconds, 0, 's')}, ${size(recording.bytes)}`;
        write('record-label', progress ?? 'Record');
        byId('record').title = recording
            ? `Stop recording to ${recording.file}` : 'Record every tick to a file on the daemon’s machine';
    }
}

/** Highlights a button. It has no pressed state for screen readers: its name changes instead, and both together would
 * contradict each other.
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

/** Pause, step, reset, record. */

import { byId } from './dom.js';
import { orToast, toast } from './notices.js';
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
        return orToast(() => ask('POST', '/api/pause', { paused: !this.session.state?.paused }));
    }

    step() {
        if (!this.session.state?.paused) return toast('Pause the world before stepping it.');
        return orToast(() => ask('POST', '/api/step', { ticks: 1 }));
    }

    reset() {
        return orToast(() => ask('POST', '/api/reset', {}));
    }

    record() {
        return orToast(async () => {
            if (!this.session.state?.recording) return ask('POST', '/api/record/start', {});
            const answer = await ask('POST', '/api/record/stop', {});
            return toast(`Recording saved: ${answer?.file ?? 'see the daemon’s log'}`);
        });
    }

    /** Updates the buttons; called a few times per second. */
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

/** Sets the look of a button without aria-pressed: its name changes instead, and both would contradict each other.
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

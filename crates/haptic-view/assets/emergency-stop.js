/** Emergency stop: buttons and key. It needs neither the stream nor any other control. */

import { toast } from './notices.js';
import { request } from './requests.js';

/** Time for a response to a stop, ms. A request that waits longer is withdrawn, so that it cannot undo a release. */
const RESPONSE_TIMEOUT_MS = 1500;
/** Time after the last press before the button releases, ms. Hammering on the button must not release the stop. */
const RELEASE_DELAY_MS = 1500;

const STOP_TITLE = 'Emergency stop: zero force until it is released (Esc)';
const RELEASE_TITLE = 'Release the emergency stop; the force ramps up';

export class EmergencyStop {
    /** Whether the daemon was stopped when it last responded. */
    #isStopped = false;
    #pressedAt = -Infinity;
    /** Whether the buttons release. */
    #releases = false;
    /** Whether the pointer was pressed on a button that releases. */
    #isReleasePressed = false;

    /** @param {import('./session.js').Session} session */
    constructor(session) {
        this.session = session;
        this.buttons = /** @type {HTMLButtonElement[]} */ ([...document.querySelectorAll('button.stop')]);
        // The press itself stops, not the click after it: a finger that slips off the button has pressed it.
        for (const button of this.buttons) {
            button.addEventListener('pointerdown', () => this.#press());
            button.addEventListener('click', (event) => this.#click(event));
        }
        session.addEventListener('state', () => { this.#isStopped = session.state?.phase === 'stopped'; });
        this.show();
    }

    /** Stops through the stream, which is already open, and with a request, which works without the stream. */
    async stop() {
        this.#pressedAt = performance.now();
        this.show();
        this.session.connection.send({ type: 'stop' });
        try {
            await request('POST', '/api/stop', {}, AbortSignal.timeout(RESPONSE_TIMEOUT_MS));
            this.#isStopped = true;
        } catch (error) {
            if (this.#isStopped) return;
            toast(`The stop may not have reached the daemon: switch the device off. ${/** @type {Error} */ (error).message}`);
        } finally {
            this.show();
        }
    }

    async #release() {
        try {
            await request('POST', '/api/stop/release', {});
            this.#isStopped = false;
        } catch (error) {
            toast(`The stop was not released. ${/** @type {Error} */ (error).message}`);
        }
        this.show();
    }

    #press() {
        this.#isReleasePressed = this.#releases;
        if (!this.#releases) this.stop();
    }

    /** @param {MouseEvent} event */
    #click(event) {
        // A pointer has already stopped when it was pressed; a key has not.
        const isFromKey = event.detail === 0;
        if (this.#releases && (isFromKey || this.#isReleasePressed)) this.#release();
        else if (isFromKey) this.stop();
        else this.#pressedAt = performance.now();
    }

    /** Updates the buttons. Called a few times per second. */
    show() {
        // `stop` and `#click` postpone the release; only this function permits it.
        const isReady = performance.now() - this.#pressedAt >= RELEASE_DELAY_MS;
        this.#releases = this.#isStopped && isReady;
        const kind = this.#releases ? 'release' : this.#isStopped ? 'stopped' : 'stop';
        for (const button of this.buttons) {
            if (button.dataset.kind === kind) continue;
            button.dataset.kind = kind;
            button.textContent = { stop: 'Stop', stopped: 'Stopped', release: 'Release' }[kind];
            button.title = this.#releases ? RELEASE_TITLE : STOP_TITLE;
        }
    }
}

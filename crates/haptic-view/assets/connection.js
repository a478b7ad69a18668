/** The stream from the daemon: connects, receives and reconnects. */

import { isTokenMissing, token, withToken } from './requests.js';

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 2000;
/** A stream without data for this long counts as dead, e.g. after a suspend or a dropped tunnel. */
const SILENCE_MS = 4000;

/** Emits `message` (detail: the daemon's message) and `change` (of `connected`). */
export class Connection extends EventTarget {
    connected = false;
    /** Whether there was a connection before: a failed first attempt is not a lost connection. */
    wasConnected = false;
    /** Whether the daemon requires a token that this page does not have. */
    needsToken = false;
    /** @type {WebSocket|null} */
    #socket = null;
    #retryMs = FIRST_RETRY_MS;
    #heardAt = 0;

    open() {
        const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
        const socket = new WebSocket(`${scheme}//${location.host}${withToken('/api/stream?hz=60')}`);
        this.#socket = socket;
        this.#heardAt = performance.now();
        const watch = setInterval(() => this.#giveUpIfSilent(socket), 1000);
        socket.addEventListener('message', ({ data }) => this.#hear(data));
        socket.addEventListener('close', () => {
            clearInterval(watch);
            this.#tell(false);
            // A page that connected without a token needs none later.
            if (token || !this.wasConnected) isTokenMissing().then((isMissing) => { this.needsToken = isMissing; });
            setTimeout(() => this.open(), this.#retryMs);
            this.#retryMs = Math.min(2 * this.#retryMs, LAST_RETRY_MS);
        });
    }

    /** Sends while connected; otherwise drops the message, which would be stale after a reconnect.
     * @param {object} message */
    send(message) {
        if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
    }

    /** @param {string} data */
    #hear(data) {
        this.#heardAt = performance.now();
        this.#retryMs = FIRST_RETRY_MS;
        this.#tell(true);
        this.dispatchEvent(new CustomEvent('message', { detail: JSON.parse(data) }));
    }

    /** @param {WebSocket} socket */
    #giveUpIfSilent(socket) {
        if (performance.now() - this.#heardAt > SILENCE_MS) socket.close();
    }

    /** @param {boolean} connected */
    #tell(connected) {
        if (connected === this.connected) return;
        this.connected = connected;
        this.wasConnected ||= connected;
        this.dispatchEvent(new Event('change'));
    }
}

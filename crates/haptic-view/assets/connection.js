/** The stream from the daemon: connects, receives, and reconnects. */

import { isTokenMissing, token, withToken } from './requests.js';

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 2000;
/** A stream without messages for this long is dead even without a close event, for example after a suspend or a dropped
 * tunnel, ms. */
const SILENCE_TIMEOUT_MS = 4000;

/** Dispatches `message` (detail: the parsed message) and `change` (of `connected`). */
export class Connection extends EventTarget {
    connected = false;
    /** Whether there was a connection before. A failed first attempt is not a lost connection. */
    wasConnected = false;
    /** Whether the daemon responds but requires a token that this page does not have. */
    needsToken = false;
    /** @type {WebSocket|null} */
    #socket = null;
    #retryMs = FIRST_RETRY_MS;
    #receivedAt = 0;

    open() {
        const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
        const socket = new WebSocket(`${scheme}//${location.host}${withToken('/api/stream?hz=60')}`);
        this.#socket = socket;
        this.#receivedAt = performance.now();
        const watch = setInterval(() => this.#closeIfSilent(socket), 1000);
        socket.addEventListener('message', ({ data }) => this.#receive(data));
        socket.addEventListener('close', () => {
            clearInterval(watch);
            this.#setConnected(false);
            // A page that once connected without a token does not need one.
            if (token || !this.wasConnected) isTokenMissing().then((isMissing) => { this.needsToken = isMissing; });
            setTimeout(() => this.open(), this.#retryMs);
            this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
        });
    }

    /** Sends a message if connected. Otherwise it is dropped, since it would be outdated after reconnecting.
     * @param {object} message */
    send(message) {
        if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
    }

    /** @param {string} data */
    #receive(data) {
        this.#receivedAt = performance.now();
        this.#retryMs = FIRST_RETRY_MS;
        this.#setConnected(true);
        this.dispatchEvent(new CustomEvent('message', { detail: JSON.parse(data) }));
    }

    /** @param {WebSocket} socket */
    #closeIfSilent(socket) {
        if (performance.now() - this.#receivedAt > SILENCE_TIMEOUT_MS) socket.close();
    }

    /** @param {boolean} connected */
    #setConnected(connected) {
        if (connected === this.connected) return;
        this.connected = connected;
        this.wasConnected ||= connected;
        this.dispatchEvent(new Event('change'));
    }
}

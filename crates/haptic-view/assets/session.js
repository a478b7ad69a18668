/** The newest message of each type from the daemon. */

import { History } from './history.js';

/** @typedef {import('./protocol.js').Scene} Scene */
/** @typedef {import('./protocol.js').State} State */
/** @typedef {import('./protocol.js').Settings} Settings */
/** @typedef {import('./protocol.js').Timing} Timing */

/** Dispatches `scene`, `state`, `settings` and `timing` on arrival, and `error` (detail: the daemon's message). */
export class Session extends EventTarget {
    /** @type {Scene|null} */
    scene = null;
    /** @type {State|null} */
    state = null;
    /** @type {Settings|null} */
    settings = null;
    /** @type {Timing|null} */
    timing = null;
    history = new History();
    /** @type {State|null} The state that the numbers show: all of one tick, and updated slowly enough to be read. */
    displayed = null;

    /** @param {import('./connection.js').Connection} connection */
    constructor(connection) {
        super();
        this.connection = connection;
        connection.addEventListener('message', (event) => this.#receive(/** @type {CustomEvent} */ (event).detail));
    }

    /** Whether this page can move the hand. */
    get isHandFree() {
        return this.connection.connected && Boolean(this.settings?.device.can_be_guided && this.scene?.tool);
    }

    /** Maximum force on the hand, N. */
    get maxForceN() {
        return this.settings?.limits.max_force_n ?? 4;
    }

    /** @param {{type: string} & any} message */
    #receive(message) {
        switch (message.type) {
        case 'scene': this.scene = message; break;
        case 'state': this.#receiveState(message); break;
        case 'settings': this.settings = message; break;
        case 'timing': this.timing = message; break;
        case 'error': this.dispatchEvent(new CustomEvent('error', { detail: message.error })); return;
        default: return;
        }
        this.dispatchEvent(new Event(message.type));
    }

    /** @param {State} state */
    #receiveState(state) {
        const { state: last } = this;
        if (last && (state.tick < last.tick || state.scene_id !== last.scene_id)) this.history.clear();
        this.state = state;
        for (const sample of state.samples ?? []) this.history.add(sample);
    }
}

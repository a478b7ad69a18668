/** Controls the hand of a simulated device: sets a target that the hand follows through its spring. */

/** @typedef {import('./protocol.js').Vector} Vector */

/** Dispatches `change` when the hand was taken or released. */
export class HandGuide extends EventTarget {
    /** @type {Vector|null} Target of the hand, m; null while this page does not control it. */
    target = null;
    #releasedAt = -Infinity;
    /** Whether the daemon has confirmed that this page controls the hand; until then its states do not count. */
    #isConfirmed = false;

    /** @param {import('./session.js').Session} session */
    constructor(session) {
        super();
        this.session = session;
        session.connection.addEventListener('change', () => { if (!session.connection.connected) this.#forget(); });
        session.addEventListener('state', () => this.#checkOwner());
        // A hidden page draws no frames, and it is the frames that release a hand which was moved by keys.
        document.addEventListener('visibilitychange', () => { if (document.hidden) this.release(); });
    }

    get isHolding() {
        return this.target !== null;
    }

    /** Time until the path resumes, s; zero afterwards, without a path, and while the hand is controlled.
     * @param {number} now ms */
    resumesIn(now) {
        const after = this.session.scene?.hand_resumes_s ?? 0;
        return this.isHolding ? 0 : Math.max(0, after + (this.#releasedAt - now) / 1000);
    }

    /** Moves the hand towards a position; takes control first if necessary.
     * @param {Vector} position m */
    pull(position) {
        if (!this.session.isHandFree) return;
        const isNew = !this.isHolding;
        this.target = position;
        this.session.connection.send({ type: 'hand', position_m: position });
        if (isNew) this.dispatchEvent(new Event('change'));
    }

    release() {
        if (!this.isHolding) return;
        this.session.connection.send({ type: 'hand', position_m: null });
        this.#releasedAt = performance.now();
        this.#forget();
    }

    /** The last page to send a target controls the hand. If that is another one, this page has lost it. */
    #checkOwner() {
        const leads = Boolean(this.session.state?.leads);
        if (this.#isConfirmed && !leads) this.#forget();
        this.#isConfirmed = this.isHolding && leads;
    }

    #forget() {
        if (!this.isHolding) return;
        this.#isConfirmed = false;
        this.target = null;
        this.dispatchEvent(new Event('change'));
    }
}

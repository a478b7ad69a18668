/** Controls the hand of a simulated device: sets a target that the hand follows through its spring. */

/** @typedef {import('./protocol.js').Vector} Vector */

/** Time after a release until the hand's own path resumes, ms. Set by the daemon, shown on the page. */
const RESUME_MS = 2000;

/** Emits `change` when the hand is taken or released. */
export class HandGuide extends EventTarget {
    /** @type {Vector|null} Target of the hand, m; null when this page does not control it. */
    target = null;
    #releasedAt = -Infinity;
    /** Whether the daemon has confirmed that this page controls the hand. */
    #isKnown = false;

    /** @param {import('./session.js').Session} session */
    constructor(session) {
        super();
        this.session = session;
        session.connection.addEventListener('change', () => { if (!session.connection.connected) this.#forget(); });
        session.addEventListener('state', () => this.#updateOwner());
        // A hidden page gets no frames, which release a hand that is no longer moved by keys.
        document.addEventListener('visibilitychange', () => { if (document.hidden) this.release(); });
    }

    get isHolding() {
        return this.target !== null;
    }

    /** Time until the path resumes, s; zero after that, and while the hand is controlled.
     * @param {number} now ms */
    resumesIn(now) {
        return this.isHolding ? 0 : Math.max(0, this.#releasedAt + RESUME_MS - now) / 1000;
    }

    /** Moves the target of the hand; takes the hand if needed.
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

    /** The last page to send a target controls the hand; if that is another page, this one has lost it. */
    #updateOwner() {
        const leads = Boolean(this.session.state?.leads);
        if (this.#isKnown && !leads) this.#forget();
        this.#isKnown = this.isHolding && leads;
    }

    #forget() {
        if (!this.isHolding) return;
        this.#isKnown = false;
        this.target = null;
        this.dispatchEvent(new Event('change'));
    }
}

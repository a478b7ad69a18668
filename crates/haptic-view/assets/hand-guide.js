/** Takes over the hand of a simulated device: a target that the hand follows by its spring. */

/** @typedef {import('./protocol.js').Vector} Vector */

/** How long after letting go the hand's own path resumes, ms; the daemon's rule, told on the page. */
const RESUME_MS = 2000;

/** Tells of `change` when the hand was taken or let go. */
export class HandGuide extends EventTarget {
    /** @type {Vector|null} Where the hand is pulled to, m; null when nobody here holds it. */
    target = null;
    #letGoAt = -Infinity;
    /** Whether the daemon has seen that this page leads the hand; before it does, it says nothing about us. */
    #isKnown = false;

    /** @param {import('./session.js').Session} session */
    constructor(session) {
        super();
        this.session = session;
        session.connection.addEventListener('change', () => { if (!session.connection.connected) this.#forget(); });
        session.addEventListener('state', () => this.#learnWhoLeads());
        // Nobody sees what a hidden page does, and its frames stop, which let go of a hand that keys have left.
        document.addEventListener('visibilitychange', () => { if (document.hidden) this.letGo(); });
    }

    get isHolding() {
        return this.target !== null;
    }

    /** How long until the path resumes, s; zero when it has, or while the hand is held.
     * @param {number} now ms */
    resumesIn(now) {
        return this.isHolding ? 0 : Math.max(0, this.#letGoAt + RESUME_MS - now) / 1000;
    }

    /** Pulls the hand to a place; takes it first if need be.
     * @param {Vector} place m */
    pull(place) {
        if (!this.session.isHandFree) return;
        const isNew = !this.isHolding;
        this.target = place;
        this.session.connection.send({ type: 'hand', position_m: place });
        if (isNew) this.dispatchEvent(new Event('change'));
    }

    letGo() {
        if (!this.isHolding) return;
        this.session.connection.send({ type: 'hand', position_m: null });
        this.#letGoAt = performance.now();
        this.#forget();
    }

    /** The last one to ask has the hand: when that is another page, this one has lost it. */
    #learnWhoLeads() {
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

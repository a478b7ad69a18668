/** Keyboard control; the help lists the keys. */

/** @typedef {import('./protocol.js').Vector} Vector */

/** Speed of the hand while an arrow key is down, m/s. */
const SPEED_M_PER_S = 0.04;
const FAST_M_PER_S = 0.16;
/** Time without a key after which a hand moved by keys is released, ms. */
const RELEASE_AFTER_MS = 4000;

/** @type {Record<string, Vector>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

export class Keyboard {
    /** @type {Set<string>} Arrow keys that are down. */
    #arrows = new Set();
    #isFast = false;
    #usedAt = -Infinity;
    /** @type {Vector|null} Last target set by keys, m. */
    #lastTarget = null;
    #movedAt = 0;

    /** @param {import('./scene-view.js').SceneView} view
     * @param {Record<string, () => void>} actions By key. */
    constructor(view, actions) {
        this.view = view;
        this.actions = actions;
        addEventListener('keydown', (event) => this.#press(event));
        addEventListener('keyup', (event) => this.#release(event));
        addEventListener('blur', () => this.#arrows.clear());
        // After a release, a key that is still down does not take control again.
        view.guide.addEventListener('change', () => { if (!view.guide.isHolding) this.#arrows.clear(); });
    }

    /** Whether the keys control the hand; the mouse would have set another target. */
    get #isHolding() {
        return this.#lastTarget !== null && this.view.guide.target === this.#lastTarget;
    }

    /** Moves the hand while arrow keys are down. Called once per frame.
     * @param {number} now ms */
    advance(now) {
        const elapsed = Math.min(now - this.#movedAt, 50) / 1000;
        this.#movedAt = now;
        if (this.#arrows.size > 0) this.#drive(elapsed, now);
        else if (this.#isHolding && now - this.#usedAt > RELEASE_AFTER_MS) this.view.guide.release();
    }

    /** @param {number} elapsed s
     * @param {number} now ms */
    #drive(elapsed, now) {
        const { guide, session } = this.view;
        const from = guide.target ?? session.state?.hand_m;
        if (!from) return;
        const step = elapsed * (this.#isFast ? FAST_M_PER_S : SPEED_M_PER_S);
        const arrows = [...this.#arrows].map((key) => ARROWS[key]);
        const [x, y] = arrows.reduce(([sumX, sumY], [dx, dy]) => [sumX + dx, sumY + dy], [0, 0]);
        this.#usedAt = now;
        this.#lastTarget = [from[0] + x * step, from[1] + y * step];
        guide.pull(this.#lastTarget);
    }

    /** @param {KeyboardEvent} event */
    #press(event) {
        if (event.ctrlKey || event.metaKey || event.altKey || isBusy(event)) return;
        this.#isFast = event.shiftKey;
        const isHandled = event.key in ARROWS ? this.#steer(event) : this.#act(event);
        if (isHandled) event.preventDefault();
    }

    /** Without a hand to move, arrow keys scroll the page as usual.
     * @param {KeyboardEvent} event
     * @returns {boolean} whether the key was handled */
    #steer(event) {
        if (!this.view.session.isHandFree) return false;
        if (!event.repeat) this.#arrows.add(event.key);
        return true;
    }

    /** @param {KeyboardEvent} event
     * @returns {boolean} whether the key was handled */
    #act(event) {
        const action = this.actions[event.key.toLowerCase()];
        if (action && (!event.repeat || '.+-='.includes(event.key))) action();
        return Boolean(action);
    }

    /** @param {KeyboardEvent} event */
    #release(event) {
        this.#arrows.delete(event.key);
        this.#isFast = event.shiftKey;
    }
}

/** Whether the key belongs to another control: a field, a slider, a button pressed by it, a dialog.
 * @param {KeyboardEvent} event */
function isBusy({ target, key }) {
    if (document.querySelector('dialog[open]')) return true;
    // Escape is the emergency stop, also from a field.
    if (!(target instanceof HTMLElement) || key === 'Escape') return false;
    if (target.closest('input, textarea, select')) return true;
    return key === ' ' && Boolean(target.closest('button, label, summary'));
}

/** Keys, as the help lists them. */

/** @typedef {import('./protocol.js').Vector} Vector */

/** How fast an arrow key moves the hand, m/s. */
const SPEED_M_PER_S = 0.04;
const FAST_M_PER_S = 0.16;
/** A hand that was moved by keys is let go after so long without a key, ms. */
const PATIENCE_MS = 4000;

/** @type {Record<string, Vector>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

export class Keyboard {
    /** @type {Set<string>} Arrow keys that are down. */
    #arrows = new Set();
    #isFast = false;
    #usedAt = -Infinity;
    /** Whether the hand is held by keys, not by the mouse. */
    #isHolding = false;
    #movedAt = 0;

    /** @param {import('./scene-view.js').SceneView} view
     * @param {Record<string, () => void>} actions By key. */
    constructor(view, actions) {
        this.view = view;
        this.actions = actions;
        addEventListener('keydown', (event) => this.#press(event));
        addEventListener('keyup', (event) => this.#release(event));
        addEventListener('blur', () => this.#arrows.clear());
    }

    /** Moves the hand while arrow keys are down; called once a frame.
     * @param {number} now ms */
    advance(now) {
        const elapsed = Math.min(now - this.#movedAt, 50) / 1000;
        this.#movedAt = now;
        const { guide } = this.view;
        if (this.#isHolding && !guide.isHolding) this.#isHolding = false;
        if (this.#arrows.size > 0) this.#drive(elapsed, now);
        else if (this.#isHolding && now - this.#usedAt > PATIENCE_MS) guide.letGo();
    }

    /** @param {number} elapsed s
     * @param {number} now ms */
    #drive(elapsed, now) {
        const { guide, session } = this.view;
        const from = guide.target ?? session.state?.hand_m;
        if (!from) return;
        const step = elapsed * (this.#isFast ? FAST_M_PER_S : SPEED_M_PER_S);
        const [x, y] = [...this.#arrows].reduce(([sumX, sumY], key) => [sumX + ARROWS[key][0], sumY + ARROWS[key][1]], [0, 0]);
        this.#isHolding = true;
        this.#usedAt = now;
        guide.pull([from[0] + x * step, from[1] + y * step]);
    }

    /** @param {KeyboardEvent} event */
    #press(event) {
        if (event.ctrlKey || event.metaKey || event.altKey || isBusy(event)) return;
        this.#isFast = event.shiftKey;
        if (event.key in ARROWS) this.#arrows.add(event.key);
        else if (event.key === 'Escape') this.view.guide.letGo();
        else if (!this.#act(event)) return;
        event.preventDefault();
    }

    /** @param {KeyboardEvent} event */
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

/** Whether the key belongs to something else: a field, a slider, a button that is pressed by it, a dialog.
 * @param {KeyboardEvent} event */
function isBusy({ target, key }) {
    if (document.querySelector('dialog[open]')) return true;
    if (!(target instanceof HTMLElement)) return false;
    if (target.closest('input, textarea, select')) return true;
    return key === ' ' && Boolean(target.closest('button, label'));
}

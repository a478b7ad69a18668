/** Over the scene: first-visit hint, control of the hand, tooltip, layer switches; and the bars of the legend. */

import { byId } from './dom.js';
import { colour } from './palette.js';
import { load, store } from './storage.js';
import { niceBelow, plain, prefixed, quantity } from './units.js';

const HINT_KEY = 'hapticd.knows-how-to-grab';

export class Overlays {
    #isHintWanted = load(HINT_KEY) !== 'yes';
    #legendFor = '';
    /** @type {import('./protocol.js').Body|null} The body of the tooltip. */
    #tipFor = null;
    /** Size of the tooltip, px. Stored, because measuring it in each frame is slow. */
    #tipSize = [0, 0];

    /** @param {import('./scene-view.js').SceneView} view
     * @param {import('./pointer.js').Pointer} pointer */
    constructor(view, pointer) {
        this.view = view;
        this.pointer = pointer;
        if (matchMedia('(pointer: coarse)').matches) byId('hint-text').textContent = 'Grab the hand with your finger';
        byId('hint-close').addEventListener('click', () => this.#dismissHint());
        view.guide.addEventListener('change', () => { if (view.guide.isHolding) this.#dismissHint(); });
        view.session.addEventListener('scene', () => this.#buildLayers());
    }

    /** Called once per frame.
     * @param {number} now ms */
    advance(now) {
        this.#showHint();
        this.#showGuide(now);
        this.#showTip();
        this.#drawLegend();
    }

    #dismissHint() {
        this.#isHintWanted = false;
        store(HINT_KEY, 'yes');
    }

    #showHint() {
        const hint = byId('hint');
        const { session } = this.view;
        const isShown = this.#isHintWanted && Boolean(session.state && session.scene?.tool) && session.isHandFree;
        if (hint.hidden === isShown) hint.hidden = !isShown;
        this.view.isHandHighlighted = isShown;
    }

    /** @param {number} now ms */
    #showGuide(now) {
        const { guide, session } = this.view;
        const resumes = guide.resumesIn(now);
        let text = '';
        if (guide.isHolding) text = 'You control the hand (max. 1 m/s)';
        else if (resumes > 0) text = 'The hand’s own path resumes';
        else if (session.state?.hand_guided) text = 'Another page controls the hand';
        // Outside the live region, so that a screen reader does not announce every change.
        const time = resumes > 0 ? ` in ${quantity(resumes, 1, 's')}` : '';
        byId('guide').hidden = text === '';
        if (byId('guide-text').textContent !== text) byId('guide-text').textContent = text;
        if (byId('guide-time').textContent !== time) byId('guide-time').textContent = time;
    }

    #showTip() {
        const { hover } = this.pointer;
        const { view } = this;
        const isOnHand = hover && this.pointer.isOnHand(hover, 26);
        view.surface.canvas.style.cursor = view.guide.isHolding ? 'grabbing' : isOnHand ? 'grab' : 'default';
        const body = hover && !view.guide.isHolding ? view.bodyAt(hover) : null;
        const tip = byId('tip');
        tip.hidden = !body;
        if (!body || !hover) return;
        if (body !== this.#tipFor) this.#writeTip(tip, body);
        const [width, height] = this.#tipSize;
        const left = Math.min(hover[0] + 16, view.camera.width - width - 8);
        const top = hover[1] + 20 + height > view.camera.height ? hover[1] - height - 12 : hover[1] + 20;
        tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    }

    /** @param {HTMLElement} tip
     * @param {import('./protocol.js').Body} body */
    #writeTip(tip, body) {
        this.#tipFor = body;
        const facts = [
            body.fixed ? 'fixed' : body.mass_kg ? prefixed(body.mass_kg * 1e3, 'g') : 'dynamic',
            `friction ${plain(body.friction ?? 0.5)}`,
            `restitution ${plain(body.restitution ?? 0.2)}`,
            `layer ${body.layer}`,
        ];
        tip.innerHTML = '<b></b><span></span>';
        [tip.children[0].textContent, tip.children[1].textContent] = [body.name, facts.join(' · ')];
        this.#tipSize = [tip.offsetWidth, tip.offsetHeight];
    }

    /** One switch per layer, if there is more than one. */
    #buildLayers() {
        const { view } = this;
        const layers = [...new Set(view.session.scene?.bodies.map(({ layer }) => layer))].sort((a, b) => a - b);
        const group = byId('layers');
        group.hidden = layers.length < 2;
        group.replaceChildren('Layer', ...layers.map((layer) => {
            const button = document.createElement('button');
            button.className = 'button icon';
            button.textContent = String(layer);
            button.title = `Show or hide layer ${layer}; bodies of different layers do not collide`;
            button.setAttribute('aria-pressed', 'true');
            button.addEventListener('click', () => {
                const isHidden = view.hiddenLayers.delete(layer);
                if (!isHidden) view.hiddenLayers.add(layer);
                button.setAttribute('aria-pressed', String(isHidden));
                view.chooseBodies();
            });
            return button;
        }));
    }

    /** Scale bars of the legend: one length, one force. */
    #drawLegend() {
        const { camera, pxPerNewton, session, surface } = this.view;
        const wanted = [camera.scale, pxPerNewton, colour('ink'), surface.rem].join();
        if (wanted === this.#legendFor) return;
        this.#legendFor = wanted;
        const length = niceBelow(110 / camera.scale);
        drawBar('scale-bar', length * camera.scale, 'ink', false);
        const isSmall = length < 1e-3;
        byId('scale-text').textContent = isSmall ? quantity(length * 1e6, 0, 'µm') : quantity(length * 1e3, 0, 'mm');
        const force = niceBelow(70 / pxPerNewton);
        drawBar('force-bar', force * pxPerNewton, 'felt', true);
        byId('force-text').textContent = `${plain(force)}\u202fN`;
        byId('load-text').textContent = `coupling, 0–${plain(session.maxForceN)}\u202fN`;
    }
}

/** @param {string} id
 * @param {number} length px
 * @param {string} line
 * @param {boolean} isArrow */
function drawBar(id, length, line, isArrow) {
    /** @type {HTMLCanvasElement} */
    const canvas = byId(id);
    const ratio = devicePixelRatio || 1;
    const height = canvas.clientHeight || 10;
    canvas.style.width = `${Math.ceil(length) + 2}px`;
    canvas.width = (Math.ceil(length) + 2) * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext('2d');
    if (!context) return;
    context.scale(ratio, ratio);
    context.strokeStyle = colour(line);
    context.lineWidth = 2;
    const [middle, end] = [height / 2, length + 1];
    context.beginPath();
    context.moveTo(1, middle);
    context.lineTo(end, middle);
    if (isArrow) {
        context.moveTo(end - 5, middle - 4);
        context.lineTo(end, middle);
        context.lineTo(end - 5, middle + 4);
    } else {
        for (const x of [1, end]) {
            context.moveTo(x, 1);
            context.lineTo(x, height - 1);
        }
    }
    context.stroke();
}

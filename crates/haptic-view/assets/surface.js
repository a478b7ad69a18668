/** A canvas in the size and resolution of its element on the page. */

/** Maximum resolution. A higher one is not visibly sharper, and costs four times as much. */
const MAX_PIXEL_RATIO = 2;

export class Surface {
    /** Size, CSS px. */
    width = 0;
    height = 0;
    /** Pixels of the canvas per CSS pixel. */
    ratio = 1;
    /** Size of one rem, px. Type on canvases grows with the page's. */
    rem = 14;

    /** @param {HTMLCanvasElement} canvas
     * @param {() => void} [onResize]
     * @param {boolean} [opaque] Faster to composite; the drawing must fill the canvas. */
    constructor(canvas, onResize = () => {}, opaque = false) {
        this.canvas = canvas;
        const context = canvas.getContext('2d', { alpha: !opaque });
        if (!context) throw new Error('This browser does not support canvas.');
        this.context = context;
        new ResizeObserver(() => { this.measure(); onResize(); }).observe(canvas);
        this.measure();
    }

    measure() {
        const { clientWidth, clientHeight } = this.canvas;
        this.ratio = Math.min(devicePixelRatio || 1, MAX_PIXEL_RATIO);
        this.rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
        this.width = clientWidth;
        this.height = clientHeight;
        this.canvas.width = Math.max(1, Math.round(clientWidth * this.ratio));
        this.canvas.height = Math.max(1, Math.round(clientHeight * this.ratio));
    }

    /** Clears the canvas and returns its context, in CSS px. */
    begin() {
        const { context } = this;
        context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        context.clearRect(0, 0, this.width, this.height);
        return context;
    }

    /** @param {number} [rems]
     * @param {number} [weight] */
    font(rems = 0.8, weight = 400) {
        return `${weight} ${rems * this.rem}px ${FAMILY}`;
    }
}

/** @param {CanvasRenderingContext2D} context
 * @param {number} x0
 * @param {number} y0
 * @param {number} x1
 * @param {number} y1 */
export function drawLine(context, x0, y0, x1, y1) {
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
}

const FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif';

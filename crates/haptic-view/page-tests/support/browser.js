/** Opens the page in Debian's Chromium. */

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';

export const screenshotFolder = process.env.PAGE_SCREENSHOTS ?? 'screenshots';
/** Timeout for a slow machine; anything slower is a failure. */
export const TIMEOUT_MS = 60_000;

/** Screens that pages are tested on. */
export const VIEWS = {
    desktop: { viewport: { width: 1440, height: 900 } },
    laptop: { viewport: { width: 1280, height: 720 } },
    tablet: { viewport: { width: 820, height: 1180 }, hasTouch: true },
    phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
    'small phone': { viewport: { width: 320, height: 640 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
    projector: { viewport: { width: 1920, height: 1080 } },
};

export class Browser {
    /** @type {string[]} Console errors and warnings of the pages, except those that a test expects. */
    errors = [];

    static async launch() {
        const browser = new Browser();
        browser.chromium = await chromium.launch({
            executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
            // Chromium has no sandbox as root, and /dev/shm may be small.
            args: ['--no-sandbox', '--disable-dev-shm-usage'],
        });
        return browser;
    }

    /** Opens a page and waits until it has drawn the world.
     * @param {import('./daemon.js').Daemon} daemon
     * @param {import('playwright-core').BrowserContextOptions & {isVisitor?: boolean, isLarge?: boolean}} [options] */
    async open(daemon, { isVisitor = false, isLarge = false, ...options } = {}) {
        const context = await this.chromium.newContext({ ...VIEWS.desktop, ...options });
        const page = await context.newPage();
        page.setDefaultTimeout(TIMEOUT_MS);
        page.on('console', (message) => {
            // Caused by the tests, which read pixels back.
            const isFromTest = message.text().startsWith('Canvas2D: Multiple readback');
            if (!isFromTest && ['error', 'warning'].includes(message.type())) this.errors.push(message.text());
        });
        page.on('pageerror', (error) => this.errors.push(String(error)));
        await page.addInitScript(([knows, large]) => {
            if (knows) localStorage.setItem('hapticd.knows-how-to-grab', 'yes');
            if (large) localStorage.setItem('hapticd.large-type', 'yes');
        }, [!isVisitor, isLarge]);
        await page.goto(daemon.address);
        await page.waitForFunction(() => globalThis.hapticd?.session.state && globalThis.hapticd.frames > 2);
        return page;
    }

    async close() {
        await this.chromium.close();
    }
}

/** Saves a screenshot for visual inspection.
 * @param {import('playwright-core').Page} page
 * @param {string} name
 * @param {boolean} [isWhole] Whether to include what is scrolled out of view. */
export async function screenshot(page, name, isWhole = false) {
    mkdirSync(screenshotFolder, { recursive: true });
    await page.screenshot({ path: path.join(screenshotFolder, `${name}.png`), fullPage: isWhole });
}

/** Converts a position of the world to px on the page.
 * @param {import('playwright-core').Page} page
 * @param {[number, number]} position m
 * @returns {Promise<[number, number]>} */
export function onPage(page, position) {
    return page.evaluate((point) => {
        const [x, y] = globalThis.hapticd.camera.toScreen(point);
        const box = document.getElementById('scene').getBoundingClientRect();
        return [box.left + x, box.top + y];
    }, position);
}

/** Whether the page controls the hand.
 * @param {import('playwright-core').Page} page
 * @returns {Promise<boolean>} */
export function isHolding(page) {
    return page.evaluate(() => globalThis.hapticd.guide.isHolding);
}

/** Waits until the page has drawn some frames.
 * @param {import('playwright-core').Page} page
 * @param {number} count */
export async function drawFrames(page, count) {
    const first = await page.evaluate(() => globalThis.hapticd.frames);
    await page.waitForFunction((last) => globalThis.hapticd.frames > last, first + count);
}

/** Takes the hand with the mouse, which stays pressed. Retries, because the hand moves.
 * @param {import('playwright-core').Page} page */
export async function grab(page) {
    for (let attempt = 0; attempt < 50; attempt += 1) {
        const hand = await page.evaluate(() => globalThis.hapticd.session.state.hand_m);
        await page.mouse.move(...await onPage(page, hand));
        await page.mouse.down();
        if (await isHolding(page)) return;
        await page.mouse.up();
        await page.keyboard.press('f');
    }
    throw new Error('the mouse did not hit the hand in 50 attempts');
}

/** Drags the hand, held by the mouse, to a position of the world.
 * @param {import('playwright-core').Page} page
 * @param {[number, number]} position m */
export async function pull(page, position) {
    const mouse = await onPage(page, position);
    await page.mouse.move(mouse[0], mouse[1], { steps: 5 });
    // Corrects for the offset at which the mouse took the hand.
    const reached = await onPage(page, await page.evaluate(() => globalThis.hapticd.guide.target));
    await page.mouse.move(2 * mouse[0] - reached[0], 2 * mouse[1] - reached[1]);
}

/** Moves the hand to the start of the default scene's tool, over the wood, and resets the scene. Wherever the tool was
 * stuck, it is at the hand afterwards and the force is engaged.
 * @param {import('playwright-core').Page} page
 * @param {import('./daemon.js').Daemon} daemon */
export async function holdOverTheWood(page, daemon) {
    await grab(page);
    await pull(page, [-0.01, 0.04]);
    // A stuck tool may hold the hand back by up to the maximum force.
    await daemon.until('the hand is over the wood', ({ hand_m: [x, y] }) => Math.hypot(x + 0.01, y - 0.04) < 0.02);
    await daemon.request('POST', 'reset');
    // The reset takes effect some ticks after the response; until then the old world is in force.
    const { tick: requested } = await daemon.state();
    await daemon.until('the force is engaged', ({ tick, phase, tool, hand_m: [x, y] }) => (
        tick > requested + 200 && phase === 'engaged' && Math.hypot(x + 0.01, y - 0.04) < 0.003
        && Math.abs(tool.position_m[0] + 0.01) < 0.003));
}

/** Opens the page in Debian's Chromium. */

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';

export const screenshotFolder = process.env.PAGE_SCREENSHOTS ?? 'screenshots';
/** A machine that does much else is slow; whatever takes longer will not come. */
export const GENEROUS_MS = 60_000;

/** What a page may be opened as. */
export const VIEWS = {
    desktop: { viewport: { width: 1440, height: 900 } },
    laptop: { viewport: { width: 1280, height: 720 } },
    tablet: { viewport: { width: 820, height: 1180 }, hasTouch: true },
    phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
    'small phone': { viewport: { width: 320, height: 640 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
    projector: { viewport: { width: 1920, height: 1080 } },
};

export class Browser {
    /** @type {string[]} What pages complained of, besides what a test expects. */
    complaints = [];

    static async launch() {
        const browser = new Browser();
        browser.chromium = await chromium.launch({
            executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
            // Root has no sandbox, and the machine that tests may have a small /dev/shm.
            args: ['--no-sandbox', '--disable-dev-shm-usage'],
        });
        return browser;
    }

    /** A page that has drawn the world.
     * @param {import('./daemon.js').Daemon} daemon
     * @param {import('playwright-core').BrowserContextOptions & {isVisitor?: boolean, isLarge?: boolean}} [options] */
    async open(daemon, { isVisitor = false, isLarge = false, ...options } = {}) {
        const context = await this.chromium.newContext({ ...VIEWS.desktop, ...options });
        const page = await context.newPage();
        page.setDefaultTimeout(GENEROUS_MS);
        page.on('console', (message) => {
            // Reading pixels back is what tests do, not the page.
            const isOurs = message.text().startsWith('Canvas2D: Multiple readback');
            if (!isOurs && ['error', 'warning'].includes(message.type())) this.complaints.push(message.text());
        });
        page.on('pageerror', (error) => this.complaints.push(String(error)));
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

/** Keeps a picture of a page, for people to look at.
 * @param {import('playwright-core').Page} page
 * @param {string} name
 * @param {boolean} [isWhole] All of a page that scrolls. */
export async function keep(page, name, isWhole = false) {
    mkdirSync(screenshotFolder, { recursive: true });
    await page.screenshot({ path: path.join(screenshotFolder, `${name}.png`), fullPage: isWhole });
}

/** Where a place of the world is on the page, px.
 * @param {import('playwright-core').Page} page
 * @param {[number, number]} place m
 * @returns {Promise<[number, number]>} */
export function onPage(page, place) {
    return page.evaluate((point) => {
        const [x, y] = globalThis.hapticd.camera.toScreen(point);
        const box = document.getElementById('scene').getBoundingClientRect();
        return [box.left + x, box.top + y];
    }, place);
}

/** Takes the hand with the mouse, which stays pressed. The hand moves; a miss is tried again.
 * @param {import('playwright-core').Page} page */
export async function grab(page) {
    for (let attempt = 0; attempt < 50; attempt += 1) {
        const hand = await page.evaluate(() => globalThis.hapticd.session.state.hand_m);
        await page.mouse.move(...await onPage(page, hand));
        await page.mouse.down();
        if (await page.evaluate(() => globalThis.hapticd.guide.isHolding)) return;
        await page.mouse.up();
        await page.keyboard.press('f');
    }
    throw new Error('the mouse never caught the hand');
}

/** Pulls the hand that the mouse holds to a place of the world.
 * @param {import('playwright-core').Page} page
 * @param {[number, number]} place m */
export async function pull(page, place) {
    const mouse = await onPage(page, place);
    await page.mouse.move(mouse[0], mouse[1], { steps: 5 });
    // The mouse took the hand beside its middle; this corrects for that.
    const reached = await onPage(page, await page.evaluate(() => globalThis.hapticd.guide.target));
    await page.mouse.move(2 * mouse[0] - reached[0], 2 * mouse[1] - reached[1]);
}

/** Takes the hand to where the default scene's tool begins, over the wood, and lets the scene begin anew: whatever the tool was
 * caught in, it is in the hand now and the world is felt.
 * @param {import('playwright-core').Page} page
 * @param {import('./daemon.js').Daemon} daemon */
export async function holdOverTheWood(page, daemon) {
    await grab(page);
    await pull(page, [-0.01, 0.04]);
    // The tool may hold the hand back by as much as it may feel.
    await daemon.until('the hand is over the wood', ({ hand_m: [x, y] }) => Math.hypot(x + 0.01, y - 0.04) < 0.02);
    await daemon.ask('POST', 'reset');
    // The order is taken some ticks after it was answered; until then the old world is still felt.
    const { tick: asked } = await daemon.state();
    await daemon.until('the world is felt', ({ tick, phase, tool, hand_m: [x, y] }) => (
        tick > asked + 200 && phase === 'engaged' && Math.hypot(x + 0.01, y - 0.04) < 0.003 && Math.abs(tool.position_m[0] + 0.01) < 0.003));
}

/** Layout on every screen: nothing cut off, nothing overlaps, accessible. Saves screenshots. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { Browser, VIEWS, holdOverTheWood, pull, screenshot } from './support/browser.js';
import { Daemon } from './support/daemon.js';
import { report } from './support/figures.js';
import { pile } from './support/pile.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** @type {Browser} */
let browser;
/** @type {Daemon} */
let daemon;

before(async () => {
    [browser, daemon] = await Promise.all([Browser.launch(), Daemon.start()]);
});

after(async () => {
    await browser?.close();
    await Daemon.endAll();
});

/** Layout errors, as text.
 * @param {import('playwright-core').Page} page */
function layoutErrors(page) {
    return page.evaluate(() => {
        const problems = [];
        const root = document.scrollingElement;
        if (root.scrollWidth > innerWidth) problems.push(`the page is ${root.scrollWidth} px wide on ${innerWidth} px`);
        const selector = 'header > *, .transport > *, .appearance > *, .caption, .readouts > div, .legend > .key, '
            + '.chart h2, .series, .chart canvas, .panel h2, .plot, .plot-legend > .key, .verdict, '
            + '.gain label, .gain .entry, .gain input[type=range], .figures th, .figures td, .pairs dt, .pairs dd, '
            + '.faults, .about, .zoom > *, .guide, .hint';
        const isVisible = (element) => element.checkVisibility() && element.clientWidth > 0;
        const items = [...document.querySelectorAll(selector)].filter(isVisible);
        const describe = (item) => `${item.className || item.tagName} “${item.textContent.trim()}”`;
        for (const item of items) {
            const isCut = item.scrollWidth > item.clientWidth + 1 && !item.matches('.caption, canvas, input, td, th');
            if (isCut && getComputedStyle(item).display !== 'inline') problems.push(`cut off: ${describe(item)}`);
            const box = item.getBoundingClientRect();
            if (box.left < -1 || box.right > innerWidth + 1) problems.push(`outside the page: ${describe(item)}`);
        }
        const name = (item) => item.textContent.trim() || item.id;
        for (const [index, one] of items.entries()) {
            for (const other of items.slice(index + 1)) {
                if (one.contains(other) || other.contains(one)) continue;
                const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
                const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const up = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (across > 1 && up > 1) problems.push(`“${name(one)}” overlaps “${name(other)}”`);
            }
        }
        return problems;
    });
}

/** Accessibility errors, such as poor contrast or a control without a name.
 * @param {import('playwright-core').Page} page
 * @param {string} [part] Selector of a part of the page. */
async function accessibilityErrors(page, part = 'html') {
    if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(axe);
    const run = (selector) => globalThis.axe.run(selector, { resultTypes: ['violations'] });
    const results = await page.evaluate(run, part);
    return results.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ target }) => target).join(', ')}`);
}

/** Waits until the charts show three seconds. */
function chartsFill(page) {
    return page.waitForFunction(() => {
        const { history, timing } = globalThis.hapticd.session;
        const [first, last] = history.range([0]) ?? [0, 0];
        return timing && last - first > 3;
    });
}

for (const [name, view] of Object.entries(VIEWS)) {
    test(`nothing overlaps or is cut off on a ${name}, nor in large type`, async () => {
        const page = await browser.open(daemon, view);
        await page.waitForFunction(() => globalThis.hapticd.session.timing);
        assert.deepEqual(await layoutErrors(page), []);
        await page.evaluate(() => document.getElementById('large-type').click());
        assert.deepEqual(await layoutErrors(page), [], 'in large type');
        await page.context().close();
    });
}

for (const colorScheme of ['light', 'dark']) {
    test(`the page is accessible, ${colorScheme}`, async () => {
        const page = await browser.open(daemon, { colorScheme });
        await page.waitForFunction(() => globalThis.hapticd.session.timing);
        assert.deepEqual(await accessibilityErrors(page), []);
        await page.locator('#help-button').click();
        assert.deepEqual(await accessibilityErrors(page, '#help'), [], 'in the help');
        await page.keyboard.press('Escape');
        await page.locator('#scene-button').click();
        await page.locator('.scene-card').first().waitFor();
        assert.deepEqual(await accessibilityErrors(page, '#scenes-dialog'), [], 'in the scene picker');
        await screenshot(page, `scenes-${colorScheme}`);
        await page.context().close();
    });
}

test('screenshots are saved of every view', async () => {
    const views = [
        ['desktop-light', { ...VIEWS.desktop, isVisitor: true }],
        ['desktop-dark', { ...VIEWS.desktop, colorScheme: 'dark' }],
        ['phone', { ...VIEWS.phone, isVisitor: true }, true],
        ['tablet', VIEWS.tablet, true],
        ['projector-large-type', { ...VIEWS.projector, isLarge: true }],
    ];
    await Promise.all(views.map(async ([name, options, isWhole]) => {
        const page = await browser.open(daemon, options);
        await chartsFill(page);
        await screenshot(page, name, isWhole);
        await page.context().close();
    }));
});

test('screenshots are saved of every state', async () => {
    const page = await browser.open(daemon);
    await page.locator('#help-button').click();
    await screenshot(page, 'help');
    await page.keyboard.press('Escape');
    await holdOverTheWood(page, daemon);
    await pull(page, [-0.01, 0.004]);
    await daemon.until('it presses on the wood', ({ force_n: force }) => force[1] > 1);
    await chartsFill(page);
    await screenshot(page, 'pressing');
    await page.mouse.up();
    await page.locator('#pause').click();
    await page.locator('#phase[data-phase="paused"]').waitFor();
    await screenshot(page, 'paused');
    await page.locator('#pause').click();
    await page.context().close();
});

test('the page draws frames for the default scene and for a pile of 100 bodies', async () => {
    const page = await browser.open(daemon);
    const rate = (ms) => page.evaluate(async (span) => {
        const [from, start] = [globalThis.hapticd.frames, performance.now()];
        await new Promise((resolve) => { setTimeout(resolve, span); });
        return (globalThis.hapticd.frames - from) / (performance.now() - start) * 1000;
    }, ms);
    report('default scene', await rate(3000), 'frames/s', { min: 59 });
    await daemon.switchTo({ toml: pile(100) });
    await page.waitForFunction(() => globalThis.hapticd.view.poses.length > 100);
    const pileRate = await rate(3000);
    report('pile of 100 bodies', pileRate, 'frames/s', { min: 30 });
    assert.ok(pileRate > 0);
    await chartsFill(page);
    await screenshot(page, 'pile');
    await daemon.switchTo({ name: 'table' });
    await page.context().close();
});

test('the console has no errors', () => {
    assert.deepEqual(browser.errors, []);
});

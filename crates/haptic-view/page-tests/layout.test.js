/** How the page looks on every screen: nothing cut off, nothing over something else, usable by everybody. Keeps pictures. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { Browser, VIEWS, holdOverTheWood, keep, pull } from './support/browser.js';
import { Daemon } from './support/daemon.js';
import { tell } from './support/figures.js';
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

/** What is wrong with where things are, in words.
 * @param {import('playwright-core').Page} page */
function disorder(page) {
    return page.evaluate(() => {
        const problems = [];
        const root = document.scrollingElement;
        if (root.scrollWidth > innerWidth) problems.push(`the page is ${root.scrollWidth} px wide on ${innerWidth} px`);
        const selector = 'header > *, .transport > *, .appearance > *, .caption, .readouts > div, .legend > .key, .chart h2, .series, '
            + '.chart canvas, .panel h2, .plot, .plot-legend > .key, .verdict, .gain label, .gain .entry, .gain input[type=range], '
            + '.figures th, .figures td, .pairs dt, .pairs dd, .faults, .about, .zoom > *, .guide, .hint';
        const items = [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility() && element.clientWidth > 0);
        for (const item of items) {
            const isCut = item.scrollWidth > item.clientWidth + 1 && !item.matches('.caption, canvas, input, td, th');
            if (isCut && getComputedStyle(item).display !== 'inline') problems.push(`cut off: ${item.className || item.tagName} “${item.textContent.trim()}”`);
            const box = item.getBoundingClientRect();
            if (box.left < -1 || box.right > innerWidth + 1) problems.push(`off the side: ${item.className || item.tagName} “${item.textContent.trim()}”`);
        }
        for (const [index, one] of items.entries()) {
            for (const other of items.slice(index + 1)) {
                if (one.contains(other) || other.contains(one)) continue;
                const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
                const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const up = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (across > 1 && up > 1) problems.push(`“${one.textContent.trim() || one.id}” lies over “${other.textContent.trim() || other.id}”`);
            }
        }
        return problems;
    });
}

/** What hinders people, such as poor contrast or a control without a name.
 * @param {import('playwright-core').Page} page
 * @param {string} [part] Of the page. */
async function hindrances(page, part = 'html') {
    if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(axe);
    const results = await page.evaluate((selector) => globalThis.axe.run(selector, { resultTypes: ['violations'] }), part);
    return results.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ target }) => target).join(', ')}`);
}

/** Waits until the charts have something to show. */
function chartsFill(page) {
    return page.waitForFunction(() => globalThis.hapticd.session.history.newest > 0 && globalThis.hapticd.session.timing
        && (globalThis.hapticd.session.history.range([0])?.[1] ?? 0) - (globalThis.hapticd.session.history.range([0])?.[0] ?? 0) > 3);
}

for (const [name, view] of Object.entries(VIEWS)) {
    test(`nothing overlaps or is cut off on a ${name}, nor in large type`, async () => {
        const page = await browser.open(daemon, view);
        await page.waitForFunction(() => globalThis.hapticd.session.timing);
        assert.deepEqual(await disorder(page), []);
        await page.evaluate(() => document.getElementById('large-type').click());
        assert.deepEqual(await disorder(page), [], 'in large type');
        await page.context().close();
    });
}

for (const colorScheme of ['light', 'dark']) {
    test(`nobody is hindered from using it, ${colorScheme}`, async () => {
        const page = await browser.open(daemon, { colorScheme });
        await page.waitForFunction(() => globalThis.hapticd.session.timing);
        assert.deepEqual(await hindrances(page), []);
        await page.locator('#help-button').click();
        assert.deepEqual(await hindrances(page, '#help'), [], 'in the help');
        await page.keyboard.press('Escape');
        await page.locator('#scene-button').click();
        await page.locator('.scene-card').first().waitFor();
        assert.deepEqual(await hindrances(page, '#scenes-dialog'), [], 'in the scene picker');
        await keep(page, `scenes-${colorScheme}`);
        await page.context().close();
    });
}

test('pictures are kept of every view', async () => {
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
        await keep(page, name, isWhole);
        await page.context().close();
    }));
});

test('pictures are kept of every state', async () => {
    const page = await browser.open(daemon);
    await page.locator('#help-button').click();
    await keep(page, 'help');
    await page.keyboard.press('Escape');
    await holdOverTheWood(page, daemon);
    await pull(page, [-0.01, 0.004]);
    await daemon.until('it presses on the wood', ({ force_n: force }) => force[1] > 1);
    await chartsFill(page);
    await keep(page, 'pressing');
    await page.mouse.up();
    await page.locator('#pause').click();
    await page.locator('#phase[data-phase="paused"]').waitFor();
    await keep(page, 'paused');
    await page.locator('#pause').click();
    await page.context().close();
});

test('frames go on for the default scene and for a pile of 100 bodies', async () => {
    const page = await browser.open(daemon);
    const rate = (ms) => page.evaluate(async (span) => {
        const [from, start] = [globalThis.hapticd.frames, performance.now()];
        await new Promise((resolve) => { setTimeout(resolve, span); });
        return (globalThis.hapticd.frames - from) / (performance.now() - start) * 1000;
    }, ms);
    tell('default scene', await rate(3000), 'frames/s', { least: 59 });
    await daemon.switchTo({ toml: pile(100) });
    await page.waitForFunction(() => globalThis.hapticd.view.poses.length > 100);
    const piled = await rate(3000);
    tell('pile of 100 bodies', piled, 'frames/s', { least: 30 });
    assert.ok(piled > 0);
    await chartsFill(page);
    await keep(page, 'pile');
    await daemon.switchTo({ name: 'table' });
    await page.context().close();
});

test('nothing was complained of in the console', () => {
    assert.deepEqual(browser.complaints, []);
});

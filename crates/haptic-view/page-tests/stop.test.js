/** Emergency stop from the page: button, key, release, without the stream, on every screen. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { Browser, VIEWS, grab, screenshot } from './support/browser.js';
import { Daemon } from './support/daemon.js';

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

beforeEach(async () => {
    await daemon.request('POST', 'stop/release');
    await daemon.until('the force is engaged', ({ phase }) => phase === 'engaged');
});

const isStopped = ({ phase, force_n: force }) => phase === 'stopped' && force.every((value) => value === 0);

/** The stop button of the page's header. */
const button = (page) => page.locator('header .stop');

test('the button stops, the page says what to do, and Release ramps up', async () => {
    const page = await browser.open(daemon);
    await button(page).filter({ hasText: /^Stop$/ }).click();
    await daemon.until('the stop', isStopped);
    await page.locator('#phase[data-phase="stopped"]').filter({ hasText: 'stopped' }).waitFor();
    await page.locator('#banner[data-kind="bad"]').filter({ hasText: 'press Release' }).waitFor();
    await button(page).filter({ hasText: /^Release$/ }).waitFor();
    await screenshot(page, 'stopped');
    await button(page).click();
    await daemon.until('force', ({ phase }) => phase === 'engaged');
    await page.locator('#banner').waitFor({ state: 'hidden' });
    await button(page).filter({ hasText: /^Stop$/ }).waitFor();
    await page.context().close();
});

test('hammering on the button, or holding it, does not release the stop', async () => {
    const page = await browser.open(daemon);
    const box = await button(page).boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const { tick: first } = await daemon.state();
    for (let press = 0; press < 30; press += 1) {
        await page.mouse.down();
        await page.mouse.up();
        await page.waitForTimeout(100);
    }
    const { tick, fault } = await daemon.until('the stop', isStopped);
    assert.ok(fault.tick < first + 1000, `stopped once, in tick ${fault.tick} after ${first}, still in ${tick}`);
    await button(page).filter({ hasText: /^Release$/ }).waitFor();
    await button(page).click();
    await daemon.until('a release', ({ phase }) => phase === 'engaged');
    await button(page).filter({ hasText: /^Stop$/ }).waitFor();
    await page.mouse.down();
    await button(page).filter({ hasText: /^Release$/ }).waitFor();
    await page.mouse.up();
    await page.waitForTimeout(500);
    assert.ok(isStopped(await daemon.state()), 'a press that began as a stop is no release');
    await page.context().close();
});

test('Escape stops, also from a field, and releases nothing', async () => {
    const page = await browser.open(daemon);
    for (const selector of ['#scene', '#stiffness_n_per_m', '#stiffness_n_per_m-slider', '#reset']) {
        await page.locator(selector).press('Escape');
        await daemon.until(`the stop from ${selector}`, isStopped);
        await page.locator(selector).press('Escape');
        await page.waitForTimeout(100);
        assert.ok(isStopped(await daemon.state()), 'a repeated stop is no release');
        await daemon.request('POST', 'stop/release');
        await daemon.until('a release', ({ phase }) => phase === 'engaged');
    }
    await page.context().close();
});

test('Escape releases a hand that this page controls, and the next one stops', async () => {
    const page = await browser.open(daemon);
    await grab(page);
    await page.keyboard.press('Escape');
    await daemon.until('the hand is free', (state) => !state.hand_guided);
    assert.notEqual((await daemon.state()).phase, 'stopped');
    await page.keyboard.press('Escape');
    await daemon.until('the stop', isStopped);
    await page.mouse.up();
    await page.context().close();
});

test('the keyboard alone stops and releases', async () => {
    const page = await browser.open(daemon);
    await button(page).focus();
    await page.keyboard.press('Enter');
    await daemon.until('the stop', isStopped);
    await button(page).filter({ hasText: /^Release$/ }).waitFor();
    await page.keyboard.press('Enter');
    await daemon.until('a release', ({ phase }) => phase !== 'stopped');
    await page.context().close();
});

test('the stop works while a dialog is open', async () => {
    const page = await browser.open(daemon);
    for (const [opener, dialog] of [['#help-button', '#help'], ['#scene-button', '#scenes-dialog']]) {
        await page.locator(opener).click();
        await page.locator(`${dialog} .stop`).click();
        await daemon.until(`the stop from ${dialog}`, isStopped);
        await page.keyboard.press('Escape');
        await daemon.request('POST', 'stop/release');
        await daemon.until('a release', ({ phase }) => phase === 'engaged');
    }
    await page.context().close();
});

test('the stop works without the stream, and the button shows it', async () => {
    const page = await browser.open(daemon);
    /** @type {import('playwright-core').WebSocketRoute[]|null} */
    let streams = [];
    await page.routeWebSocket(/stream/, (stream) => {
        if (!streams) return stream.close();
        streams.push(stream);
        return stream.connectToServer();
    });
    await page.reload();
    await page.waitForFunction(() => globalThis.hapticd?.session.state);
    const open = streams;
    streams = null;
    await Promise.all(open.map((stream) => stream.close()));
    await page.locator('#phase[data-phase="disconnected"]').waitFor();
    assert.ok(await page.locator('#pause').evaluate((element) => Boolean(element.closest('[inert]'))));
    await button(page).click();
    await daemon.until('the stop', isStopped);
    await button(page).filter({ hasText: /^Release$/ }).click();
    await daemon.until('a release', ({ phase }) => phase === 'engaged');
    await button(page).filter({ hasText: /^Stop$/ }).waitFor();
    await page.context().close();
});

test('a daemon that does not respond is reported', async () => {
    const page = await browser.open(daemon);
    await page.route('**/api/stop', (route) => route.abort());
    await page.evaluate(() => { globalThis.hapticd.session.connection.send = () => {}; });
    await button(page).click();
    await page.locator('.toast').filter({ hasText: 'switch the device off' }).waitFor();
    browser.errors = browser.errors.filter((text) => !text.includes('ERR_FAILED'));
    await page.context().close();
});

const SCREENS = {
    ...VIEWS,
    'narrow phone': { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
    'phone on its side': { viewport: { width: 740, height: 360 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
};

for (const [name, view] of Object.entries(SCREENS)) {
    test(`the button is in view on a ${name}, wherever the page is scrolled`, async () => {
        const page = await browser.open(daemon, view);
        for (const place of [0, 300, 1e6]) {
            const isInView = await page.evaluate((top) => {
                scrollTo(0, top);
                const stop = document.querySelector('header .stop');
                const { left, right, top: above, bottom, width, height } = stop.getBoundingClientRect();
                const isInside = left >= 0 && above >= 0 && right <= innerWidth && bottom <= innerHeight;
                // Of the page's own size; larger on a phone.
                const isLarge = width >= 80 && height >= 31;
                return isInside && isLarge && document.elementFromPoint((left + right) / 2, (above + bottom) / 2) === stop;
            }, place);
            assert.ok(isInView, `scrolled to ${place}`);
        }
        await page.evaluate(() => scrollTo(0, 0));
        await button(page)[view.hasTouch ? 'tap' : 'click']();
        await daemon.until('the stop', isStopped);
        await button(page).filter({ hasText: /^Release$/ }).waitFor();
        await screenshot(page, `stopped-${name.replaceAll(' ', '-')}`);
        await page.context().close();
    });
}

test('the console has no other errors', () => {
    assert.deepEqual(browser.errors, []);
});

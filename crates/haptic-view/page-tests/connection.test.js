/** Losing the daemon, finding it again, and faults in words. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser, grab, keep } from './support/browser.js';
import { Daemon, until } from './support/daemon.js';

/** @type {Browser} */
let browser;

before(async () => {
    browser = await Browser.launch();
});

after(async () => {
    await browser?.close();
    await Daemon.endAll();
});

test('the page tells of a lost daemon and finds it again by itself', async () => {
    const daemon = await Daemon.start();
    const page = await browser.open(daemon);
    await daemon.stop();
    await page.locator('#banner').filter({ hasText: 'Connection to the daemon lost' }).waitFor();
    await page.locator('#phase[data-phase="disconnected"]').waitFor();
    const needy = page.locator('[data-needs-daemon]');
    assert.ok((await needy.evaluateAll((elements) => elements.map(({ inert }) => inert))).every(Boolean), 'what needs the daemon is off');
    await keep(page, 'disconnected');
    for (const key of [' ', '.', 'r', 's']) await page.locator('#scene').press(key);
    assert.equal(await page.locator('.toast').count(), 0, 'nor do keys try');
    await daemon.run();
    await page.locator('#banner').waitFor({ state: 'hidden' });
    assert.ok(!(await needy.evaluateAll((elements) => elements.map(({ inert }) => inert))).some(Boolean), 'and works again');
    const first = await page.evaluate(() => globalThis.hapticd.session.state.tick);
    await page.waitForFunction((tick) => globalThis.hapticd.session.state.tick > tick, first);
    await page.context().close();
    await daemon.end();
    assert.ok(browser.complaints.every((text) => text.includes('WebSocket')), browser.complaints.join('\n'));
    browser.complaints = [];
});

test('a hand that was held when the daemon went is free when it is back', async () => {
    const daemon = await Daemon.start();
    const page = await browser.open(daemon);
    await grab(page);
    await daemon.stop();
    await page.locator('#phase[data-phase="disconnected"]').waitFor();
    await page.mouse.move(700, 400, { steps: 5 });
    await daemon.run();
    await page.locator('#banner').waitFor({ state: 'hidden' });
    assert.equal(await page.evaluate(() => globalThis.hapticd.guide.isHolding), false);
    await page.mouse.move(720, 420, { steps: 5 });
    assert.equal(await page.evaluate(() => globalThis.hapticd.guide.isHolding), false, 'the mouse has to press again');
    await page.context().close();
    await daemon.end();
    assert.ok(browser.complaints.every((text) => text.includes('WebSocket')), browser.complaints.join('\n'));
    browser.complaints = [];
});

test('a fault is shown until full force is on again', async () => {
    const profile = (limit) => `scene = "table"\ndevice = "simulated-2dof"\n[safety]\nengage_ramp_s = 4.0\nmax_speed_m_per_s = ${limit}\n`;
    const daemon = await Daemon.start(['--profile', 'timid.toml'], { 'timid.toml': profile(0.12) });
    const page = await browser.open(daemon);
    const banner = page.locator('#banner').filter({ hasText: 'Fault:' });
    await banner.waitFor();
    await keep(page, 'fault');
    const { fault } = await until('the daemon tells of it', async () => {
        const state = await daemon.state();
        return state.fault && state;
    });
    assert.ok(fault.text.length > 10);
    await page.locator('#faults li:not(.none)').first().waitFor();
    daemon.write('timid.toml', profile(3));
    await page.locator('#phase[data-phase="engaged"]').waitFor();
    await banner.waitFor({ state: 'hidden' });
    await daemon.stop();
    await daemon.run();
    await page.locator('#faults li.none').waitFor();
    assert.equal(await page.locator('#faults li').count(), 1, 'faults of an earlier run are gone');
    await page.context().close();
    await daemon.end();
    assert.ok(browser.complaints.every((text) => text.includes('WebSocket')), browser.complaints.join('\n'));
    browser.complaints = [];
});

test('beyond this machine the page works with the token of its address, and says what is missing without', async () => {
    const daemon = await Daemon.start([], {}, '0.0.0.0');
    const page = await browser.open(daemon);
    const first = await page.evaluate(() => globalThis.hapticd.session.state.tick);
    await page.waitForFunction((tick) => globalThis.hapticd.session.state.tick > tick, first);
    await page.locator('#scene-button').click();
    await until('every picture is there', () => page.evaluate(() => {
        const pictures = [...document.querySelectorAll('.scene-card img')];
        return pictures.length > 0 && pictures.every((picture) => picture.complete && picture.naturalWidth > 0);
    }));
    await page.locator('.scene-card[data-scene="tower"]').click();
    await page.locator('#scene-name').filter({ hasText: 'tower' }).waitFor();
    assert.deepEqual(browser.complaints, []);
    await page.goto(daemon.url);
    await page.locator('#banner').filter({ hasText: 'token' }).waitFor();
    await keep(page, 'without-token');
    await page.context().close();
    await daemon.end();
    assert.ok(browser.complaints.every((text) => /WebSocket|401/.test(text)), browser.complaints.join('\n'));
    browser.complaints = [];
});

test('nothing else was complained of in the console', () => {
    assert.deepEqual(browser.complaints, []);
});

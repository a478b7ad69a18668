/** Lost connections, reconnecting, and faults. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser, grab, isHolding, screenshot } from './support/browser.js';
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

test('the page reports a lost connection and reconnects', async () => {
    const daemon = await Daemon.start();
    const page = await browser.open(daemon);
    await daemon.stop();
    await page.locator('#banner').filter({ hasText: 'Connection to the daemon lost' }).waitFor();
    await page.locator('#phase[data-phase="disconnected"]').waitFor();
    const controls = page.locator('[data-needs-daemon]');
    const inert = () => controls.evaluateAll((elements) => elements.map((element) => element.inert));
    assert.ok((await inert()).every(Boolean), 'controls that need the daemon are disabled');
    await screenshot(page, 'disconnected');
    for (const key of [' ', '.', 'r', 's']) await page.locator('#scene').press(key);
    assert.equal(await page.locator('.toast').count(), 0, 'keys send nothing');
    await daemon.run();
    await page.locator('#banner').waitFor({ state: 'hidden' });
    assert.ok(!(await inert()).some(Boolean), 'and enabled again');
    const first = await page.evaluate(() => globalThis.hapticd.session.state.tick);
    await page.waitForFunction((tick) => globalThis.hapticd.session.state.tick > tick, first);
    await page.context().close();
    await daemon.end();
    assert.ok(browser.errors.every((text) => text.includes('WebSocket')), browser.errors.join('\n'));
    browser.errors = [];
});

test('a hand controlled when the connection was lost is free after reconnecting', async () => {
    const daemon = await Daemon.start();
    const page = await browser.open(daemon);
    await grab(page);
    await daemon.stop();
    await page.locator('#phase[data-phase="disconnected"]').waitFor();
    await page.mouse.move(700, 400, { steps: 5 });
    await daemon.run();
    await page.locator('#banner').waitFor({ state: 'hidden' });
    assert.equal(await isHolding(page), false);
    await page.mouse.move(720, 420, { steps: 5 });
    assert.equal(await isHolding(page), false, 'the mouse must be pressed again');
    await page.context().close();
    await daemon.end();
    assert.ok(browser.errors.every((text) => text.includes('WebSocket')), browser.errors.join('\n'));
    browser.errors = [];
});

test('a fault is shown until the force is engaged again', async () => {
    const profile = (limit) => 'scene = "table"\ndevice = "simulated-2dof"\n[safety]\nengage_ramp_s = 4.0\n'
        + `max_speed_m_per_s = ${limit}\n`;
    const daemon = await Daemon.start(['--profile', 'slow.toml'], { 'slow.toml': profile(0.12) });
    const page = await browser.open(daemon);
    const banner = page.locator('#banner').filter({ hasText: 'Fault:' });
    await banner.waitFor();
    await screenshot(page, 'fault');
    const { fault } = await until('the daemon reports it', async () => {
        const state = await daemon.state();
        return state.fault && state;
    });
    assert.ok(fault.text.length > 10);
    await page.locator('#faults li:not(.none)').first().waitFor();
    daemon.write('slow.toml', profile(3));
    await page.locator('#phase[data-phase="engaged"]').waitFor();
    await banner.waitFor({ state: 'hidden' });
    await daemon.stop();
    await daemon.run();
    await page.locator('#faults li.none').waitFor();
    assert.equal(await page.locator('#faults li').count(), 1, 'faults of an earlier run are removed');
    await page.context().close();
    await daemon.end();
    assert.ok(browser.errors.every((text) => text.includes('WebSocket')), browser.errors.join('\n'));
    browser.errors = [];
});

test('beyond loopback the page works with the token in its address and asks for a missing one', async () => {
    const daemon = await Daemon.start([], {}, '0.0.0.0');
    const page = await browser.open(daemon);
    const first = await page.evaluate(() => globalThis.hapticd.session.state.tick);
    await page.waitForFunction((tick) => globalThis.hapticd.session.state.tick > tick, first);
    await page.locator('#scene-button').click();
    await until('every picture is loaded', () => page.evaluate(() => {
        const pictures = [...document.querySelectorAll('.scene-card img')];
        return pictures.length > 0 && pictures.every((picture) => picture.complete && picture.naturalWidth > 0);
    }));
    await page.locator('.scene-card[data-scene="tower"]').click();
    await page.locator('#scene-name').filter({ hasText: 'tower' }).waitFor();
    assert.deepEqual(browser.errors, []);
    await page.goto(daemon.url);
    await page.locator('#banner').filter({ hasText: 'token' }).waitFor();
    await screenshot(page, 'without-token');
    await page.context().close();
    await daemon.end();
    assert.ok(browser.errors.every((text) => /WebSocket|401/.test(text)), browser.errors.join('\n'));
    browser.errors = [];
});

test('the console has no other errors', () => {
    assert.deepEqual(browser.errors, []);
});

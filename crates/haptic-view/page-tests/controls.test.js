/** Effect of the page's controls on the daemon. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, screenshot } from './support/browser.js';
import { Daemon, until } from './support/daemon.js';

/** @type {Browser} */
let browser;
/** @type {Daemon} */
let daemon;
/** @type {import('playwright-core').Page} */
let page;

before(async () => {
    [browser, daemon] = await Promise.all([Browser.launch(), Daemon.start()]);
    page = await browser.open(daemon);
});

after(async () => {
    await browser?.close();
    await Daemon.endAll();
});

/** A ball that falls on a floor, and a pen as the tool. */
const DROP = `[[body]]
name = "floor"
fixed = true
shape = { box_m = [0.2, 0.02] }
[[body]]
name = "ball"
position_m = [0.04, 0.2]
shape = { disc_radius_m = 0.01 }
[[body]]
name = "pen"
position_m = [-0.01, 0.04]
shape = { disc_radius_m = 0.005 }
[tool]
body = "pen"
`;

/** Height of the ball, m. */
const ballHeight = async () => (await daemon.state()).bodies[0][1];

test('pause stops the world, a step advances it by one tick, resume continues', async () => {
    assert.equal(await page.locator('#step').isDisabled(), true);
    await page.locator('#pause').click();
    await daemon.until('the world is paused', ({ paused }) => paused);
    await page.locator('#phase').filter({ hasText: 'paused' }).waitFor();
    await daemon.switchTo({ toml: DROP });
    const isAtStart = async () => Math.abs(await ballHeight() - 0.2) < 1e-4;
    await until('the ball does not fall', async () => (await daemon.state()).paused && await isAtStart());
    assert.deepEqual((await daemon.state()).force_n, [0, 0], 'a paused world exerts no force');
    const high = await ballHeight();
    assert.equal(await ballHeight(), high, 'it does not move');
    await page.locator('#step').click();
    const lower = await until('the step was taken', async () => {
        const height = await ballHeight();
        return height < high && height;
    });
    assert.ok(high - lower < 5e-5, `by one tick: ${high} m, ${lower} m`);
    assert.equal(await ballHeight(), lower, 'and not further');
    await page.locator('#scene').press('.');
    await until('a key steps as well', async () => await ballHeight() < lower);
    await page.locator('#scene').press(' ');
    await until('the ball falls', async () => await ballHeight() < 0.021);
    await page.locator('#pause-label').filter({ hasText: 'Pause' }).waitFor();
});

test('reset puts every body back', async () => {
    await until('the ball rests on the floor', async () => await ballHeight() < 0.021);
    await page.locator('#scene').press(' ');
    await daemon.until('the world is paused', ({ paused }) => paused);
    await page.locator('#reset').click();
    await until('the ball is up again', async () => Math.abs(await ballHeight() - 0.2) < 1e-4);
    await page.locator('#pause').click();
    await until('it falls again', async () => await ballHeight() < 0.19);
});

test('another scene is chosen from its picture', async () => {
    await page.locator('#scene-button').click();
    const cards = page.locator('.scene-card');
    await cards.first().waitFor();
    const { scenes } = await daemon.get('scenes');
    assert.equal(await cards.count(), scenes.length);
    await until('every picture is loaded', () => page.evaluate(() => {
        const pictures = [...document.querySelectorAll('.scene-card img')];
        return pictures.every((picture) => picture.complete && picture.naturalWidth > 0);
    }));
    await page.locator('.scene-card[data-scene="tower"]').click();
    await page.locator('#scene-name').filter({ hasText: 'tower' }).waitFor();
    const { name, bodies } = await daemon.get('scene');
    assert.equal(name, 'tower');
    await page.waitForFunction((count) => globalThis.hapticd.view.poses.length === count, bodies.length);
    await page.locator('#scene').press('s');
    await page.locator('.scene-card[aria-current="true"][data-scene="tower"]').waitFor();
    await page.locator('.scene-card[data-scene="table"]').click();
    await page.locator('#scene-name').filter({ hasText: 'table' }).waitFor();
});

test('an opened scene file runs, and an invalid one is rejected with its reason', async () => {
    const toml = '[[body]]\nname = "floor"\nfixed = true\nshape = { box_m = [0.2, 0.02] }\nlayer = 0\n'
        + '[[body]]\nname = "cloud"\nfixed = true\nposition_m = [0.0, 0.08]\nlayer = 1\n'
        + 'shape = { box_m = [0.05, 0.02] }\n'
        + '[[body]]\nname = "pen"\nposition_m = [0.0, 0.04]\nshape = { disc_radius_m = 0.01 }\n[tool]\nbody = "pen"\n';
    const open = (text) => page.locator('#scene-file').setInputFiles({
        name: 'own.toml', mimeType: 'text/plain', buffer: Buffer.from(text),
    });
    await open(toml);
    await until('it runs', async () => (await daemon.get('scene')).bodies.some(({ name }) => name === 'cloud'));
    await page.locator('#layers').waitFor();
    assert.deepEqual(await page.locator('#layers button').allTextContents(), ['0', '1'], 'one switch per layer');
    await open('[[body]]\nname = "floor"\nshape = { bax_m = [0.2, 0.02] }\n');
    await page.locator('.toast').filter({ hasText: 'bax_m' }).waitFor();
    assert.equal((await daemon.get('scene')).bodies.length, 3, 'the previous scene still runs');
    await daemon.switchTo({ name: 'table' });
    await page.locator('#scene-name').filter({ hasText: 'table' }).waitFor();
    browser.errors = browser.errors.filter((text) => !text.includes('422'));
});

test('a scene file dropped on the page runs', async () => {
    const toml = '[[body]]\nname = "dropped"\nposition_m = [0.0, 0.04]\nshape = { disc_radius_m = 0.01 }\n'
        + '[tool]\nbody = "dropped"\n';
    const dropped = await page.evaluateHandle((text) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([text], 'own.toml', { type: 'text/plain' }));
        return transfer;
    }, toml);
    await page.dispatchEvent('#stage', 'dragover', { dataTransfer: dropped });
    const isHighlighted = () => page.evaluate(() => document.documentElement.classList.contains('dragging-file'));
    assert.equal(await isHighlighted(), true, 'the page shows that it accepts the file');
    await page.dispatchEvent('#stage', 'drop', { dataTransfer: dropped });
    await until('it runs', async () => (await daemon.get('scene')).bodies[0].name === 'dropped');
    assert.equal(await isHighlighted(), false);
    await daemon.switchTo({ name: 'table' });
    await page.locator('#scene-name').filter({ hasText: 'table' }).waitFor();
});

test('dragging the point in the stability plot changes the gains', async () => {
    const plot = page.locator('#stability');
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    const old = (await daemon.get('settings')).coupling;
    await page.mouse.move(box.x + 0.6 * box.width, box.y + 0.5 * box.height);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.3 * box.width, box.y + 0.6 * box.height, { steps: 5 });
    await page.mouse.up();
    const { stability } = await until('the gains and the field follow', async () => {
        const settings = await daemon.get('settings');
        const { stiffness_n_per_m: stiffness, damping_n_s_per_m: damping } = settings.coupling;
        const shown = Number(await page.locator('#stiffness_n_per_m').inputValue());
        const isLower = stiffness < old.stiffness_n_per_m && damping < old.damping_n_s_per_m;
        return isLower && shown === stiffness && settings;
    });
    assert.ok(stability.region.length > 10);
    assert.notEqual(await page.locator('#stability-text').textContent(), '');
    await daemon.request('PATCH', 'coupling', { stiffness_n_per_m: 400, damping_n_s_per_m: 0.1 });
    await page.waitForFunction(() => Number(document.getElementById('stiffness_n_per_m').value) === 400);
});

test('gains beyond the limits are rejected with a reason and the field is reset', async () => {
    const field = page.locator('#stiffness_n_per_m');
    await field.fill('1e9');
    await field.press('Enter');
    await page.locator('#gains-error').filter({ hasText: 'stiffness_n_per_m' }).waitFor();
    await page.waitForFunction(() => Number(document.getElementById('stiffness_n_per_m').value) === 400);
    browser.errors = browser.errors.filter((text) => !text.includes('422'));
});

test('a number with a comma is rejected with a reason, and the gain stays', async () => {
    const field = page.locator('#stiffness_n_per_m');
    await field.click();
    await field.press('ControlOrMeta+a');
    await field.pressSequentially('350,5');
    await field.press('Enter');
    await page.locator('#gains-error').filter({ hasText: 'write 350.5, with a decimal point' }).waitFor();
    assert.equal((await daemon.get('settings')).coupling.stiffness_n_per_m, 400);
    assert.equal(await field.inputValue(), '400');
});

test('a scale never exceeds its limit and has a labelled decade', async () => {
    const scales = await page.evaluate(async () => {
        const { LogScale } = await import('/log-scale.js');
        return [1255, 118_000, 10, 4].map((max) => {
            const scale = new LogScale(10, max, false);
            return {
                max, position: scale.position(max), top: scale.value(1), bottom: scale.value(0),
                decades: scale.decades(),
            };
        });
    });
    for (const { max, top, position, bottom, decades } of scales) {
        assert.equal(top, max);
        assert.equal(position, 1);
        assert.ok(bottom > 0 && bottom < max, `${bottom} of ${max}`);
        const areInside = decades.every((decade) => decade >= bottom && decade <= max);
        assert.ok(decades.length > 0 && areInside, `${decades} of ${max}`);
    }
});

test('typed input is not overwritten by settings from elsewhere', async () => {
    const field = page.locator('#stiffness_n_per_m');
    await field.fill('250');
    await daemon.request('PATCH', 'coupling', { stiffness_n_per_m: 200 });
    await page.waitForFunction(() => globalThis.hapticd.session.settings.coupling.stiffness_n_per_m === 200);
    const slider = page.locator('#stiffness_n_per_m-slider');
    await until('the slider follows', async () => await slider.getAttribute('aria-valuetext') === '200');
    assert.equal(await field.inputValue(), '250');
    await field.press('Enter');
    const stiffness = async () => (await daemon.get('settings')).coupling.stiffness_n_per_m;
    await until('the typed gain is in use', async () => await stiffness() === 250);
    await field.fill('300');
    await field.press('Enter');
    await until('the original gain is back', async () => await stiffness() === 300);
});

test('record writes a file', async () => {
    await page.locator('#record').click();
    await page.getByRole('button', { name: 'Stop recording' }).waitFor();
    const { file } = await until('the recording has data', async () => {
        const { recording } = await daemon.state();
        return recording?.bytes > 0 && recording;
    });
    await page.locator('#record-label').filter({ hasText: /\d.*B/ }).waitFor();
    await screenshot(page, 'recording');
    await page.getByRole('button', { name: 'Stop recording' }).click();
    await page.locator('.toast').filter({ hasText: path.basename(file) }).waitFor();
    await page.getByRole('button', { name: 'Record', exact: true }).waitFor();
    assert.ok(existsSync(path.resolve(daemon.folder, file)), `${file} exists`);
});

test('Space opens the stability details and does not pause the world', async () => {
    await page.locator('.margins summary').press(' ');
    await page.locator('.margins[open]').waitFor();
    assert.equal((await daemon.state()).paused, false);
});

test('help lists the keys and Escape closes it', async () => {
    await page.locator('#scene').press('?');
    await page.locator('#help[open]').waitFor();
    assert.match(await page.locator('#help').textContent(), /follows a path of its own/);
    await page.keyboard.press('Escape');
    await page.locator('#help[open]').waitFor({ state: 'detached' });
    await page.locator('#help-button').click();
    await page.locator('#help .close').click();
    await page.locator('#help[open]').waitFor({ state: 'detached' });
});

test('the theme follows the system until it is switched', async () => {
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.emulateMedia({ colorScheme: 'dark' });
    await until('it is dark', async () => await theme() === 'dark');
    assert.notEqual(await ground(), light);
    await page.locator('#theme').click();
    assert.equal(await theme(), 'light');
    await page.locator('#theme').click();
    assert.equal(await theme(), 'dark');
    await page.locator('#theme').click();
    await page.emulateMedia({ colorScheme: 'light' });
    await until('it is light', async () => await theme() === 'light');
});

test('the console has no other errors', () => {
    assert.deepEqual(browser.errors, []);
});

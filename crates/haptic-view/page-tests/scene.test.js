/** The scene: drawn where it is, and felt through the mouse. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser, VIEWS, grab, holdOverTheWood, onPage, pull } from './support/browser.js';
import { Daemon, until } from './support/daemon.js';
import { quantile, tell } from './support/figures.js';

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

/** A pen in empty space, with a floor far below so that all of the hand's path is in view: nothing moves the hand but the mouse. */
const EMPTY = '[world]\ngravity_m_per_s2 = [0.0, 0.0]\n[[body]]\nname = "floor"\nfixed = true\nposition_m = [0.0, -0.06]\nshape = { box_m = [0.4, 0.01] }\n'
    + '[[body]]\nname = "pen"\nposition_m = [0.0, 0.04]\nshape = { disc_radius_m = 0.01 }\n[tool]\nbody = "pen"\n';

/** A wide body, a small one on its middle, in another layer and without room for a name, and a pen far from both. */
const COVERED = '[[body]]\nname = "ground"\nfixed = true\ncolour = "#ffd166"\nshape = { box_m = [0.4, 0.03] }\n'
    + '[[body]]\nname = "lid"\nfixed = true\ncolour = "#ffffff"\nlayer = 1\nshape = { box_m = [0.004, 0.004] }\n'
    + '[[body]]\nname = "pen"\nposition_m = [0.15, 0.14]\nshape = { disc_radius_m = 0.01 }\n[tool]\nbody = "pen"\n';

/** The colour of the canvas at a place of a body's frame, as drawn last.
 * @param {import('playwright-core').Page} page
 * @param {[string, [number, number]][]} places Names of bodies, places in their frames, m. */
function coloursAt(page, places) {
    return page.evaluate((wanted) => {
        const { session: { scene }, camera, view } = globalThis.hapticd;
        view.draw();
        const { context, ratio, canvas } = view.surface;
        const picture = context.getImageData(0, 0, canvas.width, canvas.height).data;
        return wanted.map(([name, [localX, localY]]) => {
            const index = scene.bodies.findIndex((body) => body.name === name);
            const [x, y, angle] = view.poses[index];
            const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
            const [left, top] = camera.toScreen([x + cosine * localX - sine * localY, y + sine * localX + cosine * localY]);
            const at = 4 * (Math.round(top * ratio) * canvas.width + Math.round(left * ratio));
            return `#${[...picture.slice(at, at + 3)].map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
        });
    }, places);
}

test('a person sees motion soon after opening the page', async () => {
    const page = await browser.open(daemon, { isVisitor: true });
    const picture = () => page.evaluate(() => document.getElementById('scene').toDataURL());
    const first = await picture();
    await until('the picture changes', async () => await picture() !== first);
    tell('from opening the page to motion', await page.evaluate(() => performance.now()), 'ms', { most: 1000 });
    assert.equal(await page.locator('#hint').isVisible(), true);
    await page.context().close();
});

/** What to add to the page's clock to get the system's monotonic one, ms; both run alike, the page's from its opening on.
 * @param {import('playwright-core').Page} page */
async function clockOffset(page) {
    let best = { width: Infinity, offset: 0 };
    for (let attempt = 0; attempt < 50; attempt += 1) {
        const before = Number(process.hrtime.bigint()) / 1e6;
        const inside = await page.evaluate(() => performance.now());
        const after = Number(process.hrtime.bigint()) / 1e6;
        if (after - before < best.width) best = { width: after - before, offset: (before + after) / 2 - inside };
    }
    return best.offset;
}

test('what the page draws is fresh', async () => {
    const page = await browser.open(daemon);
    const offset = await clockOffset(page);
    const ages = await page.evaluate((clock) => new Promise((resolve) => {
        const seen = [];
        const look = () => {
            const { state } = globalThis.hapticd.session;
            seen.push(performance.now() + clock - state.monotonic_ns / 1e6);
            if (seen.length < 300) requestAnimationFrame(look);
            else resolve(seen);
        };
        requestAnimationFrame(look);
    }), offset);
    assert.ok(Math.min(...ages) > -5, 'the clocks agree');
    tell('from a tick to the frame that shows it, median', quantile(ages, 0.5), 'ms', { most: 50 });
    tell('from a tick to the frame that shows it, 99 %', quantile(ages, 0.99), 'ms', { most: 50 });
    await page.context().close();
});

/** Notes when the mouse moves, and when the first sampled tick began in which the hand has moved; both on the page's clock.
 * @param {import('playwright-core').Page} page
 * @param {number} offset From the page's clock to the system's, ms. */
function armDelay(page, offset) {
    return page.evaluate((clock) => {
        const { session } = globalThis.hapticd;
        const [restX, restY] = session.state.hand_m;
        globalThis.delay = null;
        let movedAt = null;
        addEventListener('pointermove', ({ timeStamp }) => { movedAt ??= timeStamp; }, { capture: true, once: true });
        const look = () => {
            const { monotonic_ns: now, t_s: time, samples } = session.state;
            const first = movedAt !== null && samples.find(([t, x, y]) => (
                now / 1e6 - clock - (time - t) * 1e3 > movedAt && Math.hypot(x - restX, y - restY) > 2e-5));
            if (!first) return;
            globalThis.delay = now / 1e6 - clock - (time - first[0]) * 1e3 - movedAt;
            session.removeEventListener('state', look);
        };
        session.addEventListener('state', look);
    }, offset);
}

test('the hand in the loop follows the mouse soon', async () => {
    const page = await browser.open(daemon);
    await daemon.switchTo({ toml: EMPTY });
    await page.waitForFunction(() => globalThis.hapticd.view.poses.length === 2);
    await grab(page);
    const offset = await clockOffset(page);
    const delays = [];
    for (let attempt = 0; attempt < 15; attempt += 1) {
        const [x, y] = await onPage(page, [attempt % 2 ? 0.005 : -0.005, 0.04]);
        const { tick: started } = await daemon.state();
        let rest = null;
        await daemon.until('the hand rests', ({ tick, hand_m: hand }) => {
            const isStill = rest !== null && Math.hypot(hand[0] - rest[0], hand[1] - rest[1]) < 2e-6;
            rest = hand;
            return isStill && tick > started + 300;
        });
        await armDelay(page, offset);
        await page.mouse.move(x, y);
        await page.waitForFunction(() => globalThis.delay !== null);
        delays.push(await page.evaluate(() => globalThis.delay));
    }
    await page.mouse.up();
    await daemon.switchTo({ name: 'table' });
    await page.waitForFunction(() => globalThis.hapticd.view.poses.length > 5);
    tell('from a mouse event to the hand in the loop, median', quantile(delays, 0.5), 'ms', { most: 20 });
    tell('from a mouse event to the hand in the loop, longest of 15', Math.max(...delays), 'ms', { most: 20 });
    await page.context().close();
});

test('bodies are drawn in their colours where the scene has them', async () => {
    const page = await browser.open(daemon);
    const { bodies } = await daemon.get('scene');
    const colourOf = (name) => bodies.find((body) => body.name === name).colour;
    await daemon.ask('POST', 'pause', { paused: true });
    await page.waitForFunction(() => globalThis.hapticd.session.state.paused);
    const places = [
        ['ice', [-0.02, 0.004]], ['ice', [0.028, -0.006]], ['wood', [-0.025, 0.005]], ['rubber', [0.05, 0.004]],
        ['left post', [0, 0.03]], ['right post', [0, -0.03]],
        ['block with a slot', [0.015, 0.04]], ['block with a slot', [-0.015, 0.04]], ['block with a slot', [0, 0.02]],
        ['lower box', [0.006, 0.005]], ['upper box', [-0.005, -0.005]], ['ball', [0, 0.0055]], ['stylus', [-0.0035, -0.008]],
    ];
    const seen = await coloursAt(page, places);
    places.forEach(([name, place], index) => assert.equal(seen[index], colourOf(name), `${name} at ${place}`));
    const [inTheSlot] = await coloursAt(page, [['block with a slot', [0.002, 0.0385]]]);
    assert.notEqual(inTheSlot, colourOf('block with a slot'), 'the slot is open');
    await daemon.ask('POST', 'pause', { paused: false });
    await page.context().close();
});

test('a name makes way for the arrow of the felt force', async () => {
    const page = await browser.open(daemon);
    /** Dark pixels where the wood has its name, with the hand at such a place and such a force on it. */
    const inked = (hand, force) => page.evaluate(([place, push]) => {
        const { session, camera, view } = globalThis.hapticd;
        session.state = { ...session.state, hand_m: place, force_n: push };
        view.draw();
        const { context, ratio } = view.surface;
        const [x, y] = camera.toScreen(session.scene.bodies.find(({ name }) => name === 'wood').position_m);
        const picture = context.getImageData((x - 20) * ratio, (y - 7) * ratio, 40 * ratio, 14 * ratio).data;
        return picture.filter((_, at) => at % 4 === 0 && Math.max(...picture.slice(at, at + 3)) < 90).length;
    }, [hand, force]);
    const wood = await page.evaluate(() => globalThis.hapticd.session.scene.bodies.find(({ name }) => name === 'wood').position_m);
    assert.ok(await inked([wood[0] + 0.08, 0.08], [0, 2]) > 20, 'the name is there');
    assert.equal(await inked([wood[0], 0.004], [0, 2]), 0, 'it is gone while the arrow crosses it');
    await page.context().close();
});

test('a body that lies under another has no name on that', async () => {
    const page = await browser.open(daemon);
    await daemon.switchTo({ toml: COVERED });
    await page.waitForFunction(() => globalThis.hapticd.view.poses.length === 3);
    /** Dark pixels around the middle of the ground, with some layers hidden. */
    const inked = (hidden) => page.evaluate((layers) => {
        const { camera, view } = globalThis.hapticd;
        view.hiddenLayers = new Set(layers);
        view.chooseBodies();
        view.draw();
        const { context, ratio } = view.surface;
        const [x, y] = camera.toScreen([0, 0]);
        const picture = context.getImageData((x - 20) * ratio, (y - 7) * ratio, 40 * ratio, 14 * ratio).data;
        return picture.filter((_, at) => at % 4 === 0 && Math.max(...picture.slice(at, at + 3)) < 90).length;
    }, hidden);
    assert.ok(await inked([1]) > 20, 'the name is there');
    assert.equal(await inked([]), 0, 'it is not under the lid');
    await daemon.switchTo({ name: 'table' });
    await page.waitForFunction(() => globalThis.hapticd.view.poses.length > 5);
    await page.context().close();
});

test('charts are full as soon as a page opens', async () => {
    const columns = (page) => page.evaluate(() => {
        let count = 0;
        globalThis.hapticd.session.history.each(1, () => { count += 1; });
        return count;
    });
    const first = await browser.open(daemon);
    await until('there is something to show', async () => await columns(first) > 250);
    const second = await browser.open(daemon);
    const shown = await columns(second);
    assert.ok(shown > 200, `${shown} of 320 columns`);
    await Promise.all([first, second].map((page) => page.context().close()));
});

test('moving and zooming the view keeps bodies under their colours', async () => {
    const page = await browser.open(daemon);
    const before = await page.evaluate(() => globalThis.hapticd.camera.scale);
    const corner = await onPage(page, [0.05, 0.09]);
    await page.mouse.move(...corner);
    await page.mouse.wheel(0, -150);
    await page.waitForFunction((scale) => globalThis.hapticd.camera.scale > 1.2 * scale, before);
    const [x, y] = await onPage(page, [0.05, 0.09]);
    assert.ok(Math.hypot(x - corner[0], y - corner[1]) < 2, 'the wheel zooms at the pointer');
    await page.mouse.down();
    await page.mouse.move(corner[0] - 60, corner[1] + 20, { steps: 3 });
    await page.mouse.up();
    const [moved] = await onPage(page, [0.05, 0.09]);
    assert.ok(Math.abs(moved - (x - 60)) < 2, 'dragging moves the view');
    const [rubber] = await coloursAt(page, [['rubber', [-0.04, 0.005]]]);
    assert.equal(rubber, '#5c677d');
    await page.locator('#scene').press('f');
    assert.equal(await page.evaluate(() => globalThis.hapticd.camera.scale), before, 'F fits again');
    await page.context().close();
});

test('the mouse drags the hand and a table pushes back', async () => {
    const page = await browser.open(daemon, { isVisitor: true });
    await holdOverTheWood(page, daemon);
    assert.equal(await page.locator('#hint').isVisible(), false, 'who grabs needs no hint any more');
    await pull(page, [-0.01, 0.004]);
    // A hand has mass and swings in at first: what counts is where it comes to rest.
    let heights = [];
    const pressed = await daemon.until('the hand rests, pushed up', (state) => {
        heights = [...heights, state.hand_m[1]].slice(-12);
        const isStill = heights.length === 12 && Math.max(...heights) - Math.min(...heights) < 2e-4;
        return isStill && state.hand_guided && state.force_n[1] > 0.5 && state.contacts.length > 0;
    });
    assert.ok(pressed.hand_m[1] > 0.005, `the hand stays out of where it is pulled to: ${pressed.hand_m}`);
    assert.ok(pressed.tool.position_m[1] > 0.0155, `the tool stays on the table: ${pressed.tool.position_m}`);
    await page.locator('#guide').filter({ hasText: '1 m/s' }).waitFor();
    await page.mouse.up();
    await page.locator('#guide').filter({ hasText: 'resumes in' }).waitFor();
    await daemon.until('the hand goes its own way again', (state) => !state.hand_guided);
    await page.context().close();
});

test('a softer coupling is felt at once', async () => {
    const page = await browser.open(daemon);
    await holdOverTheWood(page, daemon);
    await pull(page, [-0.01, 0.004]);
    const { force_n: [, hard] } = await daemon.until('the hand presses on the wood', ({ force_n: force }) => force[1] > 1.5);
    const slider = page.locator('#stiffness_n_per_m-slider');
    const place = await slider.evaluate((element) => Number(element.value));
    await slider.fill(String(place - 200));
    await until('the gains are softer', async () => (await daemon.get('settings')).coupling.stiffness_n_per_m < 200);
    await daemon.until('less is felt', ({ force_n: force }) => force[1] < 0.7 * hard);
    assert.equal(Number(await page.locator('#stiffness_n_per_m').inputValue()) < 200, true, 'the field follows the slider');
    // Stiffening a spring that is pressed waits until the energy is there; a hand that lets go need not wait.
    await page.mouse.up();
    await page.locator('#stiffness_n_per_m').fill('400');
    await page.locator('#stiffness_n_per_m').press('Enter');
    await until('the old gains are back', async () => (await daemon.get('settings')).coupling.stiffness_n_per_m === 400);
    await page.context().close();
});

test('a finger drags the hand too', async () => {
    const page = await browser.open(daemon, VIEWS.phone);
    const client = await page.context().newCDPSession(page);
    const touch = (type, points) => client.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y]) => ({ x, y })) });
    await page.evaluate(() => document.getElementById('scene').scrollIntoView({ block: 'center' }));
    await until('a finger holds the hand', async () => {
        const hand = await page.evaluate(() => globalThis.hapticd.session.state.hand_m);
        await touch('touchStart', [await onPage(page, hand)]);
        if (await page.evaluate(() => globalThis.hapticd.guide.isHolding)) return true;
        await touch('touchEnd', []);
        return false;
    });
    const scrolled = await page.evaluate(() => scrollY);
    const target = await onPage(page, [0.03, 0.045]);
    await touch('touchMove', [[target[0] - 5, target[1] - 5]]);
    await touch('touchMove', [target]);
    await daemon.until('the hand follows the finger', ({ hand_m: [x], hand_guided: guided }) => guided && Math.abs(x - 0.03) < 0.02);
    assert.equal(await page.evaluate(() => scrollY), scrolled, 'the page does not scroll with it');
    await touch('touchEnd', []);
    await page.waitForFunction(() => !globalThis.hapticd.guide.isHolding);
    await page.context().close();
});

test('two fingers zoom and move the view, and the hand stays free', async () => {
    const page = await browser.open(daemon, VIEWS.phone);
    const client = await page.context().newCDPSession(page);
    const touch = (type, points) => client.send('Input.dispatchTouchEvent', {
        type, touchPoints: points.map(([x, y], id) => ({ x, y, id })),
    });
    await page.evaluate(() => document.getElementById('scene').scrollIntoView({ block: 'center' }));
    const box = await page.locator('#scene').boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + 0.2 * box.height];
    const camera = () => page.evaluate(() => ({ scale: globalThis.hapticd.camera.scale, scrolled: scrollY }));
    // Above everything, where neither hand nor tool is.
    await daemon.ask('POST', 'pause', { paused: true });
    const before = await camera();
    await touch('touchStart', [[x - 30, y], [x + 30, y]]);
    for (let step = 1; step <= 6; step += 1) await touch('touchMove', [[x - 30 - 5 * step, y], [x + 30 + 5 * step, y]]);
    await touch('touchEnd', []);
    const after = await camera();
    assert.ok(Math.abs(after.scale / before.scale - 2) < 0.05, `fingers twice as far apart: ${after.scale / before.scale} times as large`);
    assert.equal(after.scrolled, before.scrolled, 'the page does not scroll with it');
    assert.equal(await page.evaluate(() => globalThis.hapticd.guide.isHolding), false);
    assert.equal(await page.evaluate(() => visualViewport.scale), 1, 'nor does the browser zoom');
    await daemon.ask('POST', 'pause', { paused: false });
    await page.context().close();
});

test('arrow keys move the hand and Escape lets go', async () => {
    const page = await browser.open(daemon);
    await page.locator('#scene').focus();
    await page.keyboard.down('ArrowUp');
    await page.waitForFunction(() => globalThis.hapticd.guide.isHolding);
    const from = await page.evaluate(() => globalThis.hapticd.guide.target[1]);
    await page.waitForFunction((y) => globalThis.hapticd.guide.target[1] > y + 0.005, from);
    await page.keyboard.up('ArrowUp');
    await daemon.until('the daemon knows', (state) => state.hand_guided);
    await page.keyboard.press('Escape');
    await daemon.until('the hand is free again', (state) => !state.hand_guided);
    await page.context().close();
});

test('Escape releases the hand during a drag, and the mouse has to press again', async () => {
    const page = await browser.open(daemon);
    await grab(page);
    await daemon.until('the hand is held', (state) => state.hand_guided);
    await page.keyboard.press('Escape');
    const view = await page.evaluate(() => globalThis.hapticd.camera.version);
    const [x, y] = await onPage(page, [0.02, 0.05]);
    await page.mouse.move(x, y, { steps: 5 });
    await page.waitForFunction((frames) => globalThis.hapticd.frames > frames + 3, await page.evaluate(() => globalThis.hapticd.frames));
    assert.equal(await page.evaluate(() => globalThis.hapticd.guide.isHolding), false, 'the next move does not take the hand again');
    assert.equal(await page.evaluate(() => globalThis.hapticd.camera.version), view, 'nor does it move the view');
    await daemon.until('the hand is free again', (state) => !state.hand_guided);
    await page.mouse.up();
    await grab(page);
    await page.mouse.up();
    await page.context().close();
});

test('keys released by Escape have to be pressed again', async () => {
    const page = await browser.open(daemon);
    await page.locator('#scene').focus();
    await page.keyboard.down('ArrowUp');
    await page.waitForFunction(() => globalThis.hapticd.guide.isHolding);
    await page.keyboard.press('Escape');
    // What a key that stays down repeats.
    await page.keyboard.down('ArrowUp');
    await page.waitForFunction((frames) => globalThis.hapticd.frames > frames + 3, await page.evaluate(() => globalThis.hapticd.frames));
    assert.equal(await page.evaluate(() => globalThis.hapticd.guide.isHolding), false);
    await page.keyboard.up('ArrowUp');
    await page.context().close();
});

test('of two pages that take the hand the first one knows that it has lost it', async () => {
    const [first, second] = [await browser.open(daemon), await browser.open(daemon)];
    for (const page of [first, second]) {
        await page.locator('#scene').focus();
        await page.keyboard.down('ArrowUp');
        await page.waitForFunction(() => globalThis.hapticd.session.state.leads);
        await page.keyboard.up('ArrowUp');
    }
    await first.locator('#guide').filter({ hasText: 'Another page controls the hand' }).waitFor();
    assert.equal(await first.evaluate(() => globalThis.hapticd.guide.isHolding), false);
    assert.equal(await second.evaluate(() => globalThis.hapticd.guide.isHolding), true);
    await second.keyboard.press('Escape');
    await first.locator('#guide').waitFor({ state: 'hidden' });
    await Promise.all([first, second].map((page) => page.context().close()));
});

test('where no tool is held arrow keys take no hand', async () => {
    const page = await browser.open(daemon);
    await daemon.ask('POST', 'scene', { name: 'newton' });
    await page.locator('#scene-name').filter({ hasText: 'newton' }).waitFor();
    await page.locator('#scene').focus();
    await page.keyboard.down('ArrowUp');
    await page.waitForFunction((frames) => globalThis.hapticd.frames > frames + 5, await page.evaluate(() => globalThis.hapticd.frames));
    assert.equal(await page.evaluate(() => globalThis.hapticd.guide.isHolding), false);
    await page.keyboard.up('ArrowUp');
    await daemon.ask('POST', 'scene', { name: 'table' });
    await page.context().close();
});

test('a page that is hidden lets go', async () => {
    const page = await browser.open(daemon);
    await page.locator('#scene').focus();
    await page.keyboard.press('ArrowUp', { delay: 100 });
    await daemon.until('keys hold the hand', (state) => state.hand_guided);
    // Without a window no page is ever hidden: it is only told so.
    await page.evaluate(() => {
        Object.defineProperty(document, 'hidden', { value: true });
        document.dispatchEvent(new Event('visibilitychange'));
    });
    assert.equal(await page.evaluate(() => globalThis.hapticd.guide.isHolding), false);
    await daemon.until('the hand is free again', (state) => !state.hand_guided);
    await page.context().close();
});

test('nothing was complained of in the console', () => {
    assert.deepEqual(browser.complaints, []);
});

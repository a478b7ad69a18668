/** The scene: drawing, and the hand moved by mouse, touch and keys. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser, VIEWS, drawFrames, grab, holdOverTheWood, isHolding, onPage, pull } from './support/browser.js';
import { Daemon, until } from './support/daemon.js';
import { quantile, report } from './support/figures.js';

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

/** A pen in empty space, where only the mouse moves the hand. A floor far below brings the hand's path into view. */
const EMPTY = '[world]\ngravity_m_per_s2 = [0.0, 0.0]\n[[body]]\nname = "floor"\nfixed = true\n'
    + 'position_m = [0.0, -0.06]\nshape = { box_m = [0.4, 0.01] }\n'
    + '[[body]]\nname = "pen"\nposition_m = [0.0, 0.04]\nshape = { disc_radius_m = 0.01 }\n[tool]\nbody = "pen"\n';

/** A wide body; a small one over its centre, in another layer and too small for a name; and a pen far from both. */
const COVERED = '[[body]]\nname = "ground"\nfixed = true\ncolour = "#ffd166"\nshape = { box_m = [0.4, 0.03] }\n'
    + '[[body]]\nname = "lid"\nfixed = true\ncolour = "#ffffff"\nlayer = 1\nshape = { box_m = [0.004, 0.004] }\n'
    + '[[body]]\nname = "pen"\nposition_m = [0.15, 0.14]\nshape = { disc_radius_m = 0.01 }\n[tool]\nbody = "pen"\n';

/** Colours of the canvas at positions in the frames of bodies.
 * @param {import('playwright-core').Page} page
 * @param {[string, [number, number]][]} points Names of bodies, positions in their frames, m. */
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
            const [dx, dy] = [cosine * localX - sine * localY, sine * localX + cosine * localY];
            const [left, top] = camera.toScreen([x + dx, y + dy]);
            const at = 4 * (Math.round(top * ratio) * canvas.width + Math.round(left * ratio));
            const channels = [...picture.slice(at, at + 3)].map((channel) => channel.toString(16).padStart(2, '0'));
            return `#${channels.join('')}`;
        });
    }, places);
}

test('the scene moves soon after the page is opened if the device file gives the hand a path', async () => {
    const path = '[hand]\npath = [[0.0, -0.01, 0.04], [1.0, -0.01, 0.0], [2.0, -0.01, 0.04]]\n';
    const moving = await Daemon.start(['--device', './device.toml'], { 'device.toml': path });
    const page = await browser.open(moving, { isVisitor: true });
    const picture = () => page.evaluate(() => document.getElementById('scene').toDataURL());
    const first = await picture();
    await until('the picture changes', async () => await picture() !== first);
    report('from opening the page to motion', await page.evaluate(() => performance.now()), 'ms', { max: 1000 });
    assert.equal(await page.locator('#hint').isVisible(), true);
    await page.context().close();
    await moving.end();
});

/** Offset from the page's clock to the system's monotonic clock, ms. Both run at the same rate.
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

test('the page draws recent states', async () => {
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
    report('from a tick to the frame that shows it, median', quantile(ages, 0.5), 'ms', { max: 50 });
    report('from a tick to the frame that shows it, 99 %', quantile(ages, 0.99), 'ms', { max: 50 });
    await page.context().close();
});

/** Measures the time from a mouse move to the start of the first sampled tick in which the hand has moved.
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

test('the hand in the loop follows the mouse without delay', async () => {
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
    report('from a mouse event to the hand in the loop, median', quantile(delays, 0.5), 'ms', { max: 20 });
    report('from a mouse event to the hand in the loop, longest of 15', Math.max(...delays), 'ms', { max: 20 });
    await page.context().close();
});

test('bodies are drawn in their colours at their positions', async () => {
    const page = await browser.open(daemon);
    const { bodies } = await daemon.get('scene');
    const colourOf = (name) => bodies.find((body) => body.name === name).colour;
    await daemon.request('POST', 'pause', { paused: true });
    await page.waitForFunction(() => globalThis.hapticd.session.state.paused);
    const places = [
        ['ice', [-0.02, 0.004]], ['ice', [0.028, -0.006]], ['wood', [-0.025, 0.005]], ['rubber', [0.05, 0.004]],
        ['left post', [0, 0.03]], ['right post', [0, -0.03]],
        ['block with a slot', [0.015, 0.04]], ['block with a slot', [-0.015, 0.04]], ['block with a slot', [0, 0.02]],
        ['lower box', [0.006, 0.005]], ['upper box', [-0.005, -0.005]], ['ball', [0, 0.0055]],
        ['stylus', [-0.0035, -0.008]],
    ];
    const seen = await coloursAt(page, places);
    places.forEach(([name, place], index) => assert.equal(seen[index], colourOf(name), `${name} at ${place}`));
    const [inTheSlot] = await coloursAt(page, [['block with a slot', [0.002, 0.0385]]]);
    assert.notEqual(inTheSlot, colourOf('block with a slot'), 'the slot is open');
    await daemon.request('POST', 'pause', { paused: false });
    await page.context().close();
});

test('a name fades under the force arrow', async () => {
    const page = await browser.open(daemon);
    /** Dark pixels at the name of the wood, with this position of the hand and this force on it. */
    const inked = (hand, force) => page.evaluate(([place, push]) => {
        const { session, camera, view } = globalThis.hapticd;
        session.state = { ...session.state, hand_m: place, force_n: push };
        view.draw();
        const { context, ratio } = view.surface;
        const [x, y] = camera.toScreen(session.scene.bodies.find(({ name }) => name === 'wood').position_m);
        const picture = context.getImageData((x - 20) * ratio, (y - 7) * ratio, 40 * ratio, 14 * ratio).data;
        return picture.filter((_, at) => at % 4 === 0 && Math.max(...picture.slice(at, at + 3)) < 90).length;
    }, [hand, force]);
    const { bodies } = await daemon.get('scene');
    const { position_m: wood } = bodies.find(({ name }) => name === 'wood');
    assert.ok(await inked([wood[0] + 0.08, 0.08], [0, 2]) > 20, 'the name is drawn');
    assert.equal(await inked([wood[0], 0.004], [0, 2]), 0, 'it is hidden while the arrow crosses it');
    await page.context().close();
});

test('a covered body has no name', async () => {
    const page = await browser.open(daemon);
    await daemon.switchTo({ toml: COVERED });
    await page.waitForFunction(() => globalThis.hapticd.view.poses.length === 3);
    /** Dark pixels around the centre of the ground, with some layers hidden. */
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
    assert.ok(await inked([1]) > 20, 'the name is drawn');
    assert.equal(await inked([]), 0, 'it is not drawn under the lid');
    await daemon.switchTo({ name: 'table' });
    await page.waitForFunction(() => globalThis.hapticd.view.poses.length > 5);
    await page.context().close();
});

test('charts are filled as soon as a page opens', async () => {
    const columns = (page) => page.evaluate(() => {
        let count = 0;
        globalThis.hapticd.session.history.each(1, () => { count += 1; });
        return count;
    });
    const first = await browser.open(daemon);
    await until('the history is filled', async () => await columns(first) > 250);
    const second = await browser.open(daemon);
    const shown = await columns(second);
    assert.ok(shown > 200, `${shown} of 320 columns`);
    await Promise.all([first, second].map((page) => page.context().close()));
});

test('panning and zooming keep colours and bodies together', async () => {
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

test('the mouse drags the hand and the table pushes back', async () => {
    const page = await browser.open(daemon, { isVisitor: true });
    await holdOverTheWood(page, daemon);
    assert.equal(await page.locator('#hint').isVisible(), false, 'the hint disappears when the hand is taken');
    await pull(page, [-0.01, 0.004]);
    // The hand has mass and oscillates at first; its rest position counts.
    let heights = [];
    const pressed = await daemon.until('the hand rests and is pushed up', (state) => {
        heights = [...heights, state.hand_m[1]].slice(-12);
        const isStill = heights.length === 12 && Math.max(...heights) - Math.min(...heights) < 2e-4;
        return isStill && state.hand_guided && state.force_n[1] > 0.5 && state.contacts.length > 0;
    });
    assert.ok(pressed.hand_m[1] > 0.005, `the hand stays above its target: ${pressed.hand_m}`);
    assert.ok(pressed.tool.position_m[1] > 0.0155, `the tool stays on the table: ${pressed.tool.position_m}`);
    await page.locator('#guide').filter({ hasText: '1 m/s' }).waitFor();
    await page.mouse.up();
    await page.locator('#guide').filter({ hasText: 'resumes in' }).waitFor();
    await daemon.until('the hand follows its own path again', (state) => !state.hand_guided);
    await page.context().close();
});

test('a softer coupling reduces the force at once', async () => {
    const page = await browser.open(daemon);
    await holdOverTheWood(page, daemon);
    await pull(page, [-0.01, 0.004]);
    const isPressed = ({ force_n: force }) => force[1] > 1.5;
    const { force_n: [, hard] } = await daemon.until('the hand presses on the wood', isPressed);
    const slider = page.locator('#stiffness_n_per_m-slider');
    const place = await slider.evaluate((element) => Number(element.value));
    await slider.fill(String(place - 200));
    const stiffness = async () => (await daemon.get('settings')).coupling.stiffness_n_per_m;
    await until('the gains are softer', async () => await stiffness() < 200);
    await daemon.until('the force is lower', ({ force_n: force }) => force[1] < 0.7 * hard);
    const field = page.locator('#stiffness_n_per_m');
    assert.ok(Number(await field.inputValue()) < 200, 'the field follows the slider');
    // A loaded spring is stiffened only when the energy is available; after a release this does not wait.
    await page.mouse.up();
    await field.fill('300');
    await field.press('Enter');
    await until('the original gains are back', async () => await stiffness() === 300);
    await page.context().close();
});

test('a finger drags the hand', async () => {
    const page = await browser.open(daemon, VIEWS.phone);
    const client = await page.context().newCDPSession(page);
    const touch = (type, points) => client.send('Input.dispatchTouchEvent', {
        type, touchPoints: points.map(([x, y]) => ({ x, y })),
    });
    await page.evaluate(() => document.getElementById('scene').scrollIntoView({ block: 'center' }));
    await until('a finger holds the hand', async () => {
        const hand = await page.evaluate(() => globalThis.hapticd.session.state.hand_m);
        await touch('touchStart', [await onPage(page, hand)]);
        if (await isHolding(page)) return true;
        await touch('touchEnd', []);
        return false;
    });
    const scrolled = await page.evaluate(() => scrollY);
    const target = await onPage(page, [0.03, 0.045]);
    await touch('touchMove', [[target[0] - 5, target[1] - 5]]);
    await touch('touchMove', [target]);
    await daemon.until('the hand follows the finger', ({ hand_m: [x], hand_guided: guided }) => (
        guided && Math.abs(x - 0.03) < 0.02));
    assert.equal(await page.evaluate(() => scrollY), scrolled, 'the page does not scroll with it');
    await touch('touchEnd', []);
    await page.waitForFunction(() => !globalThis.hapticd.guide.isHolding);
    await page.context().close();
});

test('two fingers zoom and pan, and the hand stays free', async () => {
    const page = await browser.open(daemon, VIEWS.phone);
    const client = await page.context().newCDPSession(page);
    const touch = (type, points) => client.send('Input.dispatchTouchEvent', {
        type, touchPoints: points.map(([x, y], id) => ({ x, y, id })),
    });
    await page.evaluate(() => document.getElementById('scene').scrollIntoView({ block: 'center' }));
    const box = await page.locator('#scene').boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + 0.2 * box.height];
    const camera = () => page.evaluate(() => ({ scale: globalThis.hapticd.camera.scale, scrolled: scrollY }));
    // Above all bodies, away from hand and tool.
    await daemon.request('POST', 'pause', { paused: true });
    const before = await camera();
    await touch('touchStart', [[x - 30, y], [x + 30, y]]);
    for (let step = 1; step <= 6; step += 1) await touch('touchMove', [[x - 30 - 5 * step, y], [x + 30 + 5 * step, y]]);
    await touch('touchEnd', []);
    const after = await camera();
    const zoom = after.scale / before.scale;
    assert.ok(Math.abs(zoom - 2) < 0.05, `fingers twice as far apart zoom by ${zoom}`);
    assert.equal(after.scrolled, before.scrolled, 'the page does not scroll with it');
    assert.equal(await isHolding(page), false);
    assert.equal(await page.evaluate(() => visualViewport.scale), 1, 'the browser does not zoom');
    await daemon.request('POST', 'pause', { paused: false });
    await page.context().close();
});

test('arrow keys move the hand and Escape releases it', async () => {
    const page = await browser.open(daemon);
    await page.locator('#scene').focus();
    await page.keyboard.down('ArrowUp');
    await page.waitForFunction(() => globalThis.hapticd.guide.isHolding);
    const from = await page.evaluate(() => globalThis.hapticd.guide.target[1]);
    await page.waitForFunction((y) => globalThis.hapticd.guide.target[1] > y + 0.005, from);
    await page.keyboard.up('ArrowUp');
    await daemon.until('the hand is controlled', (state) => state.hand_guided);
    await page.keyboard.press('Escape');
    await daemon.until('the hand is free again', (state) => !state.hand_guided);
    await page.context().close();
});

test('Escape releases the hand during a drag, and the mouse must be pressed again', async () => {
    const page = await browser.open(daemon);
    await grab(page);
    await daemon.until('the hand is controlled', (state) => state.hand_guided);
    await page.keyboard.press('Escape');
    const view = await page.evaluate(() => globalThis.hapticd.camera.version);
    const [x, y] = await onPage(page, [0.02, 0.05]);
    await page.mouse.move(x, y, { steps: 5 });
    await drawFrames(page, 3);
    assert.equal(await isHolding(page), false, 'the next move does not take the hand again');
    assert.equal(await page.evaluate(() => globalThis.hapticd.camera.version), view, 'the view does not move');
    await daemon.until('the hand is free again', (state) => !state.hand_guided);
    await page.mouse.up();
    await grab(page);
    await page.mouse.up();
    await page.context().close();
});

test('after Escape the keys must be pressed again', async () => {
    const page = await browser.open(daemon);
    await page.locator('#scene').focus();
    await page.keyboard.down('ArrowUp');
    await page.waitForFunction(() => globalThis.hapticd.guide.isHolding);
    await page.keyboard.press('Escape');
    // The repeat of a key that is still down.
    await page.keyboard.down('ArrowUp');
    await drawFrames(page, 3);
    assert.equal(await isHolding(page), false);
    await page.keyboard.up('ArrowUp');
    await page.context().close();
});

test('the first of two pages that take the hand shows that it has lost it', async () => {
    const [first, second] = [await browser.open(daemon), await browser.open(daemon)];
    for (const page of [first, second]) {
        await page.locator('#scene').focus();
        await page.keyboard.down('ArrowUp');
        await page.waitForFunction(() => globalThis.hapticd.session.state.leads);
        await page.keyboard.up('ArrowUp');
    }
    await first.locator('#guide').filter({ hasText: 'Another page controls the hand' }).waitFor();
    assert.equal(await isHolding(first), false);
    assert.equal(await isHolding(second), true);
    await second.keyboard.press('Escape');
    await first.locator('#guide').waitFor({ state: 'hidden' });
    await Promise.all([first, second].map((page) => page.context().close()));
});

test('without a tool arrow keys do not take the hand', async () => {
    const page = await browser.open(daemon);
    await daemon.request('POST', 'scene', { toml: '[[body]]\nname = "ball"\nshape = { disc_radius_m = 0.01 }\n' });
    await page.locator('#scene-name').filter({ hasText: 'from the viewer' }).waitFor();
    await page.locator('#scene').focus();
    await page.keyboard.down('ArrowUp');
    await drawFrames(page, 5);
    assert.equal(await isHolding(page), false);
    await page.keyboard.up('ArrowUp');
    await daemon.request('POST', 'scene', { name: 'table' });
    await page.context().close();
});

test('a hidden page releases the hand', async () => {
    const page = await browser.open(daemon);
    await page.locator('#scene').focus();
    await page.keyboard.press('ArrowUp', { delay: 100 });
    await daemon.until('keys control the hand', (state) => state.hand_guided);
    // A headless page is never hidden, so the event is simulated.
    await page.evaluate(() => {
        Object.defineProperty(document, 'hidden', { value: true });
        document.dispatchEvent(new Event('visibilitychange'));
    });
    assert.equal(await isHolding(page), false);
    await daemon.until('the hand is free again', (state) => !state.hand_guided);
    await page.context().close();
});

test('the console has no errors', () => {
    assert.deepEqual(browser.errors, []);
});

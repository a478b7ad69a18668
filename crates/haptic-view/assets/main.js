/** Entry point: one connection, one session, one frame loop. */

import { Appearance } from './appearance.js';
import { Camera } from './camera.js';
import { Charts } from './charts.js';
import { Connection } from './connection.js';
import { buildCouplingPanel } from './coupling-panel.js';
import { byId } from './dom.js';
import { EmergencyStop } from './emergency-stop.js';
import { Gains } from './gains.js';
import { HandGuide } from './hand-guide.js';
import { Histogram } from './histogram.js';
import { Keyboard } from './keyboard.js';
import { Notices } from './notices.js';
import { Overlays } from './overlays.js';
import { Pointer } from './pointer.js';
import { buildReadouts } from './readouts.js';
import { ScenePicker } from './scene-picker.js';
import { SceneView } from './scene-view.js';
import { Session } from './session.js';
import { StabilityPlot } from './stability-plot.js';
import { Transport } from './transport.js';

/** @typedef {import('./protocol.js').State} State */

/** Time between updates of texts and numbers: short enough to be live, long enough to be read. */
const TEXT_INTERVAL_MS = 150;
/** Fraction of the maximum force. After a larger change of the force the texts are updated at once, so that arrow and
 * number agree. */
const FORCE_STEP = 0.1;
/** Time between two frames of a scene in which nothing changes. */
const IDLE_INTERVAL_MS = 250;

const connection = new Connection();
const session = new Session(connection);
const camera = new Camera();
const guide = new HandGuide(session);
const view = new SceneView(byId('scene'), session, camera, guide);
const pointer = new Pointer(view);
const overlays = new Overlays(view, pointer);
const charts = new Charts(byId('charts'), session);
const gains = new Gains(session);
const stability = new StabilityPlot(byId('stability'), session, gains);
const histogram = new Histogram(byId('histogram'), session);
const emergencyStop = new EmergencyStop(session);
const transport = new Transport(session);
const picker = new ScenePicker(session);
const notices = new Notices(session);
const writeReadouts = buildReadouts(session);
buildCouplingPanel(byId('gains'), gains, session);

/** @type {HTMLDialogElement} */
const help = byId('help');
const openHelp = () => { if (!help.open) help.showModal(); };
byId('help-button').addEventListener('click', openHelp);
byId('zoom-in').addEventListener('click', () => camera.zoom(1.4));
byId('zoom-out').addEventListener('click', () => camera.zoom(1 / 1.4));
byId('zoom-fit').addEventListener('click', () => view.fit());

const appearance = new Appearance(() => {
    view.surface.measure();
    view.draw();
    charts.redraw();
    stability.draw();
    histogram.draw();
});

/** Runs an action only while connected. Otherwise its buttons are disabled, and the banner gives the reason.
 * @param {() => unknown} action */
const withDaemon = (action) => () => { if (connection.connected) action(); };

const keyboard = new Keyboard(view, {
    ' ': withDaemon(() => transport.pause()),
    '.': withDaemon(() => transport.step()),
    r: withDaemon(() => transport.reset()),
    '+': () => camera.zoom(1.25),
    '=': () => camera.zoom(1.25),
    '-': () => camera.zoom(1 / 1.25),
    f: () => view.fit(),
    s: withDaemon(() => picker.open()),
    t: () => appearance.next(),
    // A hand that this page controls is simulated, so that no motor pushes.
    escape: () => { if (guide.isHolding) guide.release(); else emergencyStop.stop(); },
    '?': openHelp,
});

/** For scripts in the console and for the page's tests. */
const page = { session, camera, guide, view, frames: 0 };
Object.assign(globalThis, { hapticd: page });

let textsAt = 0;
let drawnAt = 0;
let drawnView = -1;
/** @type {State|null} */
let drawn = null;
/** @type {State|null} The newest state at the last frame, whether the scene was drawn for it or not. */
let lastState = null;

/** Draws the scene if it changed. A paused world with a resting hand is drawn a few times per second.
 * @param {number} now ms */
function drawScene(now) {
    const isIdle = isStill(drawn, session.state) && camera.version === drawnView
        && !guide.isHolding && !view.isHandHighlighted;
    if (isIdle && now - drawnAt < IDLE_INTERVAL_MS) return;
    [drawnAt, drawnView, drawn] = [now, camera.version, session.state];
    view.draw();
}

/** Whether two states look the same. Only paused ones are compared; in a running world something always moves.
 * @param {State|null} before
 * @param {State|null} after */
function isStill(before, after) {
    if (before === after) return true;
    if (!before?.paused || !after?.paused || before.scene_id !== after.scene_id) return false;
    const values = (/** @type {State} */ { hand_m: hand, force_n: force, bodies }) => [hand, force, ...bodies].flat();
    const [was, is] = [values(before), values(after)];
    return was.every((value, index) => value === is[index]);
}

/** Whether the force differs much from the displayed number. */
function hasForceStep() {
    const [now, displayed] = [session.state, session.displayed].map((state) => state?.force_n ?? [0, 0]);
    return Math.hypot(now[0] - displayed[0], now[1] - displayed[1]) > FORCE_STEP * session.maxForceN;
}

/** @param {number} now ms */
function frame(now) {
    requestAnimationFrame(frame);
    page.frames += 1;
    const isNew = session.state !== lastState;
    lastState = session.state;
    keyboard.advance(now);
    const isTextDue = now - textsAt >= TEXT_INTERVAL_MS || hasForceStep();
    if (isTextDue) session.displayed = session.state;
    drawScene(now);
    overlays.advance(now);
    // Charts advance while the world is paused, because device and loop do as well.
    charts.advance(isNew);
    if (!isTextDue) return;
    textsAt = now;
    charts.showValues();
    writeReadouts();
    emergencyStop.show();
    transport.show();
    notices.show();
}

connection.open();
requestAnimationFrame(frame);

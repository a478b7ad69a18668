/** Numbers above the scene and in the panels, updated slowly enough to be read. */

import { byId } from './dom.js';
import { counted, duration, fixed, prefixed, quantity } from './units.js';

/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('./protocol.js').State} State */
/** @typedef {[name: string, title: string, format: (state: State) => string]} Readout */

/** @type {Readout[]} */
const FORCES = [
    ['Force on hand', 'Magnitude, after all limits', ({ force_n: force }) => quantity(Math.hypot(...force), 2, 'N')],
    ['Normal', 'Sum of the normal forces on the tool', ({ normal_force_n: normal }) => quantity(normal, 2, 'N')],
    ['Friction', 'Sum of the tangential forces on the tool',
        ({ tangent_force_n: tangent }) => quantity(Math.abs(tangent), 2, 'N')],
    ['Penetration', 'Depth of the tool in other bodies', ({ penetration_m: depth }) => quantity(depth * 1e6, 0, 'µm')],
    ['Stretch', 'Distance between hand and handle: deflection of the coupling',
        (state) => quantity(stretch(state) * 1e3, 1, 'mm')],
    ['Running for', 'Time since the daemon’s first tick', ({ t_s: time }) => running(time)],
];

/** @type {Readout[]} */
const DEVICE = [
    ['Sensor data', 'Whether the device sends new data', ({ stale }) => (stale ? 'stale: no force' : 'current')],
    ['Force output', 'Engagement fraction. Ramps up after a start, a fault or a scene change',
        ({ share, paused }) => quantity(paused ? 0 : share * 100, 0, '%')],
];

/** @type {Readout[]} */
const ENERGY = [
    ['Kinetic', 'Of all dynamic bodies', ({ energy }) => prefixed(energy.kinetic_j, 'J', 1e-7)],
    ['Potential', 'In gravity', ({ energy }) => prefixed(energy.potential_j, 'J', 1e-7)],
    ['Coupling', 'In the spring between hand and tool', ({ energy }) => prefixed(energy.coupling_j, 'J', 1e-7)],
    ['Work by the hand', 'On the world since its start', ({ energy }) => prefixed(energy.work_j, 'J', 1e-7)],
    ['Lost to friction', 'Since the start of the world', ({ energy }) => prefixed(energy.friction_j, 'J', 1e-7)],
    ['Lost in impacts', 'Since the start of the world', ({ energy }) => prefixed(energy.impacts_j, 'J', 1e-7)],
    ['Lost to damping', 'In the coupling, since the start of the world',
        ({ energy }) => prefixed(energy.damping_j, 'J', 1e-7)],
    ['Maximum energy gain', 'Energy that the balance cannot explain; zero except for rounding',
        ({ energy }) => prefixed(energy.gain_max_j, 'J')],
    ['Tank level', 'Energy that the device may still deliver to the hand', ({ tank_j: tank }) => prefixed(tank, 'J')],
];

/** @param {number} time s */
function running(time) {
    return time < 1000 ? quantity(time, 1, 's') : quantity(time / 60, 0, 'min');
}

/** @param {State} state */
function stretch({ hand_m: hand, tool }) {
    return tool ? Math.hypot(hand[0] - tool.handle_m[0], hand[1] - tool.handle_m[1]) : 0;
}

/** Builds a list of names and values. Returns a function that updates the values.
 * @param {HTMLElement} parent
 * @param {Readout[]} readouts
 * @param {boolean} isGrouped */
function build(parent, readouts, isGrouped) {
    const values = readouts.map(([name, title]) => {
        const [term, value] = [document.createElement('dt'), document.createElement('dd')];
        term.textContent = name;
        term.title = title;
        value.title = title;
        const group = document.createElement('div');
        if (isGrouped) group.append(term, value);
        parent.append(...(isGrouped ? [group] : [term, value]));
        return value;
    });
    return (/** @type {State} */ state) => values.forEach((value, index) => {
        const text = readouts[index][2](state);
        if (value.textContent !== text) value.textContent = text;
    });
}

/** @param {Session} session
 * @returns {() => void} updates all values */
export function buildReadouts(session) {
    const writeForces = build(byId('readouts'), FORCES, true);
    const writeEnergy = build(byId('energy'), ENERGY, false);
    const writeDeviceState = build(byId('device-now'), DEVICE, false);
    session.addEventListener('settings', () => writeDevice(session));
    session.addEventListener('timing', () => writeTiming(session));
    return () => {
        if (!session.displayed) return;
        writeForces(session.displayed);
        writeEnergy(session.displayed);
        writeDeviceState(session.displayed);
        writeCaption(session.displayed.caption ?? '');
    };
}

/** @param {string} caption */
function writeCaption(caption) {
    const element = byId('caption');
    const text = caption.charAt(0).toUpperCase() + caption.slice(1);
    if (element.textContent !== text) element.textContent = text;
}

/** @param {Session} session */
function writeDevice({ settings }) {
    if (!settings) return;
    const { name, kind, axes, max_force_n: force, model } = settings.device;
    /** @type {[string, string][]} */
    const rows = [
        ['Name', name], ['Kind', kind], ['Axes', String(axes)], ['Maximum force', quantity(force, 1, 'N')],
        ['Limit in use', quantity(settings.limits.max_force_n, 1, 'N')],
    ];
    if (model) {
        rows.push(['Damping', each(model.damping_n_s_per_m, 2, 'N·s/m')]);
        rows.push(['Encoder step', each(scaled(model.encoder_step_m, 1e6), 1, 'µm')]);
    }
    byId('device').replaceChildren(...rows.flatMap(([term, value]) => [
        Object.assign(document.createElement('dt'), { textContent: term }),
        Object.assign(document.createElement('dd'), { textContent: value }),
    ]));
    byId('about').textContent = `hapticd ${settings.version}`;
}

/** @param {number|number[]} value
 * @param {number} factor */
const scaled = (value, factor) => [value].flat().map((one) => one * factor);

/** One value, or one per axis if they differ.
 * @param {number|number[]} value
 * @param {number} decimals
 * @param {string} unit */
function each(value, decimals, unit) {
    const all = [...new Set([value].flat())];
    return `${all.map((one) => fixed(one, decimals)).join(', ')}\u202f${unit}`;
}

/** @param {Session} session */
function writeTiming({ timing }) {
    if (!timing) return;
    const columns = /** @type {const} */ (['p50', 'p99', 'p999', 'max']);
    const titles = ['50 % are faster', '99 % are faster', '99.9 % are faster', 'Slowest'];
    const heads = ['median', '99 %', '99.9 %', 'worst'].map((name, index) => (
        `<th scope="col" title="${titles[index]}">${name}</th>`));
    const row = (/** @type {string} */ name, /** @type {import('./protocol.js').Percentiles} */ ns) => (
        `<tr><th scope="row">${name}</th>${columns.map((column) => `<td>${duration(ns[column])}</td>`).join('')}</tr>`);
    byId('timing').innerHTML = `<thead><tr><td></td>${heads.join('')}</tr></thead><tbody>${
        row('wake-up', timing.wake_ns)}${row('tick', timing.compute_ns)}</tbody>`;
    const late = timing.overruns + timing.skipped;
    const text = byId('timing-text');
    text.textContent = `${counted(timing.ticks)} ticks at ${timing.rate_hz} Hz; ${late === 0 ? 'none late'
        : `${counted(timing.overruns)} late, ${counted(timing.skipped)} skipped`}.`;
    text.title = 'Late: ended after the next deadline. Skipped: periods in which no tick ran.';
    text.dataset.verdict = late === 0 ? 'good' : 'warning';
}

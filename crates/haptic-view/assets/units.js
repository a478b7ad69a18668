/** Formats numbers: fixed decimals, so that they do not change in width; a true minus; always a unit. */

const MINUS = '−';
/** Between number and unit: narrow and non-breaking. */
const SPACE = '\u202f';

/** @param {number} value
 * @param {number} decimals */
export function fixed(value, decimals) {
    const text = (Number.isFinite(value) ? value : 0).toFixed(decimals);
    return /^-0\.?0*$/.test(text) ? text.slice(1) : text.replace('-', MINUS);
}

/** @param {number} value
 * @param {number} decimals
 * @param {string} unit */
export function quantity(value, decimals, unit) {
    return `${fixed(value, decimals)}${SPACE}${unit}`;
}

/** @type {[number, string][]} */
const PREFIXES = [[1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']];

/** Three significant digits with a suitable prefix, such as 1.23 mJ.
 * @param {number} value
 * @param {string} unit
 * @param {number} [min] Smaller values are shown as zero. */
export function prefixed(value, unit, min = 1e-9) {
    const size = Math.abs(value);
    if (!(size >= min)) return `0${SPACE}${unit}`;
    const [factor, prefix] = PREFIXES.find(([smallest]) => size >= 0.9995 * smallest) ?? PREFIXES[3];
    const scaled = value / factor;
    const decimals = Math.abs(scaled) >= 99.95 ? 0 : Math.abs(scaled) >= 9.995 ? 1 : 2;
    return quantity(scaled, decimals, prefix + unit);
}

/** A time in ns, in a suitable unit.
 * @param {number} ns */
export const duration = (ns) => prefixed(ns * 1e-9, 's');

/** A rounded number without trailing zeros, for axes.
 * @param {number} value */
export const plain = (value) => String(Number(value.toPrecision(6))).replace('-', MINUS)
    .replace(/^(−?\d+)(\d{3})$/, `$1${SPACE}$2`);

/** @param {number} count */
export const counted = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, SPACE);

/** @param {number} bytes */
export function size(bytes) {
    if (bytes < 1e3) return `${bytes}${SPACE}B`;
    return bytes < 1e6 ? quantity(bytes / 1e3, 0, 'kB') : quantity(bytes / 1e6, 1, 'MB');
}

/** The largest of 1, 2, 5 times a power of ten that is not above a value.
 * @param {number} value */
export function niceBelow(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    const step = [5, 2, 1].find((factor) => factor * power <= value * (1 + 1e-9)) ?? 1;
    return step * power;
}

/** The smallest of 1, 2, 5 times a power of ten that is not below a value.
 * @param {number} value */
export function niceAbove(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    const step = [1, 2, 5, 10].find((factor) => factor * power >= value * (1 - 1e-9)) ?? 10;
    return step * power;
}

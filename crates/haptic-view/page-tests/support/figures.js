/** Wall-clock figures: printed in every run, checked against their limits only with `scripts/test-page --figures`,
 * on an idle machine. */

import assert from 'node:assert/strict';

const areChecked = process.env.PAGE_FIGURES === 'yes';

/** @param {string} what
 * @param {number} value
 * @param {string} unit
 * @param {{min?: number, max?: number}} limits */
export function report(what, value, unit, { min = -Infinity, max = Infinity }) {
    const limit = min > -Infinity ? `at least ${min}` : `at most ${max}`;
    console.log(`# ${what}: ${value.toFixed(1)} ${unit} (limit: ${limit} ${unit})`);
    assert.ok(Number.isFinite(value), `${what} was measured`);
    if (areChecked) assert.ok(value >= min && value <= max, `${what}: ${value} ${unit}, limit ${limit} ${unit}`);
}

/** @param {number[]} values
 * @param {number} fraction 0 to 1 */
export function quantile(values, fraction) {
    const sorted = [...values].sort((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))];
}

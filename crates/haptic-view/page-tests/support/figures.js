/** Figures of the wall clock: told in every run, held to their limits only with `scripts/test-page --figures`, on a quiet machine. */

import assert from 'node:assert/strict';

const areHeld = process.env.PAGE_FIGURES === 'yes';

/** @param {string} what
 * @param {number} value
 * @param {string} unit
 * @param {{least?: number, most?: number}} limits */
export function tell(what, value, unit, { least = -Infinity, most = Infinity }) {
    const wanted = least > -Infinity ? `at least ${least}` : `at most ${most}`;
    console.log(`# ${what}: ${value.toFixed(1)} ${unit} (wanted: ${wanted} ${unit})`);
    assert.ok(Number.isFinite(value), `${what} was measured`);
    if (areHeld) assert.ok(value >= least && value <= most, `${what}: ${value} ${unit}, wanted ${wanted} ${unit}`);
}

/** @param {number[]} values
 * @param {number} share 0 to 1 */
export function quantile(values, share) {
    const sorted = [...values].sort((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

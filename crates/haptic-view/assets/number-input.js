/** Reads numbers as a person types them. A text that is not clearly one number is rejected, never reinterpreted. */

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** @param {string} text
 * @param {string} example A number to write instead.
 * @returns {{ value: number } | { problem: string }} */
export function parseNumber(text, example) {
    const written = text.trim().replace(/^\u2212/, '-');
    const value = NUMBER.test(written) ? Number(written) : NaN;
    if (Number.isFinite(value)) return { value };
    return { problem: `“${text.trim()}” is not a number; ${remedy(written, example)}` };
}

/** @param {string} written
 * @param {string} example */
function remedy(written, example) {
    const point = written.replace(',', '.');
    const isDecimal = written.includes(',') && NUMBER.test(point) && !/,\d{3}$/.test(written);
    if (isDecimal) return `write ${point}, with a decimal point`;
    return `write digits and at most one decimal point, such as ${example}`;
}

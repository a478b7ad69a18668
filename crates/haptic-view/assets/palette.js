/** The theme's colours, for canvases. */

/** @type {Map<string, string>} */
const known = new Map();

/** A colour of theme.css by its name, without the dashes.
 * @param {string} name */
export function colour(name) {
    let value = known.get(name);
    if (value === undefined) {
        value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
        known.set(name, value);
    }
    return value;
}

/** Clears the cache after a change of theme. */
export function clearColours() {
    known.clear();
}

/** @param {string} hex As #rrggbb.
 * @returns {[number, number, number]} */
function channels(hex) {
    const value = Number.parseInt(hex.slice(1), 16);
    return [value >> 16 & 255, value >> 8 & 255, value & 255];
}

/** Mixes two colours, both as #rrggbb.
 * @param {string} from
 * @param {string} to
 * @param {number} fraction 0: all of the first; 1: all of the second */
export function mix(from, to, fraction) {
    const target = channels(to);
    const mixed = channels(from).map((channel, index) => Math.round(channel + (target[index] - channel) * fraction));
    return `rgb(${mixed.join(' ')})`;
}

/** Black or white, whichever is more readable on a colour.
 * @param {string} hex */
export function readableOn(hex) {
    const [red, green, blue] = channels(hex).map((channel) => (channel / 255) ** 2.2);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? '#101418' : '#ffffff';
}

/** Colour of a load, from zero to the maximum. The line width shows it as well.
 * @param {number} fraction 0 to 1 */
export function loadColour(fraction) {
    const [low, middle, high] = [colour('load-low'), colour('load-middle'), colour('load-high')];
    return fraction < 0.5 ? mix(low, middle, 2 * fraction) : mix(middle, high, Math.min(2 * fraction - 1, 1));
}

/** A bin of many small bodies, as a scene file. */

const COLOURS = ['#cc5555', '#5577cc', '#77aa55', '#d9a441', '#8866aa', '#44a0a0'];

/** @param {number} count Number of bodies in the bin.
 * @returns {string} */
export function pile(count) {
    const box = (name, position, size) => (
        `[[body]]\nname = "${name}"\nfixed = true\nposition_m = [${position}]\nshape = { box_m = [${size}] }\n`);
    const bodies = [
        box('floor', [0, -0.005], [0.17, 0.01]),
        box('left wall', [-0.09, 0.05], [0.01, 0.12]),
        box('right wall', [0.09, 0.05], [0.01, 0.12]),
    ];
    for (let index = 0; index < count; index += 1) {
        const [column, row] = [index % 12, Math.floor(index / 12)];
        const shape = index % 2 ? 'disc_radius_m = 0.005' : 'box_m = [0.01, 0.008]';
        const position = [-0.072 + 0.0125 * column + 0.002 * (row % 2), 0.006 + 0.0115 * row];
        bodies.push(`[[body]]\nname = "piece ${index + 1}"\nposition_m = [${position.join(', ')}]\n`
            + `shape = { ${shape} }\nmass_kg = 0.01\ncolour = "${COLOURS[index % COLOURS.length]}"\n`);
    }
    bodies.push('[[body]]\nname = "stirrer"\nposition_m = [0.0, 0.125]\nshape = { disc_radius_m = 0.007 }\n'
        + 'mass_kg = 0.05\ncolour = "#ef476f"\n');
    return `${bodies.join('\n')}\n[tool]\nbody = "stirrer"\n`;
}

/** The last seconds of a few values, as minimum and maximum per chart column: fast to draw, and no peak is lost. */

/** Time span of the charts, s. */
export const SPAN_S = 8;
const COLUMNS = 320;
const COLUMN_S = SPAN_S / COLUMNS;
const VALUES = 10;

export class History {
    /** Column of the newest sample, counted from time zero. */
    newest = -1;
    #min = new Float64Array(COLUMNS * VALUES);
    #max = new Float64Array(COLUMNS * VALUES);
    /** Column stored in each slot. */
    #columns = new Float64Array(COLUMNS).fill(-1);

    clear() {
        this.newest = -1;
        this.#columns.fill(-1);
    }

    /** @param {number[]} sample Values in the order of SAMPLE in protocol.js. */
    add(sample) {
        const column = Math.floor(sample[0] / COLUMN_S);
        if (column < this.newest) this.clear();
        const slot = column % COLUMNS;
        const isNew = this.#columns[slot] !== column;
        this.#columns[slot] = column;
        this.newest = column;
        for (let value = 0; value < VALUES; value += 1) {
            const at = slot * VALUES + value;
            this.#min[at] = isNew ? sample[value] : Math.min(this.#min[at], sample[value]);
            this.#max[at] = isNew ? sample[value] : Math.max(this.#max[at], sample[value]);
        }
    }

    /** Visits every stored column, oldest first. Its position is 0 at the oldest and 1 at the newest.
     * @param {number} value Index into a sample.
     * @param {(position: number, min: number, max: number) => void} visit */
    each(value, visit) {
        for (let back = COLUMNS - 1; back >= 0; back -= 1) {
            const column = this.newest - back;
            const slot = column % COLUMNS;
            if (column < 0 || this.#columns[slot] !== column) continue;
            const at = slot * VALUES + value;
            visit(1 - back / (COLUMNS - 1), this.#min[at], this.#max[at]);
        }
    }

    /** Minimum and maximum of some values over all columns; null without samples.
     * @param {number[]} values
     * @returns {[number, number]|null} */
    range(values) {
        let [low, high] = [Infinity, -Infinity];
        for (const value of values) {
            this.each(value, (_, min, max) => {
                low = Math.min(low, min);
                high = Math.max(high, max);
            });
        }
        return low <= high ? [low, high] : null;
    }
}

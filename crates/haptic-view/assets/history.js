/** The last seconds of a few values, stored as minimum and maximum per column of a chart: cheap to draw, and no peak is lost. */

/** Time span of the charts, s. */
export const SPAN_S = 8;
const COLUMNS = 320;
const COLUMN_S = SPAN_S / COLUMNS;
const VALUES = 10;

export class History {
    /** Column of the newest sample, counted from time zero. */
    newest = -1;
    #least = new Float64Array(COLUMNS * VALUES);
    #greatest = new Float64Array(COLUMNS * VALUES);
    /** Column of each slot. */
    #holds = new Float64Array(COLUMNS).fill(-1);

    clear() {
        this.newest = -1;
        this.#holds.fill(-1);
    }

    /** @param {number[]} sample As the protocol's SAMPLE names its values. */
    add(sample) {
        const column = Math.floor(sample[0] / COLUMN_S);
        if (column < this.newest) this.clear();
        const slot = column % COLUMNS;
        const isNew = this.#holds[slot] !== column;
        this.#holds[slot] = column;
        this.newest = column;
        for (let value = 0; value < VALUES; value += 1) {
            const at = slot * VALUES + value;
            this.#least[at] = isNew ? sample[value] : Math.min(this.#least[at], sample[value]);
            this.#greatest[at] = isNew ? sample[value] : Math.max(this.#greatest[at], sample[value]);
        }
    }

    /** Visits every stored column, oldest first; `place` is 0 at the oldest and 1 at the newest.
     * @param {number} value Which value of a sample.
     * @param {(place: number, least: number, greatest: number) => void} visit */
    each(value, visit) {
        for (let back = COLUMNS - 1; back >= 0; back -= 1) {
            const column = this.newest - back;
            const slot = column % COLUMNS;
            if (column < 0 || this.#holds[slot] !== column) continue;
            const at = slot * VALUES + value;
            visit(1 - back / (COLUMNS - 1), this.#least[at], this.#greatest[at]);
        }
    }

    /** Minimum and maximum of some values over all columns; null without data.
     * @param {number[]} values
     * @returns {[number, number]|null} */
    range(values) {
        let [low, high] = [Infinity, -Infinity];
        for (const value of values) {
            this.each(value, (_, least, greatest) => {
                low = Math.min(low, least);
                high = Math.max(high, greatest);
            });
        }
        return low <= high ? [low, high] : null;
    }
}

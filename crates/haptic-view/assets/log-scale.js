/** A logarithmic scale whose lower end may mean zero, for gains that span decades and may be zero. */

export class LogScale {
    /** @param {number} low Lower end, above zero. It is lowered if the scale would be shorter than a decade, which
     *   may contain no power of ten.
     * @param {number} high Upper end, above zero.
     * @param {boolean} hasZero Whether the lower end itself means zero. */
    constructor(low, high, hasZero) {
        this.low = Math.min(low, high / 10);
        this.high = high;
        this.hasZero = hasZero;
    }

    /** @param {number} value
     * @returns {number} 0 to 1 */
    position(value) {
        if (value <= this.low) return 0;
        return Math.min(Math.log(value / this.low) / Math.log(this.high / this.low), 1);
    }

    /** @param {number} position 0 to 1
     * @returns {number} rounded to three digits, but never beyond an end, which the daemon would reject */
    value(position) {
        if (position <= 0) return this.hasZero ? 0 : this.low;
        const value = this.low * (this.high / this.low) ** Math.min(position, 1);
        return Math.min(Math.max(Number(value.toPrecision(3)), this.low), this.high);
    }

    /** Powers of ten within the scale. */
    decades() {
        const decades = [];
        const first = Math.ceil(Math.log10(this.low) - 1e-9);
        for (let power = first; 10 ** power <= this.high * (1 + 1e-9); power += 1) decades.push(10 ** power);
        return decades;
    }
}

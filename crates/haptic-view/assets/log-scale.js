/** A logarithmic scale with zero at its lower end, for gains that span decades and may be zero. */

export class LogScale {
    /** @param {number} low Smallest value above zero; lowered if the scale would be shorter than a decade and might have no mark.
     * @param {number} high Above zero.
     * @param {boolean} hasZero Whether the lower end itself means zero. */
    constructor(low, high, hasZero) {
        this.low = Math.min(low, high / 10);
        this.high = high;
        this.hasZero = hasZero;
    }

    /** @param {number} value
     * @returns {number} 0 to 1 */
    place(value) {
        if (value <= this.low) return 0;
        return Math.min(Math.log(value / this.low) / Math.log(this.high / this.low), 1);
    }

    /** @param {number} place 0 to 1
     * @returns {number} rounded to three digits, but never beyond an end, which the daemon would reject */
    value(place) {
        if (place <= 0) return this.hasZero ? 0 : this.low;
        const value = this.low * (this.high / this.low) ** Math.min(place, 1);
        return Math.min(Math.max(Number(value.toPrecision(3)), this.low), this.high);
    }

    /** Powers of ten within the scale. */
    decades() {
        const decades = [];
        for (let power = Math.ceil(Math.log10(this.low) - 1e-9); 10 ** power <= this.high * (1 + 1e-9); power += 1) decades.push(10 ** power);
        return decades;
    }
}

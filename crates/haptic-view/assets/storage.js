/** What the browser keeps for the next visit. One that keeps nothing forgets it with the page, and nothing else changes. */

/** @param {string} key
 * @returns {string|null} */
export function recall(key) {
    try {
        return localStorage.getItem(key);
    } catch {
        return null;
    }
}

/** @param {string} key
 * @param {string|null} value null: forget it. */
export function keep(key, value) {
    try {
        if (value === null) localStorage.removeItem(key);
        else localStorage.setItem(key, value);
    } catch {
        // As above.
    }
}

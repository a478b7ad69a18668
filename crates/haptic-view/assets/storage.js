/** Settings that the browser stores for the next visit. Without storage they last as long as the page. */

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
 * @param {string|null} value null removes it. */
export function keep(key, value) {
    try {
        if (value === null) localStorage.removeItem(key);
        else localStorage.setItem(key, value);
    } catch {
        // As above.
    }
}

/** Values stored in the browser for the next visit. Without storage they last as long as the page. */

/** @param {string} key
 * @returns {string|null} */
export function load(key) {
    try {
        return localStorage.getItem(key);
    } catch {
        return null;
    }
}

/** @param {string} key
 * @param {string|null} value null removes it. */
export function store(key, value) {
    try {
        if (value === null) localStorage.removeItem(key);
        else localStorage.setItem(key, value);
    } catch {
        // Storage is not available.
    }
}

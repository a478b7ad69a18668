/** The page's elements. */

/** An element that index.html has, by its id; of the kind that the caller wants it as.
 * @template {HTMLElement} Kind
 * @param {string} id
 * @returns {Kind} */
export const byId = (id) => /** @type {Kind} */ (document.getElementById(id));

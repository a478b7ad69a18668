/** The page's elements. */

/** An element of index.html by its id, as the type that the caller expects.
 * @template {HTMLElement} Kind
 * @param {string} id
 * @returns {Kind} */
export const byId = (id) => /** @type {Kind} */ (document.getElementById(id));

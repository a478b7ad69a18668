/** Access to the elements of index.html. */

/** An element of index.html by its id, as the type that the caller declares.
 * @template {HTMLElement} Kind
 * @param {string} id
 * @returns {Kind} */
export const byId = (id) => /** @type {Kind} */ (document.getElementById(id));

/** HTTP requests to the daemon. */

/** The token in the page's address, when the daemon listens beyond this machine. */
export const token = new URLSearchParams(location.search).get('token');

/** A URL with the token, for pictures and the stream, which cannot send a header.
 * @param {string} path */
export function withToken(path) {
    if (!token) return path;
    return `${path}${path.includes('?') ? '&' : '?'}token=${encodeURIComponent(token)}`;
}

/** Whether the daemon rejects this page's token or its absence; the token changes with every start. */
export async function isTokenMissing() {
    const response = await fetch(withToken('/api/timing')).catch(() => null);
    return response?.status === 401;
}

/** @param {Response} response */
async function reason(response) {
    const answer = await response.json().catch(() => null);
    return answer?.error ?? `The daemon answered ${response.status} ${response.statusText}.`;
}

/** Sends a request. Throws an error with a message for the user.
 * @param {'GET'|'POST'|'PATCH'} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>} */
export async function ask(method, path, body) {
    /** @type {Record<string, string>} */
    const headers = {};
    if (body) headers['Content-Type'] = 'application/json';
    if (token) headers.Authorization = `Bearer ${token}`;
    const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) })
        .catch(() => { throw new Error('The daemon does not answer.'); });
    if (!response.ok) throw new Error(await reason(response));
    return response.json().catch(() => null);
}

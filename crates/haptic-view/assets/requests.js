/** HTTP requests to the daemon. */

/** The token in the page's own address, if the daemon listens beyond loopback. */
export const token = new URLSearchParams(location.search).get('token');

/** Appends the token to an address. For requests that cannot carry a header: pictures and the stream.
 * @param {string} path */
export function withToken(path) {
    if (!token) return path;
    return `${path}${path.includes('?') ? '&' : '?'}token=${encodeURIComponent(token)}`;
}

/** Whether the daemon responds but rejects this page's token or lack of one. It has a new token after each start. */
export async function isTokenMissing() {
    const response = await fetch(withToken('/api/timing')).catch(() => null);
    return response?.status === 401;
}

/** @param {Response} response */
async function errorText(response) {
    const body = await response.json().catch(() => null);
    return body?.error ?? `The daemon responded with ${response.status} ${response.statusText}.`;
}

/** Sends a request to the daemon. Throws an error with a message for the user.
 * @param {'GET'|'POST'|'PATCH'} method
 * @param {string} path
 * @param {object} [body]
 * @param {AbortSignal} [signal] Withdraws the request.
 * @returns {Promise<any>} */
export async function request(method, path, body, signal) {
    /** @type {Record<string, string>} */
    const headers = {};
    if (body) headers['Content-Type'] = 'application/json';
    if (token) headers.Authorization = `Bearer ${token}`;
    const response = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal })
        .catch(() => { throw new Error('The daemon does not respond.'); });
    if (!response.ok) throw new Error(await errorText(response));
    return response.json().catch(() => null);
}

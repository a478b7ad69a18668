/** Requests to the daemon that change something or ask once. */

/** The token of the page's own address, when the daemon listens beyond this machine. */
export const token = new URLSearchParams(location.search).get('token');

/** An address with the token, for what cannot carry a header: pictures and the stream.
 * @param {string} path */
export function withToken(path) {
    if (!token) return path;
    return `${path}${path.includes('?') ? '&' : '?'}token=${encodeURIComponent(token)}`;
}

/** Whether the daemon answers but wants a token, or another one than this page's: it has a new one after each start. */
export async function isTokenMissing() {
    const response = await fetch(withToken('/api/timing')).catch(() => null);
    return response?.status === 401;
}

/** @param {Response} response */
async function reason(response) {
    const answer = await response.json().catch(() => null);
    return answer?.error ?? `The daemon answered ${response.status} ${response.statusText}.`;
}

/** Asks the daemon. Fails with words for people.
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

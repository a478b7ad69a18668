/** Starts the daemon for a test and sends it requests. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

const program = process.env.HAPTICD ?? 'hapticd';
const START_MS = 30_000;

/** A free port. */
function freePort() {
    return new Promise((resolve, reject) => {
        const probe = createServer();
        probe.on('error', reject);
        probe.listen(0, '127.0.0.1', () => {
            const { port } = probe.address();
            probe.close(() => resolve(port));
        });
    });
}

/** Waits until a condition holds.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>|T} probe
 * @param {number} [limitMs]
 * @returns {Promise<T>} */
export async function until(what, probe, limitMs = 60_000) {
    const end = Date.now() + limitMs;
    for (;;) {
        const value = await probe();
        if (value) return value;
        if (Date.now() > end) throw new Error(`timeout: ${what}`);
        await new Promise((resolve) => { setTimeout(resolve, 20); });
    }
}

export class Daemon {
    /** Its working folder. */
    folder = mkdtempSync(path.join(tmpdir(), 'hapticd-page-'));
    log = '';
    #process = null;
    /** @type {Set<Daemon>} Daemons not ended yet. */
    static #running = new Set();

    /** Ends all daemons that a failed test left running; they would keep the tests from ending. */
    static async endAll() {
        await Promise.all([...Daemon.#running].map((daemon) => daemon.end()));
    }

    /** @param {string[]} [flags]
     * @param {Record<string, string>} [files] Contents of its folder, by name.
     * @param {string} [listen] Address to listen on. */
    static async start(flags = [], files = {}, listen = '127.0.0.1') {
        const daemon = new Daemon();
        daemon.listen = listen;
        daemon.flags = flags;
        for (const [name, text] of Object.entries(files)) daemon.write(name, text);
        daemon.port = await freePort();
        Daemon.#running.add(daemon);
        daemon.url = `http://127.0.0.1:${daemon.port}`;
        await daemon.run();
        return daemon;
    }

    /** Starts it, or restarts it after a stop, at the same address. */
    async run() {
        const child = spawn(program, ['run', '--view', `${this.listen}:${this.port}`, ...this.flags], {
            cwd: this.folder,
            env: { ...process.env, XDG_STATE_HOME: this.folder },
            stdio: ['ignore', 'ignore', 'pipe'],
        });
        this.#process = child;
        child.stderr.on('data', (text) => { this.log += text; });
        const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
        await until('the daemon responds', async () => {
            if (hasEnded()) throw new Error(`the daemon ended with ${child.exitCode}:\n${this.log}`);
            return fetch(`${this.url}/api/state`, { headers: this.#headers() }).then(({ ok }) => ok).catch(() => false);
        }, START_MS);
    }

    /** Writes a file into its folder.
     * @param {string} name
     * @param {string} text */
    write(name, text) {
        writeFileSync(path.join(this.folder, name), text);
    }

    /** Stops it by SIGTERM. */
    async stop() {
        const child = this.#process;
        if (!child || child.exitCode !== null) return;
        const ended = new Promise((resolve) => { child.on('exit', resolve); });
        child.kill('SIGTERM');
        await ended;
    }

    /** Stops it and removes its folder. */
    async end() {
        await this.stop();
        Daemon.#running.delete(this);
        rmSync(this.folder, { recursive: true, force: true });
    }

    /** The token that it printed, if it requires one. */
    get token() {
        return /\?token=([0-9a-f]+)/.exec(this.log)?.[1];
    }

    /** Address to open in a browser. */
    get address() {
        return this.token ? `${this.url}/?token=${this.token}` : this.url;
    }

    #headers() {
        return this.token ? { Authorization: `Bearer ${this.token}` } : {};
    }

    /** @param {string} path */
    async get(path) {
        const response = await fetch(`${this.url}/api/${path}`, { headers: this.#headers() });
        return response.json();
    }

    state() {
        return this.get('state');
    }

    /** Waits until the state meets a condition. A timeout reports the last state.
     * @param {string} what
     * @param {(state: any) => unknown} isWanted
     * @returns {Promise<any>} the state */
    async until(what, isWanted) {
        let state;
        return until(what, async () => {
            state = await this.state();
            return isWanted(state) && state;
        }).catch((error) => {
            const { tick, phase, paused, hand_m, hand_guided, tool, force_n, contacts, fault } = state;
            const last = { tick, phase, paused, hand_m, hand_guided, tool, force_n, contacts, fault };
            throw new Error(`${error.message}; last state: ${JSON.stringify(last)}`);
        });
    }

    /** Switches to another scene. Retries while the previous one is still being prepared.
     * @param {{name: string}|{toml: string}} scene */
    async switchTo(scene) {
        await until('the scene is accepted', async () => {
            const { status, body } = await this.request('POST', 'scene', scene);
            if (status !== 200 && status !== 503) {
                throw new Error(`scene rejected with ${status}: ${JSON.stringify(body)}`);
            }
            return status === 200;
        });
    }

    /** @param {string} method
     * @param {string} path
     * @param {object} body */
    async request(method, path, body = {}) {
        const response = await fetch(`${this.url}/api/${path}`, {
            method, headers: { 'Content-Type': 'application/json', ...this.#headers() }, body: JSON.stringify(body),
        });
        return { status: response.status, body: await response.json() };
    }
}

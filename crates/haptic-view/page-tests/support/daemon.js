/** Starts the daemon for a test and asks it what it does. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

const program = process.env.HAPTICD ?? 'hapticd';
const START_MS = 30_000;

/** A port that is free now. */
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

/** Waits until something holds; the test's own time limit is the only other end.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>|T} probe
 * @param {number} [limitMs]
 * @returns {Promise<T>} */
export async function until(what, probe, limitMs = 20_000) {
    const end = Date.now() + limitMs;
    for (;;) {
        const value = await probe();
        if (value) return value;
        if (Date.now() > end) throw new Error(`it never came true that ${what}`);
        await new Promise((resolve) => { setTimeout(resolve, 20); });
    }
}

export class Daemon {
    /** Where it runs and writes: a folder of its own. */
    folder = mkdtempSync(path.join(tmpdir(), 'hapticd-page-'));
    log = '';
    #process = null;

    /** @param {string[]} [flags]
     * @param {Record<string, string>} [files] What is in its folder, by name. */
    static async start(flags = [], files = {}) {
        const daemon = new Daemon();
        daemon.flags = flags;
        for (const [name, text] of Object.entries(files)) daemon.write(name, text);
        daemon.port = await freePort();
        daemon.url = `http://127.0.0.1:${daemon.port}`;
        await daemon.run();
        return daemon;
    }

    /** Starts it, again after a stop, at the same address. */
    async run() {
        const child = spawn(program, ['run', '--view', `127.0.0.1:${this.port}`, ...this.flags], {
            cwd: this.folder,
            env: { ...process.env, XDG_STATE_HOME: this.folder },
            stdio: ['ignore', 'ignore', 'pipe'],
        });
        this.#process = child;
        child.stderr.on('data', (text) => { this.log += text; });
        const isGone = () => child.exitCode !== null || child.signalCode !== null;
        await until('the daemon serves', async () => {
            if (isGone()) throw new Error(`the daemon ended with ${child.exitCode}:\n${this.log}`);
            return fetch(`${this.url}/api/state`).then(({ ok }) => ok).catch(() => false);
        }, START_MS);
    }

    /** Writes a file into its folder.
     * @param {string} name
     * @param {string} text */
    write(name, text) {
        writeFileSync(path.join(this.folder, name), text);
    }

    /** Ends it through its safe path. */
    async stop() {
        const child = this.#process;
        if (!child || child.exitCode !== null) return;
        const ended = new Promise((resolve) => { child.on('exit', resolve); });
        child.kill('SIGTERM');
        await ended;
    }

    /** Ends it for good. */
    async end() {
        await this.stop();
        rmSync(this.folder, { recursive: true, force: true });
    }

    /** @param {string} what */
    async get(what) {
        const response = await fetch(`${this.url}/api/${what}`);
        return response.json();
    }

    state() {
        return this.get('state');
    }

    /** Waits until the state is as wanted, and says what it was when it never came to that.
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
            throw new Error(`${error.message}; at last: ${JSON.stringify({ tick, phase, paused, hand_m, hand_guided, tool, force_n, contacts, fault })}`);
        });
    }

    /** @param {string} method
     * @param {string} what
     * @param {object} body */
    async ask(method, what, body = {}) {
        const response = await fetch(`${this.url}/api/${what}`, {
            method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
        });
        return { status: response.status, body: await response.json() };
    }
}

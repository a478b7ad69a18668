/** Starts the daemon for a test and asks it what it does. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
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

    /** @param {string[]} flags */
    static async start(flags = []) {
        const daemon = new Daemon();
        daemon.flags = flags;
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

/** Scene picker: built-in scenes with pictures, or a scene file. */

import { byId } from './dom.js';
import { orToast, toast } from './notices.js';
import { request, withToken } from './requests.js';

/** Larger files are not scenes. */
const MAX_FILE_BYTES = 1_000_000;

export class ScenePicker {
    /** @param {import('./session.js').Session} session */
    constructor(session) {
        /** @type {HTMLDialogElement} */
        this.dialog = byId('scenes-dialog');
        byId('scene-button').addEventListener('click', () => this.open());
        /** @type {HTMLInputElement} */
        const file = byId('scene-file');
        file.addEventListener('change', () => {
            const [chosen] = file.files ?? [];
            file.value = '';
            if (chosen) this.#load(chosen);
        });
        this.#acceptDrops(session.connection);
        session.addEventListener('scene', () => {
            const name = session.scene?.name ?? '';
            byId('scene-name').textContent = name;
            document.title = `${name} – hapticd`;
        });
    }

    open() {
        return orToast(async () => {
            const { scenes, current } = await request('GET', '/api/scenes');
            /** @type {import('./protocol.js').SceneEntry[]} */
            const entries = scenes;
            byId('scene-list').replaceChildren(...entries.map((entry) => this.#card(entry, entry.name === current)));
            if (!this.dialog.open) this.dialog.showModal();
        });
    }

    /** @param {import('./protocol.js').SceneEntry} entry
     * @param {boolean} isCurrent */
    #card({ name, title, description, thumbnail }, isCurrent) {
        const card = Object.assign(document.createElement('button'), { className: 'scene-card', type: 'button' });
        card.dataset.scene = name;
        if (isCurrent) card.setAttribute('aria-current', 'true');
        const picture = Object.assign(document.createElement('img'), {
            src: withToken(thumbnail), alt: '', loading: 'lazy',
        });
        const caption = document.createElement('span');
        caption.textContent = title === name ? '' : title;
        card.title = description;
        card.append(picture, Object.assign(document.createElement('b'), { textContent: name }), caption);
        card.addEventListener('click', () => this.#choose({ name }));
        return card;
    }

    /** @param {{name: string}|{toml: string}} scene */
    #choose(scene) {
        this.dialog.close();
        return orToast(() => request('POST', '/api/scene', scene));
    }

    /** @param {File} file */
    #load(file) {
        if (file.size > MAX_FILE_BYTES) return toast(`${file.name} is too large for a scene file (more than 1 MB).`);
        return orToast(async () => {
            const toml = await file.text();
            await this.#choose({ toml });
        });
    }

    /** Loads dropped files, and ignores them while offline. Without a handler the browser would open the file instead
     * of this page.
     * @param {import('./connection.js').Connection} connection */
    #acceptDrops(connection) {
        const root = document.documentElement;
        root.addEventListener('dragover', (event) => {
            event.preventDefault();
            root.classList.toggle('dragging-file', connection.connected);
        });
        root.addEventListener('dragleave', (event) => {
            if (!event.relatedTarget) root.classList.remove('dragging-file');
        });
        root.addEventListener('drop', (event) => {
            event.preventDefault();
            root.classList.remove('dragging-file');
            const file = event.dataTransfer?.files[0];
            if (file && connection.connected) this.#load(file);
        });
    }
}

// Runs before the first paint, so that the page does not flash in the wrong theme. The rest is in appearance.js.
(() => {
    const root = document.documentElement;
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'dark' : 'light';
    try {
        const theme = localStorage.getItem('hapticd.theme');
        if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
        if (localStorage.getItem('hapticd.large-type') === 'yes') root.dataset.type = 'large';
    } catch {
        // Without storage the page shows the system's theme.
    }
})();

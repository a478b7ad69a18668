// Runs before the first paint, so that a chosen theme does not flash up in the other one. The rest is in appearance.js.
(() => {
    const root = document.documentElement;
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'dark' : 'light';
    try {
        const theme = localStorage.getItem('hapticd.theme');
        if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
        if (localStorage.getItem('hapticd.large-type') === 'yes') root.dataset.type = 'large';
    } catch {
        // A browser that keeps nothing shows the system's theme.
    }
})();

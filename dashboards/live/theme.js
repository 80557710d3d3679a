// A plain script, not a module, so that it runs before the first paint.
(() => {
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');

  /** Applies `light`, `dark` or `system` and keeps the choice in the browser. */
  globalThis.chooseTheme = (choice) => {
    root.dataset.choice = choice;
    const followed = system.matches ? 'dark' : 'light';
    root.dataset.theme = choice === 'system' ? followed : choice;
    try {
      localStorage.setItem('theme', choice);
    } catch {
      // Storage may be disabled: the choice then lasts until the page closes.
    }
  };

  let kept;
  try {
    kept = localStorage.getItem('theme');
  } catch {
    // Storage may be disabled: use the system's theme.
  }
  chooseTheme(['light', 'dark'].includes(kept) ? kept : 'system');
  system.addEventListener('change', () => chooseTheme(root.dataset.choice));
})();

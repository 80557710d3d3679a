// A plain script, not a module: it runs before the page is drawn.
(() => {
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');

  /** Takes over `light`, `dark` or `system`; kept where the browser keeps things. */
  globalThis.chooseTheme = (choice) => {
    root.dataset.choice = choice;
    const followed = system.matches ? 'dark' : 'light';
    root.dataset.theme = choice === 'system' ? followed : choice;
    try {
      localStorage.setItem('theme', choice);
    } catch {
      // Storage may be switched off: the choice holds until the page is left.
    }
  };

  let kept;
  try {
    kept = localStorage.getItem('theme');
  } catch {
    // Likewise: the system's theme will do.
  }
  chooseTheme(['light', 'dark'].includes(kept) ? kept : 'system');
  system.addEventListener('change', () => chooseTheme(root.dataset.choice));
})();

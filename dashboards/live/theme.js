// A plain script, not a module: it runs before the page is drawn.
(() => {
  const themes = ['light', 'dark'];
  let kept;
  try {
    kept = localStorage.getItem('theme');
  } catch {
    // Storage may be switched off; the system's theme will do.
  }
  if (themes.includes(kept)) document.documentElement.dataset.theme = kept;
})();

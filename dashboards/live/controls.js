/** The reader's choices. The address holds the range, so that links keep it; the browser, the theme. */

const SECONDS = { '5m': 300, '15m': 900, '1h': 3600, '6h': 21_600, '24h': 86_400 };

/** @param {() => void} changed called after another range was chosen */
export function rangeControl(changed) {
  const inputs = [...document.querySelectorAll('#range input')];
  const asked = new URLSearchParams(location.search).get('range');
  for (const input of inputs) {
    if (input.value === asked) input.checked = true;
    input.addEventListener('change', () => {
      const url = new URL(location.href);
      url.searchParams.set('range', input.value);
      history.replaceState(null, '', url);
      changed();
    });
  }
  return { seconds: () => SECONDS[inputs.find(({ checked }) => checked).value] };
}

/** @param {() => void} changed called after the colours changed, by hand or by the system */
export function themeControl(changed) {
  const select = document.getElementById('theme');
  const root = document.documentElement;
  select.value = root.dataset.choice;
  select.addEventListener('change', () => chooseTheme(select.value));
  new MutationObserver(changed).observe(root, { attributeFilter: ['data-theme'] });
}

/**
 * The reader's choices. The address holds the route and the range, so that links keep them; the browser
 * holds the theme.
 */
import { chosenRoute } from './routes.js';

const SECONDS = { '5m': 300, '15m': 900, '1h': 3600, '6h': 21_600, '24h': 86_400 };

/**
 * The choice of a route; hidden if there is only one.
 * @param {import('./routes.js').Route[]} routes
 * @param {() => void} changed called after another route was chosen
 */
export function routeControl(routes, changed) {
  const select = document.getElementById('route');
  select.append(...routes.map(({ name }) => new Option(name)));
  select.value = chosenRoute(routes, location.search).name;
  select.parentElement.hidden = routes.length < 2;
  select.addEventListener('change', () => {
    keepInAddress('route', select.value);
    changed();
  });
  return { chosen: () => routes.find(({ name }) => name === select.value) };
}

/** @param {() => void} changed called after another range was chosen */
export function rangeControl(changed) {
  const inputs = [...document.querySelectorAll('#range input')];
  const asked = new URLSearchParams(location.search).get('range');
  for (const input of inputs) {
    if (input.value === asked) input.checked = true;
    input.addEventListener('change', () => {
      keepInAddress('range', input.value);
      changed();
    });
  }
  return { seconds: () => SECONDS[inputs.find(({ checked }) => checked).value] };
}

function keepInAddress(parameter, value) {
  const url = new URL(location.href);
  url.searchParams.set(parameter, value);
  history.replaceState(null, '', url);
}

/** @param {() => void} changed called after the colours changed, by hand or by the system */
export function themeControl(changed) {
  const select = document.getElementById('theme');
  const root = document.documentElement;
  select.value = root.dataset.choice;
  select.addEventListener('change', () => chooseTheme(select.value));
  new MutationObserver(changed).observe(root, { attributeFilter: ['data-theme'] });
}

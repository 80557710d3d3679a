// User input is set as text or as an attribute, never as markup.
import { showQr } from './qr-image.js';

/** The key in localStorage. There are no accounts: only the browser knows which links were made in it. */
const KEPT = 'links';
const MOST_KEPT = 10;
const byId = (id) => document.getElementById(id);
const form = byId('link-form');
const input = byId('link-url');
const submit = byId('link-submit');
const status = byId('result-status');
/** The ids of the links made in this browser, newest first. */
let own = [];

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  showError('');
  submit.disabled = true;
  try {
    const link = await requestJson('/api/links', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ url: withScheme(input.value.trim()) }),
    });
    showResult(link);
    input.value = '';
    keep(link.id);
    await showLatest();
  } catch (error) {
    showError(error.message);
    input.focus();
  } finally {
    submit.disabled = false;
  }
});

byId('result-copy').addEventListener('click', async () => {
  try {
    await navigator.clipboard.writeText(byId('result-short').href);
    status.textContent = 'Copied.';
  } catch {
    status.textContent = 'Copying is not allowed here: select the link and copy it.';
  }
});

/** People type example.com/x; the API requires the scheme. */
function withScheme(text) {
  return /^[\w-]+(\.[\w-]+)+(:\d+)?([/?#]|$)/.test(text) ? `https://${text}` : text;
}

async function requestJson(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error('The server cannot be reached. Try again in a moment.');
  }
  const body = await response.json().catch(() => undefined);
  if (response.ok && body) return body;
  throw new Error(sentence(body?.error?.message ?? `The server answered ${response.status}`));
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function showError(message) {
  byId('link-error').textContent = message;
  if (message) input.setAttribute('aria-invalid', 'true');
  else input.removeAttribute('aria-invalid');
}

function showResult(link) {
  const short = byId('result-short');
  short.href = link.short_url;
  short.textContent = link.short_url;
  byId('result-target').textContent = link.url;
  const image = byId('result-qr');
  status.textContent = '';
  showQr(image, link.short_url, status);
  byId('result-download').href = image.src;
  byId('result').hidden = false;
  byId('link-made').textContent = `Your short link is ${link.short_url}`;
}

/** Reads the list anew, as other tabs write to the same key. */
function readOwn() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT));
    if (Array.isArray(kept)) own = kept.map(String).slice(0, MOST_KEPT);
  } catch {
    // Storage may be disabled: the list then lasts until the page closes.
  }
}

function keep(id) {
  readOwn();
  own = [id, ...own].slice(0, MOST_KEPT);
  try {
    localStorage.setItem(KEPT, JSON.stringify(own));
  } catch {
    // As above.
  }
}

async function showLatest() {
  readOwn();
  const ids = new URLSearchParams(own.map((id) => ['id', id]));
  const { links } = own.length > 0 ? await requestJson(`/api/links?${ids}`) : { links: [] };
  byId('latest').replaceChildren(...links.map(latestItem));
  byId('latest-empty').hidden = links.length > 0;
}

function latestItem(link) {
  const short = make('a', {
    href: link.short_url,
    textContent: link.short_url.replace(/^https?:\/\//, ''),
  });
  const target = make('span', { className: 'to', textContent: link.url, title: link.url });
  const visits = make('span', {
    className: 'visits',
    textContent: link.visits === 1 ? '1 visit' : `${link.visits} visits`,
  });
  const show = make('button', { type: 'button', className: 'quiet', textContent: 'QR code' });
  show.setAttribute('aria-label', `QR code of ${link.short_url}`);
  show.addEventListener('click', () => {
    showResult(link);
    byId('result').scrollIntoView({ block: 'nearest' });
  });
  const item = make('li');
  item.dataset.testid = 'latest-item';
  item.append(short, target, visits, show);
  return item;
}

function make(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties);
}

showLatest().catch((error) => showError(error.message));

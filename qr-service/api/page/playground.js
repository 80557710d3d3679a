/** The playground: the form and its picture. The answer to the last request wins. */
import { applies, element, field, groups, values } from './form.js';
import { SNIPPETS } from './snippets.js';

const DEBOUNCE_MS = 150;
/** Limits at which a picture still scans, but only just. The page warns beyond them. */
const LITTLE_CONTRAST = 0.55;
const FEW_PIXELS = 3;
const SMALL_MODULE_MM = 0.33;
const LARGE_SYMBOL = 117;

const at = (id) => document.getElementById(id);
const [form, content, frame, picture, state] = ['form', 'content', 'frame', 'picture', 'state'].map(
  at,
);
let api;
let running;
let timer;

/** The path of the chosen content, without an extension. */
const path = () => (content.value ? `/v1/payload/${content.value}` : '/v1/qr');
const isSecret = () => Boolean(content.value) && !api.paths[path()].get;

/** The request for one format, with the options that have an effect on it. */
function request(format) {
  const all = values(form);
  const kind = all.kind ?? 'qr';
  const kept = Object.entries(all).filter(
    ([name]) => name !== 'format' && applies(name, format, kind),
  );
  const url = new URL(`${path()}.${format}`, location.href);
  if (isSecret()) {
    return { url: url.href, extension: format, json: JSON.stringify(Object.fromEntries(kept)) };
  }
  const query = kept.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  // RFC 3986 allows these characters, but they would break quoted strings in the code.
  url.search = query.replace(/['()*!]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return { url: url.href, extension: format };
}

async function ask({ url, json }, signal) {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: json };
  for (let tries = 1; ; tries++) {
    const answer = await fetch(url, { signal, ...(json && post) });
    if (![429, 503].includes(answer.status) || tries === 3) return answer;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/** Shows the fields that have an effect with the format and the kind. */
function showFields() {
  const format = form.elements.format?.value || 'png';
  const kind = form.elements.kind?.value || 'qr';
  for (const it of form.querySelectorAll('[data-option]')) {
    it.hidden = !applies(it.dataset.option, format, kind);
  }
}

function showProblem(problem, status) {
  const faults = problem?.faults ?? [];
  const shown = faults.filter(({ parameter, detail, suggestion }) => {
    const place = at(`fault-${parameter}`);
    const input = at(`option-${parameter}`);
    if (!place || input.closest('[hidden]')) return false;
    place.textContent = suggestion ? `${detail}; ${suggestion}` : detail;
    input.setAttribute('aria-invalid', 'true');
    return true;
  });
  const lines = faults.map(({ parameter, detail, suggestion }) =>
    [`${parameter}: ${detail}`, suggestion].filter(Boolean).join('; '),
  );
  if (!lines.length) lines.push(problem?.detail ?? `The service answered ${status}.`);
  at('problems').replaceChildren(...lines.map((textContent) => element('li', { textContent })));
  state.textContent = shown.length ? 'No picture: see the marked options.' : 'No picture.';
  frame.classList.add('stale');
}

function clear() {
  at('problems').replaceChildren();
  at('warnings').replaceChildren();
  for (const it of form.querySelectorAll('[aria-invalid]')) it.removeAttribute('aria-invalid');
  for (const it of form.querySelectorAll('[id^="fault-"]')) it.textContent = '';
}

/** Luma of a colour over white, 0 to 1 (ITU-R BT.601), as decoders compute it. */
function luma(color = '') {
  const digits = color.replace(/^#/, '');
  const pairs = digits.length < 6 ? digits.replace(/./g, '$&$&') : digits;
  const [red, green, blue, alpha = 255] = pairs.match(/../g).map((it) => Number.parseInt(it, 16));
  const over = (0.299 * red + 0.587 * green + 0.114 * blue) / 255;
  return over * (alpha / 255) + (1 - alpha / 255);
}

/** Warnings about properties of a picture that are close to making it unreadable. */
function warnings(format, headers) {
  const {
    kind = 'qr',
    dark = '000',
    light = 'fff',
    size,
    scale = 8,
    width_mm = 40,
    ...all
  } = values(form);
  const [width, height] = (headers.get('x-qr-modules') ?? '0x0').split('x').map(Number);
  const standard = kind === 'qr' ? 4 : 2;
  const margin = all.margin ?? standard;
  const across = width + 2 * margin;
  const found = [];
  if (margin < standard && format !== 'json') {
    found.push(
      `The quiet zone is below ${standard} modules: leave that much light space around the picture.`,
    );
  }
  const contrast = luma(light) - luma(dark);
  if (['png', 'svg'].includes(format) && contrast < LITTLE_CONTRAST) {
    found.push(
      `The contrast is ${Math.round(contrast * 100)} %; below 40 % the service refuses the picture.`,
    );
  }
  const pixels = size ? size / across : scale;
  if ((format === 'png' || size) && pixels < FEW_PIXELS && format !== 'pdf' && format !== 'eps') {
    found.push(
      `A module is ${pixels.toFixed(1)} pixels wide: show it larger, or let it have ${across * FEW_PIXELS} pixels.`,
    );
  }
  const millimetres = width_mm / across;
  if (['pdf', 'eps'].includes(format) && millimetres < SMALL_MODULE_MM) {
    found.push(
      `A module is ${millimetres.toFixed(2)} mm wide; phones read ${SMALL_MODULE_MM} mm and more.`,
    );
  }
  if (Math.max(width, height) >= LARGE_SYMBOL && kind === 'qr') {
    found.push(
      `The symbol has ${width} x ${height} modules: phones need it large and near. A shorter text helps.`,
    );
  }
  return found;
}

function showPicture(blob) {
  URL.revokeObjectURL(picture.src);
  picture.src = URL.createObjectURL(blob);
  const text = values(form).text;
  picture.alt = text ? `QR code of ${text}` : 'QR code';
  picture.hidden = false;
  at('characters').hidden = true;
}

function describe(headers, bytes) {
  const of = (name) => headers.get(`x-qr-${name}`);
  const names = { qr: 'QR', micro: 'Micro QR', rmqr: 'rMQR' };
  const parts = Number(of('parts')) > 1 ? `, one of ${of('parts')} symbols` : '';
  const [level, mask] = [of('level'), of('mask')];
  return [
    `${names[of('kind')] ?? 'QR'} version ${of('version')}`,
    level && `level ${level}`,
    mask && `mask ${mask}`,
    `${of('modules')?.replace('x', ' x ')} modules${parts}`,
    `${bytes} bytes`,
  ]
    .filter(Boolean)
    .join(', ');
}

async function showAnswer(format, answer, signal) {
  const blob = await answer.blob();
  if (format === 'txt' || format === 'json') {
    const text = await blob.text();
    at('characters').textContent =
      format === 'json' ? JSON.stringify(JSON.parse(text), null, 1) : text;
    at('characters').hidden = false;
    picture.hidden = true;
  } else if (format === 'png' || format === 'svg') {
    showPicture(blob);
  } else {
    // Browsers cannot show PDF and EPS as images, so the page shows an SVG.
    const shown = await ask(request('svg'), signal);
    if (shown.ok) showPicture(await shown.blob());
  }
  state.textContent = describe(answer.headers, blob.size);
  const told = warnings(format, answer.headers).map((textContent) =>
    element('li', { textContent }),
  );
  at('warnings').replaceChildren(...told);
  frame.classList.remove('stale');
}

/** Whether there is nothing to encode yet. */
function isEmpty() {
  const required = [...form.querySelectorAll('#content-fields [required]')];
  const all = values(form);
  if (required.length) return required.some(({ name }) => !(name in all));
  return !content.value && !all.text && !all.data;
}

/** Requests the picture of the form. Drops the answer if a later request has begun. */
async function update() {
  running?.abort();
  const mine = new AbortController();
  running = mine;
  const format = form.elements.format.value || 'png';
  showCode();
  if (isEmpty()) {
    clear();
    state.textContent = 'Type something, and its code is shown here.';
    frame.classList.add('stale');
    return;
  }
  try {
    const answer = await ask(request(format), mine.signal);
    if (mine !== running) return;
    clear();
    if (answer.ok) return await showAnswer(format, answer, mine.signal);
    const problem = await answer.json().catch(() => undefined);
    if (mine === running) showProblem(problem, answer.status);
  } catch (error) {
    if (error.name !== 'AbortError') showProblem({ detail: 'The service cannot be reached.' });
  }
}

function changed() {
  showFields();
  showCode();
  clearTimeout(timer);
  timer = setTimeout(update, DEBOUNCE_MS);
}

function showCode() {
  const format = form.elements.format.value || 'png';
  const [, make] = SNIPPETS[at('language').selectedIndex];
  at('code').textContent = make(request(format));
  at('copied').textContent = '';
}

async function download(format) {
  const answer = await ask(request(format)).catch(() => undefined);
  if (!answer?.ok) return showProblem(await answer?.json().catch(() => undefined), answer?.status);
  const href = URL.createObjectURL(await answer.blob());
  element('a', { href, download: `code.${format}` }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

async function copy() {
  const code = at('code');
  try {
    await navigator.clipboard.writeText(code.textContent);
    at('copied').textContent = 'Copied.';
  } catch {
    // Browsers do not let scripts copy on pages without https.
    getSelection().selectAllChildren(code);
    at('copied').textContent = 'Marked: press Ctrl+C.';
  }
}

/** The fields of the chosen content. */
function showContent() {
  const options = api.components.schemas.Options.properties;
  const schema = content.value && api.components.schemas[`Payload_${content.value}`];
  const names = schema
    ? Object.keys(schema.properties).filter(
        (name) => !(name in options) || (name === 'title' && schema.required?.includes(name)),
      )
    : ['text'];
  const properties = schema ? schema.properties : options;
  const fields = names.map((name) =>
    field({ name, schema: properties[name], required: schema?.required?.includes(name) }),
  );
  at('content-fields').replaceChildren(...fields);
  changed();
}

async function start() {
  const answer = await fetch('/v1/openapi.json').catch(() => undefined);
  if (!answer?.ok) {
    at('problems').append(
      element('li', { textContent: 'The service cannot be reached: reload the page.' }),
    );
    return;
  }
  api = await answer.json();
  for (const [name, { post }] of Object.entries(api.paths)) {
    const kind = name.match(/^\/v1\/payload\/([^/{]+)$/)?.[1];
    if (kind) content.append(element('option', { value: kind, textContent: post.summary ?? kind }));
  }
  const parameters = api.paths['/v1/qr'].get.parameters.filter(({ name }) => name !== 'text');
  at('groups').replaceChildren(...groups(parameters));
  at('language').append(...SNIPPETS.map(([textContent]) => element('option', { textContent })));
  const formats = parameters.find(({ name }) => name === 'format').schema.enum.filter(Boolean);
  const button = (format) => {
    const made = element('button', { type: 'button', textContent: format.toUpperCase() });
    made.addEventListener('click', () => download(format));
    return made;
  };
  at('downloads').append(...formats.map(button));
  showContent();
  form.elements.text.value = 'https://example.com/';
  content.addEventListener('change', showContent);
  form.addEventListener('input', changed);
  form.addEventListener('submit', (event) => event.preventDefault());
  at('language').addEventListener('change', showCode);
  at('copy').addEventListener('click', copy);
  changed();
}

start();

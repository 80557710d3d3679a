/** The playground: the form and its picture. The answer to the last request wins. */
import { applies, element, field, groups, values } from './form.js';
import { gradesOf, warnings } from './grade.js';
import { LOOKS, lookButton, showLook } from './looks.js';
import { SNIPPETS } from './snippets.js';

const DEBOUNCE_MS = 150;
const at = (id) => document.getElementById(id);
const [form, content, frame, picture, state] = ['form', 'content', 'frame', 'picture', 'state'].map(
  at,
);
let api;
let running;
let timer;

/** The path of the chosen content, without an extension. */
const path = () => (content.value ? `/v1/payload/${content.value}` : '/v1/qr');
const hasGrades = () => '/v1/grade' in api.paths;
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

/** Says each fault at its field, and the faults that have no field under the picture. */
function showProblem(problem, status) {
  const faults = problem?.faults ?? [
    { detail: problem?.detail ?? `The service answered ${status}.` },
  ];
  const [links, lines] = [[], []];
  for (const { parameter, detail, suggestion } of faults) {
    const text = suggestion ? `${detail}; ${suggestion}` : detail;
    const input = at(`option-${parameter}`);
    if (!input || input.closest('[hidden]')) {
      lines.push(element('li', { textContent: parameter ? `${parameter}: ${text}` : text }));
      continue;
    }
    at(`fault-${parameter}`).textContent = text;
    input.setAttribute('aria-invalid', 'true');
    input.closest('details')?.setAttribute('open', '');
    links.push(
      ' ',
      element('a', { href: `#${input.id}`, textContent: input.labels[0].textContent }),
    );
  }
  at('problems').replaceChildren(...lines);
  state.replaceChildren('No picture.', ...(links.length ? [' See', ...links] : []));
  frame.classList.add('stale');
}

function clear() {
  at('problems').replaceChildren();
  at('warnings').replaceChildren();
  at('grade').replaceChildren();
  for (const it of form.querySelectorAll('[aria-invalid]')) it.removeAttribute('aria-invalid');
  for (const it of form.querySelectorAll('[id^="fault-"]')) it.textContent = '';
}

/** Grades a picture that somebody has. */
async function check(picture) {
  if (!picture || !hasGrades()) return;
  at('check').scrollIntoView({ block: 'nearest' });
  const { grades, detail = 'There is no QR code on it.' } = await gradesOf(picture);
  at('checked').replaceChildren(picture.name, ...(grades.length ? grades : [`: ${detail}`]));
}

function showPicture(blob) {
  URL.revokeObjectURL(picture.src);
  picture.src = URL.createObjectURL(blob);
  const { text, background = '' } = values(form);
  picture.alt = text ? `QR code of ${text}` : 'QR code';
  picture.hidden = false;
  at('characters').hidden = true;
  // What is transparent shows the page that the picture is for.
  frame.style.background = background && `#${background.replace('#', '')}`;
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
  const isText = format === 'txt' || format === 'json';
  let pixels = blob;
  if (isText) {
    const text = await blob.text();
    at('characters').textContent =
      format === 'json' ? JSON.stringify(JSON.parse(text), null, 1) : text;
    at('characters').hidden = false;
    picture.hidden = true;
  } else {
    // Browsers cannot show PDF and EPS as images, and grades are those of pixels: both take a PNG with the same options.
    if (format !== 'png') {
      const png = await ask(request('png'), signal);
      pixels = png.ok ? await png.blob() : undefined;
    }
    const shown = format === 'svg' ? blob : pixels;
    if (shown) showPicture(shown);
  }
  state.textContent = describe(answer.headers, blob.size);
  const told = warnings(values(form), format, answer.headers).map((textContent) =>
    element('li', { textContent }),
  );
  at('warnings').replaceChildren(...told);
  frame.classList.remove('stale');
  if (isText || !pixels || !hasGrades()) return;
  const { grades } = await gradesOf(pixels, signal);
  if (!signal.aborted) at('grade').replaceChildren(...grades);
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
  showLook(at('looks'), values(form));
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
  at('looks').append(...LOOKS.map((look) => lookButton(look, form)));
  at('check').hidden = !hasGrades();
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
  at('file').addEventListener('change', ({ target }) => check(target.files[0]));
  for (const type of ['dragover', 'drop']) {
    document.addEventListener(type, (event) => {
      const { files, types } = event.dataTransfer;
      // A text may still be dropped into a field.
      if (!types.includes('Files')) return;
      event.preventDefault();
      check(files[0]);
    });
  }
  changed();
}

start();

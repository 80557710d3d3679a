/** What the playground says about how well a picture reads. */
import { element } from './form.js';

/** Limits at which a picture still scans, but only just. The page warns beyond them. */
const FEW_PIXELS = 3;
const SMALL_MODULE_MM = 0.33;
const LARGE_SYMBOL = 117;

/** Warnings about a picture that is hard to read as `options` show it, which its grade does not tell. */
export function warnings(options, format, headers) {
  const { kind = 'qr', size, scale = 8, width_mm = 40, margin = kind === 'qr' ? 4 : 2 } = options;
  const [width, height] = (headers.get('x-qr-modules') ?? '0x0').split('x').map(Number);
  const across = width + 2 * margin;
  const found = [];
  const pixels = size ? size / across : scale;
  if ((format === 'png' || (format === 'svg' && size)) && pixels < FEW_PIXELS) {
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

/** The grades of the symbols on a picture with what to change, or why there are none. */
export async function gradesOf(picture, signal) {
  const post = { method: 'POST', headers: { 'content-type': picture.type }, body: picture, signal };
  const answer = await fetch('/v1/grade', post).catch(() => undefined);
  const { symbols = [], detail } = (await answer?.json().catch(() => undefined)) ?? {};
  const grades = symbols.map(({ grade, parameters }) => {
    const all = parameters.map(({ name, grade, value }) =>
      element('li', { textContent: `${name.replaceAll('_', ' ')}: ${grade} (${value})` }),
    );
    const summary = element('summary', { textContent: `Grade ${grade} of 4` });
    const advice = parameters.filter((it) => it.grade < 4).map((it) => it.advice);
    return element(
      'div',
      {},
      element('details', {}, summary, element('ul', {}, ...all)),
      ...advice
        .filter(Boolean)
        .map((textContent) => element('p', { className: 'help', textContent })),
    );
  });
  return { grades, detail };
}

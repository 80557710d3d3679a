/**
 * The form, made from the OpenAPI document, so a new option of the service appears on this page automatically.
 */

/** The groups of options. The last one also gets all options that are in no group. */
const GROUPS = [
  ['Size and format', 'format size scale width_mm dpi margin'],
  [
    'Colours and shapes',
    'dark light gradient_color gradient gradient_angle shape finder_shape finder_color frame caption logo logo_size background',
  ],
  [
    'Each finder pattern',
    'top_left_color top_left_shape top_right_color top_right_shape bottom_left_color bottom_left_shape',
  ],
  [
    'Symbol',
    'kind level boost version_min version_max rmqr_height rmqr_width mask mode eci gs1 part',
  ],
  ['More', 'title filename style ink'],
].map(([heading, names]) => [heading, names.split(' ')]);
/** The schemas of the options, which name the formats and kinds of symbol that have an option; the others refuse it. */
const schemas = {};

/** Learns the options from the parameters of the document. */
export function learn(parameters) {
  for (const { name, schema } of parameters) schemas[name] = schema;
}

/** Whether an option has an effect with this format and kind. */
export function applies(name, format, kind) {
  const { 'x-formats': formats, 'x-kinds': kinds } = schemas[name] ?? {};
  return (formats?.includes(format) ?? true) && (kinds?.includes(kind) ?? true);
}

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** A schema's type and values, without null. */
function withoutNull(schema) {
  const option = schema.oneOf?.find((it) => it.type !== 'null');
  const type = [schema.type].flat().find((it) => it && it !== 'null');
  return { ...schema, ...option, type: option?.type ?? type };
}

/** A description without backticks. */
const words = (text = '') => text.replaceAll('`', '');

const title = (name) =>
  (name[0].toUpperCase() + name.slice(1))
    .replaceAll('_', ' ')
    .replace(/^(Eci|Gs1|Iban|Bic|Ssid|Url|Cc)$/, (it) => it.toUpperCase())
    .replace('Rmqr', 'rMQR');

function choice(schema, name) {
  const select = element('select', { name });
  const standard = schema.default ?? (name === 'format' ? 'png' : undefined);
  const label = standard === undefined ? 'automatic' : `${standard} (default)`;
  select.append(element('option', { value: '', textContent: label }));
  // The schema lists letters in both cases, which mean the same.
  const values = schema.enum.filter(
    (it) => !schema.enum.includes(it?.toUpperCase()) || it === it?.toUpperCase(),
  );
  for (const value of values.filter((it) => it !== null && it !== standard)) {
    select.append(element('option', { value, textContent: value }));
  }
  return select;
}

function control(schema, name) {
  if (schema.enum) return choice(schema, name);
  if (schema.type === 'boolean') return element('input', { name, type: 'checkbox' });
  const placeholder = String(schema.default ?? '');
  if (schema.type === 'integer' || schema.type === 'number') {
    const step = schema.type === 'integer' ? '1' : 'any';
    const { minimum: min = '', maximum: max = '' } = schema;
    return element('input', { name, type: 'number', min, max, step, placeholder });
  }
  if (name === 'text') return element('textarea', { name, spellcheck: false });
  return element('input', { name, type: 'text', spellcheck: false, placeholder });
}

/** A colour has a text field for every notation, and the browser's colour picker beside it. */
function withPalette(input) {
  const start = `#${input.placeholder || '000'}`.replace(/^#(.)(.)(.)$/, '#$1$1$2$2$3$3');
  const palette = element('input', { type: 'color', value: start, tabIndex: -1 });
  palette.setAttribute('aria-hidden', 'true');
  palette.addEventListener('input', () => {
    input.value = palette.value.slice(1);
  });
  input.addEventListener('input', () => {
    const digits = input.value.replace(/^#/, '');
    if (/^[0-9a-f]{3}$/i.test(digits)) palette.value = `#${digits.replace(/./g, '$&$&')}`;
    if (/^[0-9a-f]{6}$/i.test(digits)) palette.value = `#${digits}`;
  });
  return element('div', { className: 'entry' }, input, palette);
}

/** One option: its label, its control, its description behind a button, and a place for its fault. */
export function field({ name, schema, description, required }) {
  const type = withoutNull(schema);
  const input = control(type, name);
  input.id = `option-${name}`;
  input.dataset.type = type.type;
  input.required = Boolean(required);
  const help = element('p', {
    className: 'help',
    id: `help-${name}`,
    hidden: true,
    textContent: words(description ?? schema.description),
  });
  const fault = element('p', { className: 'help error', id: `fault-${name}` });
  input.setAttribute('aria-describedby', fault.id);
  const label = element('label', { htmlFor: input.id, textContent: title(name) });
  const ask = element('button', { type: 'button', className: 'ask', textContent: '?' });
  ask.ariaLabel = `Help: ${title(name)}`;
  ask.ariaExpanded = 'false';
  ask.addEventListener('click', () => {
    help.hidden = !help.hidden;
    ask.ariaExpanded = String(!help.hidden);
  });
  const isColor = schema.pattern?.includes('transparent');
  const row =
    type.type === 'boolean'
      ? element('div', { className: 'check' }, input, ' ', label, ask)
      : element(
          'div',
          {},
          element('div', { className: 'check' }, label, ask),
          isColor ? withPalette(input) : input,
        );
  const made = element('div', { className: 'field' }, row, help, fault);
  made.dataset.option = name;
  return made;
}

/** The options of the document in groups, all closed. */
export function groups(parameters) {
  learn(parameters);
  const named = new Set(GROUPS.flatMap(([, names]) => names));
  const rest = parameters.map((it) => it.name).filter((name) => !named.has(name));
  return GROUPS.map(([heading, names], index) => {
    const isLast = index === GROUPS.length - 1;
    const all = isLast ? [...names, ...rest] : names;
    const of = all.map((name) => parameters.find((it) => it.name === name)).filter(Boolean);
    const fields = element('div', { className: 'fields' }, ...of.map(field));
    const summary = element('summary', { textContent: heading });
    return element('details', {}, summary, fields);
  });
}

/** The values of all controls that have one, as in JSON. */
export function values(form) {
  const found = {};
  for (const input of form.querySelectorAll('[name]')) {
    if (input.type === 'checkbox') {
      if (input.checked) found[input.name] = true;
    } else if (input.value !== '') {
      const isNumber = ['integer', 'number'].includes(input.dataset.type);
      found[input.name] = isNumber ? Number(input.value) : input.value;
    } else if (input.validity.badInput) {
      found[input.name] = 'no number';
    }
  }
  return found;
}

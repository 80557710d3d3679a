/**
 * A route of nginx: its name, its path, the names of its two sides, and whether its requests belong together.
 * @typedef {{ name: string, path: string, old: string, new: string, sessions?: true }} Route
 */

/** The route that the address asks for (`?route=name`), or the first. */
export function chosenRoute(routes, search) {
  const asked = new URLSearchParams(search).get('route');
  return routes.find(({ name }) => name === asked) ?? routes[0];
}

/** The page's title. Sides without names of their own are called Old and New. */
export function titleOf({ old: oldName, new: newName }) {
  const side = (name, which) =>
    name.toLowerCase() === which ? capital(name) : `${name} (${which})`;
  return `${side(oldName, 'old')} against ${side(newName, 'new')}`;
}

/** Turns a line whose query has `$side` into two: one per side, in that side's colour. */
export function ofBothSides(line) {
  if (!line.expr.includes('$side')) return [line];
  return ['old', 'new'].map((side) => ({
    ...line,
    colour: side,
    name: line.name.replaceAll('$side', () => `$${side}`),
    expr: line.expr.replaceAll('$side', side),
  }));
}

/** Replaces `$route`, `$old` and `$new` in every text of a value, at any depth. */
export function filled(value, route) {
  if (typeof value === 'string') return value.replaceAll(/\$(route|old|new)\b/g, wordsOf(route));
  if (Array.isArray(value)) return value.map((item) => filled(item, route));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, route)]));
}

function wordsOf(route) {
  const words = { route: route.name, old: capital(route.old), new: capital(route.new) };
  return (_, word) => words[word];
}

/** Only for the names that nobody chose: other names stay as people write them. */
export function capital(name) {
  if (name === 'old') return 'Old';
  return name === 'new' ? 'New' : name;
}

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
  const words = { route: route.name, old: capital(route.old), new: capital(route.new) };
  const fill = (text) => text.replaceAll(/\$(route|old|new)\b/g, (_, word) => words[word]);
  const reviver = (_, item) => (typeof item === 'string' ? fill(item) : item);
  return JSON.parse(JSON.stringify(value), reviver);
}

/** Only for the names that nobody chose: other names stay as people write them. */
export function capital(name) {
  if (name === 'old') return 'Old';
  return name === 'new' ? 'New' : name;
}

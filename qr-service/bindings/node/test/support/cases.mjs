import { readFileSync } from 'node:fs';

const file = new URL('../../../../options/cases.json', import.meta.url);

/**
 * Options with their picture's hash or their faults, as the service answers them.
 * @type {{options: object, media_type?: string, sha256?: string, faults?: string[]}[]}
 */
export const cases = JSON.parse(readFileSync(file, 'utf8'));

/** The options as a query. */
export function queryOf(options) {
  const given = Object.entries(options).filter(([, value]) => value !== null);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

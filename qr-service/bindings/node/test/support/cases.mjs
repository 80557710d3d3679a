import { readFileSync } from 'node:fs';

const file = new URL('../../../../options/cases.json', import.meta.url);

/**
 * Options with the hash of the picture or the faults that the service answers.
 * @type {{options: object, media_type?: string, sha256?: string, faults?: string[]}[]}
 */
export const cases = JSON.parse(readFileSync(file, 'utf8'));

/** Returns the options as a query. */
export function queryOf(options) {
  const given = Object.entries(options).filter(([, value]) => value !== null);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

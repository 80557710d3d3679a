import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
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

/** Draws with `draw`, whose bytes are a `type`; returns the result in the form that the cases have. */
export function resultOf(draw, type, options) {
  try {
    const { bytes, mediaType } = draw(options);
    assert.equal(bytes.constructor, type);
    return { media_type: mediaType, sha256: createHash('sha256').update(bytes).digest('hex') };
  } catch (error) {
    assert.ok(error instanceof Error && error.code === 'ERR_QR_FAULTS', error);
    return { faults: error.faults.map(({ parameter, code }) => `${parameter} ${code}`) };
  }
}

/** Checks that `draw` gives each case's result, for an object and for a query. */
export function assertDrawsCases(draw, type) {
  assert.ok(cases.length > 30);
  for (const { options, ...expected } of cases)
    for (const form of [options, queryOf(options)])
      assert.deepEqual(resultOf(draw, type, form), expected, JSON.stringify(form));
}

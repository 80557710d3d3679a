import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { generate, generateAsync } from '../index.js';
import { itDrawsAsCore } from './support/pictures.mjs';

describe('the picture', () => {
  it('is a Buffer', () => {
    assert.ok(Buffer.isBuffer(generate('hi')));
  });
  itDrawsAsCore(generate, { generateAsync });
});

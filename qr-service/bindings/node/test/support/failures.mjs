/**
 * What `generate` refuses, with what each error says. `pass` takes the arguments and the error's fields.
 *
 * @type {Record<string, (pass: (args: unknown[], expected: object) => Promise<void>) => Promise<void>>}
 */
export const failures = {
  'for wrong types': async (pass) => {
    const code = 'ERR_INVALID_ARG_TYPE';
    for (const text of [undefined, null, 1, 1n, true, {}, [], Symbol('x'), Buffer.from('x')])
      await pass([text], { name: 'TypeError', code, message: 'text must be a string' });
    await pass([], { name: 'TypeError', code });
    for (const options of [null, 1, 'L', true, () => {}]) {
      const message = 'options must be an object';
      await pass(['x', options], { name: 'TypeError', code, message });
    }
    for (const [key, what] of Object.entries({ size: 'number', margin: 'number', level: 'string' }))
      for (const value of [null, {}, 1n, true, what === 'number' ? '200' : 1]) {
        const message = `options.${key} must be a ${what}`;
        await pass(['x', { [key]: value }], { name: 'TypeError', code, message });
      }
  },
  // Node-API and wasm-bindgen would replace it by U+FFFD.
  'for a lone surrogate': async (pass) => {
    for (const text of ['\ud83d', 'a\ude00b', '\ude00\ud83d', '😀\ud83d', '\ufffd\ud83d'])
      await pass([text], { name: 'TypeError', code: 'ERR_QR_LONE_SURROGATE' });
  },
  'for numbers that are not whole or out of range': async (pass) => {
    const numbers = [-1, 1.5, NaN, Infinity, -Infinity, 16385, 2 ** 32 + 200, 1e300];
    for (const key of ['size', 'margin'])
      for (const value of numbers)
        await pass(['x', { [key]: value }], {
          name: 'RangeError',
          code: 'ERR_OUT_OF_RANGE',
          message: new RegExp(`^options.${key} must be a whole number from`),
        });
    await pass(['x', { size: 0 }], { code: 'ERR_OUT_OF_RANGE' });
  },
  'for unknown levels': async (pass) => {
    for (const level of ['', 'l', 'X', 'LM', 'é', '\0', '\ud800', 'L'.repeat(1e6)])
      await pass(['x', { level }], { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' });
  },
  'for a text that is too long': async (pass) => {
    const expected = { name: 'RangeError', code: 'ERR_QR_TOO_LONG' };
    const digits = { L: 7089, M: 5596, Q: 3993, H: 3057 };
    for (const [level, capacity] of Object.entries(digits))
      await pass(['7'.repeat(capacity + 1), { level, size: 600 }], expected);
    await pass(['é'.repeat(1477), { size: 600 }], expected);
    await pass(['secret'.repeat(2 ** 20)], expected);
  },
  'with the least size that is large enough': async (pass) => {
    const expected = { name: 'RangeError', code: 'ERR_QR_TOO_SMALL', message: /at least 29 / };
    await pass(['x', { size: 28 }], expected);
    await pass(['x', { margin: 8181 }], { code: 'ERR_QR_TOO_SMALL' });
  },
  'of a getter, unchanged': async (pass) => {
    for (const key of ['size', 'margin', 'level']) {
      const thrown = new SyntaxError('from a getter');
      const options = Object.defineProperty({}, key, {
        get() {
          throw thrown;
        },
      });
      await pass(['x', options], (error) => error === thrown);
    }
  },
};

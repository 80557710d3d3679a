/**
 * Measures in Node, for the Wasm modules, the component and the native addon in turn, the time of a picture and the
 * time to start: to load the file and draw the first picture. Run make setup-languages first.
 */
import { fileURLToPath } from 'node:url';
import { loadGenerator } from '../../../legacy-node/src/qr/generators/index.js';

const TEXTS = {
  '53 bytes': 'https://example.com/a-path/with/some/words?and=query&',
  '512 bytes': 'kLm7/'.repeat(103).slice(0, 512),
};
const WITH_DRAW = new URL('../../../target/wasm/nodejs/qr_wasm_draw.js', import.meta.url);
const COMPONENT = new URL('../../../examples/rungs/node/component.cjs', import.meta.url);
/** The arguments of loadGenerator for each: the generator's name and, unless it is the usual one, the file. */
const GENERATORS = {
  native: ['native'],
  'wasm-raw': ['wasm-raw'],
  wasm: ['wasm'],
  'wasm-draw': ['wasm', fileURLToPath(WITH_DRAW)],
  component: ['wasm', fileURLToPath(COMPONENT)],
};
const ROUNDS = 40;
const CALLS = 2000;

const generators = new Map();
for (const [name, of] of Object.entries(GENERATORS)) {
  const start = performance.now();
  generators.set(name, (await loadGenerator(...of)).generateQr);
  console.log(`${name.padEnd(10)} starts in ${(performance.now() - start).toFixed(1)} ms`);
}

/** Returns microseconds per call. */
async function measure(generateQr, text) {
  const start = process.hrtime.bigint();
  for (let call = 0; call < CALLS; call++) await generateQr(text);
  return Number(process.hrtime.bigint() - start) / CALLS / 1000;
}

for (const [what, text] of Object.entries(TEXTS)) {
  const rounds = new Map([...generators.keys()].map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, times] of rounds) times.push(await measure(generators.get(name), text));
  console.log(what);
  for (const [name, times] of rounds) {
    times.sort((a, b) => a - b);
    const [least, middle] = [times[0], times[ROUNDS / 2]].map((time) =>
      time.toFixed(2).padStart(8),
    );
    console.log(`  ${name.padEnd(10)}${least} us at best${middle} us median`);
  }
}

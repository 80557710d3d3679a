/**
 * Measures the time of a picture in Node with both Wasm modules and the native addon, in turn. Run
 * build.sh here and in ../node first.
 */
import { loadGenerator } from '../../../legacy-node/src/qr/generators/index.js';

const TEXTS = {
  '53 bytes': 'https://example.com/a-path/with/some/words?and=query&',
  '512 bytes': 'kLm7/'.repeat(103).slice(0, 512),
};
const NAMES = ['native', 'wasm-raw', 'wasm'];
const ROUNDS = 40;
const CALLS = 2000;

const generators = new Map();
for (const name of NAMES) generators.set(name, (await loadGenerator(name)).generateQr);

/** Returns microseconds per call. */
async function measure(generateQr, text) {
  const start = process.hrtime.bigint();
  for (let call = 0; call < CALLS; call++) await generateQr(text);
  return Number(process.hrtime.bigint() - start) / CALLS / 1000;
}

for (const [what, text] of Object.entries(TEXTS)) {
  const rounds = new Map(NAMES.map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const name of NAMES) rounds.get(name).push(await measure(generators.get(name), text));
  console.log(what);
  for (const [name, times] of rounds) {
    times.sort((a, b) => a - b);
    const [least, middle] = [times[0], times[ROUNDS / 2]].map((time) =>
      time.toFixed(2).padStart(8),
    );
    console.log(`  ${name.padEnd(10)}${least} us at best${middle} us median`);
  }
}

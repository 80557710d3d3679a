/** Prints the resident bytes before and after 100,000 calls of the form in the first argument. */
import { generate, generateAsync } from '../../index.js';

const forms = {
  generate: async (text) => void generate(text),
  generateAsync: (text) => generateAsync(text),
  failing: async (text) => {
    await generateAsync(text, { size: 20 }).catch(() => {});
    try {
      generate(`${text}\ud800`);
    } catch {}
  },
};
const call = forms[process.argv[2]];

async function callTimes(times) {
  for (let done = 0; done < times; done += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, i) => call(`https://example.com/${done + i}`)),
    );
  // Finalisers run only when the event loop turns.
  for (let i = 0; i < 5; i++) {
    globalThis.gc();
    await new Promise(setImmediate);
  }
  return process.memoryUsage.rss();
}

const before = await callTimes(30_000);
const after = await callTimes(100_000);
console.log(JSON.stringify({ before, after }));

/** Loads one of the page's own files; asks again until the server answers. */

const TIMEOUT_MS = 5000;
const RETRY_MS = 5000;
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * @param {string} file
 * @param {(problem: string | null) => void} report called with each problem, and with null once it is over
 * @param {{ ask?: typeof fetch, pause?: (milliseconds: number) => Promise<void> }} [by] for tests
 * @returns {Promise<object>} the JSON in the file
 */
export async function load(file, report, { ask = fetch, pause = wait } = {}) {
  for (;;) {
    try {
      const ends = AbortSignal.timeout(TIMEOUT_MS);
      const answer = await ask(file, { cache: 'no-cache', signal: ends });
      if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
      const content = await answer.json();
      report(null);
      return content;
    } catch (error) {
      const again = `Trying again every ${RETRY_MS / 1000} s.`;
      report(`The page cannot load ${file}: ${error.message}. ${again}`);
      await pause(RETRY_MS);
    }
  }
}

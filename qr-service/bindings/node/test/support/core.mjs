import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** `make bindings` puts it there. */
const program = fileURLToPath(new URL('../../../../../target/core_pictures', import.meta.url));

/**
 * Draws pictures with qr-core, without this addon (`examples/core_pictures.rs`).
 *
 * @param {{text: string, size?: number, margin?: number, level?: string}[]} requests
 * @returns {Buffer[]}
 */
export function drawByCore(requests) {
  const lines = requests.map(({ text, size = 200, margin = 4, level = 'L' }) =>
    [size, margin, level, Buffer.from(text).toString('hex')].join(' '),
  );
  const options = { input: `${lines.join('\n')}\n`, encoding: 'utf8', maxBuffer: 2 ** 30 };
  const output = execFileSync(program, options);
  return output
    .trimEnd()
    .split('\n')
    .map((line) => Buffer.from(line, 'hex'));
}

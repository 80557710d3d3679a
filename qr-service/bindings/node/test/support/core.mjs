import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const manifest = fileURLToPath(new URL('../../Cargo.toml', import.meta.url));

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
  const output = execFileSync(
    'cargo',
    ['run', '--quiet', '--release', '--manifest-path', manifest, '--example', 'core_pictures'],
    { input: `${lines.join('\n')}\n`, encoding: 'utf8', maxBuffer: 2 ** 30 },
  );
  return output
    .trimEnd()
    .split('\n')
    .map((line) => Buffer.from(line, 'hex'));
}

import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { promisify } from 'node:util';
import { NotBuiltError } from './not-built-error.js';

/** Starts one `qr-draw` process per picture; it reads the text and writes the PNG. */
export function cli(file) {
  try {
    accessSync(file, constants.X_OK);
  } catch {
    throw new NotBuiltError(file, 'cargo build --release -p qr-cli');
  }
  return { engine: 'qr-cli', generateQr: (text) => run(file, text) };
}

const ARGUMENTS = ['--format', 'png', '--keep-newline', '-'];
const start = promisify(execFile);

async function run(file, text) {
  const running = start(file, ARGUMENTS, { encoding: 'buffer' });
  // If the process exits before it has read everything, its exit code tells why.
  running.child.stdin.on('error', () => {});
  running.child.stdin.end(text);
  try {
    return (await running).stdout;
  } catch ({ signal, code, stderr }) {
    throw new Error(`qr-draw ended with ${signal ?? code}: ${stderr}`);
  }
}

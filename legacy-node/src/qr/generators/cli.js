import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { NotBuiltError } from './not-built-error.js';

/** Starts one `qr-draw` process per picture; it reads the text and writes the PNG. */
export function load(file) {
  try {
    accessSync(file, constants.X_OK);
  } catch {
    throw new NotBuiltError(file, 'cargo build --release -p qr-cli');
  }
  return { engine: 'qr-cli', generateQr: (text) => run(file, text) };
}

const ARGUMENTS = ['--format', 'png', '--keep-newline', '-'];

function run(file, text) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, ARGUMENTS, { stdio: 'pipe' });
    const out = [];
    const errors = [];
    child.stdout.on('data', (chunk) => out.push(chunk));
    child.stderr.on('data', (chunk) => errors.push(chunk));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(Buffer.concat(out));
      reject(new Error(`qr-draw ended with ${signal ?? code}: ${Buffer.concat(errors)}`));
    });
    // If the process exits before it has read everything, its exit code tells why.
    child.stdin.on('error', () => {});
    child.stdin.end(text);
  });
}

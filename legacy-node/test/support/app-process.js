/** Runs the program as a child process on free ports with its own data folder. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('../../src/server.js', import.meta.url));
const START_TIMEOUT_MS = 60_000;

/** A new folder that is removed after the test. */
export function temporaryFolder(t) {
  const folder = mkdtempSync(join(tmpdir(), 'legacy-node-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Starts the program and waits until it listens. It ends with the test `t`.
 * @param {Record<string, string>} env settings besides free ports and a new data folder
 */
export async function startApp(t, env = {}) {
  const app = spawnApp(t, { DATA_DIR: env.DATA_DIR ?? temporaryFolder(t), ...env });
  const { addr, admin_addr } = await app.logged(({ msg }) => msg === 'listening');
  return { ...app, addr, url: `http://${addr}`, adminUrl: `http://${admin_addr}` };
}

/** Starts the program without waiting, for starts that fail. */
export function spawnApp(t, env, args = []) {
  const child = spawn(process.execPath, [SERVER, ...args], {
    env: { PATH: process.env.PATH, ADDR: '127.0.0.1:0', ADMIN_ADDR: '127.0.0.1:0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines = [];
  const waiting = new Set();
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const log = createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    for (const look of waiting) look();
  });
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal, stderr, lines }));
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const kill = (signal) => child.kill(signal);
  return { pid: child.pid, lines, exited, kill, logged, stopReading: () => log.pause() };

  /** The first log entry, past or future, that matches. */
  function logged(predicate) {
    return new Promise((resolve, reject) => {
      const timeout = setTimeout(
        () => give(`no such log entry in ${START_TIMEOUT_MS} ms`),
        START_TIMEOUT_MS,
      );
      const give = (reason) => reject(new Error(`${reason}\n${lines.join('\n')}\n${stderr}`));
      const look = () => {
        const entry = lines.map(parseLine).find(predicate);
        if (!entry) return;
        clearTimeout(timeout);
        waiting.delete(look);
        resolve(entry);
      };
      waiting.add(look);
      look();
      exited.then(() => {
        clearTimeout(timeout);
        give('the program ended');
      });
    });
  }
}

function parseLine(line) {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}

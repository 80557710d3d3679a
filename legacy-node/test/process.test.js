import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { loadConfig, SETTINGS } from '../src/config.js';
import { spawnApp, startApp, temporaryFolder } from './support/app-process.js';
import { open, request } from './support/raw-http.js';

/** The program must exit by itself with this code, this one line and nothing on stdout. */
async function assertStartFails(t, env, args, line, code = 1) {
  const result = await spawnApp(t, { DATA_DIR: temporaryFolder(t), ...env }, args).exited;
  assert.equal(result.stderr, `legacy-node: ${line}\n`);
  assert.equal(result.code, code);
  assert.deepEqual(result.lines, []);
}

describe('an invalid setting', () => {
  const ADDRESS = 'must be HOST:PORT, such as 127.0.0.1:3000 or [::1]:3000';
  const cases = [
    ['ADDR', 'nonsense', ADDRESS],
    ['ADDR', '127.0.0.1:70000', 'the port must be 0 to 65535'],
    ['ADMIN_ADDR', '3001', ADDRESS],
    ['WORKERS', '0', 'must be a whole number from 1 to 256'],
    ['WORKERS', 'two', 'must be a whole number from 1 to 256'],
    ['DATA_DIR', '', 'must not be empty'],
    ['LOG_LEVEL', 'loud', 'must be one of trace, debug, info, warn, error, fatal, silent'],
    ['PUBLIC_URL', 'ftp://x', 'must be an http or https URL without query and fragment'],
    ['DRAIN_TIMEOUT_SECONDS', '-1', 'must be a number of seconds from 0 to 600'],
  ];
  for (const [variable, value, reason] of cases) {
    it(`${variable}=${JSON.stringify(value)} is named with its value`, () => {
      assert.throws(() => loadConfig([], { [variable]: value }), {
        message: `${variable}=${JSON.stringify(value)}: ${reason}`,
      });
    });
  }

  it('ends the program with one line and code 2, by variable or by flag', async (t) => {
    const line = 'WORKERS="x": must be a whole number from 1 to 256';
    await assertStartFails(t, { WORKERS: 'x' }, [], line, 2);
    await assertStartFails(t, {}, ['--workers', 'x'], line, 2);
    await assertStartFails(
      t,
      {},
      ['--wrokers=2'],
      "Unknown option '--wrokers' (--help lists the flags)",
      2,
    );
  });
});

describe('--help', () => {
  it('lists every setting', async (t) => {
    const { code, lines } = await spawnApp(t, {}, ['--help']).exited;
    assert.equal(code, 0);
    const help = lines.join('\n');
    for (const { variable, flag } of SETTINGS) {
      assert.ok(help.includes(`--${flag} `) && help.includes(variable), variable);
    }
  });
});

for (const WORKERS of ['1', '2']) {
  describe(`a start that fails, with WORKERS=${WORKERS}`, () => {
    for (const variable of ['ADDR', 'ADMIN_ADDR']) {
      it(`says that the port of ${variable} is taken`, async (t) => {
        const taken = createServer().listen(0, '127.0.0.1');
        await once(taken, 'listening');
        t.after(() => taken.close());
        const address = `127.0.0.1:${taken.address().port}`;
        const line = `${variable}=${address}: can't listen: the address is already in use`;
        await assertStartFails(t, { WORKERS, [variable]: address }, [], line);
      });
    }

    it('says that the data folder cannot be used', async (t) => {
      const file = join(temporaryFolder(t), 'file');
      writeFileSync(file, '');
      const DATA_DIR = `${file}/data`;
      const reason = `ENOTDIR: not a directory, mkdir '${DATA_DIR}'`;
      await assertStartFails(
        t,
        { WORKERS, DATA_DIR },
        [],
        `DATA_DIR="${DATA_DIR}": can't be used: ${reason}`,
      );
    });

    it('says that the data file is not an SQLite file', async (t) => {
      const DATA_DIR = temporaryFolder(t);
      writeFileSync(join(DATA_DIR, 'links.db'), 'not a database '.repeat(100));
      const line = `DATA_DIR="${DATA_DIR}": can't be used: file is not a database`;
      await assertStartFails(t, { WORKERS, DATA_DIR }, [], line);
    });
  });

  describe(`shutdown with WORKERS=${WORKERS}`, () => {
    for (const signal of ['SIGTERM', 'SIGINT']) {
      it(`on ${signal} turns readiness off, finishes what is in flight, exits 0`, async (t) => {
        const app = await startApp(t, { WORKERS, SHUTDOWN_DELAY_SECONDS: '0.5' });
        assert.equal((await fetch(`${app.adminUrl}/readyz`)).status, 200);
        const idle = await open(app.addr);
        const body = '{"url":"https://example.com"}';
        const slow = await open(app.addr);
        const answer = collect(slow);
        slow.write(head(app.addr, body) + body.slice(0, 5));

        app.kill(signal);
        await app.logged(({ msg }) => msg === 'shutting down');
        assert.equal((await fetch(`${app.adminUrl}/readyz`)).status, 503);
        assert.equal((await fetch(`${app.adminUrl}/livez`)).status, 200);
        // It still serves, because load balancers may not have noticed yet.
        assert.equal((await request(app.addr, '/qrcode?text=a')).status, 200);

        await once(idle, 'close');
        slow.write(body.slice(5));
        const text = await answer;
        assert.match(text, /^HTTP\/1\.1 201 Created\r\n/);
        assert.match(text, /\r\nConnection: close\r\n/i);
        assert.equal((await app.exited).code, 0);
        await assert.rejects(request(app.addr, '/'), { code: 'ECONNREFUSED' });
      });
    }

    it('cuts off what does not finish within the drain time', async (t) => {
      const app = await startApp(t, { WORKERS, DRAIN_TIMEOUT_SECONDS: '0.2' });
      const stuck = await open(app.addr);
      stuck.on('error', () => {});
      stuck.write(head(app.addr, 'never sent'));
      await request(app.addr, '/');
      app.kill('SIGTERM');
      const { code, lines } = await app.exited;
      assert.equal(code, 0);
      assert.ok(lines.some((line) => line.includes('requests were cut off')));
    });
  });
}

describe('a client that is too slow', () => {
  it('gets 408 and is disconnected; an idle one is not', async (t) => {
    const app = await startApp(t, {
      HEADERS_TIMEOUT_SECONDS: '1',
      KEEP_ALIVE_TIMEOUT_SECONDS: '30',
    });
    const idle = await open(app.addr);
    const ask = `GET /livez HTTP/1.1\r\nHost: ${app.addr}\r\n\r\n`;
    idle.write(ask);
    await once(idle, 'data');

    const slow = await open(app.addr);
    const answer = collect(slow);
    slow.write('GET / HTTP/1.1\r\nHo');
    assert.match(await answer, /^HTTP\/1\.1 408 /);

    idle.write(ask);
    assert.match(String(await once(idle, 'data')), /^HTTP\/1\.1 404 /);
  });
});

function head(addr, body) {
  return `POST /api/links HTTP/1.1\r\nHost: ${addr}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
}

async function collect(socket) {
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}

describe('a log that nobody reads', () => {
  it('stops nobody', async (t) => {
    const app = await startApp(t);
    app.stopReading();
    // The pipe holds 64 KiB, some 300 lines, and so does the stream that reads it.
    for (let i = 0; i < 1000; i++) {
      const answer = await fetch(`${app.url}/api/links`);
      assert.equal(answer.status, 200);
      await answer.arrayBuffer();
    }
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { buildApp } from '../src/app.js';
import { loadConfig } from '../src/config.js';
import { createLogger } from '../src/logger.js';
import { createMetrics } from '../src/metrics.js';
import { request } from './support/raw-http.js';

/** Serves the app on a free port with the given generator; returns its address and log lines. */
async function serve(t, generateQr, env = {}) {
  const lines = [];
  const parts = {
    config: loadConfig([], env),
    store: {},
    metrics: createMetrics('test'),
    logger: createLogger('info', { write: (line) => lines.push(line) }),
    generateQr,
  };
  const server = createServer(buildApp(parts)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { addr: `127.0.0.1:${server.address().port}`, lines, metrics: parts.metrics };
}

describe('past QR_MAX_CONCURRENT', () => {
  it('a request gets 503 until another is done', async (t) => {
    const gate = deferred();
    const entered = deferred();
    const generate = () => {
      entered.resolve();
      return gate.promise;
    };
    const { addr } = await serve(t, generate, { QR_MAX_CONCURRENT: '1' });
    const first = request(addr, '/qrcode?text=a');
    await entered.promise;

    const refused = await request(addr, '/qrcode?text=b');
    assert.equal(refused.status, 503);
    assert.equal(refused.headers['retry-after'], '1');
    assert.equal(refused.headers['cache-control'], 'no-store');
    assert.equal(refused.body.toString(), 'overloaded, try again');
    assert.equal((await request(addr, '/qrcode')).status, 400, 'a bad request gets 400 even then');

    gate.resolve(Buffer.from('png'));
    assert.equal((await first).status, 200);
    assert.equal((await request(addr, '/qrcode?text=b')).status, 200);
  });
});

describe('a generator that fails', () => {
  it('gives 500 without the reason, and a log line without the text', async (t) => {
    const generate = async (text) => {
      throw new Error(`"${text}" cannot be encoded`);
    };
    const { addr, lines } = await serve(t, generate);
    const response = await request(addr, '/qrcode?text=tops3cret');
    assert.equal(response.status, 500);
    assert.equal(response.headers['content-type'], 'text/plain; charset=utf-8');
    assert.equal(response.headers['cache-control'], 'no-store');
    assert.equal(response.body.toString(), 'failed generating QR code');
    const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error');
    assert.deepEqual(
      errors.map(({ msg }) => msg),
      ['generating a QR code failed', 'request'],
    );
    assert.ok(!lines.join('').includes('tops3cret'));
  });
});

describe('a client that leaves', () => {
  it('counts as 499 and is no longer in flight', async (t) => {
    const gate = deferred();
    const entered = deferred();
    const { addr, metrics, lines } = await serve(t, () => {
      entered.resolve();
      return gate.promise;
    });
    const leaving = new AbortController();
    const asked = fetch(`http://${addr}/qrcode?text=a`, { signal: leaving.signal });
    await entered.promise;
    leaving.abort();
    await assert.rejects(asked);
    while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(JSON.parse(lines[0]).status, 499);
    assert.equal((await metrics.inFlight.get()).values[0].value, 0);
    gate.resolve(Buffer.from('png'));
  });
});

/** Promise.withResolvers, which Node 20 lacks. */
function deferred() {
  const parts = {};
  parts.promise = new Promise((resolve) => {
    parts.resolve = resolve;
  });
  return parts;
}

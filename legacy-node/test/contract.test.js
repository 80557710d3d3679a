import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { startApp } from './support/app-process.js';
import { exchange, open, request } from './support/raw-http.js';

/** `make test` plays contract/cases/qrcode against this app; these tests check what those cases cannot see. */
const { addr } = await startApp({ after });

describe('GET /qrcode', () => {
  it('gives the same bytes and tag for the same text', async () => {
    const [first, second] = [
      await request(addr, '/qrcode?text=a'),
      await request(addr, '/qrcode?%74ext=%61'),
    ];
    assert.deepEqual(first.body, second.body);
    assert.equal(first.headers.etag, second.headers.etag);
  });

  it('is an exact path', async () => {
    for (const path of ['/qrcode/', '/QRCODE', '/qrcodes', '/x/qrcode']) {
      assert.equal((await request(addr, `${path}?text=a`)).status, 404, path);
    }
  });

  it('refuses a request head that is too large with 431', async () => {
    const response = await request(addr, '/qrcode?text=a', {
      headers: { Cookie: 'c'.repeat(20_000) },
    });
    assert.equal(response.status, 431);
    assert.equal(response.headers['x-served-by'], 'legacy-node');
    assert.ok(response.headers['x-request-id']);
  });

  it('answers 400 to bytes that are not HTTP, and closes', async () => {
    const response = await exchange(addr, 'GARBAGE\r\n\r\n');
    assert.equal(response.status, 400);
    assert.equal(response.headers.connection, 'close');
  });
});

describe('a connection', () => {
  it('stays open for the next request', async () => {
    const socket = await open(addr);
    const answers = [];
    socket.on('data', (chunk) => answers.push(chunk));
    const ask = `GET /qrcode HTTP/1.1\r\nHost: ${addr}\r\n\r\n`;
    socket.write(ask + ask.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    await new Promise((resolve) => socket.on('close', resolve));
    const text = Buffer.concat(answers).toString();
    assert.equal(text.match(/HTTP\/1\.1 400/g).length, 2);
    assert.match(text, /Keep-Alive: timeout=65/);
  });
});

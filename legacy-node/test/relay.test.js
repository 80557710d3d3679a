import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPairing, TOO_MANY_KEYS } from '../src/relay/pairing.js';
import { readTarget } from '../src/relay/target.js';
import { spawnApp, startApp } from './support/app-process.js';
import { exchange, open, request } from './support/raw-http.js';

/** `make test` plays contract/cases/relay against this app; these tests check what those scenarios cannot see. */
const RELAY = { RELAY_ADDR: '127.0.0.1:0', RELAY_PROXY_ADDR: '127.0.0.1:0' };

async function startRelay(t, env = {}) {
  const app = await startApp(t, { ...RELAY, ...env });
  const { relay_addr: addr, relay_proxy_addr: proxyAddr } = await app.logged(
    ({ msg }) => msg === 'listening',
  );
  return { ...app, addr, proxyAddr };
}

/** A GET that waits; `answer` resolves when the server closes. */
async function receive(addr, path) {
  const socket = await open(addr);
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  const answer = once(socket, 'close').then(() => Buffer.concat(chunks).toString());
  return { socket, answer };
}

describe('the relay', () => {
  it('pairs a receiver over HTTP/1 with a sender over HTTP/2', async (t) => {
    const { addr, proxyAddr } = await startRelay(t);
    const { answer } = await receive(addr, '/p/a');
    const session = connect(`http://${proxyAddr}`);
    t.after(() => session.close());
    const stream = session.request({ ':method': 'PUT', ':path': '/p/a' });
    stream.end('hello');
    let lines = '';
    for await (const chunk of stream) lines += chunk;
    assert.match(lines, /^\[INFO\] Waiting for 1 .*successfully\.\n$/s);
    assert.match(await answer, /hello/);
  });

  it('counts a receiver that closes with its last byte, before the body has said that it ends', async (t) => {
    const { addr, proxyAddr } = await startRelay(t);
    const { socket } = await receive(addr, '/p/a');
    const session = connect(`http://${proxyAddr}`);
    t.after(() => session.close());
    const head = { ':method': 'PUT', ':path': '/p/a', 'content-length': '5' };
    const stream = session.request(head);
    stream.write('hello');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
      if (answer.endsWith('hello')) socket.destroy();
    });
    await once(socket, 'close');
    // By then the close has arrived.
    setTimeout(() => stream.end(), 200);
    let lines = '';
    for await (const chunk of stream) lines += chunk;
    assert.match(lines, /Sent successfully!\n.*received successfully\.\n$/s);
    assert.doesNotMatch(lines, /aborted/);
  });

  it('refuses a key over the limit with 503 and Retry-After, and takes it once one is free', async (t) => {
    const { addr } = await startRelay(t, { RELAY_MAX_WAITING_KEYS: '1' });
    const { socket } = await receive(addr, '/p/a');
    // The first one may still be on its way.
    while ((await peek(addr, '/p/b')) !== 503);
    const refused = await request(addr, '/p/b');
    assert.equal(refused.headers['retry-after'], '1');
    socket.destroy();
    while ((await peek(addr, '/p/c')) === 503);
  });

  it('ends a wait that takes too long', async (t) => {
    const { addr } = await startRelay(t, { RELAY_WAIT_TIMEOUT_SECONDS: '0.2' });
    const receiver = await request(addr, '/p/a');
    assert.equal(receiver.status, 503);
    assert.equal(receiver.body.toString(), '[ERROR] No sender came in time.\n');
    const put = 'PUT /p/a HTTP/1.0\r\nContent-Length: 0\r\n\r\n';
    const sender = await exchange(addr, Buffer.from(put));
    assert.match(sender.body.toString(), /\[ERROR\] No receiver came in time\.\n$/);
  });

  it('lets partners in for a while after it has refused new keys', async (t) => {
    const { addr, kill, exited } = await startRelay(t, { SHUTDOWN_DELAY_SECONDS: '1' });
    const waiting = await receive(addr, '/p/a');
    while ((await peek(addr, '/p/a')) !== 400);
    kill('SIGTERM');
    let refused;
    do refused = await peek(addr, '/p/b');
    while (refused !== 503);
    const { body } = await exchange(
      addr,
      Buffer.from('PUT /p/a HTTP/1.0\r\nContent-Length: 1\r\n\r\nx'),
    );
    assert.match(body.toString(), /received successfully/);
    assert.match(await waiting.answer, /x$/);
    assert.equal((await exited).code, 0);
  });

  it('lets a stream end when it shuts down, and sends those away who wait', async (t) => {
    const { addr, kill, exited } = await startRelay(t);
    const { answer } = await receive(addr, '/p/a');
    const sender = await open(addr);
    sender.write('PUT /p/a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab');
    await once(sender, 'data');
    const waiting = await receive(addr, '/p/b');
    while ((await peek(addr, '/p/b')) !== 400);
    kill('SIGTERM');
    assert.match(await waiting.answer, /^HTTP\/1\.1 503 .*The relay is shutting down\./s);
    sender.write('cd');
    assert.match(await answer, /abcd$/);
    assert.equal((await exited).code, 0);
  });

  it('needs a single process', async (t) => {
    const { exited } = spawnApp(t, { ...RELAY, WORKERS: '2' });
    const { code, stderr } = await exited;
    assert.equal(code, 2);
    assert.match(stderr, /WORKERS="2": the relay needs 1/);
  });
});

describe("the relay on the app's own listener", () => {
  it('takes longer than other requests may, without changing their limit', async (t) => {
    const { addr, logged } = await startApp(t, { REQUEST_TIMEOUT_SECONDS: '1' });
    const { answer } = await receive(addr, '/p/a');
    const sender = await open(addr);
    let told = '';
    sender.on('data', (chunk) => {
      told += chunk;
    });
    sender.write('PUT /p/a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\na');
    for (const piece of 'bcd') {
      await sleep(1200); // Node looks for requests that are late once a second
      sender.write(piece);
    }
    assert.match(await answer, /\r\n\r\nabcd$/);
    const post = 'POST /api/links HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
    sender.write(`${post}Content-Length: 9\r\n\r\n{`);
    await once(sender, 'close');
    assert.match(told, /^HTTP\/1\.1 200 .*received successfully\..*HTTP\/1\.1 408 /s);
    const { status } = await logged(({ route, method }) => route === '/p/:key' && method === 'PUT');
    assert.equal(status, 200);
  });

  it('shares its keys with the other listeners', async (t) => {
    const { addr, url } = await startRelay(t);
    const { answer } = await receive(addr, '/p/%41');
    const { body } = await request(url.slice('http://'.length), '/p/%41', {
      method: 'POST',
      body: 'hello',
    });
    assert.match(body.toString(), /received successfully/);
    assert.match(await answer, /hello$/);
  });

  it("lets no file run scripts at the app's address", async (t) => {
    const { addr } = await startApp(t);
    const { answer } = await receive(addr, '/p/a');
    const headers = { 'Content-Type': 'image/svg+xml' };
    await request(addr, '/p/a', { method: 'PUT', headers, body: '<svg/>' });
    assert.match(await answer, /\r\nContent-Security-Policy: sandbox\r\n/);
    assert.match(await answer, /\r\nX-Content-Type-Options: nosniff\r\n/);
  });

  it('closes the connection of a sender that it refuses or gives up, without reading the rest', async (t) => {
    const { addr } = await startApp(t, { RELAY_WAIT_TIMEOUT_SECONDS: '0.2' });
    const head = (n) => `PUT /p/a?n=${n} HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nabc`;
    const refused = await exchange(addr, Buffer.from(head(0)));
    assert.equal(refused.status, 400);
    assert.doesNotMatch(refused.body.toString(), /408/); // the end of every slow request
    const { body } = await exchange(addr, Buffer.from(head(1)));
    assert.match(body.toString(), /No receiver came in time/);
    assert.doesNotMatch(body.toString(), /408/);
  });

  it('cuts a sender whose body is broken, and adds nothing to its answer', async (t) => {
    const { addr } = await startApp(t);
    const { answer } = await receive(addr, '/p/a');
    const received = answer.catch((error) => error.code);
    const put = 'PUT /p/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nz\r\n';
    const { body } = await exchange(addr, Buffer.from(put));
    assert.doesNotMatch(body.toString(), /successfully|HTTP/);
    // A busy machine may show the close before the reset. Either way the answer lacks its last chunk, so it is not
    // complete.
    assert.match(await received, /^ECONNRESET$|transfer-encoding: chunked(?!.*\r\n0\r\n\r\n$)/is);
  });

  it('is not there with two processes', async (t) => {
    const { addr } = await startApp(t, { WORKERS: '2' });
    assert.equal((await request(addr, '/p/a')).status, 404);
  });
});

/** Status of a GET, or undefined if it waits for 100 ms. */
async function peek(addr, path) {
  const { socket, answer } = await receive(addr, path);
  const timer = setTimeout(() => socket.destroy(), 100);
  const text = await answer;
  clearTimeout(timer);
  return text === '' ? undefined : Number(text.split(' ')[1]);
}

describe('the target', () => {
  it('is a path without dot segments below /p/', () => {
    for (const [url, key] of [
      ['/p/x?n=2', '/p/x'],
      ['//p/x', '/p/x'],
      ['/p/a/%2E%2e/x', '/p/x'],
      ['/p/%2F%41', '/p/%2F%41'],
      ['http://h/p/x', '/p/x'],
      ['/p/x/..', undefined],
      ['/p/', undefined],
      ['/px', undefined],
    ]) {
      assert.equal(readTarget(url).key, key, url);
    }
  });
});

describe('the pairing', () => {
  it('keeps nothing of a hundred thousand keys used one after another', () => {
    const pairing = createPairing(1);
    for (let i = 0; i < 1e5; i++) {
      assert.ok(!pairing.addSender(`/p/${i}`, 1, {}).refusal);
      assert.equal(pairing.addReceiver('/p/other', 1, {}).refusal, TOO_MANY_KEYS);
      assert.ok(pairing.addReceiver(`/p/${i}`, 1, {}).pair);
      pairing.finish(`/p/${i}`);
    }
    assert.deepEqual(pairing.sizes(), { waiting: 0, established: 0 });
  });
});

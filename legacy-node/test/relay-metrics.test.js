import assert from 'node:assert/strict';
import { once } from 'node:events';
import { it } from 'node:test';
import { startApp } from './support/app-process.js';
import { readMetrics, sumOf } from './support/metrics.js';
import { open, request } from './support/raw-http.js';

/** Waits until the metrics satisfy `holds`, and returns them. */
async function eventually(adminUrl, holds) {
  for (;;) {
    const samples = await readMetrics(adminUrl);
    if (holds(samples)) return samples;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The app with its relay, and a GET on it that waits. */
async function startRelay(t, env) {
  const app = await startApp(t, { RELAY_ADDR: '127.0.0.1:0', ...env });
  const { relay_addr: addr } = await app.logged(({ msg }) => msg === 'listening');
  const receive = async (key) => {
    const receiver = await open(addr);
    receiver.write(`GET /p/${key} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    receiver.resume();
    const closed = once(receiver, 'close');
    closed.catch(() => {}); // the relay may cut it
    await eventually(app.adminUrl, (samples) => sumOf(samples, 'relay_waiting_keys') === 1);
    return { receiver, closed };
  };
  return { addr, adminUrl: app.adminUrl, receive };
}

it('the relay counts pairs by their end, bytes, and who waits', { timeout: 60_000 }, async (t) => {
  const { addr, adminUrl, receive } = await startRelay(t);
  const begun = await readMetrics(adminUrl);
  for (const end of ['whole', 'sender_left', 'receivers_left']) {
    assert.ok(begun.some(({ name, labels }) => name === 'relay_pairs_total' && labels.end === end));
  }
  assert.equal(sumOf(begun, 'relay_leaving'), 0);
  const { closed } = await receive('a');
  await request(addr, '/p/a', { method: 'PUT', body: 'hello' });
  await closed;

  // This sender leaves midway.
  await receive('b');
  const sender = await open(addr);
  sender.write('PUT /p/b HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123');
  await eventually(adminUrl, (samples) => sumOf(samples, 'relay_received_bytes_total') === 8);
  assert.equal(sumOf(await readMetrics(adminUrl), 'relay_established_pairs'), 1);
  sender.destroy();
  const left = (samples) => sumOf(samples, 'relay_pairs_total', { end: 'sender_left' }) === 1;
  const samples = await eventually(adminUrl, left);
  assert.equal(sumOf(samples, 'relay_pairs_total', { end: 'whole' }), 1);
  assert.equal(sumOf(samples, 'relay_established_pairs'), 0);
});

it('the relay shows the keys that wait as digests, and counts waits by their end', {
  timeout: 60_000,
}, async (t) => {
  const { addr, adminUrl, receive } = await startRelay(t, { RELAY_WAIT_TIMEOUT_SECONDS: '2' });
  const first = await receive('first-key');
  assert.equal(await (await fetch(`${adminUrl}/waiting`)).text(), 'e013b66085d89ea8\n');
  await request(addr, '/p/first-key', { method: 'PUT', body: 'content' });
  await first.closed;
  const second = await receive('second-key');
  second.receiver.destroy();
  const left = (samples) => sumOf(samples, 'relay_unpaired_total', { end: 'left' }) === 1;
  await eventually(adminUrl, left);
  const third = await receive('third-key');
  await third.closed;
  const samples = await readMetrics(adminUrl);
  for (const [name, labels, expected] of [
    ['relay_pairs_total', { end: 'whole' }, 1],
    ['relay_pairs_total', { end: 'cut' }, 0],
    ['relay_unpaired_total', { end: 'expired' }, 1],
    ['relay_received_bytes_total', {}, 7],
    ['relay_pairing_seconds_count', {}, 1],
    ['relay_stream_seconds_count', {}, 1],
  ]) {
    assert.equal(sumOf(samples, name, labels), expected, name);
  }
});

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { startApp } from './support/app-process.js';
import { readMetrics, sumOf } from './support/metrics.js';
import { request } from './support/raw-http.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const BOUNDS_SECONDS =
  '0.00005 0.0001 0.00025 0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 +Inf';

const app = await startApp({ after });
const boundsOf = (samples, name) => {
  const bounds = samples.filter((s) => s.name === name).map(({ labels }) => labels.le);
  return [...new Set(bounds)].map((le) => (le === '5e-05' || le === '0.00005' ? '0.00005' : le));
};

describe('metrics', () => {
  it('have the buckets of qr-service', async () => {
    await request(app.addr, '/qrcode?text=a');
    const samples = await readMetrics(app.adminUrl);
    for (const name of ['http_request_duration_seconds_bucket', 'qr_generate_seconds_bucket']) {
      assert.equal(boundsOf(samples, name).join(' '), BOUNDS_SECONDS);
    }
    const sizes = boundsOf(samples, 'qr_png_bytes_bucket').join(' ');
    assert.equal(sizes, '128 256 512 1024 2048 4096 8192 +Inf');
  });

  it('are labelled by template, so that no request can add a label', async () => {
    for (let i = 0; i < 5; i++) {
      await request(app.addr, `/l/abc${i}`);
      await request(app.addr, `/api/links/abc${i}`);
      await request(app.addr, `/nowhere/${i}`);
      await request(app.addr, `/assets/${i}`);
    }
    await request(app.addr, '/', { method: 'PROPFIND' });
    const samples = await readMetrics(app.adminUrl);
    const routes = new Set(samples.map(({ labels }) => labels.route).filter(Boolean));
    const templates = ['/', '/api/links/:id', '/assets/:file', '/l/:id', '/qrcode', 'unmatched'];
    assert.deepEqual([...routes].sort(), templates);
    assert.equal(
      sumOf(samples, 'http_requests_total', { route: '/', method: 'other', status: '405' }),
      1,
    );
  });

  it('count the requests that nginx hands over after a failure', async () => {
    for (const value of ['1', '0', 'yes']) {
      await request(app.addr, '/qrcode?text=a', { headers: { 'X-Route-Fallback': value } });
    }
    const samples = await readMetrics(app.adminUrl);
    assert.equal(sumOf(samples, 'qr_fallback_requests_total'), 1);
    assert.ok(sumOf(samples, 'process_resident_memory_bytes') > 1e7);
  });

  it('are not on the public port, and the admin port has nothing else', async () => {
    for (const path of ['/metrics', '/livez', '/readyz']) {
      assert.equal((await request(app.addr, path)).status, 404, path);
    }
    assert.equal((await fetch(`${app.adminUrl}/qrcode?text=a`)).status, 404);
    assert.equal((await fetch(`${app.adminUrl}/metrics`, { method: 'POST' })).status, 405);
    assert.equal((await fetch(`${app.adminUrl}/toString`)).status, 404);
  });
});

describe('logs', () => {
  it('have one line per request, with its ids', async () => {
    const headers = { 'X-Request-Id': 'log-1', traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` };
    await request(app.addr, '/qrcode?text=a', { headers });
    const entry = await app.logged(({ request_id }) => request_id === 'log-1');
    assert.match(entry.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(entry.duration_seconds > 0 && entry.duration_seconds < 60);
    const { time, duration_seconds, ...rest } = entry;
    assert.deepEqual(rest, {
      level: 'info',
      msg: 'request',
      service: 'legacy-node',
      request_id: 'log-1',
      trace_id: TRACE_ID,
      route: '/qrcode',
      method: 'GET',
      status: 200,
      side: 'old',
    });
  });

  it('name the side as nginx does when the app is the fallback', async () => {
    await request(app.addr, '/qrcode?text=a', {
      headers: { 'X-Request-Id': 'log-3', 'X-Route-Fallback': '1' },
    });
    const entry = await app.logged(({ request_id }) => request_id === 'log-3');
    assert.equal(entry.side, 'fallback');
  });

  it('leave out an invalid trace id', async () => {
    const headers = {
      'X-Request-Id': 'log-2',
      traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    };
    await request(app.addr, '/', { headers });
    const entry = await app.logged(({ request_id }) => request_id === 'log-2');
    assert.equal(entry.trace_id, undefined);
  });

  it('never contain the text, the query or a link', async () => {
    const secret = 'tops3cret';
    await request(app.addr, `/qrcode?text=${secret}&${secret}=1`);
    await request(app.addr, `/qrcode?text=${secret}%FF`);
    await request(app.addr, `/${secret}?${secret}`);
    await request(app.addr, `/l/${secret}`);
    const headers = { 'Content-Type': 'application/json' };
    for (const body of [`{"url":"https://${secret}.example/"}`, `{"url": ${secret}`]) {
      await request(app.addr, '/api/links', { method: 'POST', headers, body });
    }
    await request(app.addr, '/', { headers: { 'X-Request-Id': 'log-3' } });
    await app.logged(({ request_id }) => request_id === 'log-3');
    assert.ok(app.lines.length > 6);
    assert.ok(!app.lines.some((line) => line.includes(secret)));
    const metrics = await (await fetch(`${app.adminUrl}/metrics`)).text();
    assert.ok(!metrics.includes(secret));
  });
});

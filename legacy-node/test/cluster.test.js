import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startApp } from './support/app-process.js';
import { readMetrics, sumOf } from './support/metrics.js';
import { request } from './support/raw-http.js';

/** Process ids of the children of a process, from Linux' /proc. */
function childrenOf(pid) {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return list.split(' ').filter(Boolean).map(Number);
}

/** Resident bytes of a process as the kernel counts them. */
function residentBytes(pid) {
  const [, kib] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(kib) * 1024;
}

async function until(condition) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 50));
}

describe('a cluster', () => {
  it('adds up the requests of all workers', async (t) => {
    const app = await startApp(t, { WORKERS: '3' });
    assert.equal(childrenOf(app.pid).length, 3);
    for (let i = 0; i < 30; i++) await request(app.addr, `/qrcode?text=${i}`);
    const metrics = await readMetrics(app.adminUrl);
    const served = { route: '/qrcode', method: 'GET', status: '200' };
    assert.equal(sumOf(metrics, 'http_requests_total', served), 30);
    assert.equal(sumOf(metrics, 'qr_generate_seconds_count'), 30);
    assert.equal(sumOf(metrics, 'qr_png_bytes_bucket', { le: '+Inf' }), 30);
    assert.equal(sumOf(metrics, 'http_requests_in_flight'), 0);
    assert.equal(sumOf(metrics, 'qr_build_info'), 1);
  });

  it("counts the primary's own memory too", async (t) => {
    const app = await startApp(t, { WORKERS: '2' });
    const metrics = await readMetrics(app.adminUrl);
    const reported = sumOf(metrics, 'process_resident_memory_bytes');
    const workers = childrenOf(app.pid).map(residentBytes);
    const whole = workers.reduce((sum, bytes) => sum + bytes, residentBytes(app.pid));
    // Memory changes between the two readings, but by less than a process has.
    assert.ok(Math.abs(reported - whole) < residentBytes(app.pid) / 2, `${reported} of ${whole}`);
    assert.ok(sumOf(metrics, 'process_start_time_seconds') > 1e9);
  });

  it('replaces a worker that dies, on the same port, and its counts stay', async (t) => {
    const app = await startApp(t, { WORKERS: '2' });
    for (let i = 0; i < 10; i++) await request(app.addr, '/qrcode?text=a');
    const count = async () => sumOf(await readMetrics(app.adminUrl), 'qr_generate_seconds_count');
    assert.equal(await count(), 10);

    const before = childrenOf(app.pid);
    for (const pid of before) process.kill(pid, 'SIGKILL');
    await until(() => {
      const now = childrenOf(app.pid);
      return now.length === 2 && !now.some((pid) => before.includes(pid));
    });
    await until(async () => (await fetch(`${app.adminUrl}/readyz`)).status === 200);
    assert.equal((await request(app.addr, '/qrcode?text=a')).status, 200);
    assert.equal(await count(), 11);
    assert.ok(app.lines.some((line) => line.includes('worker died')));
  });

  it('leaves no workers when the primary is killed', async (t) => {
    const app = await startApp(t, { WORKERS: '2' });
    const workers = childrenOf(app.pid);
    app.kill('SIGKILL');
    await app.exited;
    await until(() => workers.every((pid) => !isRunning(pid)));
  });
});

function isRunning(pid) {
  try {
    // A killed parent leaves zombies to init; those have ended.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

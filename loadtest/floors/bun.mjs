// Bun's HTTP server with one route. Arguments: ADDRESS CORES documented|tuned timeouts|forever.
//
// Documented: a route with a handler, in one process. Tuned: no router, and a process per core, which share the
// port. A constant `Response` as a route would be Bun's fastest, but it has an ETag, which no other row sends.
const [address, cores, column, timeouts] = process.argv.slice(2);
const [hostname, port] = address.split(':');
const body = 'Z'.repeat(420);
const init = { headers: { 'Content-Type': 'image/png' } };
const tuned = column === 'tuned';

if (tuned && Number(cores) > 1 && !process.env.FLOOR_CHILD) {
  const again = () =>
    Bun.spawn([process.execPath, ...process.argv.slice(1)], {
      env: { ...process.env, FLOOR_CHILD: '1' },
      stdin: 'pipe',
      stderr: 'inherit',
    });
  const children = Array.from({ length: Number(cores) }, again);
  process.on('SIGTERM', () => {
    for (const child of children) child.kill('SIGKILL');
    process.exit();
  });
  await Promise.race(children.map((child) => child.exited));
  process.exit(1);
}

const answer = () => new Response(body, init);

Bun.serve({
  hostname,
  port: Number(port),
  reusePort: tuned,
  idleTimeout: timeouts === 'timeouts' ? 60 : 0,
  development: false,
  ...(tuned ? { fetch: answer } : { routes: { '/qrcode': answer } }),
});

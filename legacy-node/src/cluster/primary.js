/**
 * The cluster's primary. It owns the admin listener, sums the workers' metrics, replaces workers
 * that die and stops them at shutdown. It never answers on the public port.
 */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { createAdminServer } from '../admin.js';
import { formatAddress } from '../config.js';
import { listen } from '../http/listen.js';
import { shutDown, stopSignal } from '../lifecycle.js';
import { StartupError } from '../startup-error.js';
import { createClusterMetrics } from './worker-metrics.js';

/** A worker that lived this long is replaced at once when it dies. */
const STABLE_MS = 10_000;
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 30_000;
/** Time beyond the drain time that a worker gets to close its data before it is killed. */
const EXIT_GRACE_MS = 2000;

/** Runs the app with `config.workers` workers until a signal ends it. */
export async function runPrimary(config, logger) {
  const signalled = stopSignal();
  const register = new Registry();
  collectDefaultMetrics({ register });
  const metrics = createClusterMetrics(register);
  const pool = createPool({ config, logger, metrics });

  const admin = createAdminServer({
    isReady: pool.isServing,
    renderMetrics: () => metrics.render(pool.connected()),
    logger,
  });
  const adminAddress = await listen(admin, config.adminAddr, 'ADMIN_ADDR');
  const address = await pool.start();
  logger.info(
    {
      addr: formatAddress(address),
      admin_addr: formatAddress(adminAddress),
      workers: config.workers,
    },
    'listening',
  );

  await shutDown({
    signal: await signalled,
    config,
    logger,
    markNotReady: pool.markStopping,
    stop: pool.stop,
  });
}

/** The workers: starts them, replaces those that die, and ends all. */
function createPool({ config, logger, metrics }) {
  const workerEnv = { ...config.typed };
  const serving = new Set();
  let stopping = false;
  let quickDeaths = 0;
  let address;
  const workers = () => Object.values(cluster.workers);
  return {
    isServing: () => serving.size > 0 && !stopping,
    connected: () => workers().filter((worker) => worker.isConnected()),
    start,
    markStopping,
    stop,
  };

  /**
   * Forks the workers; all must start. The first one starts alone, so that one process creates the
   * database and a bad port or folder is reported once.
   * @returns {Promise<{host, port}>} the address they share
   * @throws {StartupError} with the reason of the worker that failed
   */
  async function start() {
    // Workers get their settings from the environment, not from flags.
    cluster.setupPrimary({ args: [] });
    const { port } = await firstAddress(fork());
    address = { host: config.addr.host, port };
    const others = Array.from({ length: config.workers - 1 }, fork);
    await Promise.all(others.map(firstAddress));
    for (const worker of workers()) watch(worker);
    return address;
  }

  function markStopping() {
    stopping = true;
  }

  /** Drains all workers and kills those that do not exit in time. */
  async function stop() {
    markStopping();
    await Promise.all(workers().map(end));
  }

  async function end(worker) {
    const kill = () => {
      logger.warn({ worker_pid: worker.process.pid }, 'worker killed: it did not stop');
      worker.process.kill('SIGKILL');
    };
    const timer = setTimeout(kill, config.drainTimeoutMs + EXIT_GRACE_MS);
    const exited = worker.isDead() || once(worker, 'exit');
    if (worker.isConnected()) worker.send({ type: 'drain' }, () => {});
    await exited;
    clearTimeout(timer);
  }

  function fork() {
    // Workers that ask for the same address, port 0 included, share a listener until the last one
    // exits. After that, port 0 would give another port: ask for the bound one.
    if (address && workers().length === 0) workerEnv.ADDR = formatAddress(address);
    const worker = cluster.fork(workerEnv);
    worker.on('message', ({ type }) => type === 'serving' && serving.add(worker.id));
    worker.on('exit', () => {
      serving.delete(worker.id);
      metrics.retire(worker);
    });
    return worker;
  }

  /** Replaces the worker when it dies; the wait doubles while replacements die young. */
  function watch(worker) {
    const bornAt = performance.now();
    worker.once('exit', (code, signal) => {
      if (stopping) return;
      const young = performance.now() - bornAt < STABLE_MS;
      quickDeaths = young ? quickDeaths + 1 : 0;
      const backoffMs = young
        ? Math.min(FIRST_BACKOFF_MS * 2 ** (quickDeaths - 1), LONGEST_BACKOFF_MS)
        : 0;
      logger.warn(
        { worker_pid: worker.process.pid, code, signal, backoff_seconds: backoffMs / 1000 },
        'worker died',
      );
      setTimeout(() => {
        if (!stopping) watch(fork());
      }, backoffMs);
    });
  }
}

/** Resolves with the address that a worker bound; rejects with the reason if it fails to start. */
function firstAddress(worker) {
  return new Promise((resolve, reject) => {
    let address;
    worker.once('listening', (bound) => {
      address = bound;
    });
    worker.on('message', ({ type, reason }) => {
      if (type === 'serving') resolve(address);
      if (type === 'startup_failed') reject(new StartupError(reason));
    });
    worker.once('exit', (code, signal) => {
      reject(new StartupError(`a worker died while starting (${signal ?? `exit code ${code}`})`));
    });
  });
}

/**
 * The cluster's primary: it never answers the public port itself. It owns the admin listener, adds
 * the workers' metrics up, replaces workers that die and ends them in good order.
 */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { createAdminServer } from '../admin.js';
import { formatAddress } from '../config.js';
import { listen } from '../http/listen.js';
import { shutDown, stopSignal } from '../lifecycle.js';
import { StartupError } from '../startup-error.js';
import { ClusterMetrics } from './worker-metrics.js';

/** A worker that lived this long has earned an immediate replacement. */
const STABLE_MS = 10_000;
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 30_000;
/** What workers get beyond the drain time to close their data, before they are killed. */
const EXIT_GRACE_MS = 2000;

/** The app with `config.workers` workers, until a signal ends it. */
export async function runPrimary(config, logger) {
  const signalled = stopSignal();
  const register = new Registry();
  collectDefaultMetrics({ register });
  const metrics = new ClusterMetrics(register);
  const pool = new WorkerPool({ config, logger, metrics });

  const admin = createAdminServer({
    isReady: () => pool.isServing(),
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
    markNotReady: () => pool.markStopping(),
    stop: () => pool.stop(),
  });
}

class WorkerPool {
  #config;
  #logger;
  #metrics;
  #serving = new Set();
  #stopping = false;
  #quickDeaths = 0;
  #workerEnv;
  #address;

  constructor({ config, logger, metrics }) {
    this.#config = config;
    this.#logger = logger;
    this.#metrics = metrics;
    this.#workerEnv = { ...config.typed };
  }

  isServing() {
    return this.#serving.size > 0 && !this.#stopping;
  }

  connected() {
    return Object.values(cluster.workers).filter((worker) => worker.isConnected());
  }

  /**
   * Forks the workers; all must come up. The first one goes ahead: it makes the database, and if
   * the port or the folder can't be used, that is said once.
   * @returns {Promise<{host, port}>} the address they share
   * @throws {StartupError} the reason of the worker that failed
   */
  async start() {
    // Settings travel by environment: the flags have been read already.
    cluster.setupPrimary({ args: [] });
    const { port } = await firstAddress(this.#fork());
    this.#address = { host: this.#config.addr.host, port };
    const others = Array.from({ length: this.#config.workers - 1 }, () => this.#fork());
    await Promise.all(others.map(firstAddress));
    for (const worker of Object.values(cluster.workers)) this.#watch(worker);
    return this.#address;
  }

  markStopping() {
    this.#stopping = true;
  }

  /** Drains all workers; one that doesn't leave in time is killed. */
  async stop() {
    this.#stopping = true;
    await Promise.all(Object.values(cluster.workers).map((worker) => this.#end(worker)));
  }

  async #end(worker) {
    const kill = () => {
      this.#logger.warn({ worker_pid: worker.process.pid }, 'worker killed: it did not stop');
      worker.process.kill('SIGKILL');
    };
    const timer = setTimeout(kill, this.#config.drainTimeoutMs + EXIT_GRACE_MS);
    const exited = worker.isDead() || once(worker, 'exit');
    if (worker.isConnected()) worker.send({ type: 'drain' }, () => {});
    await exited;
    clearTimeout(timer);
  }

  #fork() {
    // Workers share a listener under the address they ask for, port 0 included, while one of them
    // lives. When none is left it is gone, and port 0 would mean a new port: ask for the old one.
    if (this.#address && Object.keys(cluster.workers).length === 0) {
      this.#workerEnv.ADDR = formatAddress(this.#address);
    }
    const worker = cluster.fork(this.#workerEnv);
    worker.on('message', ({ type }) => type === 'serving' && this.#serving.add(worker.id));
    worker.on('exit', () => {
      this.#serving.delete(worker.id);
      this.#metrics.retire(worker);
    });
    return worker;
  }

  /** Replaces the worker when it dies; the wait doubles while replacements die young. */
  #watch(worker) {
    const bornAt = performance.now();
    worker.once('exit', (code, signal) => {
      if (this.#stopping) return;
      const young = performance.now() - bornAt < STABLE_MS;
      this.#quickDeaths = young ? this.#quickDeaths + 1 : 0;
      const backoffMs = young
        ? Math.min(FIRST_BACKOFF_MS * 2 ** (this.#quickDeaths - 1), LONGEST_BACKOFF_MS)
        : 0;
      this.#logger.warn(
        { worker_pid: worker.process.pid, code, signal, backoff_seconds: backoffMs / 1000 },
        'worker died',
      );
      setTimeout(() => {
        if (!this.#stopping) this.#watch(this.#fork());
      }, backoffMs);
    });
  }
}

/** The address that a worker came up on; rejects with its reason if it doesn't. */
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

import cluster from 'node:cluster';
import { ConfigError, helpText, loadConfig } from './config.js';
import { createLogger } from './logger.js';
import { StartupError } from './startup-error.js';

const BAD_USAGE = 2;

async function main() {
  const config = loadConfig(process.argv.slice(2), process.env);
  if (config.help) return process.stdout.write(helpText());
  const logger = createLogger(config.logLevel);
  const run = await importRole(config);
  return run(config, logger);
}

/** Each role loads only what it runs, so the primary has neither Express nor SQLite in memory. */
async function importRole(config) {
  if (cluster.isWorker) return (await import('./cluster/worker.js')).runWorker;
  if (config.workers > 1) return (await import('./cluster/primary.js')).runPrimary;
  return (await import('./single.js')).runSingle;
}

/** Reports the reason in one line, to the terminal or to the primary that forked this worker. */
function fail(error) {
  const expected = error instanceof ConfigError || error instanceof StartupError;
  const code = error instanceof ConfigError ? BAD_USAGE : 1;
  const reason = expected ? error.message : error.stack;
  if (!cluster.isWorker) {
    process.stderr.write(`legacy-node: ${reason}\n`);
    process.exit(code);
  }
  process.send({ type: 'startup_failed', reason }, () => process.exit(code));
}

main().then(() => process.exit(0), fail);

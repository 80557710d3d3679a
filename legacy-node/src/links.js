/**
 * Backup and restore of the links, while the app runs or not:
 *
 *     node src/links.js backup > links.db
 *     node src/links.js restore < links.db
 *
 * DATA_DIR is the app's. The result goes to stderr, with the digest that `sha256sum` prints.
 */
import { ConfigError, loadConfig } from './config.js';
import { backUp, restore } from './links/backup.js';
import { StartupError } from './startup-error.js';

const USAGE = 'usage: node src/links.js backup > FILE, or restore < FILE';
const BAD_USAGE = 2;

async function main([command, ...rest]) {
  if (!['backup', 'restore'].includes(command) || rest.length > 0) throw new ConfigError(USAGE);
  const { dataDir } = loadConfig([], process.env);
  if (command === 'backup') {
    if (process.stdout.isTTY) throw new ConfigError(USAGE);
    const { links, sha256 } = await backUp(dataDir, process.stdout);
    return `backed up ${links} links, sha256 ${sha256}`;
  }
  if (process.stdin.isTTY) throw new ConfigError(USAGE);
  const { links, before, sha256 } = await restore(dataDir, process.stdin);
  return `restored ${links} links in place of ${before}, sha256 ${sha256}`;
}

function fail(error) {
  const expected = error instanceof ConfigError || error instanceof StartupError;
  process.exitCode = error instanceof ConfigError ? BAD_USAGE : 1;
  return expected || error.syscall ? error.message : error.stack;
}

const said = await main(process.argv.slice(2)).catch(fail);
process.stderr.write(`links: ${said}\n`);

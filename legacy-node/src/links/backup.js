/**
 * Makes and restores copies of the links' file while the app runs.
 *
 * The file itself cannot be copied: the newest links are in the write-ahead log beside it. SQLite writes a consistent
 * copy instead, while readers and writers go on. A restore fills a second table and then swaps the names of both tables
 * in one transaction, so no process has to stop or to open another file. All its transactions are short, because each
 * of them blocks the app's only thread.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import Database from 'libsql';
import { StartupError } from '../startup-error.js';
import { COLUMNS, openLinkStore } from './store.js';

const NAMES = ['seq', 'id', 'url', 'created_at_ms', 'visits'];
/** Links in one transaction, which takes some 0.1 s because new ids are spread over the whole index. */
const BATCH = 10_000;
/** Room for the index of a few million links; with SQLite's default of 2 MB, each new id would cost a disk read. */
const CACHE_KIB = 65_536;
/** The app's writers give up after 5 s; a copy may wait longer for them. */
const BUSY_TIMEOUT_MS = 30_000;
/** Name prefix of copies. They are in the data folder, the only one that a hardened container can write. */
const PREFIX = 'copy-';
/** A killed command leaves its copy behind; a later one removes copies that are older than this. */
const LEFTOVER_AGE_MS = 3_600_000;

/**
 * Writes a copy of the links to a stream.
 * @param {string} dataDir the app's DATA_DIR
 * @param {import('node:stream').Writable} output stays open
 * @returns {Promise<{links: number, sha256: string}>} of the copy
 * @throws {StartupError} if there are no links, or not enough room for a copy
 */
export async function backUp(dataDir, output) {
  const path = join(dataDir, 'links.db');
  // SQLite would create it.
  if (!existsSync(path)) throw new StartupError(`${path}: there is no such file`);
  return withCopy(dataDir, async (copy) => {
    await expectSuccess(path, () => {
      const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
      db.prepare('VACUUM INTO ?').run(copy);
      db.close();
    });
    const links = await countLinks(copy);
    const sha256 = createHash('sha256');
    await pipeline(createReadStream(copy), tap(sha256), output, { end: false });
    return { links, sha256: sha256.digest('hex') };
  });
}

/**
 * Replaces all links by those of a copy. Links that are newer than the copy are gone afterwards.
 * @param {string} dataDir the app's DATA_DIR; created if missing
 * @param {import('node:stream').Readable} input
 * @returns {Promise<{links: number, before: number, sha256: string}>} how many there are now, how many there
 *   were, and the digest of the copy
 * @throws {StartupError} if the input is not a complete copy; the links then stay as they were
 */
export async function restore(dataDir, input) {
  openLinkStore(dataDir).close();
  return withCopy(dataDir, async (copy) => {
    const sha256 = createHash('sha256');
    await pipeline(input, tap(sha256), createWriteStream(copy));
    await countLinks(copy);
    const path = join(dataDir, 'links.db');
    const counts = await expectSuccess(path, () => replaceLinks(path, copy));
    return { ...counts, sha256: sha256.digest('hex') };
  });
}

async function replaceLinks(path, copy) {
  const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.pragma(`cache_size = -${CACHE_KIB}`);
    db.prepare('ATTACH ? AS copy').run(copy);
    dropLeftovers(db);
    const suffix = randomBytes(4).toString('hex');
    const [restored, replaced] = [`links_restored_${suffix}`, `links_replaced_${suffix}`];
    db.exec(`CREATE TABLE main.${restored} ${COLUMNS}`);
    const links = await fill(db, restored);
    // So that the links are on the disk when the command returns.
    db.pragma('synchronous = FULL');
    const { before } = db.prepare('SELECT count(*) AS before FROM main.links').get();
    db.exec(`BEGIN IMMEDIATE;
      ALTER TABLE main.links RENAME TO ${replaced};
      ALTER TABLE main.${restored} RENAME TO links;
      COMMIT`);
    db.exec(`DROP TABLE main.${replaced}`);
    return { links, before };
  } finally {
    db.close();
  }
}

/** Copies the rows in batches. After each, pauses for as long as it took, so that the app can write. */
async function fill(db, table) {
  const names = NAMES.join(', ');
  const insert = db.prepare(
    `INSERT INTO main.${table} (${names})
     SELECT ${names} FROM copy.links WHERE seq > ? ORDER BY seq LIMIT ${BATCH}`,
  );
  const last = db.prepare(`SELECT max(seq) AS seq FROM main.${table}`);
  let links = 0;
  for (;;) {
    const began = performance.now();
    const { changes } = insert.run(last.get().seq ?? Number.MIN_SAFE_INTEGER);
    links += changes;
    if (changes < BATCH) return links;
    await setTimeout(performance.now() - began);
  }
}

/** Drops tables that killed restores have left behind. A restore that still runs then fails and changes nothing. */
function dropLeftovers(db) {
  const tables = db.prepare(
    "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name GLOB 'links_re*_*'",
  );
  for (const { name } of tables.all()) db.exec(`DROP TABLE main.${name}`);
}

/** Checks that a copy is complete, and returns its number of links. */
function countLinks(copy) {
  return expectSuccess('the copy', () => {
    const db = new Database(copy);
    try {
      const [{ integrity_check: found }] = db.prepare('PRAGMA integrity_check').all();
      if (found !== 'ok') throw new Error(found);
      const table = db.prepare("SELECT name FROM pragma_table_info('links')").all();
      const names = table.map(({ name }) => name);
      const missing = NAMES.filter((column) => !names.includes(column));
      if (missing.length > 0) throw new Error(`it has no links with ${missing.join(', ')}`);
      return db.prepare('SELECT count(*) AS links FROM links').get().links;
    } finally {
      db.close();
    }
  });
}

async function expectSuccess(subject, action) {
  try {
    return await action();
  } catch (error) {
    throw new StartupError(`${subject}: ${error.message}`);
  }
}

/** Calls `use` with a path in the data folder where it can create a file, and removes the file afterwards. */
async function withCopy(dataDir, use) {
  removeLeftovers(dataDir);
  const folder = mkdtempSync(join(dataDir, PREFIX));
  try {
    return await use(join(folder, 'links.db'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function removeLeftovers(dataDir) {
  for (const name of readdirSync(dataDir).filter((name) => name.startsWith(PREFIX))) {
    const folder = join(dataDir, name);
    const { mtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
    if (Date.now() - mtimeMs > LEFTOVER_AGE_MS) rmSync(folder, { recursive: true, force: true });
  }
}

/** Passes everything on and feeds it to a hash. */
function tap(hash) {
  return async function* (chunks) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  };
}

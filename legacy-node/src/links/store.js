/**
 * Short links in SQLite. Several processes may share the file: with WAL, readers do not block the
 * writer, and writers wait for their turn instead of failing.
 */
import { randomInt } from 'node:crypto';
import { accessSync, constants, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { StartupError } from '../startup-error.js';

const ID_ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^7 = 3.5e12 ids: too many to enumerate, and a collision is rare and retried. */
const ID_LENGTH = 7;
const ID_ATTEMPTS = 5;
const BUSY_TIMEOUT_MS = 5000;

/** The table's columns, as SQL. */
export const COLUMNS = `(
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  url TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  visits INTEGER NOT NULL DEFAULT 0
)`;

/** The form of an id; callers look up nothing else in the database. */
export const ID_PATTERN = new RegExp(`^[0-9A-Za-z]{${ID_LENGTH}}$`);

/**
 * Opens `links.db` in the folder; creates both if missing.
 * @throws {StartupError} when the folder or the file can't be used
 */
export function openLinkStore(dataDir) {
  try {
    mkdirSync(dataDir, { recursive: true });
    accessSync(dataDir, constants.W_OK | constants.X_OK);
    return new LinkStore(join(dataDir, 'links.db'));
  } catch (error) {
    throw new StartupError(`DATA_DIR=${JSON.stringify(dataDir)}: can't be used: ${error.message}`);
  }
}

const SQL = {
  insert: 'INSERT INTO links (id, url, created_at_ms) VALUES (?, ?, ?) RETURNING *',
  byId: 'SELECT * FROM links WHERE id = ?',
  visit: 'UPDATE links SET visits = visits + 1 WHERE id = ? RETURNING *',
};

class LinkStore {
  #db;
  #statements = {};

  constructor(path) {
    this.#db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    this.#db.pragma('journal_mode = WAL');
    // Safe against a crash of the process; a power cut may lose the last links, never the file.
    this.#db.pragma('synchronous = NORMAL');
    this.#db.exec(`CREATE TABLE IF NOT EXISTS links ${COLUMNS}`);
    // A read-only file opens without an error; taking a write lock fails.
    this.#db.exec('BEGIN IMMEDIATE; COMMIT');
    for (const name of Object.keys(SQL)) this.#prepare(name);
  }

  /** Stores a URL under a new id and returns the link. */
  add(url) {
    for (let attempt = 1; ; attempt++) {
      const id = randomId();
      try {
        return toLink(this.#row('insert', id, url, Date.now()));
      } catch (error) {
        if (error.code !== 'SQLITE_CONSTRAINT_UNIQUE' || attempt === ID_ATTEMPTS) throw error;
      }
    }
  }

  /** The link {id, url, createdAt, visits}, or undefined. */
  find(id) {
    return toLink(this.#row('byId', id));
  }

  /** Counts a visit; returns the link, or undefined if there is none. */
  visit(id) {
    return toLink(this.#row('visit', id));
  }

  close() {
    this.#db.close();
  }

  #prepare(name) {
    this.#statements[name] = this.#db.prepare(SQL[name]);
  }

  /**
   * The first row. libsql 0.5.29 does not reset a statement whose `get` failed: the next call would ignore its own
   * values and use the failed ones, such as another client's URL. So a failed statement is prepared again.
   */
  #row(name, ...values) {
    try {
      return this.#statements[name].get(...values);
    } catch (error) {
      this.#prepare(name);
      throw error;
    }
  }
}

function toLink(row) {
  if (!row) return undefined;
  return { id: row.id, url: row.url, createdAt: new Date(row.created_at_ms), visits: row.visits };
}

function randomId() {
  let id = '';
  while (id.length < ID_LENGTH) id += ID_ALPHABET[randomInt(ID_ALPHABET.length)];
  return id;
}

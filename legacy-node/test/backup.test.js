import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import Database from 'libsql';
import { openLinkStore } from '../src/links/store.js';
import { startApp, temporaryFolder } from './support/app-process.js';
import { request } from './support/raw-http.js';

const PROGRAM = fileURLToPath(new URL('../src/links.js', import.meta.url));

/** Runs the program as an operator does; `input` is what is piped into it. */
async function links(DATA_DIR, args, input = '') {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env.PATH, DATA_DIR },
  });
  child.stdin.on('error', () => {}); // it may refuse before it has read everything
  child.stdin.end(input);
  const outcome = [buffer(child.stdout), text(child.stderr), once(child, 'close')];
  const [stdout, stderr, [code]] = await Promise.all(outcome);
  return { stdout, stderr, code };
}

async function backup(folder) {
  const { stdout, stderr, code } = await links(folder, ['backup']);
  assert.equal(code, 0, stderr);
  return { file: stdout, said: stderr };
}

async function shorten(addr, url) {
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ url });
  const { status, body: json } = await request(addr, '/api/links', {
    method: 'POST',
    headers,
    body,
  });
  assert.equal(status, 201);
  return JSON.parse(json).id;
}

/** Shortens, follows and looks up links until it is stopped; any unexpected answer fails the test. */
function load(addr) {
  const stored = [];
  let running = true;
  const client = async () => {
    while (running) {
      const id = await shorten(addr, `https://example.com/${stored.length}`);
      stored.push(id);
      const { status } = await request(addr, `/l/${id}`);
      // A restore takes away the links that are newer than the copy.
      assert.ok([302, 404].includes(status), `a redirect answers ${status}`);
      assert.equal((await request(addr, `/api/links?id=${id}`)).status, 200);
    }
  };
  const clients = Promise.all([client(), client(), client(), client()]);
  const stop = () => {
    running = false;
    return clients;
  };
  return { stored, stop };
}

/** The rows of a copy, read with SQLite directly. */
function rowsOf(t, file) {
  const path = join(temporaryFolder(t), 'copy.db');
  writeFileSync(path, file);
  const db = new Database(path);
  assert.equal(db.prepare('PRAGMA integrity_check').get().integrity_check, 'ok');
  const rows = db.prepare('SELECT id, url, visits FROM links ORDER BY seq').all();
  db.close();
  return rows;
}

/** Only the database and its two files may be left. */
function assertTidy(folder) {
  const others = readdirSync(folder).filter((name) => !/^links\.db(-wal|-shm)?$/.test(name));
  assert.deepEqual(others, []);
}

function tablesOf(db) {
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  return tables.map(({ name }) => name);
}

async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

for (const WORKERS of ['1', '2']) {
  describe(`under load, with WORKERS=${WORKERS}`, () => {
    it('a backup has every link from before it, and no request fails', async (t) => {
      const DATA_DIR = temporaryFolder(t);
      const app = await startApp(t, { DATA_DIR, WORKERS });
      const { stored, stop } = load(app.addr);
      await until(() => stored.length > 50);
      const before = [...stored];
      const { file, said } = await backup(DATA_DIR);
      const after = stored.length;
      await stop();
      const rows = rowsOf(t, file);
      const ids = new Set(rows.map(({ id }) => id));
      assert.deepEqual(
        before.filter((id) => !ids.has(id)),
        [],
      );
      assert.ok(after > before.length, 'nothing was stored meanwhile');
      const sha256 = createHash('sha256').update(file).digest('hex');
      assert.equal(said, `links: backed up ${rows.length} links, sha256 ${sha256}\n`);
      assertTidy(DATA_DIR);
    });

    it('a restore brings back exactly the copy, and no request fails', async (t) => {
      const DATA_DIR = temporaryFolder(t);
      const app = await startApp(t, { DATA_DIR, WORKERS });
      const kept = await shorten(app.addr, 'https://example.com/kept');
      for (let i = 0; i < 3; i++) await request(app.addr, `/l/${kept}`);
      const { file } = await backup(DATA_DIR);
      for (let i = 0; i < 4; i++) await request(app.addr, `/l/${kept}`);
      const { stored, stop } = load(app.addr);
      await until(() => stored.length > 50);
      const before = [...stored];
      const { stderr, code } = await links(DATA_DIR, ['restore'], file);
      assert.equal(code, 0, stderr);
      assert.match(stderr, /^links: restored 1 links in place of \d+, sha256 [0-9a-f]{64}\n$/);
      const after = await shorten(app.addr, 'https://example.com/after');
      await stop();
      const link = JSON.parse((await request(app.addr, `/api/links/${kept}`)).body);
      assert.deepEqual([link.url, link.visits], ['https://example.com/kept', 3]);
      assert.equal((await request(app.addr, `/l/${after}`)).status, 302);
      for (const id of before) assert.equal((await request(app.addr, `/l/${id}`)).status, 404);
      assertTidy(DATA_DIR);
    });
  });
}

describe('a restore', () => {
  it('refuses what is no whole copy, and changes nothing', async (t) => {
    const DATA_DIR = temporaryFolder(t);
    const store = openLinkStore(DATA_DIR);
    for (let i = 0; i < 500; i++) store.add(`https://example.com/${i}`);
    const { file } = await backup(DATA_DIR);
    const { id } = store.add('https://example.com/newer');
    const damaged = Buffer.from(file);
    damaged.fill(0xff, 8192, 12_288);
    const other = join(temporaryFolder(t), 'other.db');
    const db = new Database(other);
    db.exec('CREATE TABLE links (id, url)');
    db.close();
    const cases = [
      ['nothing', '', /it has no links with seq, id, url, created_at_ms, visits/],
      ['a cut copy', file.subarray(0, file.length - 4096), /malformed|page/],
      ['a damaged copy', damaged, /malformed|page|wrong/],
      ['another file', 'x'.repeat(5000), /file is not a database/],
      ['another table', readFileSync(other), /it has no links with seq, created_at_ms, visits/],
    ];
    for (const [what, input, reason] of cases) {
      const { stderr, code } = await links(DATA_DIR, ['restore'], input);
      assert.equal(code, 1, what);
      assert.match(stderr, reason, what);
      assert.equal(stderr.trim().split('\n').length, 1, what);
      assert.equal(store.find(id).url, 'https://example.com/newer', what);
      assertTidy(DATA_DIR);
    }
    store.close();
  });

  it('fills a new folder, before the app has run there', async (t) => {
    const from = temporaryFolder(t);
    const store = openLinkStore(from);
    const { id } = store.add('https://example.com/moved');
    const { file } = await backup(from);
    store.close();
    const DATA_DIR = join(temporaryFolder(t), 'new');
    assert.equal((await links(DATA_DIR, ['restore'], file)).code, 0);
    const app = await startApp(t, { DATA_DIR });
    const { headers } = await request(app.addr, `/l/${id}`);
    assert.equal(headers.location, 'https://example.com/moved');
  });

  it('survives a kill in the middle: the links are as before', async (t) => {
    const DATA_DIR = temporaryFolder(t);
    const path = join(DATA_DIR, 'links.db');
    openLinkStore(DATA_DIR).close();
    const db = new Database(path);
    // Several batches, so that the kill comes between the first and the last.
    db.exec(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
      INSERT INTO links (id, url, created_at_ms)
      SELECT printf('%07d', n * 7919 % 9999991), 'https://example.com/' || n, 0 FROM numbers`);
    const { file } = await backup(DATA_DIR);
    db.exec(
      "INSERT INTO links (id, url, created_at_ms) VALUES ('newer00', 'https://example.com/', 0)",
    );
    db.pragma('wal_checkpoint(TRUNCATE)');
    const child = spawn(process.execPath, [PROGRAM, 'restore'], {
      env: { PATH: process.env.PATH, DATA_DIR },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const ended = once(child, 'close');
    child.stdin.end(file);
    await until(() => statSync(`${path}-wal`).size > 100_000 || child.exitCode !== null);
    child.kill('SIGKILL');
    assert.deepEqual(await ended, [null, 'SIGKILL']);
    assert.equal(db.prepare('PRAGMA integrity_check').get().integrity_check, 'ok');
    assert.equal(db.prepare('SELECT count(*) AS links FROM links').get().links, 100_001);
    assert.equal(tablesOf(db).length, 2, 'it was killed before or after the middle');
    assert.equal((await links(DATA_DIR, ['restore'], file)).code, 0);
    assert.deepEqual(tablesOf(db), ['links']);
    db.close();
  });
});

describe('the program', () => {
  it('backs up nothing where there are no links, and creates nothing', async (t) => {
    const folder = temporaryFolder(t);
    const { stdout, stderr, code } = await links(folder, ['backup']);
    assert.equal(code, 1);
    assert.equal(stderr, `links: ${join(folder, 'links.db')}: there is no such file\n`);
    assert.equal(stdout.length, 0);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('removes what a killed command left an hour ago, and no younger copy', async (t) => {
    const folder = temporaryFolder(t);
    openLinkStore(folder).close();
    for (const [name, ageSeconds] of Object.entries({ 'copy-old': 3700, 'copy-young': 60 })) {
      mkdirSync(join(folder, name));
      const time = Date.now() / 1000 - ageSeconds;
      utimesSync(join(folder, name), time, time);
    }
    await backup(folder);
    assert.ok(!existsSync(join(folder, 'copy-old')) && existsSync(join(folder, 'copy-young')));
  });

  it('says how it is used', async (t) => {
    for (const args of [[], ['back-up'], ['backup', 'links.db']]) {
      const { stderr, code } = await links(temporaryFolder(t), args);
      assert.equal(code, 2);
      assert.match(
        stderr,
        /^links: usage: node src\/links\.js backup > FILE, or restore < FILE\n$/,
      );
    }
  });
});

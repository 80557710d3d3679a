import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { after, describe, it } from 'node:test';
import { openLinkStore } from '../src/links/store.js';
import { startApp, temporaryFolder } from './support/app-process.js';
import { request } from './support/raw-http.js';

const { addr } = await startApp({ after });

/** Posts a raw body as JSON; returns {status, headers, json}. */
async function post(body, headers = { 'Content-Type': 'application/json' }) {
  const response = await request(addr, '/api/links', { method: 'POST', body, headers });
  return { ...response, json: JSON.parse(response.body) };
}

async function get(target, options) {
  const response = await request(addr, target, options);
  return { ...response, json: JSON.parse(response.body) };
}

const shorten = (url) => post(JSON.stringify({ url }));

describe('POST /api/links', () => {
  it('stores a link and returns its address', async () => {
    const { status, headers, json } = await shorten('https://example.com/a?b=c#d');
    assert.equal(status, 201);
    assert.match(json.id, /^[0-9A-Za-z]{7}$/);
    assert.equal(json.url, 'https://example.com/a?b=c#d');
    assert.equal(json.short_url, `http://${addr}/l/${json.id}`);
    assert.equal(json.visits, 0);
    assert.ok(Math.abs(Date.parse(json.created_at) - Date.now()) < 60_000);
    assert.equal(headers.location, `/api/links/${json.id}`);
    assert.equal(headers['cache-control'], 'no-store');
    assert.deepEqual((await get(headers.location)).json, json);
  });

  it('takes a URL of 2048 bytes and refuses 2049', async () => {
    const url = `https://example.com/${'a'.repeat(2048 - 20)}`;
    assert.equal((await shorten(url)).status, 201);
    const refused = await shorten(`${url}a`);
    assert.equal(refused.status, 400);
    assert.equal(refused.json.error.code, 'url_too_long');
    // 1024 times é is 2048 bytes, but three times that as a URL.
    assert.equal(
      (await shorten(`https://e.com/${'é'.repeat(1000)}`)).json.error.code,
      'url_too_long',
    );
  });

  it('refuses everything but http and https', async () => {
    const hostile = [
      'javascript:alert(1)',
      ' JaVaScRiPt:alert(1)',
      'java\nscript:alert(1)',
      'data:text/html,<script>alert(1)</script>',
      'file:///etc/passwd',
      'ftp://example.com/',
      'mailto:a@example.com',
    ];
    for (const url of hostile) {
      const { status, json } = await shorten(url);
      assert.equal(status, 400, url);
      assert.equal(json.error.code, 'url_scheme', url);
    }
  });

  it('says what is wrong with an invalid url', async () => {
    for (const url of ['example.com', '//example.com', 'http://', 'https://exa mple.com']) {
      assert.equal((await shorten(url)).json.error.code, 'url_invalid', url);
    }
    for (const body of [
      '{}',
      '[]',
      '{"url":null}',
      '{"url":7}',
      '{"url":["http://a"]}',
      '{"url":"  "}',
    ]) {
      const { status, json } = await post(body);
      assert.equal(status, 400, body);
      assert.equal(json.error.code, 'url_missing', body);
    }
  });

  it('refuses bodies that are not JSON, too large, or of another type', async () => {
    const broken = await post('{"url": "https://secret.example/');
    assert.equal(broken.status, 400);
    assert.deepEqual(broken.json, {
      error: { code: 'invalid_json', message: 'the body is not valid JSON' },
    });

    const huge = await post(JSON.stringify({ url: 'a'.repeat(1_000_000) }));
    assert.equal(huge.status, 413);
    assert.equal(huge.json.error.code, 'body_too_large');

    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const { status, json } = await post('url=https://example.com', { 'Content-Type': type });
      assert.equal(status, 415, type);
      assert.equal(json.error.code, 'not_json');
    }
  });

  it('refuses a Host header that would end up in the short link', async () => {
    for (const Host of ['evil.example/x', 'a"b', '<script>']) {
      const headers = { Host, 'Content-Type': 'application/json' };
      const { status, json } = await post('{"url":"https://example.com"}', headers);
      assert.equal(status, 400, Host);
      assert.equal(json.error.code, 'bad_host');
    }
  });

  it('writes the link in ASCII, so that it can be redirected to', async () => {
    const { json } = await shorten('https://bücher.example/ä?q=漢\r\nSet-Cookie: a=b');
    assert.equal(json.url, 'https://xn--bcher-kva.example/%C3%A4?q=%E6%BC%A2Set-Cookie:%20a=b');
  });
});

describe('GET /api/links', () => {
  const list = (ids) => get(`/api/links?${new URLSearchParams(ids.map((id) => ['id', id]))}`);

  it('lists what the client names, in its order, and nothing that it does not', async () => {
    const made = [];
    for (let i = 0; i < 11; i++) made.push((await shorten(`https://example.com/${i}`)).json);
    const asked = made.slice(1).reverse();
    const { status, json } = await list(asked.map(({ id }) => id));
    assert.equal(status, 200);
    assert.deepEqual(json.links, asked);
    for (const target of ['/api/links', '/api/links?', '/api/links?id=', '/api/links?limit=10']) {
      assert.deepEqual((await get(target)).json, { links: [] }, target);
    }
    const [one] = made;
    assert.deepEqual((await list(['zzzzzzz', one.id, "1'OR'1'='1", '%'])).json.links, [one]);
    const eleven = await list(made.map(({ id }) => id));
    assert.deepEqual([eleven.status, eleven.json.error.code], [400, 'too_many_ids']);
  });

  it('answers 404 for a link that is not there, whatever the id looks like', async () => {
    for (const id of ['zzzzzzz', 'x', 'a'.repeat(5000), "1'OR'1'='1", '%00', '..%2f..']) {
      const { status, json } = await get(`/api/links/${id}`);
      assert.equal(status, 404, id);
      assert.equal(json.error.code, 'link_not_found');
    }
  });

  it('names the methods it allows', async () => {
    const list = await get('/api/links', { method: 'DELETE' });
    assert.equal(list.status, 405);
    assert.equal(list.headers.allow, 'GET, HEAD, POST');
    assert.equal(list.json.error.code, 'method_not_allowed');
    assert.equal((await get('/api/nothing')).json.error.code, 'not_found');
    assert.equal((await get('/api/links/%FF')).status, 400);
  });
});

describe('GET /l/:id', () => {
  it('leads to the link and counts the visit, which a HEAD does not', async () => {
    const { json } = await shorten('https://example.com/there');
    for (const method of ['GET', 'HEAD', 'GET']) {
      const response = await request(addr, `/l/${json.id}`, { method });
      assert.equal(response.status, 302);
      assert.equal(response.headers.location, 'https://example.com/there');
      assert.equal(response.headers['cache-control'], 'no-store');
    }
    assert.equal((await get(`/api/links/${json.id}`)).json.visits, 2);
  });

  it('answers 404 with a page where there is no such link', async () => {
    const response = await request(addr, '/l/<script>alert(1)</script>');
    assert.equal(response.status, 404);
    assert.equal(response.headers['content-type'], 'text/html; charset=utf-8');
    assert.match(response.headers['content-security-policy'], /^default-src 'none'/);
    assert.doesNotMatch(response.body.toString(), /alert/);
  });
});

describe('the page', () => {
  it('allows nothing inline, nothing from elsewhere and no frame around it', async () => {
    const { headers, body } = await request(addr, '/');
    const policy = headers['content-security-policy'];
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.doesNotMatch(
      body.toString(),
      /<style|<script(?![^>]* src=)| on\w+=| style=|https?:\/\/(?!example\.com)/,
    );
  });

  it('serves assets and no other files', async () => {
    const script = await request(addr, '/assets/app.js');
    assert.equal(script.headers['content-type'], 'text/javascript; charset=utf-8');
    for (const path of [
      '/assets/',
      '/assets/../index.html',
      '/assets/..%2f..%2fpackage.json',
      '/assets/.npmrc',
    ]) {
      assert.equal((await request(addr, path)).status, 404, path);
    }
  });
});

describe('PUBLIC_URL', () => {
  it('is the start of short links, whatever the Host header says', async (t) => {
    const app = await startApp(t, { PUBLIC_URL: 'https://go.example/s/' });
    const headers = { 'Content-Type': 'application/json', Host: 'other.example' };
    const body = '{"url":"https://example.com"}';
    const response = await request(app.addr, '/api/links', { method: 'POST', headers, body });
    const { id, short_url } = JSON.parse(response.body);
    assert.equal(short_url, `https://go.example/s/l/${id}`);
  });
});

describe('the data', () => {
  it('survives a restart, even one by SIGKILL', async (t) => {
    const DATA_DIR = temporaryFolder(t);
    const ids = [];
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGTERM']) {
      const app = await startApp(t, { DATA_DIR });
      for (const id of ids) assert.equal((await request(app.addr, `/api/links/${id}`)).status, 200);
      const body = '{"url":"https://example.com"}';
      const headers = { 'Content-Type': 'application/json' };
      const added = await request(app.addr, '/api/links', { method: 'POST', headers, body });
      ids.push(JSON.parse(added.body).id);
      app.kill(signal);
      await app.exited;
    }
  });

  it('is shared by two programs on one folder, both counting', async (t) => {
    const DATA_DIR = temporaryFolder(t);
    const apps = await Promise.all([1, 2, 3].map(() => startApp(t, { DATA_DIR })));
    const headers = { 'Content-Type': 'application/json' };
    const body = '{"url":"https://example.com"}';
    const added = await request(apps[0].addr, '/api/links', { method: 'POST', headers, body });
    const { id } = JSON.parse(added.body);
    const visits = Array.from({ length: 60 }, (_, i) => request(apps[i % 3].addr, `/l/${id}`));
    for (const { status } of await Promise.all(visits)) assert.equal(status, 302);
    const link = JSON.parse((await request(apps[1].addr, `/api/links/${id}`)).body);
    assert.equal(link.visits, 60);
  });

  it('gives a link another id where the one drawn is taken, and replaces none', (t) => {
    const store = openLinkStore(temporaryFolder(t));
    // 0000000 is drawn twice, then 1111111, and from then on 0000000 again.
    let draws = 0;
    const draw = () => (Math.floor(draws++ / 7) === 2 ? 1 : 0);
    const { mock } = t.mock.method(crypto, 'randomInt', draw);
    syncBuiltinESMExports();
    t.after(() => {
      mock.restore();
      syncBuiltinESMExports();
    });
    const urls = ['https://example.com/1', 'https://example.com/2'];
    const ids = urls.map((url) => store.add(url).id);
    assert.deepEqual(ids, ['0000000', '1111111']);
    assert.throws(() => store.add('https://example.com/3'), { code: 'SQLITE_CONSTRAINT_UNIQUE' });
    assert.deepEqual(
      ids.map((id) => store.find(id).url),
      urls,
    );
    store.close();
  });

  it('is stored after a link that could not be, as a file that is locked or full refuses it', (t) => {
    const store = openLinkStore(temporaryFolder(t));
    assert.throws(() => store.add(null), { code: 'SQLITE_CONSTRAINT_NOTNULL' });
    assert.equal(store.add('https://example.com/').url, 'https://example.com/');
    store.close();
  });
});

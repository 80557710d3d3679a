import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { startApp } from './support/app-process.js';
import { decodeQr, pngSize } from './support/decoder.js';
import { exchange, open, request } from './support/raw-http.js';

const { addr } = await startApp({ after });

const MISSING = 'missing "text" query param';
const TWICE = 'text must be given once';
const NOT_UTF8 = 'text must be valid UTF-8';
const TOO_LONG = 'text must be <= 512 bytes';

/** Queries as sent, and the text that the image must decode to. */
const SERVED = [
  ['?text=a', 'a'],
  ['?text=a+b%2Bc', 'a b+c'],
  ['?text=https://example.com/?t=all', 'https://example.com/?t=all'],
  ["?text=/:?@,;!$'()*", "/:?@,;!$'()*"],
  ['?text=%2541', '%41'],
  ['?text=%00%01%1f%7f', '\u0000\u0001\u001f\u007f'],
  ['?text=%EF%BB%BFx', '\ufeffx'],
  ['?text=%E9%BA%BB%E6%9D%8F%E7%9F%B3%E7%94%98%E5%8F%A3%E6%9C%8D%E6%B6%B2', '麻杏石甘口服液'],
  [`?text=${encodeURIComponent('👩‍👩‍👧‍👦 שלום עולם')}`, '👩‍👩‍👧‍👦 שלום עולם'],
  ['?%74ext=a', 'a'],
  ['?text=a;text=b', 'a;text=b'],
  ['?size=%&%FF=1&text=a&text[x]=1&__proto__=1', 'a'],
  [`?text=${'a'.repeat(512)}`, 'a'.repeat(512)],
  [`?text=${'%C3%A9'.repeat(256)}`, 'é'.repeat(256)],
];

/** Queries as sent, and the body of the 400. */
const REFUSED = [
  ['', MISSING],
  ['?', MISSING],
  ['?text', MISSING],
  ['?text=', MISSING],
  ['?text=&text=', MISSING],
  ['?text[x]=1', MISSING],
  ['?Text=a', MISSING],
  ['?te%78%74%=a', MISSING],
  ['?text=a&text=b', TWICE],
  ['?text=a&text=', TWICE],
  ['?text=&text=a', TWICE],
  ['?text=%FF&tex%74=%FF', TWICE],
  ['?text=%', NOT_UTF8],
  ['?text=%4', NOT_UTF8],
  ['?text=%G1', NOT_UTF8],
  ['?text=%FF', NOT_UTF8],
  ['?text=%ED%A0%80', NOT_UTF8],
  ['?text=%C0%AF', NOT_UTF8],
  ['?text=%F4%90%80%80', NOT_UTF8],
  [`?text=${'a'.repeat(600)}%FF`, NOT_UTF8],
  [`?text=${'a'.repeat(513)}`, TOO_LONG],
  [`?text=${'%E2%82%AC'.repeat(171)}`, TOO_LONG],
];

function assertErrorAnswer(response, status, body) {
  assert.equal(response.status, status);
  assert.equal(response.headers['content-type'], 'text/plain; charset=utf-8');
  assert.equal(response.headers['cache-control'], 'no-store');
  assert.equal(response.headers['x-content-type-options'], 'nosniff');
  assert.equal(response.headers['x-served-by'], 'legacy-node');
  assert.equal(response.headers.etag, undefined);
  assert.equal(response.body.toString(), body);
}

describe('GET /qrcode', () => {
  for (const [query, text] of SERVED) {
    it(`serves ${JSON.stringify(query.slice(0, 60))}`, async () => {
      const { status, headers, body } = await request(addr, `/qrcode${query}`);
      assert.equal(status, 200);
      assert.equal(headers['content-type'], 'image/png');
      assert.equal(headers['content-length'], String(body.length));
      assert.equal(headers['cache-control'], 'public, max-age=86400');
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['x-served-by'], 'legacy-node');
      assert.match(headers.etag, /^W\/"/);
      assert.deepEqual(pngSize(body), { width: 200, height: 200 });
      const decoded = await decodeQr(body);
      assert.equal(decoded.bytes.toString('utf8'), text);
      assert.equal(decoded.level, 'L');
    });
  }

  for (const [query, message] of REFUSED) {
    it(`refuses ${JSON.stringify(query.slice(0, 60))} with ${message}`, async () => {
      assertErrorAnswer(await request(addr, `/qrcode${query}`), 400, message);
    });
  }

  it('answers HEAD with the status and headers of GET and no body', async () => {
    for (const query of ['?text=a', '']) {
      const get = await request(addr, `/qrcode${query}`);
      const head = await request(addr, `/qrcode${query}`, { method: 'HEAD' });
      assert.equal(head.body.length, 0);
      assert.equal(head.status, get.status);
      const varying = { date: '', 'x-request-id': '' };
      assert.deepEqual({ ...head.headers, ...varying }, { ...get.headers, ...varying });
    }
  });

  it('refuses every other method, whatever else is wrong', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      const response = await request(addr, '/qrcode', { method });
      assertErrorAnswer(response, 405, 'method not allowed');
      assert.equal(response.headers.allow, 'GET, HEAD');
    }
  });

  it('ignores a body on GET', async () => {
    const response = await request(addr, '/qrcode?text=a', { body: 'text=b' });
    assert.equal(response.status, 200);
  });

  it('answers 304 without body to its own tag and to *', async () => {
    const { etag } = (await request(addr, '/qrcode?text=a')).headers;
    for (const tag of [etag, '*', `"other", ${etag}`]) {
      const response = await request(addr, '/qrcode?text=a', { headers: { 'If-None-Match': tag } });
      assert.equal(response.status, 304, tag);
      assert.equal(response.headers.etag, etag);
      assert.equal(response.body.length, 0);
    }
    const changed = await request(addr, '/qrcode?text=b', { headers: { 'If-None-Match': etag } });
    assert.equal(changed.status, 200);
    const refused = await request(addr, '/qrcode', { headers: { 'If-None-Match': '*' } });
    assertErrorAnswer(refused, 400, MISSING);
  });

  it('gives the same bytes and tag for the same text', async () => {
    const [first, second] = [
      await request(addr, '/qrcode?text=a'),
      await request(addr, '/qrcode?%74ext=%61'),
    ];
    assert.deepEqual(first.body, second.body);
    assert.equal(first.headers.etag, second.headers.etag);
  });

  it('is an exact path', async () => {
    for (const path of ['/qrcode/', '/QRCODE', '/qrcodes', '/x/qrcode']) {
      assert.equal((await request(addr, `${path}?text=a`)).status, 404, path);
    }
  });

  it('refuses a request head that is too large with 431', async () => {
    const response = await request(addr, '/qrcode?text=a', {
      headers: { Cookie: 'c'.repeat(20_000) },
    });
    assert.equal(response.status, 431);
    assert.equal(response.headers['x-served-by'], 'legacy-node');
    assert.ok(response.headers['x-request-id']);
  });

  it('answers 400 to bytes that are not HTTP, and closes', async () => {
    const response = await exchange(addr, 'GARBAGE\r\n\r\n');
    assert.equal(response.status, 400);
    assert.equal(response.headers.connection, 'close');
  });
});

describe('X-Request-Id', () => {
  const idOf = async (headers, target = '/qrcode?text=a') =>
    (await request(addr, target, { headers })).headers['x-request-id'];

  it('is kept when it is 1 to 128 visible ASCII characters', async () => {
    for (const id of ['x', '!~', 'a'.repeat(128)])
      assert.equal(await idOf({ 'X-Request-Id': id }), id);
    assert.equal(await idOf({ 'X-Request-Id': 'on-404' }, '/nothing'), 'on-404');
  });

  it('is replaced when it is missing, empty, too long or not visible ASCII', async () => {
    for (const id of [undefined, '', 'a'.repeat(129), 'two words', 'caf\u00e9']) {
      const made = await idOf(id === undefined ? {} : { 'X-Request-Id': id });
      assert.match(made, /^[0-9a-f-]{36}$/);
    }
  });
});

describe('a connection', () => {
  it('stays open for the next request', async () => {
    const socket = await open(addr);
    const answers = [];
    socket.on('data', (chunk) => answers.push(chunk));
    const ask = `GET /qrcode HTTP/1.1\r\nHost: ${addr}\r\n\r\n`;
    socket.write(ask + ask.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    await new Promise((resolve) => socket.on('close', resolve));
    const text = Buffer.concat(answers).toString();
    assert.equal(text.match(/HTTP\/1\.1 400/g).length, 2);
    assert.match(text, /Keep-Alive: timeout=65/);
  });
});

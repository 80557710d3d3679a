/**
 * Runs published clients of other QR services against a whole stack with the paths of these services switched on:
 * ../README.md has the command.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import twofactor from 'node-2fa';
import speakeasy from 'speakeasy';
import { decodeQr } from '../../../legacy-node/test/support/decoder.js';

const server = process.env.STACK_URL ?? process.env.BASE_URL;
assert.ok(server, 'qr-service/api/README.md has the command');
const folder = fileURLToPath(new URL('.', import.meta.url));
const python = fileURLToPath(new URL('../../../target/tools/clients/bin/python', import.meta.url));

/** The text of the code at the URL that a client gives to an <img>, fetched from this server. */
async function shown(address) {
  const { pathname, search } = new URL(address);
  const answer = await fetch(new URL(pathname + search, server));
  assert.equal(answer.status, 200, address);
  assert.equal(answer.headers.get('content-type'), 'image/png');
  return (await decodeQr(Buffer.from(await answer.arrayBuffer()))).bytes.toString();
}

it("node-2fa's picture is the code of its URI", async () => {
  const { qr, secret } = twofactor.generateSecret({ name: 'A Shop', account: 'alice' });
  assert.match(qr, /^https:\/\/chart\.googleapis\.com\/chart\?/);
  const uri = new URL(await shown(qr));
  assert.deepEqual([uri.protocol, uri.host], ['otpauth:', 'totp']);
  assert.equal(uri.searchParams.get('secret'), secret);
});

it("speakeasy's pictures are the codes of its secrets", async () => {
  const label = encodeURIComponent('A Shop (alice)');
  const secret = speakeasy.generateSecret({
    name: 'A Shop (alice)',
    qr_codes: true,
    google_auth_qr: true,
  });
  const { ascii, hex, base32 } = secret;
  for (const [picture, text] of [
    [secret.qr_code_ascii, ascii],
    [secret.qr_code_hex, hex],
    [secret.qr_code_base32, base32],
    [secret.google_auth_qr, speakeasy.otpauthURL({ secret: base32, label })],
  ]) {
    assert.equal(await shown(picture), text);
  }
});

it("the clients in Python get pictures of their texts, and QuickChart's reader reads one", async () => {
  const { stdout } = await promisify(execFile)(python, ['clients_test.py', server], {
    cwd: folder,
  });
  const { text, read, pictures } = JSON.parse(stdout);
  assert.equal(read, text);
  assert.equal(Object.keys(pictures).length, 6);
  for (const [client, picture] of Object.entries(pictures)) {
    const { bytes } = await decodeQr(Buffer.from(picture, 'base64'));
    assert.equal(bytes.toString(), text, client);
  }
});

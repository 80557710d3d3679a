import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { methodNotAllowed } from '../http/errors.js';

const PUBLIC_FOLDER = fileURLToPath(new URL('../../public', import.meta.url));

/** The page loads only from this server and runs nothing inline, and no site may frame it. */
const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
};

const FILES_SCRIPT = '  <script src="/assets/files.js" type="module"></script>\n';

/**
 * The page at `/` and its assets.
 * @param {object} parts
 * @param {boolean} parts.files whether the page can send files, which needs the relay
 */
export function mountPage(app, { files }) {
  const html = readPage('index.html')
    .replace('<!-- files.js -->\n', () => (files ? FILES_SCRIPT : ''))
    .replace('<!-- files.html -->\n', () => (files ? readPage('files.html') : ''));
  app
    .route('/')
    .get((_req, res) =>
      res.set(PAGE_HEADERS).set('Cache-Control', 'no-cache').type('html').send(html),
    )
    .all(methodNotAllowed('GET', 'HEAD'));

  const serveAsset = express.static(PUBLIC_FOLDER, {
    index: false,
    redirect: false,
    cacheControl: false,
    // Browsers keep assets but revalidate them each time, so a release shows at once.
    setHeaders: (res) => res.setHeader('Cache-Control', 'no-cache'),
  });
  app
    .route('/assets/:file')
    .get(serveAsset, (_req, _res, next) => next('route'))
    .all(methodNotAllowed('GET', 'HEAD'));
}

/** Answers requests that no route matches. */
export function notFound(req, res) {
  if (req.path.startsWith('/api/')) {
    res.status(404).set('Cache-Control', 'no-store');
    return res.json({ error: { code: 'not_found', message: 'there is nothing here' } });
  }
  res.status(404);
  res.set(PAGE_HEADERS).set('Cache-Control', 'no-store');
  res.sendFile('404.html', { root: PUBLIC_FOLDER, cacheControl: false, acceptRanges: false });
}

function readPage(file) {
  return readFileSync(join(PUBLIC_FOLDER, file), 'utf8');
}

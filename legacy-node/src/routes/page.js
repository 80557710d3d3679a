import { fileURLToPath } from 'node:url';
import express from 'express';
import { methodNotAllowed } from '../http/errors.js';

const PUBLIC_FOLDER = fileURLToPath(new URL('../../public', import.meta.url));

/** The page loads from this server alone, has nothing inline, and no site may frame it. */
const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
};

/** The page at `/` and its assets. */
export function mountPage(app) {
  app
    .route('/')
    .get((_req, res) => sendPage(res, 'index.html'))
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
  sendPage(res, '404.html', 'no-store');
}

function sendPage(res, file, cacheControl = 'no-cache') {
  res.set(PAGE_HEADERS).set('Cache-Control', cacheControl);
  res.sendFile(file, { root: PUBLIC_FOLDER, cacheControl: false, acceptRanges: false });
}

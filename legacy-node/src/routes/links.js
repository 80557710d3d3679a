import express from 'express';
import { ApiError, methodNotAllowed } from '../http/errors.js';
import { ID_PATTERN } from '../links/store.js';
import { parseTargetUrl } from '../links/target-url.js';

/** Room for a URL of 2048 bytes in JSON escapes, where \u00e9 takes 6 bytes for 2. */
const MAX_BODY_BYTES = 16 * 1024;
const MAX_LISTED = 10;
const HOST_PATTERN = /^(?:[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * The links API and the redirect.
 * @param {string | undefined} publicUrl start of short links; undefined: from the Host header
 */
export function mountLinks(app, { store, publicUrl }) {
  const find = (id) => (ID_PATTERN.test(id) ? store.find(id) : undefined);
  const toJson = (req, link) => ({
    id: link.id,
    url: link.url,
    short_url: `${publicUrl ?? originFromHost(req)}/l/${link.id}`,
    created_at: link.createdAt.toISOString(),
    visits: link.visits,
  });

  app
    .route('/api/links')
    // There are no accounts: whoever knows a link's id may see it.
    .get((req, res) => {
      const ids = new URLSearchParams(req.url.split('?')[1]).getAll('id');
      if (ids.length > MAX_LISTED) {
        throw new ApiError(400, 'too_many_ids', `at most ${MAX_LISTED} ids at once`);
      }
      const found = ids.map((id) => find(id)).filter(Boolean);
      const links = found.map((link) => toJson(req, link));
      res.set('Cache-Control', 'no-store').json({ links });
    })
    .post(requireJson, express.json({ limit: MAX_BODY_BYTES }), (req, res) => {
      const url = parseTargetUrl(req.body?.url);
      originFromHost(req); // throws on a bad Host before anything is stored
      const link = store.add(url);
      res
        .status(201)
        .set({ 'Cache-Control': 'no-store', Location: `/api/links/${link.id}` })
        .json(toJson(req, link));
    })
    .all(methodNotAllowed('GET', 'HEAD', 'POST'));

  app
    .route('/api/links/:id')
    .get((req, res) => {
      const link = find(req.params.id);
      if (!link) throw new ApiError(404, 'link_not_found', 'there is no such link');
      res.set('Cache-Control', 'no-store').json(toJson(req, link));
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  app
    .route('/l/:id')
    .get((req, res, next) => {
      if (!ID_PATTERN.test(req.params.id)) return next('route');
      // A HEAD is a preview or a link checker, not a visit.
      const link = req.method === 'GET' ? store.visit(req.params.id) : store.find(req.params.id);
      if (!link) return next('route');
      // no-store, because a redirect from a cache would not be counted.
      res.writeHead(302, { Location: link.url, 'Cache-Control': 'no-store', 'Content-Length': 0 });
      res.end();
    })
    .all(methodNotAllowed('GET', 'HEAD'));
}

/** Accepts only JSON, so that a form on another site can't post here. */
function requireJson(req, _res, next) {
  if (req.is('application/json')) return next();
  throw new ApiError(415, 'not_json', 'Content-Type must be application/json');
}

function originFromHost(req) {
  const host = req.headers.host ?? '';
  if (!HOST_PATTERN.test(host)) throw new ApiError(400, 'bad_host', 'the Host header is invalid');
  return `http://${host}`;
}

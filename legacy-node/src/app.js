import express from 'express';
import { errorHandler } from './http/errors.js';
import { identify } from './http/identity.js';
import { observe } from './http/observe.js';
import { mountLinks } from './routes/links.js';
import { mountPage, notFound } from './routes/page.js';
import { mountQrCode } from './routes/qrcode.js';
import { mountRelay } from './routes/relay.js';

/**
 * Builds the app from its parts. It neither listens nor opens a file.
 * @param {object} parts
 * @param {object} parts.config of `loadConfig`
 * @param {object} parts.store of `openLinkStore`
 * @param {object} parts.metrics of `createMetrics`
 * @param {object} parts.logger pino
 * @param {(text: string) => Promise<Buffer>} parts.generateQr text to PNG
 * @param {object} [parts.relay] of `createRelay`; without it, `/p/` is not served
 */
export function buildApp({ config, store, metrics, logger, generateQr, relay }) {
  const app = express();
  app.disable('x-powered-by');
  // Paths are exact, as in qr-service: /QRCODE and /qrcode/ get 404.
  app.enable('strict routing');
  app.enable('case sensitive routing');
  // No route reads req.query: /qrcode parses the query itself, strictly.
  app.set('query parser', false);

  app.use(identify); // first, so that every answer and log line carries the ids
  app.use(observe(metrics, logger)); // before the routes, so that it times them all

  mountPage(app, {
    files: config.pageFiles === 'auto' ? Boolean(relay) : config.pageFiles === 'on',
  });
  mountLinks(app, { store, publicUrl: config.publicUrl });
  mountQrCode(app, { generateQr, maxConcurrent: config.qrMaxConcurrent, metrics, logger });
  if (relay) mountRelay(app, relay);

  app.use(notFound);
  app.use(errorHandler(logger)); // last: catches errors of all the above
  return app;
}

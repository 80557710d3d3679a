import { methodNotAllowed, sendText } from '../http/errors.js';
import { readText } from '../qr/query.js';

/**
 * GET /qrcode?text=...: a QR code of the text as PNG.
 * @param {object} parts
 * @param {(text: string) => Promise<Buffer>} parts.generateQr
 * @param {number} parts.maxConcurrent codes generated at once; more get 503; 0: no limit
 */
export function mountQrCode(app, { generateQr, maxConcurrent, metrics, logger }) {
  let generating = 0;

  app
    .route('/qrcode')
    .get(async (req, res) => {
      if (req.get('X-Route-Fallback') === '1') {
        metrics.fallbacks.inc();
        res.locals.side = 'fallback';
      }
      const { text, error } = readText(req.url);
      if (error) return sendText(res, 400, error);
      if (maxConcurrent > 0 && generating >= maxConcurrent) {
        return sendText(res, 503, 'overloaded, try again', { 'Retry-After': '1' });
      }
      generating++;
      try {
        const png = await measured(generateQr, text, metrics);
        // send() adds Content-Length and the weak ETag, and answers If-None-Match.
        res.set('Cache-Control', 'public, max-age=86400').type('png').send(png);
      } catch (err) {
        // The library's messages quote the text, which must not be logged. So log the stack alone.
        const { name, stack = '' } = err;
        const at = stack.split('\n').filter((line) => /^ +at /.test(line));
        logger.error({ request_id: res.locals.requestId, name, at }, 'generating a QR code failed');
        sendText(res, 500, 'failed generating QR code');
      } finally {
        generating--;
      }
    })
    .all(methodNotAllowed('GET', 'HEAD'));
}

async function measured(generateQr, text, metrics) {
  const endTimer = metrics.generateSeconds.startTimer();
  const png = await generateQr(text);
  endTimer();
  metrics.pngBytes.observe(png.length);
  return png;
}

/** Moves a pair's bytes from the sender to its receivers, at the pace of the slowest. */
import { cut } from './messages.js';
import { firstPart, isMultipart } from './multipart.js';

/**
 * Runs until the body has ended, the sender has left, or the last receiver has.
 * @param {{req, res, lines}} sender
 * @param {{req, res}[]} receivers
 * @param {(bytes: number) => void} received gets the length of each piece that the sender has sent
 * @returns {Promise<'whole' | 'sender_left' | 'receivers_left'>} how it ended
 */
export async function transfer(sender, receivers, received) {
  const { req, lines } = sender;
  const open = new Set();
  const progress = { sent: 0, length: undefined, whole: 0 };
  lines.info(`Start sending to ${receivers.length} receiver(s)!`);
  let receiversGone;
  const gone = new Promise((resolve) => {
    receiversGone = () => resolve('gone');
  });
  for (const { res } of receivers) {
    open.add(res);
    res.once('close', () => {
      if (!open.delete(res)) return;
      if (isWhole(res, progress)) progress.whole++;
      else lines.info('A receiver aborted.');
      // Ends the race below, even if `copy` waits.
      if (open.size === 0 && progress.whole === 0) receiversGone();
    });
    // The 'close' event that follows handles the error.
    res.on('error', () => {});
  }
  try {
    const source = await sourceOf(req);
    if (source.length !== undefined) progress.length = Number(source.length);
    for (const res of open) res.writeHead(200, receiverHeaders(req, source));
    const outcome = await Promise.race([copy(source.body, open, progress, received), gone]);
    if (outcome === 'gone') return endAfterAbort(sender);
    lines.info('Sent successfully!');
    await finishAll(open);
    if (progress.whole === 0) return endAfterAbort(sender);
    lines.end('[INFO] All receiver(s) was/were received successfully.\n');
    return 'whole';
  } catch {
    // The sender left midway, or its body is broken: no receiver may take its part for the whole.
    for (const res of open) {
      open.delete(res);
      cut(res);
    }
    cut(sender.res);
    return 'sender_left';
  }
}

/**
 * Whether a closed answer was sent to its end. A receiver may close as soon as it has its Content-Length,
 * before the sender's body has said that it ends.
 */
function isWhole(res, { sent, length }) {
  if (length !== undefined && sent >= length && res.writableLength === 0) return true;
  // HTTP/2 answers emit 'finish' even if they are reset.
  return res.writableEnded && (res.stream ? res.stream.rstCode === 0 : res.writableFinished);
}

/** The sender's bytes and the headers that describe them. */
async function sourceOf(req) {
  if (isMultipart(req)) return firstPart(req);
  return { headers: req.headers, body: req, length: req.headers['content-length'] };
}

function receiverHeaders(req, { headers, length }) {
  const type = headers['content-type'];
  const disposition = headers['content-disposition'];
  const piping = valuesOf(req.rawHeaders, 'x-piping');
  return {
    ...(length !== undefined && { 'Content-Length': length }),
    ...(type !== undefined && { 'Content-Type': harmless(type) }),
    ...(disposition !== undefined && { 'Content-Disposition': disposition }),
    ...(piping.length > 0 && {
      'X-Piping': piping,
      'Access-Control-Expose-Headers': 'X-Piping',
    }),
    'Access-Control-Allow-Origin': '*',
    'X-Robots-Tag': 'none',
    // A stranger may send a page with scripts, and the browser would run them on this app's origin.
    'Content-Security-Policy': 'sandbox',
  };
}

/** Turns `text/html` into `text/plain`: no browser may show a stranger's page as one of this site. */
function harmless(type) {
  return type.replace(/^\s*text\/html(?=\s*(?:;|$))/i, 'text/plain');
}

function valuesOf(rawHeaders, name) {
  const values = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i].toLowerCase() === name) values.push(rawHeaders[i + 1]);
  }
  return values;
}

async function copy(body, open, progress, received) {
  for await (const chunk of body) {
    progress.sent += chunk.length;
    received(chunk.length);
    const full = [];
    for (const res of open) if (!res.write(chunk)) full.push(drained(res));
    if (full.length > 0) await Promise.all(full);
  }
}

function drained(res) {
  return new Promise((resolve) => {
    const done = () => {
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.on('drain', done);
    res.on('close', done);
  });
}

function finishAll(open) {
  const ends = [...open].map((res) => new Promise((resolve) => res.once('close', resolve).end()));
  return Promise.all(ends);
}

function endAfterAbort({ req, res, lines }) {
  res.once('close', () => req.destroy());
  res.once('finish', () => (res.stream ? res.stream.close() : req.destroy()));
  lines.end('[INFO] All receiver(s) was/were aborted halfway.\n');
  return 'receivers_left';
}

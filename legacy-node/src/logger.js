import pino from 'pino';

/** Bytes that may wait to be written; further lines are dropped. */
const WAITING = 1 << 20;

let dropped = 0;

/** Log lines of this process that were dropped because standard output was not read in time. */
export const droppedLines = () => dropped;

/**
 * Standard output, written asynchronously. If nobody reads the pipe and it is full, lines are dropped and counted, and
 * no request waits.
 */
function standardOutput() {
  const out = pino.destination({ dest: 1, sync: false, maxLength: WAITING });
  out.on('drop', () => {
    dropped += 1;
  });
  process.once('exit', () => out.flushSync());
  return out;
}

/** JSON lines on stdout: time (RFC 3339), level, msg, service, then the event's own fields. */
export function createLogger(level, destination = standardOutput()) {
  return pino(
    {
      level,
      base: { service: 'legacy-node' },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
}

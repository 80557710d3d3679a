import pino from 'pino';

/** JSON lines on stdout: time (RFC 3339), level, msg, service, then the event's own fields. */
export function createLogger(level, destination = pino.destination({ dest: 1, sync: true })) {
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

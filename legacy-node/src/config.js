/**
 * Configuration: one table, read from flags and the environment (a flag wins) and checked in full
 * before anything listens.
 */
import { parseArgs } from 'node:util';
import { GENERATOR_NAMES } from './qr/generators/index.js';

/** An invalid setting; the message names the variable and its value. */
export class ConfigError extends Error {}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
const MAX_WORKERS = 256;

/** Every setting: its variable, default, parser and the line `--help` prints. */
export const SETTINGS = [
  setting(
    'ADDR',
    '127.0.0.1:3000',
    parseAddress,
    'public listener, HOST:PORT; port 0 picks a free one',
  ),
  setting('ADMIN_ADDR', '127.0.0.1:3001', parseAddress, 'listener of /livez, /readyz and /metrics'),
  setting(
    'WORKERS',
    '1',
    wholeNumber(1, MAX_WORKERS),
    'processes that serve requests; 2 or more use node:cluster',
  ),
  setting('DATA_DIR', './data', nonEmpty, 'folder of the SQLite file; created if missing'),
  setting('LOG_LEVEL', 'info', oneOf(LOG_LEVELS), `one of ${LOG_LEVELS.join(', ')}`),
  setting(
    'PUBLIC_URL',
    '',
    optionalOrigin,
    'start of short links; empty: http:// and the Host header',
  ),
  setting(
    'QR_MAX_CONCURRENT',
    '0',
    wholeNumber(0, 1e6),
    'QR codes that a process generates at once; more get 503; 0: no limit',
  ),
  setting('QR_IMPL', 'node', oneOf(GENERATOR_NAMES), `QR generator: ${GENERATOR_NAMES.join(', ')}`),
  setting(
    'QR_IMPL_PATH',
    '',
    (text) => text || undefined,
    'file of the program, module or addon; empty: its build output',
  ),
  setting(
    'PAGE_FILES',
    'auto',
    oneOf(['auto', 'on', 'off']),
    'on: the page sends files through /p/KEY; auto: on with one worker',
  ),
  setting('RELAY_ADDR', '', optionalAddress, 'listener of the relay alone, /p/KEY; empty: none'),
  setting(
    'RELAY_PROXY_ADDR',
    '',
    optionalAddress,
    'listener of the relay for a proxy, over HTTP/2 without TLS',
  ),
  setting(
    'RELAY_MAX_WAITING_KEYS',
    '10000',
    wholeNumber(1, 1e6),
    'relay keys on which somebody waits; more get 503',
  ),
  setting(
    'RELAY_WAIT_TIMEOUT_SECONDS',
    '3600',
    seconds(0.1, 86_400),
    'longest wait for a partner at the relay',
  ),
  setting(
    'SHUTDOWN_DELAY_SECONDS',
    '0',
    seconds(0, 600),
    'time between not ready and closing the listener',
  ),
  setting('DRAIN_TIMEOUT_SECONDS', '10', seconds(0, 600), 'time for requests in flight to finish'),
  setting(
    'KEEP_ALIVE_TIMEOUT_SECONDS',
    '65',
    seconds(1, 3600),
    "time an idle connection stays open; keep it above the proxy's",
  ),
  setting(
    'HEADERS_TIMEOUT_SECONDS',
    '15',
    seconds(1, 600),
    'time for a client to send the headers',
  ),
  setting(
    'REQUEST_TIMEOUT_SECONDS',
    '30',
    seconds(1, 3600),
    'time for a client to send the whole request',
  ),
];

/**
 * @param {string[]} args command line after the script's name
 * @param {NodeJS.ProcessEnv} env
 * @returns settings by camelCase name; addresses as {host, port}, times in milliseconds
 *   (`...Ms` names), plus `help` (boolean) and `typed` (the text of each setting, for the
 *   workers' environment)
 * @throws {ConfigError} for the first invalid flag or value
 */
export function loadConfig(args, env) {
  const flags = parseFlags(args);
  const config = { help: flags.help === true, typed: {} };
  for (const { variable, flag, key, fallback, parse } of SETTINGS) {
    const text = flags[flag] ?? env[variable] ?? fallback;
    config.typed[variable] = text;
    try {
      config[key] = parse(text);
    } catch (error) {
      throw new ConfigError(`${variable}=${JSON.stringify(text)}: ${error.message}`);
    }
  }
  if (config.workers > 1 && (config.relayAddr || config.relayProxyAddr)) {
    const { WORKERS } = config.typed;
    throw new ConfigError(
      `WORKERS="${WORKERS}": the relay needs 1, so that both halves of a pair meet`,
    );
  }
  return config;
}

/** The text of `--help`, in the form of the programs in Rust. */
export function helpText() {
  const rows = SETTINGS.map(({ variable, flag, fallback, help }) => {
    const shown = fallback === '' ? '' : ` [default: ${fallback}]`;
    return `  --${flag} <TEXT>\n          ${help} [env: ${variable}=]${shown}\n`;
  });
  return `The legacy app: pages, short links, /qrcode and the relay\n\nUsage: node src/server.js [OPTIONS]\n\nOptions:\n${rows.join('')}`;
}

/** HOST:PORT as it is written in a URL: IPv6 in brackets. */
export function formatAddress({ host, port }) {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function setting(variable, fallback, parse, help) {
  const flag = variable.toLowerCase().replaceAll('_', '-');
  const camelCase = variable.toLowerCase().replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  const key = camelCase.replace(/Seconds$/, 'Ms');
  return { variable, flag, key, fallback, parse, help };
}

function parseFlags(args) {
  const options = { help: { type: 'boolean', short: 'h' } };
  for (const { flag } of SETTINGS) options[flag] = { type: 'string' };
  try {
    return parseArgs({ args, options, strict: true }).values;
  } catch (error) {
    throw new ConfigError(`${error.message.split('. ')[0]} (--help lists the flags)`);
  }
}

function parseAddress(text) {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text);
  if (!match) throw new Error('must be HOST:PORT, such as 127.0.0.1:3000 or [::1]:3000');
  const port = Number(match[3]);
  if (port > 65535) throw new Error('the port must be 0 to 65535');
  return { host: match[1] ?? match[2], port };
}

function optionalAddress(text) {
  return text === '' ? undefined : parseAddress(text);
}

function wholeNumber(min, max) {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return value;
  };
}

/** Parses seconds into milliseconds, the unit of Node's timers. */
function seconds(min, max) {
  return (text) => {
    const value = Number(text);
    if (!/^\d+(\.\d+)?$/.test(text) || value < min || value > max) {
      throw new Error(`must be a number of seconds from ${min} to ${max}`);
    }
    return Math.round(value * 1000);
  };
}

function oneOf(names) {
  return (text) => {
    if (!names.includes(text)) throw new Error(`must be one of ${names.join(', ')}`);
    return text;
  };
}

function nonEmpty(text) {
  if (text === '') throw new Error('must not be empty');
  return text;
}

function optionalOrigin(text) {
  if (text === '') return undefined;
  const message = 'must be an http or https URL without query and fragment';
  if (!URL.canParse(text)) throw new Error(message);
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol) || url.search || url.hash) throw new Error(message);
  return url.href.replace(/\/$/, '');
}

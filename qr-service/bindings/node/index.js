const { existsSync } = require('node:fs');
const { writeFile } = require('node:fs/promises');

// A published package has one file for each architecture; build.sh makes qr.node for this machine.
const ofThisMachine = `./qr-${process.arch}.node`;
let native;
try {
  native = require(existsSync(`${__dirname}/${ofThisMachine}`) ? ofThisMachine : './qr.node');
} catch (cause) {
  const why = cause.code === 'MODULE_NOT_FOUND' ? 'is not built' : 'cannot be loaded';
  throw new Error(`the QR addon ${why}; build it with: ${__dirname}/build.sh`, { cause });
}

/** The options are wrong, or the picture that they describe cannot be made. */
class QrError extends Error {
  name = 'QrError';
  code = 'ERR_QR_FAULTS';

  constructor(message, faults) {
    super(message);
    this.faults = faults;
  }
}

/** A TypeError like those of Node's own functions. */
function typeError(code, message) {
  return Object.assign(new TypeError(message), { code });
}

/** Refuses NaN and infinity. JSON would write them as null, which means that the option is not given. */
function finite(name, value) {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw typeError('ERR_INVALID_ARG_TYPE', `options.${name} must be a finite number`);
  return value;
}

exports.QrError = QrError;
exports.generate = native.generate;
// An async function, so that invalid arguments reject the promise too.
exports.generateAsync = async (text, options) => native.generateAsync(text, options);
/** The arguments of the addon: options as a query or as JSON, and whether it is a query. */
function argumentsOf(options) {
  const isQuery = typeof options === 'string';
  if (!isQuery && (typeof options !== 'object' || options === null))
    throw typeError('ERR_INVALID_ARG_TYPE', 'options must be a string or an object');
  // Node-API would replace a lone surrogate in a query. In JSON it is escaped, and the addon refuses it.
  if (isQuery && !options.isWellFormed())
    throw typeError('ERR_QR_LONE_SURROGATE', 'text has a lone surrogate, so it is not Unicode');
  return [isQuery ? options : JSON.stringify(options, finite), isQuery];
}

function pictureOf(answer) {
  if (answer.faults) throw new QrError(answer.message, JSON.parse(answer.faults));
  return answer;
}

const draw = (options) => pictureOf(native.drawOptions(...argumentsOf(options)));
const drawAsync = async (options) =>
  pictureOf(await native.drawOptionsAsync(...argumentsOf(options)));
exports.draw = draw;
exports.drawAsync = drawAsync;

/** The names that npm's qrcode has for formats, and ours. */
const TYPES = { 'image/png': 'png', terminal: 'txt', utf8: 'txt' };

/** Translates the arguments of npm's qrcode to our options. */
function ofQrcode(text, options = {}, standard = 'png', ...more) {
  if ([text, options, ...more].some((argument) => typeof argument === 'function'))
    throw typeError('ERR_INVALID_ARG_TYPE', 'callbacks are not supported; use the promise');
  // npm's qrcode also takes an array of segments, whose modes the encoder here chooses itself.
  if (typeof text !== 'string' && !(text instanceof Uint8Array))
    throw typeError('ERR_INVALID_ARG_TYPE', 'text must be a string or a Uint8Array, not segments');
  const {
    color,
    errorCorrectionLevel,
    maskPattern,
    type = standard,
    version,
    width,
    ...rest
  } = options;
  const content =
    typeof text === 'string' ? { text } : { data: Buffer.from(text).toString('base64') };
  const format = TYPES[type] ?? type;
  const isText = format === 'txt';
  return {
    ...content,
    format,
    level: errorCorrectionLevel?.[0],
    mask: maskPattern,
    version_min: version,
    version_max: version,
    ...(isText || { dark: color?.dark, light: color?.light, size: width }),
    scale: format === 'png' && width === undefined ? 4 : undefined,
    ...rest,
  };
}

exports.toBuffer = async (text, options, ...more) =>
  (await drawAsync(ofQrcode(text, options, 'png', ...more))).bytes;
exports.toDataURL = async (text, options, ...more) => {
  const { bytes, mediaType } = await drawAsync(ofQrcode(text, options, 'png', ...more));
  return `data:${mediaType};base64,${bytes.toString('base64')}`;
};
exports.toString = async (text, options, ...more) =>
  (await drawAsync(ofQrcode(text, options, 'utf8', ...more))).bytes.toString();
exports.toFile = async (path, text, options, ...more) => {
  const extension = /\.(svg|pdf|eps|txt)$/.exec(path)?.[1];
  await writeFile(path, (await drawAsync(ofQrcode(text, options, extension, ...more))).bytes);
};

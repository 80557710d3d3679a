let native;
try {
  native = require('./qr.node');
} catch (cause) {
  const why = cause.code === 'MODULE_NOT_FOUND' ? 'is not built' : 'cannot be loaded';
  throw new Error(`the QR addon ${why}; build it with: ${__dirname}/build.sh`, { cause });
}

/** Options that are wrong, or ask for a picture that there is none of. */
class QrError extends Error {
  name = 'QrError';
  code = 'ERR_QR_FAULTS';

  constructor(message, faults) {
    super(message);
    this.faults = faults;
  }
}

/** A TypeError as Node's own functions throw it. */
function typeError(code, message) {
  return Object.assign(new TypeError(message), { code });
}

/** JSON would have null for NaN and infinity, and null is no option at all. */
function finite(name, value) {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw typeError('ERR_INVALID_ARG_TYPE', `options.${name} must be a finite number`);
  return value;
}

exports.QrError = QrError;
exports.generate = native.generate;
// An async function, so that invalid arguments reject the promise too.
exports.generateAsync = async (text, options) => native.generateAsync(text, options);
exports.draw = (options) => {
  const isQuery = typeof options === 'string';
  if (!isQuery && (typeof options !== 'object' || options === null))
    throw typeError('ERR_INVALID_ARG_TYPE', 'options must be a string or an object');
  // Node-API would replace a lone surrogate; JSON.stringify escapes it, which is refused.
  if (isQuery && !options.isWellFormed())
    throw typeError('ERR_QR_LONE_SURROGATE', 'text has a lone surrogate, so it is not Unicode');
  const answer = native.drawOptions(isQuery ? options : JSON.stringify(options, finite), isQuery);
  if (answer.faults) throw new QrError(answer.message, JSON.parse(answer.faults));
  return answer;
};

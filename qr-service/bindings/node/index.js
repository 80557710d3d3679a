let native;
try {
  native = require('./qr.node');
} catch (cause) {
  const why = cause.code === 'MODULE_NOT_FOUND' ? 'is not built' : 'cannot be loaded';
  throw new Error(`the QR addon ${why}; build it with: ${__dirname}/build.sh`, { cause });
}

exports.generate = native.generate;
// An async function, so that invalid arguments reject the promise too.
exports.generateAsync = async (text, options) => native.generateAsync(text, options);

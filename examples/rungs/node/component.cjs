/** The Wasm component in Node, through JavaScript that jco has made from it: a generator for QR_IMPL=wasm. */
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const folder = join(__dirname, '../../../target/rungs/component');
const { instantiate } = require(join(folder, 'qr.js'));
const { generate } = instantiate(
  (name) => new WebAssembly.Module(readFileSync(join(folder, name))),
  {},
);

exports.generate = generate;

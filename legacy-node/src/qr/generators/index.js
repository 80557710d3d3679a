/**
 * The QR generators: npm `qrcode`, and qr-core in each way that a Node app can call Rust. All serve the same route.
 */
import { fileURLToPath } from 'node:url';
import { StartupError } from '../../startup-error.js';

const ADDON = 'qr-service/bindings/node/index.js';

/** Each module is loaded only for its generator. `built` is its build output, relative to the repository's root. */
const GENERATORS = {
  node: { load: async () => (await import('./npm-qrcode.js')).usual },
  'node-tuned': { load: async () => (await import('./npm-qrcode.js')).tuned },
  cli: { load: async () => (await import('./cli.js')).cli, built: 'target/release/qr-draw' },
  wasm: {
    load: async () => (await import('./required.js')).wasm,
    built: 'target/wasm/nodejs/qr_wasm.js',
  },
  'wasm-raw': {
    load: async () => (await import('./wasm-raw.js')).wasmRaw,
    built: 'target/wasm/qr_raw.wasm',
  },
  native: { load: async () => (await import('./required.js')).native, built: ADDON },
  'native-async': { load: async () => (await import('./required.js')).nativeAsync, built: ADDON },
};

export const GENERATOR_NAMES = Object.keys(GENERATORS);

const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/**
 * Loads a generator and generates one picture, so that a broken generator fails at startup.
 * @param {string} name one of GENERATOR_NAMES
 * @param {string | undefined} path the generator's file; undefined means its build output
 * @returns {Promise<{engine: string, generateQr: (text: string) => Promise<Buffer>}>} its name in
 *   `qr_build_info`, and the function that turns a text of 1 to 512 bytes of UTF-8 into a PNG
 * @throws {StartupError} if its file is missing or does not work
 */
export async function loadGenerator(name, path) {
  const { load, built } = GENERATORS[name];
  const generator = (await load())(path ?? (built && fromRoot(built)));
  await tryOut(generator);
  return generator;
}

function fromRoot(path) {
  return fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
}

async function tryOut({ engine, generateQr }) {
  let picture;
  try {
    picture = await generateQr('start');
  } catch (error) {
    throw new StartupError(`QR_IMPL: ${engine} fails: ${error.message}`, { cause: error });
  }
  if (!PNG_SIGNATURE.equals(picture.subarray(0, PNG_SIGNATURE.length))) {
    throw new StartupError(`QR_IMPL: the output of ${engine} is not a PNG`);
  }
}

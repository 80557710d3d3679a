/**
 * The QR generators: npm `qrcode`, and qr-core in each way that a Node app can call Rust. All serve the same route.
 */
import { fileURLToPath } from 'node:url';
import { StartupError } from '../../startup-error.js';

/** `built` is the generator's build output, relative to the repository's root. */
const GENERATORS = {
  node: { importModule: () => import('./node.js') },
  'node-tuned': { importModule: () => import('./node-tuned.js') },
  cli: { importModule: () => import('./cli.js'), built: 'target/release/qr-draw' },
  wasm: { importModule: () => import('./wasm.js'), built: 'target/wasm/nodejs/qr_wasm.js' },
  'wasm-raw': { importModule: () => import('./wasm-raw.js'), built: 'target/wasm/qr_raw.wasm' },
  native: {
    importModule: () => import('./native.js'),
    built: 'qr-service/bindings/node/index.js',
  },
  'native-async': {
    importModule: () => import('./native-async.js'),
    built: 'qr-service/bindings/node/index.js',
  },
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
  const { importModule, built } = GENERATORS[name];
  const { load } = await importModule();
  const generator = await load(path ?? (built && fromRoot(built)));
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

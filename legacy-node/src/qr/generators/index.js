/**
 * What makes the pictures: npm `qrcode`, or Rust by one of the ways that a Node app can call it.
 * The route is the same for all of them.
 */
import { fileURLToPath } from 'node:url';
import { StartupError } from '../../startup-error.js';

/** Each with where its part is built; a path is from the repository's top. */
const GENERATORS = {
  node: { importModule: () => import('./node.js') },
  'node-tuned': { importModule: () => import('./node-tuned.js') },
  cli: { importModule: () => import('./cli.js'), built: 'target/release/qr' },
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

export const IMPLEMENTATIONS = Object.keys(GENERATORS);

const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/**
 * Loads a generator and has it make a picture, so that what is wrong with it shows at the start.
 * @param {string} name one of IMPLEMENTATIONS
 * @param {string | undefined} path where its part is; undefined is where it is built
 * @returns {Promise<{engine: string, generateQr: (text: string) => Promise<Buffer>}>} its name for
 *   `qr_build_info`; and the function: text of 1 to 512 bytes of UTF-8 to a PNG
 * @throws {StartupError} where its part is missing or does not work
 */
export async function loadGenerator(name, path) {
  const { importModule, built } = GENERATORS[name];
  const { load } = await importModule();
  const generator = await load(path ?? (built && fromTop(built)));
  await tryOut(generator);
  return generator;
}

function fromTop(path) {
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
    throw new StartupError(`QR_IMPL: what ${engine} makes is not a PNG`);
  }
}

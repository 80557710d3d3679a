import { readFileSync } from 'node:fs';
import { MAX_TEXT_BYTES } from '../query.js';
import { NotBuiltError } from './not-built-error.js';

/** Calls the Wasm module in this thread, through the plain interface that every language can use. */
export function wasmRaw(file) {
  const drawPng = prepareDrawing(instantiate(file));
  return { engine: 'qr-wasm-raw', generateQr: async (text) => drawPng(text) };
}

function instantiate(file) {
  try {
    return new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file))).exports;
  } catch (error) {
    throw new NotBuiltError(file, 'qr-service/bindings/wasm/build.sh', error);
  }
}

const SIZE_PX = 200;
const MARGIN_MODULES = 4;
const LEVEL_L = 0;

/** Two buffers in the module's memory serve all calls, because only one call runs at a time. */
function prepareDrawing({ memory, alloc, max_png_bytes: maxPngBytes, generate }) {
  const textAt = alloc(MAX_TEXT_BYTES);
  const pngSpace = maxPngBytes(SIZE_PX);
  const pngAt = alloc(pngSpace);
  if (textAt === 0 || pngAt === 0) throw new Error('the Wasm module is out of memory');
  const encoder = new TextEncoder();
  let textView;
  let memoryView;

  /** Makes views of the memory, which detaches them when it grows. */
  function look() {
    memoryView = Buffer.from(memory.buffer);
    textView = new Uint8Array(memory.buffer, textAt, MAX_TEXT_BYTES);
  }

  look();
  return function drawPng(text) {
    if (memoryView.length === 0) look();
    const { read, written } = encoder.encodeInto(text, textView);
    if (read < text.length) throw new RangeError(`text must be <= ${MAX_TEXT_BYTES} bytes`);
    const length = generate(textAt, written, SIZE_PX, MARGIN_MODULES, LEVEL_L, pngAt, pngSpace);
    if (length < 0) throw new Error(`the Wasm module failed with code ${length}`);
    if (memoryView.length === 0) look();
    return Buffer.from(memoryView.subarray(pngAt, pngAt + length));
  };
}

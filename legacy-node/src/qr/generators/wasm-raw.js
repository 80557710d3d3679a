import { readFileSync } from 'node:fs';
import { NotBuiltError } from './not-built-error.js';

/** The Wasm module of plain functions, in this thread: how any language calls it. */
export function load(file) {
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
/** What is longer has no code; and what is too long for this has no place where it is written. */
const MAX_TEXT_BYTES = 7089;

/** Two buffers in the module's memory serve all calls: there is one at a time. */
function prepareDrawing({ memory, alloc, max_png_bytes: maxPngBytes, generate }) {
  const textAt = alloc(MAX_TEXT_BYTES + 1);
  const pngSpace = maxPngBytes(SIZE_PX);
  const pngAt = alloc(pngSpace);
  if (textAt === 0 || pngAt === 0) throw new Error('the Wasm module has no memory');
  const encoder = new TextEncoder();
  let textView;
  let memoryView;

  /** Views of the memory as it is: when it grows they lose it. */
  function look() {
    memoryView = Buffer.from(memory.buffer);
    textView = new Uint8Array(memory.buffer, textAt, MAX_TEXT_BYTES + 1);
  }

  look();
  return function drawPng(text) {
    if (memoryView.length === 0) look();
    const { written } = encoder.encodeInto(text, textView);
    const length = generate(textAt, written, SIZE_PX, MARGIN_MODULES, LEVEL_L, pngAt, pngSpace);
    if (length < 0) throw new Error(`the Wasm module gives failure ${length}`);
    if (memoryView.length === 0) look();
    return Buffer.from(memoryView.subarray(pngAt, pngAt + length));
  };
}

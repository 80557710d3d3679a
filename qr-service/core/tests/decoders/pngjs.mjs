// Writes to stdout the pixels of PNG files as pngjs reads them: one byte of grey per pixel.
// The first argument is a folder whose node_modules contain pngjs.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [folder, ...paths] = process.argv.slice(2);
const { PNG } = createRequire(`${folder}/`)('pngjs');
for (const path of paths) {
  const { data } = PNG.sync.read(readFileSync(path), { checkCRC: true });
  process.stdout.write(Buffer.from(data.filter((_, i) => i % 4 === 0)));
}

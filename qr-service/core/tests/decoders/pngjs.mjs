// The pixels of PNG files as pngjs reads them: a grey byte each, file after file, on stdout.
// The first argument is the folder whose node_modules have pngjs.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [folder, ...paths] = process.argv.slice(2);
const { PNG } = createRequire(`${folder}/`)('pngjs');
for (const path of paths) {
  const { data } = PNG.sync.read(readFileSync(path), { checkCRC: true });
  process.stdout.write(Buffer.from(data.filter((_, i) => i % 4 === 0)));
}

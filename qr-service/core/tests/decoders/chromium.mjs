// Writes the pixels of PNG and SVG files as Chromium shows them to stdout: one byte of grey per pixel.
// The first argument is the folder whose node_modules have playwright-core.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [folder, ...paths] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/`)('playwright-core');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
  ],
});
try {
  const page = await browser.newPage();
  for (const path of paths) {
    const type = path.endsWith('.svg') ? 'image/svg+xml' : 'image/png';
    const source = `data:${type};base64,${readFileSync(path).toString('base64')}`;
    const grey = await page.evaluate(async (source) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
      const context = canvas.getContext('2d');
      context.drawImage(image, 0, 0);
      const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
      let bytes = '';
      for (let i = 0; i < data.length; i += 4) bytes += String.fromCharCode(data[i]);
      return btoa(bytes);
    }, source);
    process.stdout.write(Buffer.from(grey, 'base64'));
  }
} finally {
  await browser.close();
}

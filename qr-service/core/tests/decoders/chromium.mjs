// Writes to stdout the pixels of PNG and SVG files as Chromium shows them: one byte of grey per pixel.
// The first argument is the folder of the legacy app, whose tests start Chromium.
import { readFileSync } from 'node:fs';

const [folder, ...paths] = process.argv.slice(2);
const { launchBrowser } = await import(`${folder}/test/support/browser.js`);
const browser = await launchBrowser();
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

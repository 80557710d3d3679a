/**
 * Makes the pictures of the page in docs/screenshots, of the stack that runs: `npm run pictures`, or with
 * another address, `npm run pictures -- http://127.0.0.1:8081/`.
 */
import { launchBrowser } from '../../../legacy-node/test/support/browser.js';

const [address = 'http://127.0.0.1:8081/'] = process.argv.slice(2);
const folder = new URL('../../../docs/screenshots/', import.meta.url).pathname;
const sizes = [
  { name: 'wide', viewport: { width: 1280, height: 900 }, fullPage: true },
  { name: 'phone', viewport: { width: 390, height: 844 }, fullPage: false },
];

const browser = await launchBrowser();
try {
  for (const { name, viewport, fullPage } of sizes) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await browser.newPage({ viewport, colorScheme });
      await page.goto(address);
      await page.locator('input[value="5m"]').check();
      await page.getByText(/^As of \d/).waitFor();
      // The charts draw their new range.
      await page.waitForTimeout(2000);
      const file = `${folder}live-${name}-${colorScheme}.png`;
      await page.screenshot({ path: file, fullPage });
      await page.close();
      console.log(file);
    }
  }
} finally {
  await browser.close();
}

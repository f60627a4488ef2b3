// Pictures of pages of multihop view: node pictures.mjs CHROMIUM FOLDER '[["page.html", "#t=1.0"], ...]'

import { join } from "node:path";
import { chromium } from "playwright-core";

const [executablePath, folder, wanted] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
for (const [name, hash] of JSON.parse(wanted)) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 1150 } });
  await page.goto(`file://${join(folder, name)}${hash}`);
  await page.waitForFunction(() => window.multihop?.()?.result, null, { timeout: 120_000 });
  await page.waitForFunction(() => window.multihop().isDetailed(), null, { timeout: 60_000 });
  await page.evaluate(() => window.multihop().step(1));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.screenshot({ path: join(folder, name.replace(/html$/, "png")) });
  await page.close();
}
await browser.close();

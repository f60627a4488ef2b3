// The page of a comparison in a headless browser: MULTIHOP=path/of/the/command CHROMIUM=path node --test test/compare.test.mjs

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { PICTURES, axe, cutTables, folder, openFile, settled, withBrowser } from "./browser.mjs";
import { multihop } from "./common.mjs";

withBrowser();

let path;
let found;
before(() => {
  const text = (transport) => `duration = 20.0\nwarmup = 2.0\n[topology]\nkind = "cross"\n[[flow]]\ntransport = "newreno"\n
[[flow]]\nstart = 5.0\ntransport = "${transport}"\n`;
  const files = ["newreno", "tpa-2"].map((transport) => {
    const file = join(folder, `${transport}.toml`);
    writeFileSync(file, text(transport));
    return file;
  });
  path = join(folder, "compare.html");
  found = JSON.parse(multihop("compare", ...files, "--out", path, "--json"));
});

async function open(options) {
  const opened = await openFile(path, options);
  await opened.page.waitForFunction(() => window.multihops()?.every(({ result }) => result), null, { timeout: 60_000 });
  return opened;
}

/** What a function says of each run. */
const models = (page, read) => page.evaluate(`window.multihops().map(${read})`);

test("the page begins where the runs first differ, and both are there", async () => {
  const { page, complaints, close } = await open();
  assert.deepEqual(await models(page, "(model) => model.cursor"), [found.first.at * 1e9, found.first.at * 1e9]);
  await page.waitForFunction(() => window.multihops().every((model) => model.isDetailed()));
  // Before the first difference the same happens to the packets of both runs, and afterwards it does not.
  const packets = await models(page, `(model) => {
    const name = ({ at, node, event, uid, kind, bytes }) => [at, node, event, uid, kind, bytes].join(" ");
    const before = model.detail.packets.filter((packet) => packet.at < model.cursor).map(name);
    return { before, after: model.detail.packets.filter((packet) => packet.at >= model.cursor).map(name) };
  }`);
  assert.ok(packets[0].before.length > 5, `${packets[0].before.length}`);
  assert.deepEqual(packets[0].before, packets[1].before);
  assert.notDeepEqual(packets[0].after, packets[1].after);
  assert.deepEqual(complaints, []);
  await close();
});

test("both maps and time lines are in step, and the series of both are drawn", async () => {
  const { page, close } = await open();
  await page.fill("#query", "12.5s");
  await page.click("#search button");
  await page.waitForFunction(() => window.multihops().every((model) => model.isDetailed() && model.cursor === 12.5e9));
  assert.equal(await page.locator("canvas[id^=map]").count(), 2);
  assert.equal(await page.locator("canvas[id^=timeline]").count(), 2);
  const values = await page.textContent("#values");
  assert.ok(values.includes("newreno flow 1") && values.includes("tpa-2 flow 1"), values);
  const verdicts = await page.$$eval(".verdict", (all) => all.map((one) => one.textContent));
  assert.deepEqual(verdicts, Array(2).fill("The page shows what the result counts. The run in this page has the same result as multihop run."));
  await close();
});

for (const [shade, colorScheme] of ["light", "dark"].entries()) {
  test(`each flow has the colour that its transport has on all pages, ${colorScheme}`, async () => {
    const { colours, transports } = JSON.parse(readFileSync(new URL("../../python/multihop/palette.json", import.meta.url), "utf8"));
    const { page, close } = await open({ colorScheme });
    const shown = await page.$$eval("#flows .swatch", (all) => all.map((one) => one.style.background));
    const rgb = (hex) => `rgb(${[1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(", ")})`;
    const expected = ["newreno", "newreno", "newreno", "tpa-2"].map((name) => rgb(colours[transports[name][0]][shade]));
    assert.deepEqual(shown, expected);
    await close();
  });
}

test("the differences are those of the command", async () => {
  const { page, close } = await open();
  const cells = await page.$$eval("#comparison tbody tr:first-child td", (all) => all.map((cell) => cell.textContent));
  const [row] = found.rows;
  assert.equal(Number(cells[0]), Number(row.means[0].toFixed(1)));
  assert.equal(Number(cells[2]), Number(row.differences[0].mean.toFixed(1)));
  await close();
});

for (const [width, colorScheme] of [[1400, "light"], [390, "dark"]]) {
  test(`nothing is wrong for axe in a comparison at ${width} px, ${colorScheme}`, async () => {
    const { page, close } = await open({ width, colorScheme });
    await page.waitForFunction(() => window.multihops().every((model) => model.isDetailed()));
    await settled(page);
    await page.screenshot({ path: join(PICTURES, `compare-${width}-${colorScheme}.png`), fullPage: true });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${wide} px wide`);
    assert.deepEqual(await cutTables(page), []);
    assert.deepEqual(await axe(page), []);
    await close();
  });
}

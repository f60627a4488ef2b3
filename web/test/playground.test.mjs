// The playground in a headless browser: MULTIHOP=path/of/the/command CHROMIUM=path node --test test/playground.test.mjs

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { PICTURES, axe, ended, folder, openFile, settled, withBrowser } from "./browser.mjs";
import { bundled, multihop } from "./common.mjs";

/** Height of a phone's screen, px. */
const PHONE = 844;

withBrowser();

let path;
before(() => {
  path = join(folder, "playground.html");
  multihop("view", "--playground", "--out", path);
});

/** The result of a request as `multihop run` has it. */
function native({ request }) {
  const file = join(folder, "scene.json");
  writeFileSync(file, request.text);
  const set = request.overrides.flatMap(([key, value]) => ["--set", `${key}=${value}`]);
  return JSON.parse(multihop("run", file, "--json", ...set));
}

const goodputs = (result) => result.flows.map((flow) => flow.goodput_kbps);
const result = (page) => page.evaluate(() => window.multihop().result);
/** Acts, and waits for the result of the network that follows. */
async function after(page, act) {
  await page.evaluate(() => (window.old = window.multihop()));
  await act();
  await page.waitForFunction(() => window.multihop() !== window.old && window.multihop().result, null, { timeout: 20_000 });
}

test("every prepared scene runs, and has the result of multihop run", async () => {
  const { SCENES, runOf } = await bundled("src/scenes.ts");
  assert.equal(SCENES.length, 10);
  const { page, complaints, close } = await openFile(path);
  await ended(page);
  for (const [index, scene] of SCENES.entries()) {
    if (index > 0) {
      await after(page, () => page.selectOption("#pick", scene.name));
    }
    const found = await result(page);
    assert.deepEqual(goodputs(found), goodputs(native(runOf(scene))), scene.name);
    assert.ok(found.flows.some((flow) => flow.goodput_kbps > 10), `${scene.name}: ${goodputs(found)}`);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test("another transport is simulated at once, the difference is shown, and the link holds the network", async () => {
  const { page, complaints, close } = await openFile(path);
  await ended(page);
  const before = goodputs(await result(page));
  await after(page, () => page.selectOption("#transport", "tpa-2"));
  const now = goodputs(await result(page));
  assert.notDeepEqual(now, before);
  const cells = await page.$$eval("#difference tbody tr:first-child td", (all) => all.map((cell) => Number(cell.textContent.replace("−", "-"))));
  assert.ok(Math.abs(cells[0] - before[0]) < 0.1 && Math.abs(cells[1] - now[0]) < 0.1, `${cells} ${before} ${now}`);
  await page.waitForFunction(() => location.hash.includes("scene="));
  const hash = await page.evaluate(() => location.hash);
  assert.ok(hash.length < 1500, `${hash.length} letters`);
  await close();
  const again = await openFile(path, { hash });
  await ended(again.page);
  assert.deepEqual(goodputs(await result(again.page)), now);
  assert.deepEqual([...complaints, ...again.complaints], []);
  await again.close();
});

test("stations are dragged, and flows and stations added and removed", async () => {
  const { page, complaints, close } = await openFile(path);
  await ended(page);
  const place = (node) => page.evaluate((n) => {
    const { network } = window.multihop();
    const { left, top, width, height } = document.getElementById("map").getBoundingClientRect();
    const xs = network.nodes.map(({ path }) => path[0][1]);
    const [least, most] = [Math.min(...xs), Math.max(...xs)];
    const zoom = Math.min((width - 80) / (most - least), 2);
    return [left + width / 2 + (xs[n] - (least + most) / 2) * zoom, top + height / 2];
  }, node);
  // The last station of the chain, out of reach of the one before.
  const [x, y] = await place(7);
  await after(page, async () => {
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 10, y + 60, { steps: 4 });
    await page.mouse.move(x + 20, y + 100, { steps: 4 });
    await page.mouse.up();
  });
  const [, , moved] = await page.evaluate(() => window.multihop().network.nodes[7].path[0]);
  assert.ok(moved > 60, `${moved} m`);
  await after(page, () => page.selectOption("#pick", "A lossy chain"));
  await page.click("#add-flow");
  await page.mouse.click(...(await place(4)));
  await after(page, async () => page.mouse.click(...(await place(1))));
  assert.deepEqual(await page.evaluate(() => window.multihop().network.flows.map(({ from, to }) => [from, to])), [[0, 4], [4, 1]]);
  await after(page, () => page.click("#add-station"));
  assert.equal(await page.evaluate(() => window.multihop().network.nodes.length), 6);
  await after(page, () => page.click("[aria-label='Remove flow 0']"));
  assert.equal(await page.evaluate(() => window.multihop().network.flows.length), 1);
  assert.deepEqual(complaints, []);
  await close();
});

test("what is wrong is said, and the network before stays", async () => {
  const { page, complaints, close } = await openFile(path, { hash: "#scene=nothing" });
  await ended(page);
  await page.waitForSelector("#hint:has-text('The link does not hold a network')");
  await page.fill("#other-keys", "radio.rat=11M");
  await page.press("#other-keys", "Tab");
  await page.waitForSelector("#progress.notice:has-text('radio.rat')");
  await page.waitForSelector("#playground .problem:has-text('radio.rat')");
  assert.ok(await page.evaluate(() => window.multihop().result !== null));
  await after(page, async () => {
    await page.fill("#other-keys", "radio.rate=11M");
    await page.press("#other-keys", "Tab");
  });
  assert.ok(await page.locator("#playground .problem").isHidden());
  assert.deepEqual(complaints, []);
  await close();
});

test("on a phone the map comes first, the scene is on the same screen, and the other fields are folded", async () => {
  const { page, complaints, close } = await openFile(path, { width: 390 });
  await ended(page);
  const bottom = (id) => page.$eval(id, (one) => one.getBoundingClientRect().bottom);
  const [map, scene] = [await bottom("#map"), await bottom("#pick")];
  assert.ok(map < scene && scene < PHONE, `the map ends at ${map} px, the scene at ${scene} px`);
  assert.ok(await page.locator("#routing").isHidden());
  await page.click("#change summary");
  await after(page, () => page.selectOption("#routing", "aodv"));
  assert.ok(await page.locator("#difference table").isVisible());
  await page.setViewportSize({ width: 1400, height: 1000 });
  await page.waitForSelector("#routing", { state: "visible" });
  assert.ok(await page.locator("#change summary").isHidden());
  assert.deepEqual(complaints, []);
  await close();
});

for (const [width, colorScheme] of [[1400, "light"], [390, "dark"]]) {
  test(`nothing is wrong for axe in the playground at ${width} px, ${colorScheme}`, async () => {
    const { page, close } = await openFile(path, { width, colorScheme });
    await ended(page);
    await after(page, () => page.selectOption("#transport", "tcp-2"));
    await settled(page);
    await page.screenshot({ path: join(PICTURES, `playground-${width}-${colorScheme}.png`), fullPage: true });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${wide} px wide`);
    assert.deepEqual(await axe(page), []);
    await close();
  });
}

// Several radios at each node, in the page: CHROMIUM=path node --test test/radios.test.mjs

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PICTURES, axe, detailed, ended, folder, openFile, settled, withBrowser } from "./browser.mjs";

withBrowser();

/** Four hops with two radios on separate channels; the node in the middle has only the first one. */
const TEXT = `
name = "two radios"
duration = 6.0
warmup = 1.0
topology = { kind = "chain", hops = 4 }
[[radio]]
channel = 6
[[radio]]
phy = "802.11a"
budget = "ns-2"
channel = 44
nodes = [0, 1, 3, 4]
[[flow]]
transport = "newreno"
`;

async function opened() {
  const request = { text: TEXT, json: false, name: "radios.toml", overrides: [] };
  const data = { runs: [{ request, recording: null, result: null, log: null }] };
  const page = readFileSync(new URL("../dist/view.html", import.meta.url), "utf8");
  const path = join(folder, "radios.html");
  writeFileSync(path, page.replace("@REQUEST@", () => JSON.stringify(data)));
  const open = await openFile(path);
  await ended(open.page);
  return open;
}

test("the page counts the frames of all radios, and has a row for each", async () => {
  const { page, complaints, close } = await opened();
  assert.match(await page.textContent(".verdict"), /^The page shows what the result counts\./);
  assert.match(await page.textContent("#subtitle"), /radio 0: 802\.11b, channel 6, radio 1: 802\.11a, channel 44$/);
  const shown = await page.evaluate(() => {
    const { stations, overview } = window.multihop();
    const kinds = overview.airtime.length / overview.bins / stations.all.length;
    const sum = (station) => overview.airtime.slice(station * overview.bins * kinds, (station + 1) * overview.bins * kinds).reduce((a, b) => a + b, 0);
    return stations.all.map(({ name, node, radio }, station) => ({ name, node, radio, sends: sum(station) > 0 }));
  });
  assert.deepEqual(shown.map(({ name }) => name), ["0·0", "0·1", "1·0", "1·1", "2·0", "3·0", "3·1", "4·0", "4·1"]);
  // The first and the last hop go over radio 1.
  const silent = shown.filter(({ sends }) => !sends).map(({ name }) => name);
  assert.deepEqual(silent, ["0·0", "4·0"]);
  assert.deepEqual(complaints, []);
  await close();
});

test("the frames of both radios are drawn, and a selected one names its radio", async () => {
  const { page, complaints, close } = await opened();
  await page.screenshot({ path: join(PICTURES, "radios-afar.png"), fullPage: true });
  await page.fill("#query", "3.5s");
  await page.click("#search button");
  await detailed(page);
  const at = await page.evaluate(() => {
    const model = window.multihop();
    const ofRadio = (radio) => model.detail.frames.find((frame) => frame.radio === radio && frame.kind === 3 && frame.at >= model.cursor && frame.received.length > 0);
    const [first, second] = [0, 1].map(ofRadio);
    model.select(second);
    model.view.moveTo(second.at + 1000);
    const of = ({ node, to, rate }) => [node, to, rate];
    return { first: of(first), second: of(second), waits: model.detail.waits.length };
  });
  assert.equal(at.waits, 9);
  // Radio 1 reaches from 0 to 1 and from 3 to 4 only.
  assert.ok(["0 1", "1 0", "3 4", "4 3"].includes(at.second.slice(0, 2).join(" ")), JSON.stringify(at));
  await page.waitForFunction(() => window.multihop().life !== null);
  await settled(page);
  const selection = await page.textContent("#selection");
  assert.match(selection, /over\s*radio 1: 802\.11a, channel 44/);
  assert.match(selection, /\(radio 1\): received/, "the life of its packet");
  await page.hover("#map", { position: { x: 40, y: 130 } });
  await settled(page);
  await page.screenshot({ path: join(PICTURES, "radios-near.png"), fullPage: true });
  assert.deepEqual(await axe(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

// The page in a headless browser: MULTIHOP=path/of/the/command CHROMIUM=path node --test test/page.test.mjs

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PICTURES, axe, cutTables, detailed, ended, folder, once, open, openFile, settled, withBrowser, written } from "./browser.mjs";
import { logged, multihop } from "./common.mjs";

const CROSS = ["cross", 60];
const MOVING = ["aodv-mobile-50", 30];

withBrowser();

/** Events of packets as `multihop run --trace` writes them. */
function trace(scenario) {
  const out = once("trace", scenario, (file, place, set) => {
    multihop("run", file, "--trace", "--out", place, ...set);
    return place;
  });
  const [head, ...lines] = readFileSync(join(out, "packets.txt"), "utf8").trim().split("\n");
  const keys = head.split("\t");
  const result = JSON.parse(readFileSync(join(out, "result.json"), "utf8"));
  return { result, events: lines.map((line) => Object.fromEntries(line.split("\t").map((value, n) => [keys[n], value]))) };
}

const verdict = (page) => page.textContent(".verdict");

for (const scenario of [CROSS, MOVING]) {
  test(`${scenario[0]} opens, shows the native result, plays and seeks`, async (t) => {
    const { page, complaints, opened, close } = await open(scenario);
    t.diagnostic(`opened and simulated in ${opened} ms`);
    const text = "The page shows what the result counts. The run in this page has the same result as multihop run.";
    assert.equal(await verdict(page), text);
    await page.keyboard.press("End");
    await page.keyboard.press("Home");
    await page.selectOption("#speed", "1");
    await page.click("#play");
    await page.waitForFunction(() => window.multihop().cursor > 0.3e9);
    await page.click("#play");
    assert.equal(await page.evaluate(() => window.multihop().view.playing), false);
    await page.fill("#query", "12.5s");
    await page.click("#search button");
    await detailed(page);
    assert.equal(await page.evaluate(() => window.multihop().cursor), 12.5e9);
    await page.screenshot({ path: join(PICTURES, `${scenario[0]}.png`), fullPage: true });
    assert.deepEqual(complaints, []);
    await close();
  });
}

test("a page with a log shows a run that it cannot simulate", async () => {
  const scenario = ["chain-4", 12];
  const [log, result] = await logged(...scenario);
  const whole = readFileSync(written(scenario), "utf8");
  const data = { runs: [{ request: { text: "unknown", json: false, name: "a.toml", overrides: [] }, recording: null, result, log }] };
  const path = join(folder, "log.html");
  writeFileSync(path, whole.replace(/(id="request">)[^<]+/, (_, begin) => begin + JSON.stringify(data)));
  const { page, complaints, close } = await openFile(path);
  await ended(page);
  assert.equal(await verdict(page), "The page shows what the result counts. The run in this page has the same result as multihop run.");
  assert.equal(await page.isHidden("#scenario-section"), true, "a change could not be simulated");
  await page.fill("#query", "6.5s");
  await page.click("#search button");
  await detailed(page);
  assert.equal(await page.evaluate(() => window.multihop().cursor), 6.5e9);
  assert.deepEqual(complaints, []);
  await close();
});

test("a collision is found where the trace loses the packet", async () => {
  // A packet that the MAC gave up: the trace says where and when, the page shows why.
  const { events } = trace(CROSS);
  const lost = events.find((event) => event.evt === "D" && event.resn === "RET");
  const { page, close } = await open(CROSS);
  await page.keyboard.press("d");
  await detailed(page);
  const shown = await page.evaluate(() => {
    const model = window.multihop();
    const drop = model.detail.packets.find((packet) => packet.event === "dropped" && packet.at === model.cursor);
    const frames = model.detail.frames.filter((frame) => frame.at < model.cursor && frame.node === drop.node);
    const last = frames.at(-1);
    return { ...drop, collided: model.detail.collisions.some(({ at }) => at <= model.cursor), kind: last.kind, to: last.to, lost: !last.received.includes(last.to) };
  });
  assert.equal(shown.at, Math.round(Number(lost.time) * 1e9));
  assert.deepEqual([String(shown.node), String(shown.uid), shown.reason], [lost.node, lost.uid, "retry-limit"]);
  assert.ok(shown.lost && shown.collided, "the last attempt was lost, and there was a collision before");
  // One more click leads from the drop to the life of the packet.
  await page.click(`#selection li:has-text("packet ${lost.uid} dropped at ${lost.node} (retry-limit)") button`);
  await page.waitForSelector(`#selection h3:has-text("Packet ${lost.uid}: ${lost.pkt}")`);
  await page.keyboard.press("Shift+C");
  const collision = await page.evaluate(() => {
    const model = window.multihop();
    return { at: model.cursor, known: [...model.overview.marks.collision.at].filter((at) => at <= model.cursor).at(-1) };
  });
  assert.equal(collision.at, collision.known);
  await close();
});

test("a frame shows its bit rate, its power and SINR, and which frame destroyed it", async () => {
  const { page, close } = await open(CROSS, { hash: "#t=35.0&w=0.2" });
  await detailed(page);
  const lost = await page.evaluate(() => {
    const model = window.multihop();
    // A frame that a station one hop away lost to a frame of another station.
    const ofCollisions = model.detail.collisions.filter(({ node, frame }) => frame.to === node);
    const { frame, node } = ofCollisions.find((one) => one.frame.receptions.some((each) => each.node === one.node && each.interferer !== null && each.interferer.node !== one.node));
    model.select(frame);
    const { interferer } = frame.receptions.find((each) => each.node === node);
    return { kind: ["RTS", "CTS", "ACK", "data", "broadcast"][interferer.kind], by: model.network.nodes[interferer.node].name };
  });
  await page.waitForSelector("#selection dt:has-text('received power')");
  const shown = await page.$$eval("#selection dt", (names) => Object.fromEntries(names.map((name) => [name.textContent, name.nextElementSibling.textContent])));
  assert.match(shown["bytes, bit rate"], /^\d+ at [12] Mb\/s$/);
  // Two-ray over 200 m at 24.5 dBm, by hand.
  assert.equal(shown["received power"], "−60.5 dBm");
  assert.match(shown["SINR"], /^−?\d+\.\d dB$/);
  assert.ok(shown["strongest interference"].startsWith(`${lost.kind} of ${lost.by}, −`), shown["strongest interference"]);
  assert.ok(shown["outcome"].includes(`: destroyed by ${lost.kind} of ${lost.by}, −`), shown["outcome"]);
  await close();
});

test("the goodput of a flow is that of the cursor, beside that of the whole run", async () => {
  const { page, close } = await open(CROSS, { hash: "#t=5.0&w=1" });
  const cells = () => page.$$eval("#flows tbody tr", (rows) => rows.map((row) => [...row.querySelectorAll("td")].slice(0, 2).map((cell) => Number(cell.textContent))));
  const result = await page.evaluate(() => window.multihop().result.flows.map((flow) => Number(flow.goodput_kbps.toPrecision(4))));
  await page.waitForFunction(() => document.querySelector("#flows td")?.textContent !== "…");
  const early = await cells();
  // The second flow begins at 30 s.
  assert.equal(early[1][0], 0);
  assert.ok(early[0][0] > 100, `${early[0][0]} kb/s`);
  assert.deepEqual(early.map(([, whole]) => whole), result);
  await page.fill("#query", "50s");
  await page.click("#search button");
  await page.waitForFunction(() => Number(document.querySelectorAll("#flows tbody tr")[1].querySelector("td").textContent) > 0);
  await close();
});

test("delay and bit rate are series, as the trace and the scenario have them", async () => {
  const { events } = trace(CROSS);
  const sent = new Map(events.filter((event) => event.evt === "s" && event.pkt === "tcp").map((event) => [event.uid, Number(event.time)]));
  const arrivals = events.filter((event) => event.evt === "r" && event.pkt === "tcp" && event.node === "4" && event.to === "4");
  const { page, close } = await open(CROSS, { hash: "#t=35.0&w=0.5" });
  await detailed(page);
  const shown = await page.evaluate(() => {
    const { detail, from, to } = window.multihop();
    const inView = ({ at }) => at >= from && at < to;
    return { from, to, delays: detail.flows[0].delays.filter(inView), rates: detail.flows[0].rates.filter(inView).map(({ value }) => value) };
  });
  const inView = arrivals.filter(({ time }) => Number(time) * 1e9 >= shown.from && Number(time) * 1e9 < shown.to);
  const expected = inView.map(({ uid, time }) => (1e3 * (Number(time) - sent.get(uid))).toFixed(4));
  assert.ok(expected.length > 3, `${expected.length} arrivals`);
  assert.deepEqual(shown.delays.map(({ value }) => value.toFixed(4)), expected);
  assert.deepEqual(new Set(shown.rates), new Set([2]));
  const titles = await page.$$eval("#values strong", (all) => all.map((one) => one.textContent));
  assert.ok(titles.includes("One-way delay, ms: ") && titles.includes("Bit rate of data frames, Mb/s: "), titles.join());
  assert.ok(!titles.includes("Pacing rate, kb/s: "), "no sender paces");
  await close();
});

test("the panel of a flow lists what its transport declares, as the recorded series has it", async () => {
  const what = 'record={ every = 0.0, what = ["fast_retransmits"] }';
  const out = once("declared", CROSS, (file, place, set) => {
    multihop("run", file, "--out", place, ...set, "--set", what);
    return place;
  });
  const rows = readFileSync(join(out, "series.csv"), "utf8").trim().split("\n").map((row) => row.split(","));
  const before = rows.filter(([time, , id, series]) => series === "fast_retransmits" && id === "0" && Number(time) <= 35);
  assert.ok(before.length > 1, `${before.length} rows`);
  const { page, close } = await open(CROSS, { hash: "#t=35.0&w=0.5&flow=0" });
  await detailed(page);
  await page.waitForSelector("#flows dt:has-text('fast retransmits')");
  const shown = await page.$eval("#flows dt:has-text('fast retransmits')", (name) => name.nextElementSibling.textContent);
  assert.equal(shown, before.at(-1).at(-1));
  await close();
});

test("houses are on the map", async () => {
  const { page, close } = await open(["town", 15]);
  const outlines = await page.evaluate(() => window.multihop().network.obstacles.length);
  assert.ok(outlines > 3, `${outlines} houses`);
  await page.screenshot({ path: join(PICTURES, "town.png"), fullPage: true });
  await close();
});

test("a station under the pointer says what it waits for, and shows its queue of the same instant", async () => {
  const { page, close } = await open(CROSS, { hash: "#t=35.0&w=0.02" });
  await detailed(page);
  // The middle station is in the middle of the map.
  await page.hover("#map");
  await page.waitForSelector("#station:has-text('Station 2 at ')");
  const said = await page.textContent("#station");
  const queue = await page.evaluate(() => {
    const model = window.multihop();
    return model.detail.queues[2].findLast(({ at }) => at <= model.cursor)?.value ?? 0;
  });
  assert.ok(said.endsWith(`queue: ${queue}.`), `${said} ${queue}`);
  await close();
});

test("all collisions of a run are on the page", async () => {
  const { result } = trace(CROSS);
  const { page, close } = await open(CROSS);
  const shown = await page.evaluate(() => {
    const { overview, network } = window.multihop();
    return [...overview.marks.collision.at].filter((at) => at >= network.warmup * 1e9).length;
  });
  assert.equal(shown, result.mac.collisions);
  await close();
});

test("a click on a segment shows its whole life, as packets.txt has it", async () => {
  const { events } = trace(CROSS);
  const arrived = events.filter((event) => event.evt === "r" && event.pkt === "tcp" && event.hops === "4");
  const { uid } = arrived[200];
  const life = events.filter((event) => event.uid === uid);
  const { page, close } = await open(CROSS, { hash: `#t=${life[1].time}&w=0.03` });
  await detailed(page);
  const place = await page.evaluate((wanted) => {
    const model = window.multihop();
    const frame = model.detail.frames.find((other) => other.uid === wanted);
    const canvas = document.getElementById("timeline");
    const row = (canvas.clientHeight - 18) / model.network.nodes.length;
    const x = 58 + (((frame.at + frame.end) / 2 - model.from) / (model.to - model.from)) * (canvas.clientWidth - 58);
    return { x, y: 18 + (frame.node + 0.5) * row };
  }, Number(uid));
  await page.click("#timeline", { position: place });
  await page.waitForSelector(`#selection h3:has-text("Packet ${uid}: tcp")`);
  const shown = await page.$$eval("#selection .life li", (items) => items.map((item) => item.textContent));
  const words = { s: "sent", r: "received", f: "forwarded", D: "dropped" };
  const hop = (event) => (event.hops === "1" ? " after 1 hop" : ` after ${event.hops} hops`);
  const expected = life.map((event) => `${Number(event.time).toFixed(6)} s ${words[event.evt]} at ${event.node}${event.evt === "r" ? hop(event) : ""}`);
  assert.deepEqual(shown.filter((line) => / s (sent|received|forwarded|dropped) at /.test(line)), expected);
  assert.ok(shown.some((line) => /data 0 → 1: |data 5 → 6: /.test(line)), shown.join("\n"));
  await page.screenshot({ path: join(PICTURES, "life.png"), fullPage: true });
  // The time of a frame in the life selects that frame, and the life stays.
  const second = page.locator("#selection .life li", { hasText: /data 1 → 2: |data 6 → 2: / }).last();
  await second.locator("button").click();
  await page.waitForSelector("#selection dd:has-text('1 → 2'), #selection dd:has-text('6 → 2')");
  assert.equal(await page.$$eval("#selection .life li", (items) => items.length), shown.length);
  await close();
});

test("what is searched for and does not exist is said", async () => {
  const { page, close } = await open(["chain-4", 10]);
  for (const [query, answer] of [["99999999", "There is no packet 99999999."], ["<b>", '"<b>" is neither']]) {
    await page.fill("#query", query);
    await page.click("#search button");
    await page.waitForSelector(`.notice:has-text('${answer}')`);
  }
  await close();
});

test("a page works inside the frame of a notebook, which has no address", async () => {
  const text = readFileSync(written(["chain-4", 10]), "utf8");
  const quoted = text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const notebook = join(folder, "notebook.html");
  writeFileSync(notebook, `<!doctype html><title>Notebook</title><iframe title="Page" srcdoc="${quoted}" width="1000" height="900"></iframe>`);
  const { page, complaints, close } = await openFile(notebook);
  const [, frame] = page.frames();
  await frame.waitForFunction(() => window.multihop?.()?.result, null, { timeout: 20_000 });
  await frame.selectOption("#mark", "collision");
  await frame.click("#later");
  await frame.waitForSelector("#selection li:has-text('lost in a collision at')");
  assert.deepEqual(complaints, []);
  await close();
});

test("a changed scenario is simulated in the page, and its address brings it back", async () => {
  const { page, complaints, close } = await open(["chain-4", 10]);
  await page.fill("#set", "duration=8.0\nwarmup=2.0\nflow.*.transport=tpa-2\n");
  await page.click("#simulate");
  await page.waitForFunction(() => window.multihop?.()?.result?.sim_seconds === 8, null, { timeout: 20_000 });
  const set = ["duration=8.0", "warmup=2.0", "flow.*.transport=tpa-2"].flatMap((value) => ["--set", value]);
  const result = JSON.parse(multihop("run", "scenarios/chain-4.toml", "--json", ...set));
  const expected = { ...result, wall_seconds: null, events_per_second: null };
  assert.deepEqual(await page.evaluate(() => window.multihop().result), expected);
  assert.equal(await verdict(page), "The page shows what the result counts. ");
  await page.keyboard.press("c");
  await settled(page);
  await page.reload();
  await page.waitForFunction(() => window.multihop?.()?.result?.sim_seconds === 8, null, { timeout: 20_000 });
  await page.fill("#set", "duration=minus");
  await page.click("#simulate");
  await page.waitForSelector("#progress.notice:has-text('duration=minus')");
  assert.deepEqual(complaints, []);
  await close();
});

test("a run whose series are recorded has the same result in its page", async () => {
  const [scenario, out] = [join(folder, "recorded.toml"), join(folder, "recorded")];
  multihop("init", scenario);
  multihop("run", scenario, "--out", out, "--view", "--set", "duration=8.0", "--set", "warmup=2.0", "--set", "flow.1.start=3.0");
  const { page, complaints, close } = await openFile(join(out, "view.html"));
  await ended(page);
  assert.equal(await verdict(page), "The page shows what the result counts. The run in this page has the same result as multihop run.");
  assert.deepEqual(complaints, []);
  await close();
});

for (const width of [1400, 390]) {
  test(`an error of the scenario is in sight after a click on Simulate at ${width} px, and goes with the next run`, async () => {
    const { page, close } = await open(["chain-4", 10], { width });
    await page.locator("#simulate").scrollIntoViewIfNeeded();
    await page.fill("#text", "duration = 8.0\nwarmup = 2.0\n[topology]\nkind = \"chain\"\nhops = 2\n[[flow]]\ntransport = \"tpa-22\"\n");
    await page.click("#simulate");
    const problem = page.locator("#scenario-section .problem");
    await problem.filter({ hasText: "did you mean \"tpa-2\"?" }).waitFor();
    await settled(page);
    // In the window, and not covered by the toolbar.
    const inSight = await problem.evaluate((element) => {
      const { top, bottom, left, right } = element.getBoundingClientRect();
      const corners = [[left + 2, top + 2], [right - 2, top + 2], [left + 2, bottom - 2], [right - 2, bottom - 2]];
      return corners.every(([x, y]) => element.contains(document.elementFromPoint(x, y)));
    });
    assert.ok(inSight, JSON.stringify(await problem.boundingBox()));
    await page.screenshot({ path: join(PICTURES, `problem-${width}.png`) });
    await page.fill("#text", "duration = 8.0\nwarmup = 2.0\n[topology]\nkind = \"chain\"\nhops = 2\n[[flow]]\ntransport = \"tpa-2\"\n");
    await page.fill("#set", "");
    await page.click("#simulate");
    await page.waitForFunction(() => window.multihop?.()?.result?.sim_seconds === 8, null, { timeout: 20_000 });
    assert.ok(await problem.isHidden());
    await close();
  });
}

for (const [width, colorScheme] of [[1400, "light"], [1400, "dark"], [390, "light"], [390, "dark"]]) {
  test(`nothing is wrong for axe at ${width} px, ${colorScheme}, and nothing is cut off`, async () => {
    const { page, close } = await open(CROSS, { width, colorScheme, hash: "#t=10.0&w=0.02&flow=0" });
    await detailed(page);
    await page.evaluate(() => window.multihop().step(1));
    await page.waitForSelector("#selection h3");
    await settled(page);
    await page.screenshot({ path: join(PICTURES, `${width}-${colorScheme}.png`), fullPage: true });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${wide} px wide`);
    assert.deepEqual(await cutTables(page), []);
    const small = await page.evaluate(() => [...document.querySelectorAll("body *")].filter((e) => e.childElementCount === 0 && e.textContent.trim() !== "" && e.tagName !== "SCRIPT" && Number.parseFloat(getComputedStyle(e).fontSize) < 11).length);
    assert.equal(small, 0, "texts below 11 px");
    assert.deepEqual(await axe(page), []);
    await close();
  });
}

test("a page that plays asks for a new stretch now and then, not for each picture", async () => {
  const { page, close } = await open(MOVING, { hash: "#t=10.0&w=0.05" });
  await detailed(page);
  await page.selectOption("#speed", "1");
  await page.click("#play");
  const stretches = await page.evaluate(async () => {
    const model = window.multihop();
    const seen = new Set();
    while (model.cursor < 12e9) {
      await new Promise((done) => requestAnimationFrame(done));
      seen.add(model.detail);
    }
    return seen.size;
  });
  assert.ok(stretches > 1 && stretches <= 8, `${stretches} stretches in two seconds`);
  await close();
});

test("playing on from a silent instant fetches no more than can be drawn", async () => {
  const { page, close } = await open(MOVING);
  await page.selectOption("#speed", "10");
  await page.evaluate(() => {
    const { overview, view } = window.multihop();
    const at = overview.frames.indexOf(0) * overview.width;
    view.cursor = at;
    view.show(at, at + overview.width);
  });
  await page.click("#play");
  const most = await page.evaluate(async () => {
    const model = window.multihop();
    let frames = 0;
    while (model.view.playing) {
      await new Promise((done) => requestAnimationFrame(done));
      frames = Math.max(frames, model.detail?.frames.length ?? 0);
    }
    return frames;
  });
  // 3415 for this network.
  assert.ok(most < 3500, `${most} frames in a stretch`);
  await close();
});

test("a page that plays too fast for single frames says so", async () => {
  const { page, close } = await open(MOVING, { hash: "#t=5.0&w=0.05" });
  await detailed(page);
  await page.selectOption("#speed", "10");
  await page.click("#play");
  await page.waitForSelector("#thinned:has-text('Play slower for single frames.')", { timeout: 5000 });
  await close();
});

test("frames are drawn in time", async (t) => {
  const { page, close } = await open(MOVING);
  await page.keyboard.press("c");
  await detailed(page);
  await page.selectOption("#speed", "0.01");
  await page.click("#play");
  const times = await page.evaluate(async () => {
    const drawn = [];
    for (let n = 0; n < 120; n += 1) {
      await new Promise((done) => requestAnimationFrame(done));
      drawn.push(Number(document.documentElement.dataset.drawn));
    }
    return drawn.sort((a, b) => a - b);
  });
  assert.equal(times.length, 120);
  t.diagnostic(`drawing took ${times[60].toFixed(1)} ms in the median, ${times[114].toFixed(1)} ms at the 95th percentile`);
  await close();
});

// The page of multihop route: CHROMIUM=path node --test test/routes.test.mjs

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PICTURES, axe, openAddress, withBrowser } from "./browser.mjs";
import { bundled } from "./common.mjs";

withBrowser();

const PAGE = readFileSync(new URL("../dist/routes.html", import.meta.url));
const neighbour = (address, more = {}) => ({ address, main_address: address, interface: "wlan0", heard_ago: 0.7, received: 1, symmetric: true, relay: false, selector: false, delay: null, ...more });
const port = (name, address, more = {}) => ({ name, address, queue: null, channel_busy: null, ...more });
const route = (via, hops, cost = null) => ({ via, interface: "wlan0", hops, cost });
const BEFORE = {
  protocol: "olsr",
  main_address: "10.0.1.1",
  seconds: 3725.4,
  interfaces: [port("wlan0", "10.0.1.1"), port("eth7", null)],
  neighbours: [neighbour("10.0.1.2", { relay: true }), neighbour("10.0.1.3", { received: 0.5 }), neighbour("10.0.1.9", { symmetric: false })],
  routes: {
    "10.0.1.2/32": route(null, 1),
    "10.0.1.3/32": route(null, 1),
    "10.0.2.3/32": route("10.0.1.2", 2),
    "10.0.2.4/32": route("10.0.1.2", 3),
    "10.0.2.5/32": route("10.0.1.3", 2),
    "0.0.0.0/0": route("10.0.1.2", 2),
    "192.168.7.0/24": route("10.0.1.2", 3),
  },
  installed: 7,
  kernel_changes: [9, 0],
  refused: 0,
  route_changes: 2,
  oscillations: 0,
  datagrams: { received: 812, sent: 400, malformed: 3 },
  messages: { hellos: 200, tcs: 80, forwarded: 33, duplicates: 4, strangers: 0 },
};
const { "10.0.2.5/32": _, ...rest } = BEFORE.routes;
const AFTER = { ...BEFORE, neighbours: BEFORE.neighbours.slice(0, 1), routes: { ...rest, "10.0.2.3/32": route("10.0.1.3", 3) } };

/** Serves the page and a state, which the test changes. */
async function served(state) {
  const holder = { state, asked: [] };
  const server = createServer((request, answer) => {
    holder.asked.push(`${request.method} ${request.url}`);
    if (request.url === "/status") {
      answer.statusCode = holder.state === null ? 503 : 200;
      answer.end(holder.state === null ? "no multihop route answers here" : JSON.stringify(holder.state));
    } else {
      answer.setHeader("Content-Type", "text/html; charset=utf-8").end(PAGE);
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return Object.assign(holder, { address: `http://127.0.0.1:${server.address().port}/`, end: () => server.close() });
}

const shows = (page, text) => page.waitForFunction((wanted) => document.body.innerText.includes(wanted), text, { timeout: 10_000 });

test("the page shows the state, what changes, and that nobody answers", async () => {
  const server = await served(BEFORE);
  const { page, complaints, close } = await openAddress(server.address);
  await shows(page, "OLSR for 1 h 2 min, 7 routes");
  assert.equal(await page.title(), "10.0.1.1: multihop route");
  const rows = await page.$$eval("#neighbours tbody tr", (all) => all.map((row) => row.innerText.replace(/\s+/g, " ").trim()));
  assert.deepEqual(rows, ["10.0.1.2 wlan0 both ways forwards for this host 100% 0.7 s", "10.0.1.3 wlan0 both ways 50% 0.7 s", "10.0.1.9 wlan0 one way 100% 0.7 s"]);
  await shows(page, "all others");
  await shows(page, "down or missing");
  server.state = AFTER;
  await shows(page, "No route to 10.0.2.5 any more");
  const said = await page.$$eval("#changes li", (all) => all.map((item) => item.lastChild.textContent).reverse());
  assert.deepEqual(said, ["No link to 10.0.1.3 any more", "Route to 10.0.2.3: through 10.0.1.3, 3 hops", "No route to 10.0.2.5 any more"]);
  assert.deepEqual(complaints, []);
  server.state = null;
  await shows(page, "no multihop route answers here, for");
  await shows(page, "10.0.1.2");
  server.state = AFTER;
  await shows(page, "now");
  assert.deepEqual([...new Set(server.asked)].filter((one) => one !== "GET /favicon.ico").sort(), ["GET /", "GET /status"], "it changes nothing");
  server.end();
  await close();
});

test("the parts of delays are shown where routes are chosen by delay", async () => {
  const near = neighbour("10.0.1.2", { delay: { hellos: 0.002, queue: 0.0105, transmission: null } });
  const busy = port("wlan0", "10.0.1.1", { queue: { kind: "fq_codel", packets: 3, bytes: 4500, wait: 0.0105, hellos_wait: false }, channel_busy: 0.25 });
  const server = await served({ ...BEFORE, interfaces: [busy], neighbours: [near, neighbour("10.0.1.3", { delay: { hellos: null, queue: null, transmission: null } })] });
  const { page, complaints, close } = await openAddress(server.address);
  await shows(page, "12.5 ms");
  await shows(page, "hellos 2.0, queue 10.5");
  await shows(page, "not known");
  await shows(page, "fq_codel with 4500 bytes, channel busy for 25%");
  assert.deepEqual(complaints, []);
  server.end();
  await close();
});

test("what a host far away claims is text", async () => {
  const markup = "<img src=x onerror=alert(1)>";
  const server = await served({ ...BEFORE, main_address: markup, neighbours: [neighbour(markup, { interface: markup })], routes: { [markup]: route(markup, 255) } });
  const { page, complaints, close } = await openAddress(server.address);
  await shows(page, markup);
  assert.equal(await page.$$eval("img", (all) => all.length), 0);
  assert.deepEqual(complaints, []);
  server.end();
  await close();
});

for (const [width, colorScheme] of [[390, "light"], [390, "dark"], [1200, "dark"]]) {
  test(`the page can be read by everybody: ${width}, ${colorScheme}`, async () => {
    const server = await served(BEFORE);
    const { page, complaints, close } = await openAddress(server.address, { width, colorScheme });
    await shows(page, "7 routes");
    await page.screenshot({ path: `${PICTURES}/routes-${width}-${colorScheme}.png`, fullPage: true });
    assert.deepEqual(await axe(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the window");
    assert.deepEqual(complaints, []);
    server.end();
    await close();
  });
}

const { changes } = await bundled("src/status.ts");

test("a state without changes is told as none", () => {
  assert.deepEqual(changes(BEFORE, BEFORE), []);
  assert.deepEqual(changes(BEFORE, { ...BEFORE, main_address: null }), ["The main address is missing"]);
  assert.deepEqual(changes({ ...BEFORE, neighbours: [] }, { ...BEFORE, neighbours: BEFORE.neighbours.slice(2) }), [], "heard, but no link yet");
});

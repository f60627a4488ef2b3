// A headless browser for tests, without a network.

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { chromium } from "playwright-core";
import { ROOT, multihop, shorter } from "./common.mjs";

const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
/** Where screenshots go. */
export const PICTURES = process.env.PICTURES ?? `${ROOT}out/view`;

let browser;
/** Deleted after the tests. */
export let folder;

/** Starts the browser before the tests of a file, and ends it after them. */
export function withBrowser() {
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "multihop-view-"));
    mkdirSync(PICTURES, { recursive: true });
    const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
    browser = await chromium.launch({ executablePath, args: QUIET });
  });
  after(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });
}

const made = new Map();

/** What `make` makes, once for each scenario and purpose. */
export function once(purpose, [name, seconds], make) {
  const key = `${purpose}-${name}-${seconds}`;
  if (!made.has(key)) {
    const set = shorter(seconds).flatMap(([part, value]) => ["--set", `${part}=${value}`]);
    made.set(key, make(`scenarios/${name}.toml`, join(folder, key), set));
  }
  return made.get(key);
}

/** The page of a scenario. */
export function written(scenario) {
  return once("page", scenario, (file, place, set) => {
    multihop("view", file, "--out", `${place}.html`, ...set);
    return `${place}.html`;
  });
}

/** Opens a file without a network; `complaints` are errors, messages and requests. */
export async function openFile(path, { hash = "", ...options } = {}) {
  return openAddress(`file://${path}${hash}`, { offline: true, allowed: /^(file|blob):/, ...options });
}

/** Opens an address; requests for other addresses than its own are complaints. */
export async function openAddress(address, { width = 1400, colorScheme = "light", offline = false, allowed } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 1000 }, colorScheme, offline });
  const isAllowed = (url) => allowed?.test(url) ?? (url.startsWith(address) || url.startsWith("blob:"));
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("request", (request) => isAllowed(request.url()) || complaints.push(`asked for ${request.url()}`));
  await page.goto(address);
  return { page, complaints, close: () => context.close() };
}

/** Opens the page of a scenario, and waits for the end of its run; `opened` is how long that took, ms. */
export async function open(scenario, options = {}) {
  const path = written(scenario);
  const began = performance.now();
  const opened = await openFile(path, options);
  await ended(opened.page);
  return { ...opened, opened: Math.round(performance.now() - began) };
}

export const ended = (page) => page.waitForFunction(() => window.multihop()?.result, null, { timeout: 60_000 });
export const detailed = (page) => page.waitForFunction(() => window.multihop().isDetailed(), null, { timeout: 20_000 });
export const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** What axe-core finds wrong. */
export async function axe(page) {
  // In a world of its own, which the policy of the page does not bind.
  const found = await page.evaluate(`${AXE}; axe.run({ resultTypes: ["violations"] })`);
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}

/** The tables that are wider than their place. */
export const cutTables = (page) =>
  page.$$eval(".table", (all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.getAttribute("aria-label")));

// What a page takes to open and to play: MULTIHOP=path/of/the/command CHROMIUM=path node measure.mjs
//
// Times are those of the page's own clock, from the start of its navigation. Each measurement waits for an idle machine;
// the last line says how many have waited in vain.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { chromium } from "playwright-core";

const ROOT = new URL("../", import.meta.url).pathname;
const COMMAND = process.env.MULTIHOP ?? `${ROOT}target/release/multihop`;
const OPENINGS = 5;
const PICTURES = 240;
const SPEEDS = ["0.01", "1", "10"];
/** A picture that comes later than this was missed by the screen, of 60 Hz, ms. */
const LATE = 17.5;

/** The machine is idle if this share of its processors was, for so long, ms. It is waited for at most so often. */
const IDLE = 0.8;
const WATCHED = 1500;
const MOST_WAITS = 20;

const flows = [[0, 500], [10, 20], [30, 900], [50, 61], [70, 400]];
const THOUSAND = `duration = 60.0
topology = { kind = "random", nodes = 1000, area = [6000.0, 6000.0], connected = false }
mobility = { kind = "random-waypoint", speed = [1.0, 10.0] }
routing = { protocol = "aodv" }
${flows.map(([from, to], n) => `[[flow]]\nfrom = ${from}\nto = ${to}\ntransport = "newreno"\nstart = ${5 + n}.0\n`).join("")}`;

const folder = mkdtempSync(join(tmpdir(), "multihop-measure-"));
const begins = { idle: 0, busy: 0 };
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
try {
  const file = join(folder, "thousand.toml");
  writeFileSync(file, THOUSAND);
  const cases = [
    ["cross, 600 s", "scenarios/cross.toml", "600.0"],
    ["50 moving nodes, 120 s", "scenarios/aodv-mobile-50.toml", "120.0"],
    ["1,000 moving nodes, 60 s", file, "60.0"],
  ].map(([name, scenario, seconds], n) => ({ name, path: written(scenario, seconds, join(folder, `${n}.html`)) }));
  console.log("| run | file, kB | first drawing, ms | first detail, ms | all simulated, ms |\n|---|--:|--:|--:|--:|");
  for (const { name, path } of cases) {
    const times = [];
    for (let n = 0; n < OPENINGS; n += 1) {
      times.push(await opening(path));
    }
    const medians = [0, 1, 2].map((moment) => Math.round(quantile(times.map((one) => one[moment]), 0.5)));
    console.log(`| ${[name, Math.round(statSync(path).size / 1000), ...medians].join(" | ")} |`);
  }
  console.log("\nThe text below the time line of each whole run:\n");
  for (const { name, path } of cases) {
    console.log(`* ${name}: ${await thinned(path)}`);
  }
  console.log("\n| run | speed | between pictures, ms: median, 95% | late pictures, % | drawing, ms: median, 95% |\n|---|--:|--:|--:|--:|");
  for (const { name, path } of cases) {
    for (const speed of SPEEDS) {
      const { gaps, draws } = await playing(path, speed);
      const [between, drawing] = [gaps, draws].map((times) => [0.5, 0.95].map((share) => quantile(times, share).toFixed(1)).join(", "));
      const late = Math.round((100 * gaps.filter((gap) => gap > LATE).length) / gaps.length);
      console.log(`| ${[name, speed, between, late, drawing].join(" | ")} |`);
    }
  }
  console.log(`\n${cpus().length} processors; idle before ${begins.idle} measurements, not before ${begins.busy}`);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}

/** The page of a scenario. */
function written(scenario, seconds, out) {
  execFileSync(COMMAND, ["view", scenario, "--set", `duration=${seconds}`, "--out", out], { cwd: ROOT, stdio: "ignore" });
  return out;
}

async function open(path, hash = "") {
  const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, offline: true });
  const page = await context.newPage();
  await page.goto(`file://${path}${hash}`);
  return { page, close: () => context.close() };
}

/** Waits until nothing else uses the processors. */
async function quiet() {
  const times = () => cpus().map(({ times: { idle, ...rest } }) => [idle, Object.values(rest).reduce((a, b) => a + b, idle)]);
  const sum = (values, part) => values.reduce((all, value) => all + value[part], 0);
  for (let n = 0; n < MOST_WAITS; n += 1) {
    const before = times();
    await after(WATCHED);
    const now = times();
    if (sum(now, 0) - sum(before, 0) > IDLE * (sum(now, 1) - sum(before, 1))) {
      begins.idle += 1;
      return;
    }
  }
  begins.busy += 1;
}

/** When the first part of the run is drawn, when single frames are, and when the whole run has been simulated. */
async function opening(path) {
  await quiet();
  const { page, close } = await open(path, "#t=1.0&w=0.02");
  const moments = [];
  for (const has of ["overview", "detail", "result"]) {
    const seen = await page.waitForFunction((part) => window.multihop?.()?.[part] && performance.now(), has, { timeout: 300_000 });
    moments.push(await seen.jsonValue());
  }
  await close();
  return moments;
}

/** What the page says that it leaves out. */
async function thinned(path) {
  const { page, close } = await open(path);
  await page.waitForFunction(() => window.multihop?.()?.result, null, { timeout: 300_000 });
  const text = await page.textContent("#thinned");
  await close();
  return text;
}

/** Times between pictures, and of drawing each, while all flows send. */
async function playing(path, speed) {
  const { page, close } = await open(path, "#t=10.0&w=0.05");
  await page.waitForFunction(() => window.multihop?.()?.result, null, { timeout: 300_000 });
  await page.waitForFunction(() => window.multihop().isDetailed(), null, { timeout: 60_000 });
  await page.selectOption("#speed", speed);
  await quiet();
  await page.click("#play");
  const found = await page.evaluate(async (pictures) => {
    const [gaps, draws] = [[], []];
    let last = await new Promise(requestAnimationFrame);
    while (gaps.length < pictures && window.multihop().view.playing) {
      const now = await new Promise(requestAnimationFrame);
      gaps.push(now - last);
      draws.push(Number(document.documentElement.dataset.drawn));
      last = now;
    }
    return { gaps, draws };
  }, PICTURES);
  await close();
  return found;
}

function quantile(values, share) {
  return values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))];
}

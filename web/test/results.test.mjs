// Pages of results in a headless browser: PYTHON=python CHROMIUM=path MULTIHOP=command node --test test/results.test.mjs

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { ROOT, multihop } from "./common.mjs";

const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const PICTURES = process.env.PICTURES ?? `${ROOT}out/results`;
const RUN_AND_SWEEP = `
import sys
import multihop
recorded = {"every": 0.5, "what": ["goodput", "cwnd"]}
multihop.run("cross", duration=40.0, warmup=5.0, record=recorded).report(sys.argv[1])
axes = {"topology.hops": [1, 2, 4], "flow.*.transport": ["newreno", "tpa-2"]}
multihop.sweep("chain-4", axes=axes, seeds=2, duration=8.0, warmup=2.0).report(sys.argv[2])
`;

let browser;
let folder;
const pages = {};

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "multihop-results-"));
  mkdirSync(PICTURES, { recursive: true });
  const python = (...words) => execFileSync(process.env.PYTHON ?? "python3", words, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  pages.demo = join(folder, "demo.html");
  python("-m", "multihop.demo", "--seeds", "2", "--seconds", "12", "--out", pages.demo);
  [pages.run, pages.sweep] = [join(folder, "run.html"), join(folder, "sweep.html")];
  python("-c", RUN_AND_SWEEP, pages.run, pages.sweep);
  multihop("papers", "run", "tpa-cross-testbed", "--quick", "--looks", "1", "--out", join(folder, "papers"));
  pages.papers = join(folder, "papers", "report.html");
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens a page without a network and collects what it complains of. */
async function open(name, { width = 1280, colorScheme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, offline: true });
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("request", (request) => request.url().startsWith("file:") || complaints.push(`asked for ${request.url()}`));
  await page.goto(`file://${pages[name]}`);
  return { page, complaints, close: () => context.close() };
}

for (const name of ["demo", "run", "sweep", "papers"]) {
  for (const [width, colorScheme] of [[1280, "light"], [390, "light"], [390, "dark"]]) {
    test(`${name}: nothing is wrong for axe at ${width} px, ${colorScheme}, nothing is cut off or too small`, async () => {
      const { page, complaints, close } = await open(name, { width, colorScheme });
      await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
      await page.screenshot({ path: join(PICTURES, `${name}-${width}-${colorScheme}.png`), fullPage: true });
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
      const small = await page.evaluate(() => [...document.querySelectorAll("body *")].filter((e) => e.childElementCount === 0 && e.textContent.trim() !== "" && e.tagName !== "SCRIPT" && e.checkVisibility() && e.getBoundingClientRect().height > 1 && Number.parseFloat(getComputedStyle(e).fontSize) < 11).map((e) => e.outerHTML));
      assert.deepEqual(small, []);
      const twice = await page.evaluate(() => [...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, place, all) => all.indexOf(id) !== place));
      assert.deepEqual(twice, []);
      // In a world of its own, which the policy of the page does not bind.
      const found = await page.evaluate(`${AXE}; axe.run({ resultTypes: ["violations"] })`);
      assert.deepEqual(found.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html).join(" ")}`), []);
      assert.deepEqual(complaints, []);
      await close();
    });
  }

  test(`${name}: no axis begins below zero, and no two labels of one overlap`, async () => {
    const { page, close } = await open(name, { width: 390 });
    const ticks = await page.$$eval(".plot .y, .plot .x", (all) => all.map((one) => Number(one.textContent)));
    assert.ok(ticks.length > 5);
    assert.deepEqual(ticks.filter((value) => value < 0), []);
    const overlaps = await page.$$eval(".plot", (plots) => plots.flatMap((plot) => {
      const boxes = [...plot.querySelectorAll(".x")].filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect());
      return boxes.slice(1).filter((box, place) => box.left < boxes[place].right).map(() => plot.getAttribute("aria-label"));
    }));
    assert.deepEqual(overlaps, []);
    await close();
  });
}

test("the name of an axis is below the middle of its plot", async () => {
  const { page, close } = await open("run");
  const away = await page.$$eval(".panel", (panels) => panels.map((panel) => {
    const name = document.createRange();
    name.selectNodeContents(panel.querySelector(".across"));
    const [of, plot] = [name.getBoundingClientRect(), panel.querySelector(".plot svg").getBoundingClientRect()];
    return Math.round((of.left + of.right - plot.left - plot.right) / 2);
  }));
  assert.ok(away.length > 1);
  assert.deepEqual(away.filter((pixels) => Math.abs(pixels) > 1), []);
  await close();
});

test("keyboard and pointer read the values of the table", async () => {
  const { page, close } = await open("demo");
  const rows = await page.$$eval(".panel:first-of-type tbody", ([body]) => [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
  const reading = page.locator(".reading").first();
  const plot = page.locator(".plot").first();
  await plot.focus();
  await page.keyboard.press("End");
  assert.equal(await reading.textContent(), `${rows.at(-1)[0]} · goodput, kb/s ${rows.at(-1)[1]}`);
  await page.keyboard.press("ArrowLeft");
  assert.equal(await reading.textContent(), `${rows.at(-2)[0]} · goodput, kb/s ${rows.at(-2)[1]}`);
  const { width } = await plot.boundingBox();
  await plot.hover({ position: { x: width / 10, y: 40 } });
  assert.equal(await reading.textContent(), `${rows[0][0]} · goodput, kb/s ${rows[0][1]}`);
  await close();
});

test("verdicts can be filtered, and the first column stays", async () => {
  const { page, close } = await open("papers", { width: 390 });
  const filter = page.locator(".filter:has(select)");
  const shown = () => filter.evaluate((form) => [...document.getElementById(form.dataset.table).tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.querySelector(".badge").textContent));
  const all = await shown();
  await filter.locator("select").selectOption("held");
  const held = await shown();
  assert.ok(held.length > 0 && held.length < all.length);
  assert.ok(held.every((verdict) => verdict === "held"));
  await filter.locator("input").fill("no claim has these words");
  assert.deepEqual(await shown(), []);
  assert.match(await filter.locator("output").textContent(), new RegExp(`^0 of ${all.length} rows$`));
  await filter.locator("input").fill("");
  const left = () => filter.evaluate((form) => {
    const table = document.getElementById(form.dataset.table);
    const cell = [...table.tBodies[0].rows].find((row) => !row.hidden).cells[0];
    table.parentElement.scrollLeft = 10_000;
    return [table.parentElement.scrollLeft > 0, cell.getBoundingClientRect().left - table.parentElement.getBoundingClientRect().left];
  });
  assert.deepEqual(await left(), [true, 0]);
  await close();
});

test("a page prints dark on light, with its charts and without controls", async () => {
  const { page, close } = await open("papers", { colorScheme: "dark" });
  const look = () => page.evaluate(() => ({
    paper: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.body).color,
    charts: [...document.querySelectorAll(".plot")].filter((one) => one.checkVisibility()).length,
    controls: [...document.querySelectorAll(".filter, details")].filter((one) => one.checkVisibility()).length,
  }));
  const { charts, ...screen } = await look();
  assert.equal(screen.paper, "rgb(21, 27, 35)");
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.deepEqual(await look(), { paper: "rgb(255, 255, 255)", ink: "rgb(27, 36, 48)", charts, controls: 0 });
  await close();
});

// Live pages: MULTIHOP=path/of/the/command CHROMIUM=path node --test test/live.test.mjs

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, openAddress, withBrowser } from "./browser.mjs";
import { COMMAND, ROOT, multihop, timeless } from "./common.mjs";

withBrowser();

/** Starts a live run; `address` is where its page is, `ended` its exit code and output. */
async function begin(...args) {
  const run = spawn(COMMAND, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  const output = { out: "", err: "" };
  run.stdout.on("data", (data) => (output.out += data));
  const ended = new Promise((done) => run.on("close", (code) => done({ code, ...output })));
  const address = await new Promise((done) => {
    run.stderr.on("data", (data) => {
      output.err += data;
      const found = /open (http:\S+) in a browser/.exec(output.err);
      if (found !== null) {
        done(found[1]);
      }
    });
    void ended.then(() => done(null));
  });
  return { address, ended };
}

const SET = ["--set", "duration=20.0", "--set", "warmup=5.0"];

test("the page of a live run ends with the result of the run", async () => {
  const { address, ended } = await begin("run", "scenarios/chain-4.toml", "--live", "--json", ...SET);
  assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/[\w-]+\/$/);
  const { page, complaints, close } = await openAddress(address);
  const { code, out } = await ended;
  assert.equal(code, 0);
  await page.waitForFunction(() => window.multihop()?.result, null, { timeout: 30_000 });
  assert.deepEqual(await page.evaluate(() => window.multihop().result), timeless(JSON.parse(out)));
  assert.deepEqual(timeless(JSON.parse(multihop("run", "scenarios/chain-4.toml", "--json", ...SET))), timeless(JSON.parse(out)));
  assert.deepEqual(complaints, []);
  await close();
});

test("who does not know the token sees nothing", async () => {
  const { address, ended } = await begin("run", "scenarios/chain-4.toml", "--live", "--json", ...SET);
  const { origin } = new URL(address);
  for (const path of ["/", "/recording", "/x/", `${new URL(address).pathname.slice(0, -2)}/`]) {
    const answer = await fetch(origin + path);
    assert.equal(answer.status, 404, path);
    assert.equal(await answer.text(), "");
  }
  assert.equal((await fetch(address, { method: "POST" })).status, 404);
  const recording = await (await fetch(`${address}recording`)).text();
  assert.ok(recording.startsWith("multihop recording 4 "));
  assert.equal((await ended).code, 0);
});

test("an emulation is followed in step with it", async (t) => {
  const scenario = join(folder, "emulated.toml");
  writeFileSync(scenario, 'duration = 30.0\n[topology]\nkind = "chain"\nhops = 2\n');
  const { address, ended } = await begin("emulate", scenario, "--live", "--json", "--", "sh", "-c", "ping -c 12 -i 0.2 node2 >&2; sleep 1");
  if (address === null) {
    t.skip(`no emulation here: ${(await ended).err.trim()}`);
    return;
  }
  const { page, complaints, close } = await openAddress(address);
  await page.waitForFunction(() => window.multihop()?.overview?.until > 1.5e9, null, { timeout: 20_000 });
  const during = await page.evaluate(() => ({ cursor: window.multihop().cursor, known: window.multihop().overview.until, ended: window.multihop().result !== null }));
  assert.ok(!during.ended && during.cursor > 0 && during.cursor <= during.known, JSON.stringify(during));
  const { code, out, err } = await ended;
  assert.equal(code, 0, err);
  await page.waitForFunction(() => window.multihop()?.result, null, { timeout: 20_000 });
  const { programs, emulation, ...result } = JSON.parse(out);
  assert.ok(emulation.left >= 24, "pings and their answers");
  assert.deepEqual(await page.evaluate(() => window.multihop().result), timeless(result));
  assert.deepEqual(complaints, []);
  await close();
});

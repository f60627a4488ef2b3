// The simulator in WebAssembly against the native one: MULTIHOP=path/of/the/command node --test test/engine.test.mjs

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { SCENARIOS, bundled, module, native, request } from "./common.mjs";

const { Engine } = await bundled("src/engine.ts");
const { Summary } = await bundled("src/overview.ts");

function engine(name, seconds) {
  return new Engine(new WebAssembly.Module(module()), JSON.stringify(request(name, seconds)));
}

/** The records of a stretch, in a run that goes straight there. */
function straight(name, seconds, from, to) {
  const run = engine(name, seconds);
  run.advance(from);
  run.take();
  run.detailed(true);
  run.advance(to);
  return run.take();
}

for (const [name, seconds] of SCENARIOS) {
  test(`${name}: the result equals that of multihop run, and the page's counts equal the result's`, () => {
    const run = engine(name, seconds);
    const summary = new Summary(run.network);
    for (let step = 1; step <= 20; step += 1) {
      run.advance((run.end / 20) * step);
      summary.add(run.take(), run.names());
      run.keepIfDue();
    }
    const names = run.names();
    const result = run.finish();
    summary.add(run.take(), names);
    const { counts } = summary.snapshot(names, run.end);
    assert.deepEqual(result, native(name, seconds));
    assert.deepEqual(counts.frames, ["rts", "cts", "ack", "data", "broadcast"].map((kind) => result.mac.frames[kind]));
    assert.equal(counts.collisions, result.mac.collisions);
    assert.deepEqual(counts.drops, result.drops);
  });
}

test("seeking back and forth gives the records of a run that goes straight there", () => {
  const [name, seconds] = ["aodv-mobile-50", 30];
  const run = engine(name, seconds);
  for (let step = 1; step <= 60; step += 1) {
    run.advance((run.end / 60) * step);
    run.take();
    run.keepIfDue();
  }
  for (const from of [21.3e9, 4.75e9, 4.8e9, 29e9]) {
    run.seek(from);
    run.detailed(true);
    run.advance(from + 0.2e9);
    const records = run.take();
    assert.ok(records.length > 12_000, `${records.length} words from ${from}`);
    assert.deepEqual(records, straight(name, seconds, from, from + 0.2e9));
  }
});

test("a request that cannot be run says why", () => {
  const wrong = JSON.stringify({ text: "duration = -1.0", name: "a.toml" });
  assert.throws(() => new Engine(new WebAssembly.Module(module()), wrong), /a\.toml:1/);
});

test("the page has no address of another host", () => {
  const page = readFileSync(new URL("../dist/view.html", import.meta.url), "utf8");
  const addresses = page.replace(/<script type="text\/plain"[\s\S]*?<\/script>/, "").match(/(https?:)?\/\/[a-z0-9-]+\.[a-z]{2,}/gi) ?? [];
  assert.deepEqual(addresses, []);
});

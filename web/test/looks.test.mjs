// Colours and lines of flows: node --test test/looks.test.mjs

import assert from "node:assert/strict";
import { test } from "node:test";
import { bundled } from "./common.mjs";

const { looks } = await bundled("src/looks.ts");

const words = (runs) => looks(runs).map((flows) => flows.map(({ colour, line }) => `${colour} ${line}`));

test("different transports have their own colours, and the flows of one transport differ in their lines", () => {
  assert.deepEqual(words([["newreno", "tpa-2", "tpa-2", "udp"]]), [["blue -", "vermilion --", "vermilion -.", "black :"]]);
  assert.deepEqual(words([["newreno", "newreno"], ["newreno", "tpa*-3"]]), [["blue -", "blue --"], ["blue -.", "vermilion :"]]);
});

test("names are read as they are in figures", () => {
  assert.deepEqual(words([["tpa-star-3", "elfn+da", "something-new"]]), [["vermilion -", "orange --", "purple :"]]);
});

test("flows of the same transport have the colours of their numbers, and no two have one line", () => {
  assert.deepEqual(words([["tpa-2", "tpa-2", "tpa-2"]]), [["blue -", "vermilion --", "green -."]]);
  assert.deepEqual(words([["tpa-2", "tpa-2"], ["tpa-2", "tpa-2"]]), [["blue -", "vermilion -."], ["blue --", "vermilion :"]]);
});

test("six flows differ without colour, whatever their transports", () => {
  for (const transports of [Array(6).fill("tpa-2"), ["newreno", "tcp-ap", "mesh", "elfn", "bbr", "cubic"]]) {
    const [flows] = looks([transports]);
    assert.equal(new Set(flows.map(({ line }) => line)).size, 6);
  }
});

test("28 flows of the same transport look different", () => {
  const [flows] = words([Array(28).fill("newreno")]);
  assert.equal(new Set(flows).size, 28);
});

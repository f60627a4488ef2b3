// A run from its log against the simulator in WebAssembly: node --test test/log.test.mjs

import assert from "node:assert/strict";
import { test } from "node:test";
import { bundled, logged, module, request } from "./common.mjs";

const { Engine } = await bundled("src/engine.ts");
const { LogPlayer } = await bundled("src/log.ts");
const compiled = new WebAssembly.Module(module());
const WORDS = 12;
const [PACKET, PROGRESS, QUEUE, ACCESS, ROUTE, HEARD, OBSERVED] = [4, 5, 7, 8, 9, 11, 12];
const SCENARIO = ["aodv-mobile-50", 12];
const LAST = 12e9;

function engine() {
  return new Engine(compiled, JSON.stringify(request(...SCENARIO)));
}

const LOGGED = await logged(...SCENARIO);

function player() {
  return LogPlayer.open(...LOGGED);
}

/** Records as text, without numbers of names, which each run counts for itself. */
function records(words, names) {
  const list = [];
  for (let at = 0; at < words.length; at += WORDS) {
    const record = [...words.subarray(at, at + WORDS)];
    // Names of packets, of their reasons, and of states.
    if (record[0] === PACKET) {
      record[7] = names[record[7]];
      record[10] = record[4] === 3 ? names[record[10]] : record[10];
    } else if (record[0] === PROGRESS) {
      record[6] = names[record[6]];
    } else if (record[0] === OBSERVED) {
      record.splice(4, 2, names[record[4]], names[record[5]]);
      record[7] = record[7] === 0 ? "" : names[record[7] - 1];
    }
    list.push(record.join(" "));
  }
  return list;
}

test("the first passage shows the same records", async () => {
  const [simulated, played] = [engine(), await player()];
  for (let at = 0; at <= LAST; at += 1e9) {
    simulated.advance(at);
    played.advance(at);
    assert.deepEqual(records(played.take(), played.names()), records(simulated.take(), simulated.names()), `before ${at} ns`);
  }
  assert.deepEqual(played.network, simulated.network);
  const names = simulated.names();
  const result = simulated.finish();
  assert.deepEqual(played.finish(), result);
  assert.deepEqual(records(played.take(), played.names()), records(simulated.take(), names), "after the end");
});

test("a stretch begins with the states of the network", async () => {
  const [simulated, played] = [engine(), await player()];
  simulated.advance(LAST);
  simulated.take();
  for (const [from, to] of [[6.5e9, 6.52e9], [11e9, 11.1e9], [1.4e9, 1.41e9]]) {
    const stretches = [simulated, played].map((run) => {
      run.seek(from);
      run.detailed(true);
      run.advance(to);
      const found = records(run.take(), run.names());
      run.detailed(false);
      // The log knows accesses, declared values and signals from before the stretch, which the simulator keeps only while it
      // is detailed. Queues are empty at first.
      const isKnown = (record) => {
        const [kind, low, high, , value] = record.split(" ").map(Number);
        const isEarly = high * 2 ** 32 + low < from + 1e7;
        return ![ACCESS, OBSERVED].includes(kind) && !(kind === HEARD && isEarly) && !(kind === QUEUE && value === 0);
      };
      const kinds = found.filter(isKnown);
      const isState = (record) => [PROGRESS, QUEUE, ROUTE].includes(Number.parseInt(record, 10));
      return [kinds.filter(isState).sort(), kinds.filter((record) => !isState(record))];
    });
    assert.deepEqual(stretches[1], stretches[0], `${from} to ${to} ns`);
    assert.ok(stretches[0][0].length > 10, "there are states");
  }
});

test("fields belong to packets", async () => {
  const played = await player();
  assert.deepEqual(played.fieldsOf(7), [["TTL", "64"]]);
  assert.equal(played.fieldsOf(8), undefined);
});

// What the tests share: scenarios, the module, the native command, a browser.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { deflateSync } from "node:zlib";
import { buildSync } from "esbuild";

/** Every routing protocol and kind of transport, and how many seconds of each. */
export const SCENARIOS = [
  ["chain-4", 30],
  ["cross", 50],
  ["hidden", 10],
  ["parallel", 30],
  ["grid", 30],
  ["gateway", 30],
  ["aodv-mobile-50", 30],
  ["dsr-mobile-30", 30],
  ["olsr-mobile-50", 20],
  ["tpa-moving", 30],
];

export const ROOT = new URL("../../", import.meta.url).pathname;
export const COMMAND = process.env.MULTIHOP ?? `${ROOT}target/release/multihop`;

export function multihop(...args) {
  return execFileSync(COMMAND, args, { encoding: "utf8", maxBuffer: 2 ** 28, cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] });
}

export function shorter(seconds) {
  return [["duration", seconds.toFixed(1)], ["warmup", "5.0"]];
}

export function request(name, seconds) {
  const text = readFileSync(`${ROOT}scenarios/${name}.toml`, "utf8");
  return { text, name: `${name}.toml`, overrides: shorter(seconds) };
}

/** The result of `multihop run`, without what depends on the machine. */
export function native(name, seconds) {
  const set = shorter(seconds).flatMap(([key, value]) => ["--set", `${key}=${value}`]);
  const result = JSON.parse(multihop("run", `scenarios/${name}.toml`, "--json", ...set));
  return timeless(result);
}

/** A result without what depends on the machine. */
export function timeless(result) {
  return { ...result, wall_seconds: null, events_per_second: null };
}

const { decompress } = await bundled("src/lzma.ts");

/** The module inside the page. */
export function module() {
  const page = readFileSync(new URL("../dist/view.html", import.meta.url), "utf8");
  const [, packed] = /id="module">([^<]+)</.exec(page);
  return decompress(Buffer.from(packed, "base64"));
}

/** A source of the page as a module of Node. */
export async function bundled(entry) {
  const cwd = new URL("..", import.meta.url).pathname;
  const options = { absWorkingDir: cwd, entryPoints: [entry], bundle: true, format: "esm", target: "es2023", write: false };
  const [{ text }] = buildSync(options).outputFiles;
  return import(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`);
}

/** The log of a run, as programs with user-defined protocols write it, and its result. */
export async function logged(name, seconds) {
  const { Engine } = await bundled("src/engine.ts");
  const run = new Engine(new WebAssembly.Module(module()), JSON.stringify(request(name, seconds)));
  run.detailed(true);
  run.advance(run.end);
  const words = run.take();
  const names = run.names();
  const result = run.finish();
  const all = Uint32Array.from([...words, ...run.take()]);
  const packed = (bytes) => deflateSync(bytes).toString("base64");
  const fields = packed(Buffer.from('[7,[["TTL","64"]]]\n'));
  return [{ network: run.network, names, records: packed(new Uint8Array(all.buffer)), fields }, result];
}

// Builds dist/view.html from the sources and the simulator's module: node build.mjs MODULE.wasm
//
// One file with everything inside. The scenario is inserted later, in place of @REQUEST@. The policy of the page
// forbids every connection and every script and style but its own.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

const [wasm] = process.argv.slice(2).map((path) => resolve(path));
if (wasm === undefined) {
  throw new Error("usage: node build.mjs MODULE.wasm");
}

const here = import.meta.dirname;
process.chdir(here);
const { page: colours } = JSON.parse(readFileSync("../python/multihop/palette.json", "utf8"));
const style = [`:root{${variables(0)}}`, `@media(prefers-color-scheme:dark){:root{${variables(1)}}}`, readFileSync("src/style.css", "utf8")].join("\n");
const worker = bundle("src/worker.ts", {});
// `</script` would end the element.
const script = bundle("src/main.ts", { WORKER: JSON.stringify(worker) }).replaceAll("</script", "<\\/script");
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)} 'wasm-unsafe-eval'`,
  `style-src ${hash(style)}`,
  "worker-src blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const parts = {
  POLICY: policy,
  STYLE: style,
  SCRIPT: script,
  MODULE: gzipSync(readFileSync(wasm), { level: 9 }).toString("base64"),
};
const page = readFileSync("src/page.html", "utf8").replace(/@(POLICY|STYLE|SCRIPT|MODULE)@/g, (_, name) => parts[name]);
mkdirSync("dist", { recursive: true });
writeFileSync("dist/view.html", page);
console.log(`dist/view.html: ${page.length} bytes, ${gzipSync(page, { level: 9 }).length} compressed`);

function bundle(entry, define) {
  const options = { absWorkingDir: here, entryPoints: [entry], bundle: true, minify: true, format: "iife", target: "es2023", write: false, define };
  return buildSync(options).outputFiles[0].text.trim();
}

/** The colours of the page: of the light shade (0) or the dark one (1). */
function variables(shade) {
  return Object.entries(colours).map(([name, pair]) => `--${name}:${pair[shade]}`).join(";");
}

function hash(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

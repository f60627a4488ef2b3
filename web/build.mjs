// Builds the pages from the sources: node build.mjs MODULE.lzma
//
// dist/view.html, that of multihop view, holds the simulator's module, compressed as src/lzma.ts reads it; the scenario is inserted later, in place of
// @REQUEST@. dist/routes.html is that of multihop route. Each is one file with everything inside, whose policy forbids
// every script and style but its own, and every connection but those of its purpose.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

const [module] = process.argv.slice(2).map((path) => resolve(path));
if (module === undefined) {
  throw new Error("usage: node build.mjs MODULE.lzma");
}

const here = import.meta.dirname;
process.chdir(here);
const { page: colours } = JSON.parse(readFileSync("../python/multihop/palette.json", "utf8"));
const colour = [`:root{${variables(0)}}`, `@media(prefers-color-scheme:dark){:root{${variables(1)}}}`];
const worker = bundle("src/worker.ts", {});
mkdirSync("dist", { recursive: true });
write("view.html", "page.html", {
  styles: ["style.css"],
  script: bundle("src/main.ts", { WORKER: JSON.stringify(worker) }),
  scripts: "'wasm-unsafe-eval'",
  connections: ["worker-src blob:"],
  MODULE: readFileSync(module).toString("base64"),
});
write("routes.html", "routes.html", {
  styles: ["style.css", "routes.css"],
  script: bundle("src/routes.ts", {}),
  connections: ["connect-src 'self'"],
});

/** Writes a page from its markup, styles and script. */
function write(name, markup, { styles, script, scripts = "", connections, MODULE }) {
  const STYLE = [...colour, ...styles.map((file) => readFileSync(`src/${file}`, "utf8"))].join("\n");
  // `</script` would end the element.
  const SCRIPT = script.replaceAll("</script", "<\\/script");
  const policy = [`script-src ${hash(SCRIPT)} ${scripts}`.trim(), `style-src ${hash(STYLE)}`, ...connections];
  const POLICY = ["default-src 'none'", ...policy, "base-uri 'none'", "form-action 'none'"].join("; ");
  const parts = { POLICY, STYLE, SCRIPT, MODULE };
  const page = readFileSync(`src/${markup}`, "utf8").replace(/@(POLICY|STYLE|SCRIPT|MODULE)@/g, (_, part) => parts[part]);
  const file = `dist/${name}`;
  // What includes an unchanged page need not be built again.
  if (!existsSync(file) || readFileSync(file, "utf8") !== page) {
    writeFileSync(file, page);
  }
  console.log(`dist/${name}: ${page.length} bytes, ${gzipSync(page, { level: 9 }).length} compressed`);
}

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

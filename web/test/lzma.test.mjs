// The decoder of the page's module against the encoder of Python: node --test test/lzma.test.mjs

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { ROOT, bundled } from "./common.mjs";

const { decompress } = await bundled("src/lzma.ts");
const COMPRESS = `
import pathlib, sys, tempfile
sys.path.insert(0, "tools")
import build
with tempfile.TemporaryDirectory() as folder:
    content = pathlib.Path(folder, "content")
    content.write_bytes(sys.stdin.buffer.read())
    sys.stdout.buffer.write(build.compressed(content).read_bytes())
`;

function compressed(content) {
  const python = process.env.PYTHON ?? "python3";
  return execFileSync(python, ["-c", COMPRESS], { cwd: ROOT, input: content, maxBuffer: 2 ** 28 });
}

const word = randomBytes(300);
const CONTENTS = {
  "one byte": Buffer.from([7]),
  "a long run of one byte": Buffer.alloc(100_000, 1),
  "bytes without a pattern": randomBytes(50_000),
  "repetitions near and far": Buffer.concat([word, randomBytes(70_000), word, word, randomBytes(9), word, Buffer.from("abcabcabd")]),
};

for (const [name, content] of Object.entries(CONTENTS)) {
  test(`${name}: decompression restores the content`, () => {
    assert.deepEqual(Buffer.from(decompress(compressed(content))), content);
  });
}

test("a stream without its end is refused", () => {
  const stream = compressed(CONTENTS["bytes without a pattern"]);
  assert.throws(() => decompress(stream.subarray(0, stream.length / 2)), /incomplete/);
});

test("a distance before the first byte is refused", () => {
  const stream = compressed(CONTENTS["one byte"]);
  stream.fill(0xff, 5);
  stream[0] = 255;
  assert.throws(() => decompress(stream), /damaged|incomplete/);
});

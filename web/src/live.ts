// The page of a run that goes on: its recording arrives while it grows.

import type { RunData } from "./data";
import { get } from "./dom";
import type { Stage } from "./stage";

/** The recording, beside the page on its server. */
const RECORDING = "recording";
/** A recording begins with so many lines of text. */
const LINES = 2;
const NEW_LINE = 10;

/** Follows a run until its recording ends. */
export async function follow(stage: Stage, run: RunData): Promise<void> {
  try {
    const { body } = await fetch(RECORDING);
    let head = new Uint8Array();
    let begun = false;
    for await (const bytes of chunks((body as ReadableStream<Uint8Array>).getReader())) {
      if (begun) {
        stage.feed(bytes);
        continue;
      }
      head = joined(head, bytes);
      begun = head.filter((byte) => byte === NEW_LINE).length >= LINES;
      if (begun) {
        await stage.begin([{ ...run, recording: head }], true);
      }
    }
  } catch {
    get("progress").textContent = "The connection to the run has ended.";
    get("progress").className = "notice";
  }
}

async function* chunks(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    yield next.value;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

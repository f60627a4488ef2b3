// Runs the simulator beside the page: the whole run once, then the stretches that the page asks for.

import { Engine } from "./engine";
import { LogPlayer } from "./log";
import { Summary } from "./overview";
import type { FromWorker, Life, Player, Result, ToWorker } from "./protocol";
import { BROADCAST, DROPPED, KIND, RECEIVED, WORDS, kindOf, timeOf, word } from "./records";
import { Story } from "./story";

/** Words that one step of the first passage should make. */
const STEP_WORDS = 400_000;
/** Milliseconds between two overviews during the first passage; the first one comes sooner. */
const SHOW_EVERY = 250;
const FIRST_AFTER = 40;
/** How long the end of a packet is searched for, simulated ns. */
const LONGEST_LIFE = 120e9;
/** The same for broadcasts, whose end nothing marks. */
const LONGEST_BROADCAST = 0.5e9;
const LIFE_STEP = 50e6;
/** Before a stretch, so that frames and states that reach into it are known. */
const LEAD = 30e6;

let engine: Player;
let summary: Summary;
let step = 1e7;
let passed = 0;
let done = false;
let waiting: ToWorker[] = [];
let shown = 0;
let isScheduled = false;

function tell(message: FromWorker, transfer: Transferable[] = []): void {
  postMessage(message, { transfer });
}

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  try {
    if (data.kind === "start") {
      start(new Engine(data.module, data.request, data.recording ?? undefined, data.live));
    } else if (data.kind === "play") {
      LogPlayer.open(data.log, data.result).then(start).catch(complain);
    } else if (data.kind === "feed") {
      engine.feed(data.bytes);
      schedule();
    } else {
      waiting = waiting.filter((other) => other.kind !== data.kind);
      waiting.push(data);
      if (done) {
        serve();
      }
    }
  } catch (error) {
    complain(error);
  }
};

function complain(error: unknown): void {
  tell({ kind: "problem", message: String(error instanceof Error ? error.message : error) });
}

function start(player: Player): void {
  engine = player;
  summary = new Summary(engine.network);
  tell({ kind: "network", network: engine.network });
  schedule();
}

/** Goes on after messages have been received. */
function schedule(): void {
  if (isScheduled) {
    return;
  }
  isScheduled = true;
  setTimeout(() => {
    isScheduled = false;
    try {
      pass();
    } catch (error) {
      complain(error);
    }
  }, 0);
}

/** The first passage, for some milliseconds. */
function pass(): void {
  const began = performance.now();
  // Requests for what has been passed are served in between.
  if (waiting.some(isPassed)) {
    serve();
    engine.seek(passed);
  }
  const rest = shown === 0 ? FIRST_AFTER : SHOW_EVERY;
  const known = Math.min(engine.end, engine.known());
  while (passed < known && performance.now() - began < rest) {
    engine.advance(passed + step);
    passed = engine.at;
    const names = engine.names();
    const made = engine.read((words) => {
      summary.add(words, names);
      return words.length;
    });
    if (made > STEP_WORDS) {
      step /= 2;
    } else if (made < STEP_WORDS / 4) {
      step = Math.min(step * 2, engine.end / 100);
    }
    engine.keepIfDue();
  }
  if (passed >= engine.end) {
    end();
  } else {
    // An overview of many stations takes a while to draw.
    if (began - shown > SHOW_EVERY * Math.max(1, engine.network.nodes.length / 200)) {
      show(null);
      shown = began;
    }
    // The rest of a live run comes later.
    if (passed < known) {
      schedule();
    }
  }
}

function end(): void {
  const names = engine.names();
  const result = engine.finish();
  summary.add(engine.take(), [...names]);
  done = true;
  engine.seek(0);
  show(result);
  serve();
}

function show(result: Result | null): void {
  const names = done ? summary.overview.names : engine.names();
  tell({ kind: "overview", overview: summary.snapshot(names, passed), result });
}

function isPassed(request: ToWorker): boolean {
  return request.kind === "stretch" ? request.to <= passed : request.kind === "life" && summary.sentAt(request.uid) >= 0;
}

function serve(): void {
  const now = waiting.filter((request) => done || isPassed(request));
  waiting = waiting.filter((request) => !now.includes(request));
  for (const request of now) {
    if (request.kind === "stretch") {
      stretch(request.from, request.to);
    } else if (request.kind === "life") {
      tell({ kind: "life", life: life(request.uid), uid: request.uid });
    }
  }
}

function stretch(from: number, to: number): void {
  engine.seek(Math.max(0, from - LEAD));
  engine.detailed(true);
  engine.advance(to);
  const words = engine.take();
  engine.detailed(false);
  const delays = delaysOf(words);
  tell({ kind: "stretch", stretch: { from, to, words, names: engine.names(), delays } }, [words.buffer, delays.buffer]);
}

/** Time, flow and one-way delay of each packet that arrives at the destination of its flow. */
function delaysOf(words: Uint32Array): Float64Array<ArrayBuffer> {
  const found: number[] = [];
  for (let at = 0; at < words.length; at += WORDS) {
    const isReceived = kindOf(words, at) === KIND.packet && word(words, at + 4) === RECEIVED;
    const arrival = isReceived ? summary.arrival(words, at) : null;
    if (arrival !== null) {
      found.push(timeOf(words, at), arrival.flow, arrival.delay);
    }
  }
  return Float64Array.from(found);
}

/** Everything that concerns a packet, until it arrives, is dropped, or is lost from sight. */
function life(uid: number): Life | null {
  const sent = summary.sentAt(uid);
  if (sent < 0) {
    return null;
  }
  // Frames that are on the air when the packet is sent may disturb its first frame.
  engine.seek(Math.max(0, sent - LEAD));
  engine.detailed(true);
  engine.advance(sent);
  engine.take();
  const parts: Uint32Array[] = [];
  const story = new Story(uid);
  let fields: [string, string][] = [];
  let ended = false;
  let longest = LONGEST_LIFE;
  while (!ended && engine.at < Math.min(engine.end, sent + longest)) {
    engine.advance(engine.at + LIFE_STEP);
    fields = engine.fieldsOf(uid) ?? fields;
    const words = engine.take();
    const found = story.read(words, engine.names());
    parts.push(found);
    ended = isEnd(found);
    longest = isBroadcast(found) ? LONGEST_BROADCAST : longest;
  }
  engine.detailed(false);
  const words = Uint32Array.from(parts.flatMap((part) => [...part]));
  return { uid, words, names: engine.names(), fields, until: ended || longest === LONGEST_BROADCAST ? null : engine.at };
}

function isBroadcast(words: Uint32Array): boolean {
  return words.length > 0 && kindOf(words, 0) === KIND.packet && word(words, 9) === BROADCAST;
}

function isEnd(words: Uint32Array): boolean {
  for (let at = 0; at < words.length; at += WORDS) {
    if (kindOf(words, at) !== KIND.packet) {
      continue;
    }
    const event = word(words, at + 4);
    if (event === DROPPED || (event === RECEIVED && word(words, at + 3) === word(words, at + 9))) {
      return true;
    }
  }
  return false;
}

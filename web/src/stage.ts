// Begins runs: a worker for each, and the page's app when their networks are known.

import { App } from "./app";
import type { Begun } from "./app";
import type { RunData } from "./data";
import { get } from "./dom";
import { decompress } from "./lzma";
import { fromBase64 } from "./packing";
import type { FromWorker, ToWorker } from "./protocol";

/** The code of the worker, which the build inserts. */
declare const WORKER: string;

export class Stage {
  app: App | null = null;
  private readonly module = compiled();
  private readonly script = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
  private workers: Worker[] = [];
  private stop = new AbortController();
  private attempt = 0;
  private latest: Worker[] = [];

  /** Called with each new app. */
  constructor(private readonly onApp: (app: App) => void = () => {}) {}

  /** Simulates these runs in place of the previous ones, which stay until the networks of the new ones are known. */
  async begin(runs: RunData[], live = false): Promise<void> {
    this.attempt += 1;
    const { attempt } = this;
    showProblem("");
    const module = await this.module;
    if (attempt !== this.attempt) {
      return;
    }
    const begun: Begun[] = [];
    /** What runs tell before the networks of all are known. */
    const early: [number, FromWorker][] = [];
    const workers = runs.map((run, index) => {
      const worker = new Worker(this.script);
      const ask = (message: ToWorker): void => worker.postMessage(message);
      worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
        if (data.kind === "problem") {
          this.complain(data.message, workers);
        } else if (data.kind === "network") {
          begun[index] = { name: run.name ?? "", network: data.network, native: run.result ?? null, ask };
          if (attempt !== this.attempt) {
            this.end(workers);
          } else if (Object.keys(begun).length === runs.length) {
            this.show(begun, workers);
            early.forEach(([other, message]) => this.app?.take(other, message));
          }
        } else if (this.workers.includes(worker)) {
          this.app?.take(index, data);
        } else {
          early.push([index, data]);
        }
      };
      ask(firstMessage(run, module, live));
      return worker;
    });
    this.latest = workers;
  }

  /** Gives the runs more of their recording. */
  feed(bytes: Uint8Array): void {
    for (const worker of this.latest) {
      worker.postMessage({ kind: "feed", bytes } satisfies ToWorker);
    }
  }

  private show(begun: Begun[], workers: Worker[]): void {
    this.end(this.workers);
    this.stop.abort();
    this.stop = new AbortController();
    this.workers = workers;
    this.app = new App(begun, this.stop.signal, this.app?.view ?? null);
    this.onApp(this.app);
  }

  private complain(message: string, workers: Worker[]): void {
    get("progress").textContent = message;
    get("progress").className = "notice";
    showProblem(message);
    if (this.app === null) {
      get("subtitle").textContent = "";
    }
    if (workers !== this.workers) {
      this.end(workers);
    }
  }

  private end(workers: Worker[]): void {
    for (const worker of workers) {
      worker.terminate();
    }
  }
}

/** Shows what is wrong with a scenario beside the controls that have changed it. Empty text removes it. */
function showProblem(message: string): void {
  for (const place of document.querySelectorAll<HTMLElement>(".problem")) {
    place.textContent = message;
    place.hidden = message === "";
    // Of the places only one is displayed. A long page shows another part of it when it opens or a control is used.
    if (place.offsetParent !== null) {
      place.scrollIntoView({ block: "nearest" });
    }
  }
}

function firstMessage(run: RunData, module: WebAssembly.Module, live: boolean): ToWorker {
  const { log, result } = run;
  if (log !== undefined && log !== null && result !== undefined && result !== null) {
    return { kind: "play", log, result };
  }
  return { kind: "start", module, request: JSON.stringify(run.request), recording: recordingOf(run), live };
}

function recordingOf({ recording }: RunData): Uint8Array | null {
  return typeof recording === "string" ? fromBase64(recording) : (recording ?? null);
}

async function compiled(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(decompress(fromBase64(get("module").textContent ?? "")));
}

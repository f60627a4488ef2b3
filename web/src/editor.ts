// The scenario of the page: as multihop view wrote it, or as the reader has changed it. The address holds the changes.

import { address, keepScenario } from "./address";
import { DATA } from "./data";
import type { RunData } from "./data";
import { get } from "./dom";
import { overrides } from "./lines";
import { packed, unpacked } from "./packing";
import type { Stage } from "./stage";

/** The runs, as the address has changed them. Only a single run can be changed. */
export async function edited(runs: RunData[]): Promise<RunData[]> {
  const parts = address();
  const [text, set] = await Promise.all([unpacked(parts.get("scenario")), unpacked(parts.get("set"))]);
  const [run] = runs;
  if (run === undefined || runs.length > 1 || isFixed(run) || (text === null && set === null)) {
    return runs;
  }
  return [changed(run, text ?? run.request.text, set)];
}

function changed({ request }: RunData, text: string, set: string | null): RunData {
  return { request: { ...request, text, overrides: set === null ? request.overrides : overrides(set) } };
}

/** Whether the page cannot simulate a change of this run. */
function isFixed({ recording, log }: RunData): boolean {
  return (recording ?? null) !== null || (log ?? null) !== null;
}

/** Lets the reader change the scenario, and simulates the change. */
export function editScenario(runs: RunData[], stage: Stage): void {
  const [run] = runs;
  const cannot = run === undefined || runs.length > 1 || isFixed(run) || DATA.live === true;
  get("scenario-section").hidden = cannot;
  if (cannot) {
    return;
  }
  const text = get<HTMLTextAreaElement>("text");
  const set = get<HTMLTextAreaElement>("set");
  const fill = ({ request }: RunData): void => {
    text.value = request.text;
    set.value = request.overrides.map(([key, value]) => `${key}=${value}`).join("\n");
  };
  fill(run);
  void edited(runs).then(([now]) => fill(now as RunData));
  get("simulate").addEventListener("click", () => {
    void stage.begin([changed(run, text.value, set.value)]);
    void Promise.all([packed(text.value), packed(set.value)]).then(([scenario, lines]) => keepScenario({ scenario, set: lines }));
  });
  get("original").addEventListener("click", () => {
    keepScenario({});
    fill(run);
    void stage.begin([run]);
  });
}

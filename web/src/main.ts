// Begins the page: a run, a comparison, or the playground.

import { showComparison } from "./comparison";
import { DATA } from "./data";
import type { RunData } from "./data";
import { editScenario, edited } from "./editor";
import { follow } from "./live";
import type { Model } from "./model";
import { startPlayground } from "./playground";
import { Stage } from "./stage";

let stage: Stage;

if (DATA.runs.length === 0) {
  stage = startPlayground();
} else if (DATA.live === true) {
  stage = new Stage((app) => app.follow());
  editScenario(DATA.runs, stage);
  void follow(stage, DATA.runs[0] as RunData);
} else {
  stage = new Stage((app) => showComparison(DATA.comparison, app));
  editScenario(DATA.runs, stage);
  void edited(DATA.runs).then((runs) => stage.begin(runs));
}

// Tests look at the first run, or at all.
declare global {
  interface Window {
    multihop: () => Model | null;
    multihops: () => Model[] | null;
  }
}
window.multihop = () => stage.app?.panes[0]?.model ?? null;
window.multihops = () => stage.app?.panes.map(({ model }) => model) ?? null;

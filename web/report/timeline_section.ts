import { button, el, legend, section } from "./dom";
import * as format from "./format";
import { EVENT_COLORS } from "./palette";
import { PAN_STEP, Timeline, ZOOM_STEP } from "./timeline";
import type { Answer } from "./view_model";

const KEYS =
  "Drag to move, Ctrl + wheel or double click to zoom. Keys: + and − zoom, arrows move and choose a row, " +
  "[ and ] go from pass to pass, 0 shows all.";

function scheduleLegend(answer: Answer): HTMLElement {
  const kinds = new Set(answer.timeline.map(({ kind }) => kind));
  const labels = {
    forward: "forward",
    backward: "backward",
    weight_gradient: "weight gradients",
    send_forward: "transfers",
    gradient_sync: "gradient synchronisation",
    optimizer: "optimizer",
    replica_sync: "exchange between pipelines",
  };
  return legend(
    (Object.keys(labels) as (keyof typeof labels)[])
      .filter((kind) => kinds.has(kind))
      .map((kind) => ({ label: labels[kind], color: EVENT_COLORS[kind] })),
  );
}

export interface TimelineSection {
  element: HTMLElement;
  draw: () => void;
  fit: () => void;
  open: () => void;
}

export function timelineSection(answer: Answer): TimelineSection {
  const timeline = new Timeline(answer);
  const tools = el(
    "div",
    { class: "tools", role: "toolbar", "aria-label": "Timeline" },
    button("−", "Zoom out", () => timeline.zoom(1 / ZOOM_STEP)),
    button("+", "Zoom in", () => timeline.zoom(ZOOM_STEP)),
    button("◀", "Earlier", () => timeline.pan(-PAN_STEP)),
    button("▶", "Later", () => timeline.pan(PAN_STEP)),
    button("Warm-up", "Show the warm-up", () => timeline.showEnd(true)),
    button("Cool-down", "Show the cool-down", () => timeline.showEnd(false)),
    button("All", "Show the whole iteration", () => timeline.fit()),
  );
  const { num_microbatches, pipeline_microbatch_size, schedule, stages } = answer;
  const batches = `${format.thousands(num_microbatches)} microbatch${num_microbatches === 1 ? "" : "es"}`;
  const element = section(
    "schedule",
    "Schedule",
    `One iteration of ${batches} of ${format.items(pipeline_microbatch_size, "sample")} through ` +
      `${format.items(stages.length, "stage")}, ${schedule}.`,
    el("div", { class: "row" }, scheduleLegend(answer), tools),
    el("div", { class: "canvases" }, timeline.canvas, timeline.overview),
    timeline.status,
    el("p", { class: "muted screen-only", id: "timeline-keys" }, KEYS),
  );
  return { element, draw: () => timeline.draw(), fit: () => timeline.fit(), open: () => timeline.open() };
}

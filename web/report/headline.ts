import { el } from "./dom";
import * as format from "./format";
import { fullest } from "./summary";
import type { Plan } from "./view_model";

// A GPU that is fuller runs out of memory if the prediction is a little low.
const TIGHT = 0.95;

export function isTight(used: number): boolean {
  return used > TIGHT;
}

// Returns the share of each GPU's memory that the plan leaves free on purpose, as
// the assumption of --memory-margin says.
export function memoryMargin(plan: Plan): number {
  for (const { source } of plan.cluster.assumptions) {
    const match = /^--memory-margin (0?\.\d+|0)$/.exec(source);
    if (match) return Number(match[1]);
  }
  return 0;
}

function badge(kind: string, text: string, title: string): HTMLElement {
  return el("span", { class: `badge ${kind}`, title }, text);
}

// The answer in a line: the time, where it is expected, and what to doubt.
export function headline(plan: Plan): HTMLElement[] {
  const answer = plan.plan;
  if (!answer) return [badge("bad", "No plan fits", "The model does not fit in the memory of the cluster")];
  const { prediction, band } = answer;
  const s = prediction.iteration_time_s;
  const parts = [el("strong", {}, `${format.seconds(s)} an iteration`)];
  if (band) {
    const range = `${format.seconds(s * band.time_low)} – ${format.seconds(s * band.time_high)}`;
    parts.push(badge("", `expected ${range}`, "Nine of ten measured times are in this range"));
  }
  const guessed = plan.cluster.assumptions.filter((a) => a.is_link).length;
  if (guessed > 0) {
    parts.push(badge("warn", `links are guessed: ${guessed}`, "The cluster file does not state these bandwidths and latencies; see Assumptions"));
  }
  if (prediction.violations.length > 0) {
    parts.push(badge("bad", "does not fit in memory", "Some stage needs more memory than its GPUs have"));
    return parts;
  }
  const { memory } = answer.stages[fullest(answer)];
  const used = memory.peak_bytes / memory.capacity_bytes;
  if (isTight(used)) {
    const margin = memoryMargin(plan);
    const spare = margin > 0 ? `beside ${format.percent(margin)} kept free` : "and nothing is kept free";
    parts.push(badge("warn", `memory ${format.percent(used)} full, ${spare}`, "Predictions of memory are some per cent off"));
  }
  return parts;
}

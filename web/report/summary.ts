import { el, legend, section, styled, type Child } from "./dom";
import * as format from "./format";
import { SHARE_COLORS } from "./palette";
import { withTooltip } from "./tooltip";
import { deviceName, numDevices, numGpus, type Answer, type Band, type Plan } from "./view_model";

function tile(label: string, value: string, detail: string): HTMLElement {
  return el(
    "div",
    { class: "tile" },
    el("dt", {}, label),
    el("dd", {}, el("strong", {}, value), el("span", {}, detail)),
  );
}

export function usedGpus(answer: Answer): number {
  return answer.stages
    .slice(0, numDevices(answer))
    .reduce((sum, stage) => sum + numGpus(stage), 0);
}

export function fullest(answer: Answer): number {
  const fractions = answer.stages.map(
    ({ memory }) => memory.peak_bytes / memory.capacity_bytes,
  );
  return fractions.indexOf(Math.max(...fractions));
}

// Smaller shares print as 0.0 %.
const SMALLEST_SHARE = 0.0005;

// Returns the device with the longest time for a microbatch, which sets the pace.
function bottleneck(answer: Answer): { device: number; seconds: number } {
  const paces = new Array<number>(numDevices(answer)).fill(0);
  answer.stages.forEach(({ times }, s) => {
    paces[s % paces.length] += times.forward_s + times.backward_s + times.send_s;
  });
  const seconds = Math.max(...paces);
  return { device: paces.indexOf(seconds), seconds };
}

// Returns how much longer the iteration takes than `bound_s`.
function above(answer: Answer, bound_s: number): string {
  return format.percent(
    Math.max(0, answer.prediction.iteration_time_s / bound_s - 1),
  );
}

// Any composition of the slice plans asked takes at least the lower bound.
// Files from before planners could be chosen bound another figure by it, the
// closed form, which may lie above the simulated time. Plans for a framework
// have only the bound for any plan at all.
function aboveLowerBound(answer: Answer): string {
  if (answer.lower_bound_s > 0) {
    return `at most ${above(answer, answer.lower_bound_s)} above the best composition`;
  }
  if (answer.any_plan_bound_s > 0) {
    return `at most ${above(answer, answer.any_plan_bound_s)} above any plan`;
  }
  return "";
}

// Returns a tile of where nine of ten measured times are expected.
function expected(iteration_s: number, band: Band): HTMLElement {
  const low = format.seconds(iteration_s * band.time_low);
  const high = format.seconds(iteration_s * band.time_high);
  return tile("Expected", `${low} – ${high}`, "in nine of ten runs");
}

function tiles(plan: Plan, answer: Answer): HTMLElement {
  const { prediction, stages } = answer;
  const memory = stages[fullest(answer)].memory;
  const slowest = bottleneck(answer);
  return el(
    "dl",
    { class: "tiles" },
    tile(
      "Iteration time",
      format.seconds(prediction.iteration_time_s),
      aboveLowerBound(answer),
    ),
    ...(answer.band ? [expected(prediction.iteration_time_s, answer.band)] : []),
    tile(
      "Throughput",
      format.thousands(prediction.tokens_per_s),
      `tokens/s, ${prediction.samples_per_s.toFixed(2)} samples/s`,
    ),
    tile(
      "Utilisation",
      format.percent(prediction.model_flops_utilization),
      "of peak, model FLOPs",
    ),
    tile(
      "Bottleneck",
      deviceName(answer, slowest.device),
      `${format.seconds(slowest.seconds)} a microbatch`,
    ),
    tile(
      "Waiting",
      format.percent(prediction.bubble_fraction),
      "of the GPUs' time",
    ),
    tile(
      "Fullest GPU",
      format.percent(memory.peak_bytes / memory.capacity_bytes),
      `${format.bytes(memory.peak_bytes)} of ${format.bytes(memory.capacity_bytes)}`,
    ),
    tile(
      "GPUs",
      format.thousands(usedGpus(answer)),
      `of ${format.thousands(plan.cluster.num_gpus)}, in ${format.items(stages.length, "stage")}`,
    ),
  );
}

const isWaiting = (name: string) => name.startsWith("waiting");

// Draws where the GPUs' time goes, as a bar over `width` of the available space.
export function shareBar(answer: Answer, width: number): HTMLElement {
  const bar = styled(el("div", { class: "shares", role: "img" }), {
    width: `${100 * width}%`,
  });
  const parts = answer.prediction.time_shares.map(
    ({ name, fraction }) => `${name} ${format.percent(fraction)}`,
  );
  bar.setAttribute("aria-label", parts.join(", "));
  answer.prediction.time_shares.forEach(({ name, fraction }, i) => {
    if (fraction <= 0) return;
    const part = styled(el("div", { class: isWaiting(name) ? "hatched" : "" }), {
      "--color": SHARE_COLORS[i % SHARE_COLORS.length],
      "flex-grow": String(fraction),
    });
    bar.append(
      withTooltip(part, () => [
        name,
        `${format.percent(fraction)} of the GPUs' time`,
        `${format.seconds(fraction * answer.prediction.iteration_time_s)} of an iteration`,
      ]),
    );
  });
  return bar;
}

// Has the figures of a single plan, and none of several.
export function shareLegend(answers: Answer[]): HTMLElement {
  const shares = answers.map(({ prediction }) => prediction.time_shares);
  return legend(
    shares[0].flatMap(({ name, fraction }, i) => {
      if (shares.every((of) => of[i].fraction < SMALLEST_SHARE)) return [];
      const label = answers.length === 1 ? `${name} ${format.percent(fraction)}` : name;
      return [{ label, color: SHARE_COLORS[i % SHARE_COLORS.length], isHatched: isWaiting(name) }];
    }),
  );
}

function violations(answer: Answer): Child {
  const found = answer.prediction.violations;
  if (found.length === 0) return null;
  return el(
    "div",
    { class: "alert", role: "alert" },
    el("strong", {}, "This plan does not fit in memory"),
    el(
      "ul",
      {},
      ...found.map(({ stage, reason, bytes_short }) =>
        el("li", {}, `${deviceName(answer, stage)} ${reason}: ${format.bytes(bytes_short)} short per GPU`),
      ),
    ),
  );
}

function noPlan(plan: Plan): HTMLElement {
  const { reason, bytes_short } = plan.infeasible ?? { reason: "", bytes_short: 0 };
  const short = bytes_short > 0 ? `: ${format.bytes(bytes_short)} short per GPU` : "";
  return section(
    "summary",
    "No plan fits",
    "",
    el("div", { class: "alert" }, el("p", {}, `${reason}${short}`)),
  );
}

export function summary(plan: Plan): HTMLElement {
  const answer = plan.plan;
  if (!answer) return noPlan(plan);
  const sentences = plan.explanation.map((sentence) =>
    el("li", {}, format.unbroken(sentence)),
  );
  return section(
    "summary",
    "Prediction",
    "",
    violations(answer),
    tiles(plan, answer),
    el("h3", {}, "Where the GPUs' time goes"),
    shareBar(answer, 1),
    shareLegend([answer]),
    sentences.length > 0 && el("h3", {}, "Why it is this fast"),
    sentences.length > 0 && el("ul", { class: "sentences" }, ...sentences),
  );
}

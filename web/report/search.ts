import { el, section, styled, table } from "./dom";
import * as format from "./format";
import { KEPT_COLOR, PRUNED_COLOR } from "./palette";
import { withTooltip } from "./tooltip";
import type { Plan, Planning } from "./view_model";

// Shows how pairs became questions and answers, the cost of planning, and other
// plans that were close.

interface Step {
  label: string;
  left: number;
  gone: number;
  why: string;
}

function steps(planning: Planning): Step[] {
  const pruned: [string, number, string][] = [
    ["redundant", planning.pruned_redundant, "equal to another pair"],
    ["imbalanced", planning.pruned_imbalanced, "too big or too small for the island"],
    ["incompatible", planning.pruned_incompatible, "fit no place in a pipeline"],
    ["infeasible", planning.pruned_infeasible, "cannot fit in the island's memory"],
  ];
  let left = planning.pairs;
  const result: Step[] = [{ label: "pairs", left, gone: 0, why: "slices × islands × microbatch sizes" }];
  for (const [label, gone, why] of pruned) {
    left -= gone;
    result.push({ label: `− ${label}`, left, gone, why });
  }
  const asked = planning.queries;
  result.push({
    label: "asked",
    left: asked,
    gone: 0,
    why:
      planning.requeries > 0
        ? `of a parallelizer; ${format.thousands(planning.requeries)} again, for more stages behind`
        : "of a parallelizer",
  });
  result.push({
    label: "answered",
    left: asked - planning.infeasible_answers,
    gone: planning.infeasible_answers,
    why: `with ${format.thousands(planning.slice_plans)} slice plans; the rest does not fit`,
  });
  return result;
}

function funnel(planning: Planning): HTMLElement {
  const rows = el("div", { class: "funnel" });
  const width = (pairs: number) => `${(100 * pairs) / Math.max(1, planning.pairs)}%`;
  for (const { label, left, gone, why } of steps(planning)) {
    const kept = styled(el("div", { class: "kept" }), { width: width(left), "--color": KEPT_COLOR });
    const lost = styled(el("div", { class: "hatched" }), { width: width(gone), "--color": PRUNED_COLOR });
    rows.append(
      withTooltip(
        el(
          "div",
          { class: "funnel-row" },
          el("span", {}, label),
          el("div", { class: "track" }, left > 0 && kept, gone > 0 && lost),
          el("b", {}, format.thousands(left)),
          el("span", { class: "muted" }, gone > 0 ? `−${format.thousands(gone)}: ${why}` : why),
        ),
        () => [label, `${format.thousands(left)} left`, `${format.thousands(gone)} pruned here`],
      ),
    );
  }
  return rows;
}

function costText(planning: Planning): string {
  const unit = planning.coordinator === "" ? "thread" : "worker";
  const phases = planning.phases
    .filter(({ wall_s }) => wall_s >= 0.01 * planning.wall_s)
    .map(({ name, wall_s }) => `${name.replace("_", " ")} ${format.seconds(wall_s)}`);
  const where = planning.coordinator === "" ? "" : ` of ${planning.coordinator}`;
  const cached =
    planning.cache_hits > 0
      ? ` ${format.thousands(planning.cache_hits)} answers came from the cache.`
      : "";
  return (
    `Planned in ${format.seconds(planning.wall_s)} with ${planning.parallelizer} on ` +
    `${format.items(planning.num_workers, unit)}${where}` +
    (phases.length > 0 ? `: ${phases.join(", ")}.` : ".") +
    cached +
    (planning.truncated ? " Some search was cut short." : "")
  );
}

function longer(seconds: number, reference: number | undefined): string {
  if (reference === undefined) return "";
  const percent = 100 * (seconds / reference - 1);
  if (Math.abs(percent) < 0.05) return "the same";
  return `${percent >= 0 ? "+" : "−"}${Math.abs(percent).toFixed(1)} %`;
}

function runnersUp(plan: Plan): HTMLElement[] {
  const found = plan.alternatives.runners_up;
  if (found.length === 0) return [];
  const best = plan.plan?.prediction.iteration_time_s;
  return [
    el("h3", {}, "Next-best plans"),
    table(
      "Next-best plans",
      [
        { title: "islands" },
        { title: "stages", isNumber: true },
        { title: "samples a microbatch", isNumber: true },
        { title: "iteration", isNumber: true },
        { title: "against this plan", isNumber: true },
      ],
      found.map((other) => [
        other.islands.map((i) => plan.islands[i]?.name ?? String(i)).join(", "),
        String(other.num_stages),
        String(other.pipeline_microbatch_size),
        format.seconds(other.iteration_time_s),
        longer(other.iteration_time_s, best),
      ]),
    ),
  ];
}

function parallelizers(plan: Plan): HTMLElement[] {
  const tried = plan.alternatives.parallelizers;
  if (tried.length === 0) return [];
  const best = plan.plan?.prediction.iteration_time_s;
  return [
    el("h3", {}, "Parallelizers"),
    table(
      "Parallelizers",
      [
        { title: "slice plans of" },
        { title: "runtime" },
        { title: "iteration", isNumber: true },
        { title: "against this plan", isNumber: true },
        { title: "why none" },
      ],
      tried.map(({ parallelizers, runtime, reason, iteration_time_s }) => [
        parallelizers.join(", "),
        runtime,
        iteration_time_s === undefined ? "" : format.seconds(iteration_time_s),
        iteration_time_s === undefined ? "" : longer(iteration_time_s, best),
        reason,
      ]),
    ),
  ];
}

export function searchSection(plan: Plan): HTMLElement | null {
  const { planning } = plan;
  const others = [...parallelizers(plan), ...runnersUp(plan)];
  if (planning.pairs === 0 && others.length === 0) return null;
  return section(
    "search",
    "Search",
    planning.pairs > 0 ? costText(planning) : "",
    planning.pairs > 0 &&
      el("details", {}, el("summary", {}, "What became of the pairs of slice and island"), funnel(planning)),
    others.length > 0 && el("details", {}, el("summary", {}, "Other plans that were found"), ...others),
  );
}

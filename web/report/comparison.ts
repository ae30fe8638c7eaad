import { el, section, styled, table, type Column } from "./dom";
import * as format from "./format";
import { shareBar, shareLegend, usedGpus } from "./summary";
import type { Answer, Plan } from "./view_model";

interface Metric {
  title: string;
  value: (answer: Answer) => number;
  show: (value: number) => string;
  // The direction in which a value is better; the best one is marked.
  better?: "less" | "more";
}

const plain = (value: number) => format.thousands(value);

const METRICS: Metric[] = [
  {
    title: "Iteration time",
    value: (a) => a.prediction.iteration_time_s,
    show: format.seconds,
    better: "less",
  },
  {
    title: "Tokens/s",
    value: (a) => a.prediction.tokens_per_s,
    show: plain,
    better: "more",
  },
  {
    title: "Utilisation",
    value: (a) => a.prediction.model_flops_utilization,
    show: format.percent,
    better: "more",
  },
  {
    title: "Waiting",
    value: (a) => a.prediction.bubble_fraction,
    show: format.percent,
    better: "less",
  },
  {
    title: "Recomputation",
    value: (a) => a.prediction.recomputation_fraction,
    show: format.percent,
  },
  {
    title: "Fullest GPU",
    value: (a) =>
      Math.max(...a.stages.map(({ memory: m }) => m.peak_bytes / m.capacity_bytes)),
    show: format.percent,
  },
  { title: "GPUs", value: usedGpus, show: plain },
  { title: "Stages", value: (a) => a.stages.length, show: plain },
  { title: "Microbatches", value: (a) => a.num_microbatches, show: plain },
  {
    title: "Samples a microbatch",
    value: (a) => a.pipeline_microbatch_size,
    show: plain,
  },
  {
    title: "Does not fit",
    value: (a) => a.prediction.violations.length,
    show: (v) => (v === 0 ? "" : format.items(v, "stage")),
  },
];

// Marks the best value if all plans are for the same job.
function metricRow(metric: Metric, plans: Plan[], isOneJob: boolean): (string | Node)[] {
  const values = plans.map((p) => (p.plan ? metric.value(p.plan) : NaN));
  const known = values.filter((v) => !Number.isNaN(v));
  const best = metric.better === "less" ? Math.min(...known) : Math.max(...known);
  const isMarked =
    isOneJob && metric.better !== undefined && Math.min(...known) < Math.max(...known);
  return [
    metric.title,
    ...values.map((value) => {
      if (Number.isNaN(value)) return "no plan";
      const text = metric.show(value);
      return isMarked && value === best ? el("strong", { class: "best" }, `${text} ✓`) : text;
    }),
  ];
}

const isTold = ([, ...cells]: (string | Node)[]) => cells.some((cell) => cell !== "");

function besides(seconds: number, shortest: number): string {
  const more = seconds / shortest - 1;
  return more < 0.0005 ? "" : `, +${format.percent(more)}`;
}

// Draws bars as long as the iterations, on one scale.
function bars(plans: Plan[]): HTMLElement {
  const times = plans.flatMap((p) => (p.plan ? [p.plan.prediction.iteration_time_s] : []));
  const longest = Math.max(...times);
  const shortest = Math.min(...times);
  return el(
    "div",
    { class: "bars" },
    ...plans.flatMap((p) => {
      const label = el("div", { class: "bar-label" }, p.name);
      if (!p.plan) return [label, el("div", { class: "muted" }, "no plan fits")];
      const iteration_s = p.plan.prediction.iteration_time_s;
      // The remaining width is for the figure.
      const bar = styled(el("div", { class: "bar" }), { "--room": "76%" });
      bar.append(
        shareBar(p.plan, (0.76 * iteration_s) / longest),
        el("span", {}, `${format.seconds(iteration_s)}${besides(iteration_s, shortest)}`),
      );
      return [label, bar];
    }),
  );
}

function differences(plans: Plan[]): HTMLElement[] {
  return plans.flatMap((plan) =>
    plan.against
      ? [
          el("h3", {}, `From ${plans[plan.against.plan].name} to ${plan.name}`),
          el(
            "ul",
            { class: "sentences columns" },
            ...plan.against.differences.map((line) => el("li", {}, format.unbroken(line))),
          ),
        ]
      : [],
  );
}

function areOneJob(plans: Plan[]): boolean {
  return plans.slice(1).every((plan) => !plan.plan || plan.against?.plan === 0);
}

export function comparison(plans: Plan[]): HTMLElement {
  const isOneJob = areOneJob(plans);
  const columns: Column[] = [
    { title: "" },
    ...plans.map((plan) => ({ title: plan.name, isNumber: true })),
  ];
  const job = (plan: Plan) =>
    `${plan.model.name}, batch ${plan.training.global_batch_size}`;
  const rows: (string | Node)[][] = [
    ["Cluster", ...plans.map((plan) => plan.cluster.name)],
    ["Model", ...plans.map(job)],
    ...METRICS.map((metric) => metricRow(metric, plans, isOneJob)).filter(isTold),
  ];
  const answers = plans.flatMap(({ plan }) => (plan ? [plan] : []));
  return section(
    "comparison",
    "Plans side by side",
    isOneJob ? "" : "These plans do not all train the same model alike.",
    answers.length > 0 && bars(plans),
    answers.length > 0 && shareLegend(answers),
    table("Plans side by side", columns, rows),
    ...differences(plans),
  );
}

import { el, section, table } from "../report/dom";
import { percent, seconds, thousands } from "../report/format";
import { plot } from "./plot";
import {
  type Allocation,
  COSTS,
  type Figure,
  type Frontier,
  nameOf,
  TIMES,
} from "./view_model";

const frontier: Frontier = JSON.parse(document.getElementById("data")!.textContent!);
const planned = frontier.allocations.filter((a) => a.state === "planned");

const QUESTIONS: Record<string, string> = {
  fastest: "fastest",
  cheapest: "least a token",
  in_time: "in time",
  within_budget: "fastest within the budget",
  least_energy: "least energy",
  best_value: "least with the worth of an hour",
};

function chooser(label: string, figures: Figure[], onChange: (f: Figure) => void) {
  const select = el(
    "select",
    {},
    ...figures.map((figure, i) => el("option", { value: i }, figure.title)),
  );
  select.addEventListener("change", () => onChange(figures[Number(select.value)]));
  return el("label", {}, label, " ", select);
}

function plotSection(): HTMLElement {
  const costs = COSTS.filter((cost) => planned.some((a) => (cost.of(a) ?? 0) > 0));
  let cost = costs[0];
  let time = TIMES[0];
  const place = el("div", { class: "plot" });
  const draw = () => place.replaceChildren(plot(planned, cost, time));
  draw();
  return section(
    "plot",
    "Time against cost",
    "A square: no other allocation is faster at the same cost. The large one is the knee of the front in price an hour, or GPUs. Hover for names.",
    el(
      "p",
      { class: "choosers" },
      chooser("across", costs, (chosen) => ((cost = chosen), draw())),
      chooser("up", TIMES, (chosen) => ((time = chosen), draw())),
    ),
    place,
  );
}

function choiceSection(): HTMLElement {
  const rows = Object.entries(frontier.choices).map(([key, nodes]) => [
    QUESTIONS[key] ?? key,
    nodes === null ? "none" : nameOf(nodes),
  ]);
  return section(
    "choices",
    "Choices",
    "",
    table("Choices", [{ title: "question" }, { title: "allocation" }], rows),
  );
}

function figures(a: Allocation): string[] {
  const number = (value?: number) => (value === undefined ? "" : value.toPrecision(4));
  return [
    nameOf(a.nodes) + (a.knee ? " (knee)" : ""),
    String(a.gpus),
    seconds(a.iteration_time_s!),
    thousands(a.tokens_per_s!),
    number(a.hours),
    number(a.price_per_hour),
    number(a.price_per_million_tokens),
    number(a.kwh_per_million_tokens),
    percent(a.memory_fraction!),
  ];
}

function frontSection(): HTMLElement {
  const front = planned
    .filter((a) => a.on_front)
    .sort((a, b) => a.iteration_time_s! - b.iteration_time_s!);
  const columns = [
    "GPUs",
    "iteration",
    "tokens/s",
    "hours",
    "price/h",
    "price/Mtoken",
    "kWh/Mtoken",
    "memory",
  ].map((title) => ({ title, isNumber: true }));
  return section(
    "front",
    "The front",
    "Allocations that no other beats in time at the same cost, fastest first.",
    table("The front", [{ title: "allocation" }, ...columns], front.map(figures)),
  );
}

function withoutPlan(): HTMLElement | false {
  const without = frontier.allocations.filter((a) => a.state !== "planned");
  if (without.length === 0) return false;
  return section(
    "without",
    "Without a plan",
    "",
    table(
      "Allocations without a plan",
      [{ title: "allocation" }, { title: "reason" }],
      without
        .slice(0, 50)
        .map((a) => [
          nameOf(a.nodes),
          a.state === "pending" ? "not planned" : (a.reason ?? "no plan"),
        ]),
    ),
  );
}

const page = document.getElementById("page")!;
page.append(
  el("h1", {}, "Allocations"),
  el(
    "p",
    { class: "lead" },
    `${planned.length} of ${frontier.allocations.length} allocations of ` +
      `${frontier.groups.join(", ")} have a plan.`,
  ),
);
if (planned.length > 0) page.append(plotSection(), choiceSection(), frontSection());
const missing = withoutPlan();
if (missing) page.append(missing);
document.documentElement.dataset.ready = "true";

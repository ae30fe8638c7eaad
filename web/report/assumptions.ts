import { el, section, table } from "./dom";
import type { Assumption, Plan } from "./view_model";

function assumptionTable(caption: string, assumptions: Assumption[]): HTMLElement {
  return table(
    caption,
    [{ title: "field" }, { title: "value" }, { title: "from" }],
    assumptions.map(({ field, value, source }) => [field, value, source]),
  );
}

// Lists what the answer depends on that nobody measured or stated.
export function assumptionsSection(plan: Plan): HTMLElement | null {
  const links = plan.cluster.assumptions.filter((a) => a.is_link);
  const others = plan.cluster.assumptions.filter((a) => !a.is_link);
  const notes = plan.notes.map((note) => el("li", {}, note));
  if (links.length + others.length + notes.length === 0) return null;
  return section(
    "assumptions",
    "Assumptions and notes",
    links.length + others.length > 0
      ? "The cluster file does not say these; they are from the catalogue."
      : "",
    links.length > 0 && el("h3", {}, "Links"),
    links.length > 0 && assumptionTable("Assumed links", links),
    others.length > 0 &&
      el(
        "details",
        {},
        el("summary", {}, `GPUs and hosts: ${others.length} values`),
        assumptionTable("Other assumptions", others),
      ),
    notes.length > 0 && el("h3", {}, "Notes"),
    notes.length > 0 && el("ul", { class: "sentences" }, ...notes),
  );
}

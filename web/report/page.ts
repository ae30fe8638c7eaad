import { assumptionsSection } from "./assumptions";
import { clusterMap } from "./cluster_map";
import { comparison } from "./comparison";
import { button, el } from "./dom";
import * as format from "./format";
import { headline, memoryMargin } from "./headline";
import { memorySection } from "./memory";
import { modelCut } from "./model_cut";
import { runSection } from "./run_it";
import { searchSection } from "./search";
import { summary } from "./summary";
import { aroundPrinting, themeButton } from "./theme";
import { timelineSection, type TimelineSection } from "./timeline_section";
import type { Plan } from "./view_model";

function subtitle({ model, training, cluster }: Plan): string {
  return [
    `${format.count(model.parameters)} parameters`,
    `${format.items(cluster.num_gpus, "GPU")} in ${format.items(cluster.nodes.length, "node")}`,
    `global batch ${format.thousands(training.global_batch_size)}`,
    `sequence ${format.thousands(training.sequence_length)}`,
    training.precision,
    training.optimizer,
    ...training.switches,
  ].join(" · ");
}

// Goes to a section. A link would change the address, which names the job on the
// page of a coordinator.
function contentsButton(section: HTMLElement): HTMLButtonElement {
  const title = section.querySelector("h2")!.textContent!;
  return button(title, `Go to ${title}`, () => {
    section.scrollIntoView();
    section.focus({ preventScroll: true });
  });
}

// Shows one plan at a time, and a comparison if there are several.
export class Page {
  private readonly body = el("main", {});
  private readonly heading = el("h1", {});
  private readonly details = el("p", { class: "lead" });
  private readonly answer = el("p", { class: "headline" });
  private readonly contents = el("nav", { class: "contents screen-only", "aria-label": "Parts of the page" });
  private readonly tabs: HTMLButtonElement[];
  private timeline: TimelineSection | null = null;

  constructor(root: HTMLElement, private readonly plans: Plan[]) {
    this.tabs = plans.map((plan, i) => {
      const tab = button(plan.name, `Show ${plan.name}`, () => this.show(i));
      tab.setAttribute("role", "tab");
      return tab;
    });
    const redraw = () => this.timeline?.draw();
    root.append(
      el(
        "header",
        { class: "top" },
        el("div", { class: "titles" }, this.heading, this.answer, this.details),
        el(
          "div",
          { class: "tools screen-only" },
          themeButton(redraw),
          button("Print", "Print", () => print()),
        ),
      ),
    );
    if (plans.length > 1) {
      root.append(
        comparison(plans),
        el("nav", { class: "tabs", role: "tablist", "aria-label": "Plans" }, ...this.tabs),
      );
    }
    root.append(this.contents, this.body, el("footer", {}, `Tangram ${plans[0].planning.tool_version}`));
    new ResizeObserver(redraw).observe(this.body);
    aroundPrinting(() => {
      this.timeline?.fit();
      redraw();
    }, redraw);
  }

  show(index: number): void {
    const plan = this.plans[index];
    this.tabs.forEach((tab, i) => tab.setAttribute("aria-selected", String(i === index)));
    this.heading.textContent = `${plan.model.name} on ${plan.cluster.name}`;
    this.details.textContent = subtitle(plan);
    this.answer.replaceChildren(...headline(plan));
    document.title = `${plan.model.name} on ${plan.cluster.name} · Tangram`;
    const answer = plan.plan;
    // Without events where there would be too many.
    this.timeline = answer && answer.timeline.length > 0 ? timelineSection(answer) : null;
    const sections = [
      summary(plan),
      clusterMap(plan),
      runSection(plan),
      answer ? modelCut(plan.model, answer, this.roomFor()) : null,
      this.timeline?.element ?? null,
      answer ? memorySection(answer, memoryMargin(plan)) : null,
      searchSection(plan),
      assumptionsSection(plan),
    ];
    const shown = sections.filter((s): s is HTMLElement => s !== null);
    this.body.replaceChildren(...shown);
    this.contents.replaceChildren(...shown.map(contentsButton));
    this.timeline?.open();
  }

  // Returns the width of a picture in a section, in pixels.
  private roomFor(): number {
    return Math.max(300, Math.min(1120, this.body.clientWidth - 42));
  }
}

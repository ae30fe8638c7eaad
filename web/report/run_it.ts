import { button, el, section } from "./dom";
import type { Plan, RunCommand } from "./view_model";

// The commands that write the launch files of the plan, for each framework that
// runs it as it is, with a button that copies them.

function copyButton(text: string, of: string): HTMLButtonElement {
  const copy: HTMLButtonElement = button("Copy", `Copy the command for ${of}`, () => {
    void navigator.clipboard.writeText(text).then(
      () => {
        copy.textContent = "Copied";
        setTimeout(() => (copy.textContent = "Copy"), 2000);
      },
      // Without the permission to copy, the reader can copy the selected text.
      () => {
        const code = copy.parentElement!.querySelector("code")!;
        getSelection()!.selectAllChildren(code);
      },
    );
  });
  copy.classList.add("screen-only");
  return copy;
}

function command({ framework, command, losses, reads_data }: RunCommand): HTMLElement {
  return el(
    "li",
    {},
    el("h3", {}, framework, !reads_data && el("span", { class: "badge warn" }, "reads no data of yours")),
    el("div", { class: "command" }, el("code", {}, command), copyButton(command, framework)),
    ...losses.map((loss) => el("p", { class: "muted" }, loss)),
  );
}

export function runSection(plan: Plan): HTMLElement | null {
  if (!plan.plan || plan.run === undefined) return null;
  const isRun = plan.run.length > 0;
  return section(
    "run",
    "Run it",
    isRun
      ? "Each command writes launch files of a framework that runs this plan as it is."
      : "No framework runs this plan as it is: plan with --runtime auto for the fastest that one runs.",
    isRun && el("ul", { class: "commands" }, ...plan.run.map(command)),
  );
}

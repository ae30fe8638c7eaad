import { button, el } from "../report/dom";
import { Page } from "../report/page";
import { themeButton } from "../report/theme";
import { installTooltip } from "../report/tooltip";
import { getJobs, getReport, getStatus, Problem, setToken } from "./api";
import { jobsSection, statusSection, workersSection } from "./overview";

const INTERVAL_MS = 2000;

const root = document.getElementById("page")!;

function isRefusal(error: unknown): boolean {
  return error instanceof Problem && (error.status === 401 || error.status === 403);
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// Asks for a token, and starts again with it.
function askForToken(problem: string): HTMLElement {
  const input = el("input", {
    type: "password",
    "aria-label": "Token",
    autocomplete: "off",
    placeholder: "Token of a caller who may plan or operate",
  });
  const form = el("form", {}, input, button("Show", "Show", () => form.requestSubmit()));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    setToken(input.value.trim());
    location.reload();
  });
  return el("section", { id: "token", class: "card" }, el("p", { class: "lead" }, problem), form);
}

async function showReport(job: string): Promise<void> {
  const back = el("p", { class: "screen-only" }, el("a", { href: "#" }, "All jobs"));
  const body = el("div", {});
  root.replaceChildren(back, body);
  try {
    const report = await getReport(job);
    installTooltip();
    new Page(body, report.plans).show(0);
  } catch (error) {
    body.replaceChildren(
      isRefusal(error)
        ? askForToken(message(error))
        : el("p", { class: "alert", role: "alert" }, message(error)),
    );
  }
}

// Turns a refusal into null. A caller who may plan sees jobs; one who may operate
// also sees workers.
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch((error) => {
    if (isRefusal(error)) return null;
    throw error;
  });
}

class Overview {
  private readonly note = el("p", { class: "lead", role: "status" });
  private readonly body = el("main", {});

  constructor() {
    root.replaceChildren(
      el(
        "header",
        { class: "top" },
        el("div", { class: "titles" }, el("h1", {}, "Tangram"), this.note),
        el("div", { class: "tools screen-only" }, themeButton(() => {})),
      ),
      this.body,
    );
  }

  // Shows the current state. Returns false if the coordinator refuses, and asks for
  // a token then.
  async look(): Promise<boolean> {
    try {
      const [status, jobs] = await Promise.all([orNull(getStatus()), getJobs()]);
      this.body.replaceChildren(
        ...(status === null ? [] : [statusSection(status)]),
        jobsSection(jobs),
        ...(status === null ? [] : [workersSection(status.workers)]),
      );
      this.note.textContent = `as of ${new Date().toLocaleTimeString()}`;
    } catch (error) {
      if (isRefusal(error)) {
        this.body.replaceChildren(askForToken(message(error)));
        return false;
      }
      this.note.textContent = `${message(error)} The figures below are older.`;
    }
    return true;
  }
}

async function watch(): Promise<void> {
  const overview = new Overview();
  const again = async () => {
    if (document.hidden || (await overview.look())) setTimeout(again, INTERVAL_MS);
  };
  if (await overview.look()) setTimeout(again, INTERVAL_MS);
}

async function main(): Promise<void> {
  const job = decodeURIComponent(location.hash.slice(1));
  await (job === "" ? watch() : showReport(job));
  document.documentElement.dataset.ready = "true";
}

addEventListener("hashchange", () => location.reload());
void main();

import { el, section, table, type Child } from "../report/dom";
import * as format from "../report/format";
import type { Entry, Job, Progress, Status, Worker } from "./api";
import { TimeLeft } from "./time_left";

// A worker that was silent for longer gets a remark.
const SILENT_S = 5;

const timeLeft = new TimeLeft();

function tile(title: string, figure: string, note: string): HTMLElement {
  return el(
    "div",
    { class: "tile" },
    el("dt", {}, title),
    el("dd", {}, el("strong", {}, figure), el("span", {}, note)),
  );
}

export function statusSection(status: Status): HTMLElement {
  const slots = status.workers.reduce((sum, w) => sum + (w.draining ? 0 : w.slots), 0);
  return section(
    "status",
    "Coordinator",
    `version ${status.version}, up ${format.seconds(status.uptime_s)}`,
    el(
      "dl",
      { class: "tiles" },
      tile("Jobs", `${status.running_jobs} running`, ""),
      tile("Calls", `${status.running_plans} running`, `${status.waiting_plans} waiting`),
      tile(
        "Queries",
        `${format.thousands(Number(status.leased))} with workers`,
        `${format.thousands(Number(status.pending))} waiting`,
      ),
      tile("Workers", format.thousands(status.workers.length), format.items(slots, "slot")),
      tile(
        "Cache",
        format.bytes(Number(status.cache_bytes)),
        format.items(Number(status.cached_answers), "answer"),
      ),
    ),
  );
}

function workerState(worker: Worker): string {
  if (worker.draining) return "draining";
  if (worker.silent_s > SILENT_S) return `silent for ${format.seconds(worker.silent_s)}`;
  return worker.leased > 0 ? "busy" : "idle";
}

export function workersSection(workers: Worker[]): HTMLElement {
  const lead = workers.length > 0 ? "" : "No worker is connected: plans wait for one.";
  const columns = [
    { title: "worker" },
    { title: "state" },
    { title: "parallelizers" },
    { title: "slots", isNumber: true },
    { title: "queries held", isNumber: true },
    { title: "answered", isNumber: true },
    { title: "busy", isNumber: true },
  ];
  const rows = workers.map((worker) => [
    worker.name,
    workerState(worker),
    worker.adapters.join(", "),
    format.thousands(worker.slots),
    format.thousands(worker.leased),
    format.thousands(Number(worker.answered)),
    format.percent(Math.min(1, worker.busy_s / Math.max(1e-3, worker.connected_s * worker.slots))),
  ]);
  return section("workers", "Workers", lead, workers.length > 0 && table("Workers", columns, rows));
}

function progressNode(job: string, progress: Progress): Node {
  const parts: Child[] = [];
  const words = [progress.phase.toLowerCase().replace(/_/g, " ")];
  if (progress.pairs_total > 0) {
    parts.push(
      el("progress", {
        value: progress.pairs_done,
        max: progress.pairs_total,
        "aria-label": `Progress of ${job}`,
      }),
    );
    words.push(`${progress.pairs_done}/${progress.pairs_total}`);
    const left = timeLeft.of(job, progress, Date.now() / 1000);
    if (left !== null) words.push(`${format.seconds(left)} left`);
  }
  if (progress.best_iteration_time_s !== undefined) {
    words.push(`best ${format.seconds(progress.best_iteration_time_s)}`);
  }
  return el("span", {}, ...parts, words.join(", "));
}

function answer({ job, about }: Entry): Node {
  const report = el("a", { href: `#${encodeURIComponent(job.job_id)}`, "aria-label": `Report of ${job.job_id}` }, "Report");
  if (about.fits === false) {
    return el("span", {}, el("span", { class: "badge bad", title: about.reason ?? "" }, "does not fit"), " ", report);
  }
  if (about.iteration_time_s === undefined) return report;
  return el("span", {}, `${format.seconds(about.iteration_time_s)} an iteration `, report);
}

function details(entry: Entry): string | Node {
  const { job, progress } = entry;
  if (job.error) return el("span", { class: "error" }, job.error.message);
  if (job.state === "SUCCEEDED") {
    return answer(entry);
  }
  return progress === null ? "" : progressNode(job.job_id, progress);
}

// Jobs of tenants are called "tenant/name" for those who see several.
function owner({ job_id }: Job): string {
  const slash = job_id.indexOf("/");
  return slash < 0 ? "" : job_id.slice(0, slash);
}

function model({ about }: Entry): string {
  if (about.model === undefined) return "";
  return `${about.model}, batch ${format.thousands(about.global_batch_size ?? 0)}`;
}

function cluster({ about }: Entry): string {
  if (about.cluster === undefined) return "";
  return `${about.cluster}, ${format.items(about.num_gpus ?? 0, "GPU")}`;
}

function state(job: Job): string {
  return job.state === "RUNNING" && job.cancel_requested ? "being cancelled" : job.state.toLowerCase();
}

function time(seconds: number): string {
  return new Date(1000 * seconds).toLocaleString();
}

function took(job: Job): string {
  if (job.started_s === 0) return "";
  const end = job.finished_s === 0 ? Date.now() / 1000 : job.finished_s;
  return format.seconds(Math.max(0, end - job.started_s));
}

export function jobsSection(entries: Entry[]): HTMLElement {
  const lead = entries.length > 0 ? "" : "There are none yet: tangram plan --coordinator ... --job NAME makes one.";
  const columns = [
    { title: "owner" },
    { title: "job" },
    { title: "model" },
    { title: "cluster" },
    { title: "state" },
    { title: "submitted" },
    { title: "takes", isNumber: true },
    { title: "result" },
  ];
  const rows = entries.map((entry) => [
    owner(entry.job),
    entry.job.job_id,
    model(entry),
    cluster(entry),
    state(entry.job),
    time(entry.job.submitted_s),
    took(entry.job),
    details(entry),
  ]);
  return section("jobs", "Jobs, newest first", lead, entries.length > 0 && table("Jobs", columns, rows));
}

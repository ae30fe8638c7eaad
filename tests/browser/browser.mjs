// Helpers of the tests of pages: a browser, and pages that record misbehaviour.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const AXE = fileURLToPath(import.meta.resolve("axe-core/axe.min.js"));
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: FLAGS,
  });
}

// Opens a file, or the page of a server. `complaints` collects misbehaviour of the
// page: errors, requests to others, dialogs.
export async function open(browser, place, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    ...options,
  });
  const page = await context.newPage();
  const complaints = [];
  const isServed = place.startsWith("http:");
  const url = isServed ? place : pathToFileURL(place).href;
  page.on("console", (message) => complaints.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const isOwn =
      request.url() === url ||
      request.url().startsWith("data:") ||
      (isServed && new URL(request.url()).origin === new URL(url).origin);
    if (!isOwn) complaints.push(`request: ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(url);
  await page.waitForSelector("html[data-ready=true]", { state: "attached" })
    .catch(() => {
      throw new Error(`not drawn: ${complaints.join("; ")}`);
    });
  return { page, complaints, close: () => context.close() };
}

// Returns what axe finds wrong with the page, as "rule: element". `open` needs
// bypassCSP for it.
export async function axeViolations(page) {
  await page.addScriptTag({ path: AXE });
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 120)}: ${failureSummary.slice(0, 300)}`));
}

// A folder for plans and pages, and the command line that makes them.
export class Workshop {
  constructor(tangram, source) {
    this.tangramBinary = tangram;
    this.source = source;
    this.folder = mkdtempSync(join(tmpdir(), "tangram-report-"));
  }

  tangram(...args) {
    execFileSync(this.tangramBinary, args, {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "inherit"],
    });
  }

  cluster(name) {
    return join(this.source, "deploy/clusters", `${name}.yaml`);
  }

  path(name) {
    return join(this.folder, name);
  }

  write(name, text) {
    writeFileSync(this.path(name), text);
  }

  // Makes `target` from the plan file `from`, changed by `edit`.
  editPlan(from, target, edit) {
    const plan = JSON.parse(readFileSync(this.path(from), "utf8"));
    edit(plan);
    writeFileSync(this.path(target), JSON.stringify(plan));
  }

  report(target, ...plans) {
    this.tangram("report", ...plans, "-o", target);
    return this.path(target);
  }

  clean() {
    rmSync(this.folder, { recursive: true });
  }
}

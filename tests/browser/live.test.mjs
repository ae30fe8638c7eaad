// Opens the page that a coordinator serves. ./run runs it; needs TANGRAM, with the
// daemons in the same folder, and SOURCE.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

import { launch, open, Workshop } from "./browser.mjs";

const BIN = dirname(process.env.TANGRAM);
const workshop = new Workshop(process.env.TANGRAM, process.env.SOURCE);
const OLGA = "olga".repeat(5);
const WALLY = "wally".repeat(4);
const JOB = [
  "--cluster", workshop.cluster("c1-compute-het"), "--nodes", "t4=1,v100=1",
  "--model", "gpt3-1.3b", "--global-batch", "32", "--runtime", "any", "--quiet",
];
// A job that would search for minutes.
const LONG_JOB = [
  "--cluster", workshop.cluster("c1-compute-het"), "--model", "gpt3-13b",
  "--global-batch", "128", "--effort", "1000000000", "--no-prune-redundant",
  "--no-early-stop", "--runtime", "any",
];

const daemons = [];

// Starts a daemon; returns the match of `pattern` once its log has one.
function start(program, pattern, ...args) {
  const daemon = spawn(join(BIN, program), args, { stdio: ["ignore", "pipe", "pipe"] });
  daemons.push(daemon);
  return new Promise((resolve, reject) => {
    let log = "";
    for (const stream of [daemon.stdout, daemon.stderr]) {
      stream.on("data", (text) => {
        log += text;
        const match = log.match(pattern);
        if (match) resolve(match);
      });
    }
    daemon.on("exit", () => reject(new Error(log)));
  });
}

function startCoordinator(...args) {
  return start("tangram-coordinator", /\bport=(\d+).*http_port=(\d+)/, "--listen=127.0.0.1:0",
    "--metrics=", "--http=127.0.0.1:0", "--state_dir=none", ...args);
}

let browser;
let address;
let url;

before(async () => {
  const [, port, httpPort] = await startCoordinator();
  address = `127.0.0.1:${port}`;
  url = `http://127.0.0.1:${httpPort}/`;
  await start("tangram-worker", /connected/, `--coordinator=${address}`, "--name=w0",
    "--metrics=", "--threads=1");
  workshop.tangram("plan", ...JOB, "--layers", "6", "--coordinator", address, "--job", "nightly");
  try {
    workshop.tangram("plan", ...JOB.slice(0, 4), "--model", "gpt3-175b", "--global-batch", "32",
      "--runtime", "megatron", "--coordinator", address, "--job", "too-large");
  } catch {
    // Exit code 3: no plan fits.
  }
  workshop.tangram("plan", ...LONG_JOB, "--coordinator", address, "--job", "long", "--detach");
  browser = await launch();
});

after(async () => {
  await browser?.close();
  for (const daemon of daemons) daemon.kill("SIGKILL");
  workshop.clean();
});

test("shows jobs, progress and workers, and looks again", async () => {
  const { page, complaints, close } = await open(browser, url);
  for (const id of ["status", "jobs", "workers"]) {
    assert.ok(await page.locator(`section#${id}`).isVisible(), id);
  }
  const row = (text) => page.locator("tbody tr", { hasText: text });
  assert.match(await row("nightly").innerText(),
    /gpt3-1.3b[^]*batch 32[^]*c1-compute-het, 8 GPUs[^]*succeeded[^]*[\d.]+ m?s an iteration/);
  assert.match(await row("too-large").innerText(), /succeeded[^]*does not fit/);
  assert.match(await row("w0").innerText(), /uniform/);
  await row("long").locator("progress").waitFor();

  // The page updates by itself.
  workshop.tangram("job", "cancel", "long", "--coordinator", address);
  await row("long").getByText("cancelled").waitFor();
  assert.equal(await page.locator("body").evaluate((b) => b.scrollWidth > innerWidth), false);
  assert.deepEqual(complaints, []);
  await close();
});

test("opens the report of a job and comes back", async () => {
  const { page, complaints, close } = await open(browser, url);
  await page.getByRole("link", { name: "Report" }).click();
  await page.locator("section#schedule").waitFor();
  assert.equal(await page.title(), "gpt3-1.3b (6 layers) on c1-compute-het · Tangram");
  assert.equal(await page.locator(".gpu").count(), 8);
  await page.getByRole("link", { name: "All jobs" }).click();
  await page.locator("section#jobs").waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("says what is wrong with a job that is none", async () => {
  const { page, close } = await open(browser, `${url}#nobody`);
  assert.match(await page.getByRole("alert").innerText(), /nobody/);
  await close();
});

test("asks for a token where one is needed", async () => {
  workshop.write("tokens", `${OLGA},olga,,operate\n${WALLY},wally,,work\n`);
  const [, , httpPort] = await startCoordinator(`--auth_tokens_file=${workshop.path("tokens")}`);
  const { page, close } = await open(browser, `http://127.0.0.1:${httpPort}/`);
  const show = async (token) => {
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForLoadState();
  };
  assert.equal(await page.locator("section#jobs").count(), 0);
  await show(WALLY);
  await page.getByText("needs the role").waitFor();
  await show(OLGA);
  await page.locator("section#workers").waitFor();
  assert.ok(await page.locator("section#jobs").isVisible());
  await close();
});

test("says that the coordinator is gone, and keeps what it showed", async () => {
  const [, port, httpPort] = await startCoordinator();
  const coordinator = daemons[daemons.length - 1];
  const { page, close } = await open(browser, `http://127.0.0.1:${httpPort}/`);
  coordinator.kill("SIGKILL");
  await page.getByText("The coordinator does not answer.").waitFor();
  assert.ok(await page.locator("section#status").isVisible(), port);
  await close();
});

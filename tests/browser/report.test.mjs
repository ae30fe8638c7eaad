// Opens reports as their readers do. ./run runs it; needs TANGRAM and SOURCE.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { axeViolations, launch, open, Workshop } from "./browser.mjs";

const workshop = new Workshop(process.env.TANGRAM, process.env.SOURCE);
const JOB = [
  "--cluster", workshop.cluster("c1-compute-het"), "--nodes", "t4=1,v100=1",
  "--model", "gpt3-1.3b", "--layers", "12", "--global-batch", "32",
  "--runtime", "any", "--quiet",
];
const PAGE_BYTES = 90_000;
const PAGE_ELEMENTS = 2_500;
const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };
const TELEPHONE = { viewport: { width: 390, height: 800 } };
const HOSTILE =
  "</script><script>window.hacked=1;alert(1)</script><img src=x onerror='window.hacked=2'>";

let browser;
let single;
let several;
let auto;
let c1;
let none;

before(async () => {
  workshop.tangram("plan", ...JOB, "--output", "plan.json");
  workshop.tangram("plan", ...JOB, "--microbatch", "16", "--output", "large-microbatch.json");
  workshop.editPlan("plan.json", "none.json", (plan) => {
    delete plan.plan;
    delete plan.evaluation;
    plan.infeasible = { reason: "the model does not fit", bytes_short: 3e9 };
  });
  single = workshop.report("plan.html", "plan.json");
  // Instances, whose links the answer has to guess.
  workshop.tangram("plan", "--nodes", "g4dn.12xlarge=1,p3.8xlarge=1", ...JOB.slice(4, -3), "--quiet",
    "--output", "auto.json");
  auto = workshop.report("auto.html", "auto.json");
  workshop.tangram("plan", "--cluster", workshop.cluster("c1-compute-het"), "--nodes", "t4=2,v100=2",
    "--model", "gpt3-6.7b", "--global-batch", "128", "--seq", "2048", "--quiet", "--output", "c1.json");
  c1 = workshop.report("c1.html", "c1.json");
  several = workshop.report("several.html", "plan.json", "large-microbatch.json", "none.json");
  none = workshop.report("none.html", "none.json");
  browser = await launch();
});

after(async () => {
  await browser?.close();
  workshop.clean();
});

// A test on its own page, which must have no complaints.
function pageTest(name, file, options, body) {
  test(name, async () => {
    const { page, complaints, close } = await open(browser, file(), options);
    await body(page);
    assert.deepEqual(complaints, []);
    await close();
  });
}

async function viewOf(page) {
  // Changes are drawn with the next frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const { startNs, endNs } = await page.locator("#timeline").evaluate((c) => ({ ...c.dataset }));
  return { start: Number(startNs), end: Number(endNs), span: endNs - startNs };
}

async function showAll(page) {
  await page.getByRole("button", { name: "Show the whole iteration" }).click();
}

async function tooltip(page) {
  const box = page.locator("#tooltip");
  return (await box.isVisible()) ? box.innerText() : null;
}

pageTest("shows every section", () => single, {}, async (page) => {
  assert.equal(await page.title(), "gpt3-1.3b (12 layers) on c1-compute-het · Tangram");
  for (const id of ["summary", "cluster", "cut", "schedule", "memory", "search", "assumptions"]) {
    assert.ok(await page.locator(`section#${id}`).isVisible(), id);
  }
  assert.equal(await page.locator(".gpu").count(), 8);
  assert.equal(await page.locator("section#comparison").count(), 0);
  assert.equal(await page.locator("body").evaluate((b) => b.scrollWidth > innerWidth), false);
});

pageTest("opens on the warm-up where the whole schedule would be a blur", () => c1, {}, async (page) => {
  const opened = await viewOf(page);
  assert.equal(opened.start, 0);
  await showAll(page);
  assert.ok((await viewOf(page)).span > opened.span);
  // There, it draws shares of time and not 256 passes a device.
  const changes = await page.locator("#timeline").evaluate((canvas) => {
    const { width, data } = canvas.getContext("2d").getImageData(0, Math.round(60 * devicePixelRatio), canvas.width, 1);
    let count = 0;
    for (let i = 4; i < 4 * width; i += 4) {
      if (data[i] !== data[i - 4] || data[i + 1] !== data[i - 3]) ++count;
    }
    return count;
  });
  assert.ok(changes < 120, `${changes} changes of colour`);
});

pageTest("says first what to expect, what is guessed and what to run", () => auto, CLIPBOARD, async (page) => {
  const headline = await page.locator(".headline").innerText();
  assert.match(headline, /an iteration[^]*expected [\d.]+( m?s)? – [\d.]+ m?s[^]*links are guessed: \d/);
  const plan = JSON.parse(readFileSync(workshop.path("auto.json"), "utf8"));
  const fullest = Math.max(...plan.evaluation.stages.map((stage, s) =>
    stage.peak_bytes / stage.capacity_bytes || 0));
  assert.equal(/memory [\d.]+ % full, beside 5.0 % kept free/.test(headline), fullest > 0.95);
  assert.match(await page.locator("#memory .lead").innerText(), /5.0 % of the GPU is kept free/);
  const option = page.locator("#memory .lead .option");
  assert.equal(await option.innerText(), "--memory-margin");
  assert.equal(await option.evaluate((e) => getComputedStyle(e).whiteSpace), "nowrap");
  assert.ok((await page.locator("#memory .margin").count()) > 0);

  const commands = await page.locator("#run code").allInnerTexts();
  assert.ok(commands.length > 0);
  assert.match(commands[0], /^tangram export auto.json --to \w+/);
  await page.getByRole("button", { name: /^Copy the command/ }).first().click();
  await page.getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), commands[0]);
  // The command does what it says.
  workshop.tangram(...commands[0].split(" ").slice(1));
});

pageTest("goes to its parts and folds the statistics of the search", () => single, {}, async (page) => {
  assert.equal(await page.locator("#search .funnel").isVisible(), false);
  await page.locator("#search summary").first().click();
  assert.ok(await page.locator("#search .funnel").isVisible());
  await page.getByRole("button", { name: "Go to Memory" }).click();
  assert.ok(await page.locator("#memory h2").evaluate((e) => {
    const { top, bottom } = e.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  }));
});

pageTest("zooms with buttons, wheel and keys", () => single, {}, async (page) => {
  await showAll(page);
  const whole = await viewOf(page);
  assert.equal(whole.start, 0);
  await page.getByRole("button", { name: "Zoom in" }).click();
  const zoomed = await viewOf(page);
  assert.ok(Math.abs(zoomed.span - whole.span / 1.6) < 1);

  const canvas = page.locator("#timeline");
  await canvas.hover({ position: { x: 400, y: 60 } });
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  const wheeled = await viewOf(page);
  assert.ok(wheeled.span < zoomed.span);

  // Without keys, the wheel scrolls the page and not the timeline.
  await page.mouse.wheel(0, 40);
  assert.deepEqual(await viewOf(page), wheeled);

  await canvas.focus();
  await page.keyboard.press("+");
  assert.ok((await viewOf(page)).span < wheeled.span);
  await page.keyboard.press("0");
  assert.deepEqual(await viewOf(page), whole);
  await page.keyboard.press("-");
  assert.deepEqual(await viewOf(page), whole);
});

pageTest("pans by dragging and with keys, within the iteration", () => single, {}, async (page) => {
  await showAll(page);
  const whole = await viewOf(page);
  await page.getByRole("button", { name: "Show the cool-down" }).click();
  const last = await viewOf(page);
  assert.ok(last.start > 0 && Math.abs(last.end - whole.end) < 1);

  const canvas = page.locator("#timeline");
  await canvas.scrollIntoViewIfNeeded();
  const { x, y, width } = await canvas.boundingBox();
  await page.mouse.move(x + width / 2, y + 50);
  await page.mouse.down();
  await page.mouse.move(x + width / 2 + 100, y + 50, { steps: 4 });
  await page.mouse.up();
  const dragged = await viewOf(page);
  assert.ok(dragged.start < last.start);
  assert.ok(Math.abs(dragged.span - last.span) < 1);

  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  assert.ok((await viewOf(page)).start > dragged.start);
  for (let i = 0; i < 30; ++i) await page.keyboard.press("ArrowRight");
  assert.ok(Math.abs((await viewOf(page)).end - whole.end) < 1);
});

pageTest("says what runs under the pointer", () => single, {}, async (page) => {
  await page.getByRole("button", { name: "Show the warm-up" }).click();
  const canvas = page.locator("#timeline");
  // The first device starts at once with its first microbatch.
  await canvas.hover({ position: { x: 154, y: 34 } });
  const text = await tooltip(page);
  assert.match(text, /forward pass, microbatch 0/);
  assert.match(text, /stage 0/);
  assert.match(text, /from 0\.00/);
  await page.locator("h1").hover();
  assert.equal(await tooltip(page), null);
});

pageTest("goes from pass to pass with keys", () => single, {}, async (page) => {
  await page.locator("#timeline").focus();
  await page.keyboard.press("]");
  const first = await page.getByRole("status").textContent();
  await page.keyboard.press("]");
  const second = await page.getByRole("status").textContent();
  assert.match(second, /microbatch/);
  assert.notEqual(first, second);
  await page.keyboard.press("[");
  assert.equal(await page.getByRole("status").textContent(), first);
});

pageTest("explains GPUs and stages to pointer and keys", () => single, {}, async (page) => {
  await page.locator(".gpu").first().hover();
  assert.match(await tooltip(page), /t4-0, GPU 0[^]*stage \d/);
  await page.keyboard.press("Escape");
  assert.equal(await tooltip(page), null);

  // Uses Tab, so that the browser treats it as keyboard focus.
  await page.locator("#cluster h2").click();
  await page.keyboard.press("Tab");
  assert.match(await tooltip(page), /t4-0\n4 x T4/);

  const first = page.locator("svg.cut [data-stop]").first();
  await first.focus();
  await page.keyboard.press("End");
  assert.match(await tooltip(page), /head/);

  await page.locator(".memory-row").first().hover();
  assert.match(await tooltip(page), /optimizer state [\d.]+ [GM]B/);
});

pageTest("compares plans and shows each", () => several, {}, async (page) => {
  const table = page.locator("#comparison table");
  assert.deepEqual(await table.locator("thead th").allInnerTexts(), [
    "figure", "plan.json", "large-microbatch.json", "none.json",
  ]);
  const time = table.locator("tbody tr", { hasText: "Iteration time" });
  assert.match(await time.innerText(), /no plan/);
  // Only the first plan's search may choose the microbatch.
  assert.equal(await time.locator(".best").count(), 1);
  assert.match(await time.locator("td").nth(1).innerText(), / s ✓| ms ✓/);
  assert.match(await page.locator("#comparison").innerText(), /From plan.json to large-microbatch.json[^]*pipeline microbatch size/);

  const whole = await viewOf(page);
  await page.getByRole("tab", { name: "Show large-microbatch.json" }).click();
  assert.notDeepEqual(await viewOf(page), whole);
  await page.getByRole("tab", { name: "Show none.json" }).click();
  assert.match(await page.locator("#summary").innerText(), /No plan fits[^]*the model does not fit: 3.00 GB short per GPU/);
  assert.equal(await page.locator("#timeline").count(), 0);
  assert.ok(await page.locator(".gpu.unused").first().isVisible());
});

pageTest("prints light, whole and open", () => single, { colorScheme: "dark" }, async (page) => {
  await page.getByRole("button", { name: "Zoom in" }).click();
  const background = () => page.evaluate(() => getComputedStyle(document.body).getPropertyValue("--card").trim());
  assert.notEqual(await background(), "#ffffff");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  assert.equal(await background(), "#ffffff");
  assert.equal(await page.locator("details:not([open])").count(), 0);
  assert.equal((await viewOf(page)).start, 0);
  assert.equal(await page.getByRole("button", { name: "Zoom in" }).isVisible(), false);
  const pdf = await page.pdf({ format: "A4", printBackground: true });
  assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.notEqual(await background(), "#ffffff");
});

pageTest("is light or dark as asked", () => single, { colorScheme: "light" }, async (page) => {
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.getByRole("button", { name: "Switch between light and dark" }).click();
  const dark = await background();
  assert.notEqual(light, dark);
  await page.getByRole("button", { name: "Switch between light and dark" }).click();
  assert.equal(await background(), light);
});

for (const [name, file] of [["one plan", () => auto], ["several plans", () => several]]) {
  pageTest(`fits a telephone with ${name}`, file, TELEPHONE, async (page) => {
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
    const table = page.locator("#cut .scroll");
    assert.ok(await table.evaluate((e) => e.scrollWidth > e.clientWidth));
    assert.match(await table.evaluate((e) => getComputedStyle(e).backgroundImage), /gradient.*gradient/);
    // Text of the cut has its size in pixels.
    const scale = await page.locator("svg.cut").evaluate((e) => e.getBoundingClientRect().width / e.viewBox.baseVal.width);
    assert.ok(scale > 0.9, `${scale}`);
  });
}

const PAGES = [["one plan", () => auto], ["several plans", () => several], ["no plan", () => none]];
for (const [name, file] of PAGES) {
  for (const [how, options] of [["light", {}], ["dark", { colorScheme: "dark" }], ["a telephone", TELEPHONE]]) {
    // The page's policy lets no other script in.
    pageTest(`has no violation that axe finds: ${name}, ${how}`, file, { bypassCSP: true, ...options }, async (page) => {
      await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
      assert.deepEqual(await axeViolations(page), []);
    });
  }
}

test("keeps to its budget of bytes and elements", async (t) => {
  const { page, close } = await open(browser, auto);
  const { size } = statSync(auto);
  const data = await page.locator("#data").evaluate((e) => e.textContent.length);
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  t.diagnostic(`${size} bytes, ${data} of them data; ${elements} elements`);
  assert.ok(size - data < PAGE_BYTES, `${size - data} bytes of page`);
  assert.ok(elements < PAGE_ELEMENTS, `${elements} elements`);
  await close();
});

// With SCREENSHOTS, a folder, the pictures of docs/report.md are made there.
test("pictures at 390 and 1,280 pixels and in the dark", async () => {
  const folder = process.env.SCREENSHOTS ?? workshop.folder;
  for (const [name, options] of [
    ["report-1280", { viewport: { width: 1280, height: 1800 } }],
    ["report-dark", { viewport: { width: 1280, height: 1800 }, colorScheme: "dark" }],
    ["report-390", { viewport: { width: 390, height: 2600 } }],
  ]) {
    const { page, complaints, close } = await open(browser, c1, options);
    const path = join(folder, `${name}.png`);
    await page.screenshot({ path });
    const { size } = statSync(path);
    assert.ok(size > 50_000 && size < 700_000, `${name}: ${size} bytes`);
    assert.deepEqual(complaints, []);
    await close();
  }
});

pageTest("names everything that can be reached", () => several, {}, async (page) => {
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, canvas:not([aria-hidden]), [role=img], [tabindex='0'], section")]
      .filter((e) => !e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby"))
      .map((e) => e.outerHTML.slice(0, 80)),
  );
  assert.deepEqual(nameless, []);
  assert.equal(await page.locator("h1").count(), 1);
});

test("shows plans that do not fit, and other schedules", async () => {
  workshop.editPlan("plan.json", "small.json", (plan) => {
    plan.plan.schedule = "zb-h1";
    delete plan.plan.warm_up;
    for (const device of plan.cluster.devices) device.memory_bytes = 3e9;
  });
  const { page, complaints, close } = await open(browser, workshop.report("small.html", "small.json"));
  assert.match(await page.getByRole("alert").innerText(), /does not fit in memory[^]*stage 0 needs .* [GM]B short per GPU/);
  assert.match(await page.locator(".memory-figure.over").first().innerText(), /\/ 3.0 GB\s*\d{3} %/);
  assert.match(await page.locator("#schedule").innerText(), /zb-h1[^]*weight gradients/);
  assert.deepEqual(complaints, []);
  await close();
});

test("shows hostile names as text", async () => {
  workshop.editPlan("plan.json", "hostile.json", (plan) => {
    plan.cluster.name = HOSTILE;
    plan.model.name = HOSTILE;
    plan.notes = [`${HOSTILE}\u2028`]; // Names have no control characters.
    const old = plan.cluster.nodes[0].names[0];
    const text = JSON.stringify(plan).replaceAll(JSON.stringify(old), JSON.stringify(HOSTILE));
    Object.assign(plan, JSON.parse(text));
    for (const stage of plan.plan.stages) stage.made_by = HOSTILE;
    for (const island of plan.islands) island.name = island.reason = HOSTILE;
    plan.cluster.assumptions = [{ field: `links${HOSTILE}`, value: HOSTILE, source: HOSTILE }];
  });
  const { page, complaints, close } = await open(browser, workshop.report("hostile.html", "hostile.json", "hostile.json"));
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("img, main script").count(), 0);
  assert.ok((await page.locator("h1").innerText()).includes("<script>window.hacked=1"));
  await page.locator(".node", { hasText: "<img" }).locator(".gpu").first().hover();
  assert.match(await tooltip(page), /<img src=x/);
  assert.deepEqual(complaints, []);
  await close();
});

test("lets no script run but its own", async () => {
  const { page, complaints, close } = await open(browser, single);
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.hacked = 1";
    document.body.append(script);
  });
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.match(complaints.join(), /Content Security Policy/);
  await close();
});

test("4,096 GPUs are a small file that opens soon", async (t) => {
  workshop.tangram(
    "plan", "--cluster", workshop.cluster("het-10240"),
    "--nodes", "v100-32=0,a100-40=128,a100-80=128,h100=192,h200=64,b200=0",
    "--model", "llama3-70b", "--global-batch", "2048", "--microbatch", "64",
    "--runtime", "any", "--parallelizer", "uniform", "--quiet", "--output", "large.json",
  );
  const file = workshop.report("large.html", "large.json");
  const start = performance.now();
  const { page, complaints, close } = await open(browser, file);
  const opened_s = (performance.now() - start) / 1000;
  const own_s = await page.evaluate(() => performance.now() / 1000);
  assert.equal(await page.locator(".gpu").count(), 4096);
  const { size } = statSync(file);
  assert.ok(size < 1e6, `${size} bytes`);
  assert.deepEqual(complaints, []);
  // Times depend on the machine, so they are printed and not checked.
  t.diagnostic(`${size} bytes; drawn ${own_s.toFixed(2)} s after navigation, ${opened_s.toFixed(2)} s with a new tab`);
  await close();
});

test("no source makes elements from text", async () => {
  const page = readFileSync(single, "utf8");
  assert.doesNotMatch(page, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/);
});

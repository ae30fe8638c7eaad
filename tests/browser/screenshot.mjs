// node screenshot.mjs REPORT.html OUT.png [--width 1120] [--dark]
//   [--click BUTTON] [--from SELECTOR] [--to SELECTOR]
// Makes a picture of the page, or of the elements from one to another.

import { parseArgs } from "node:util";

import { launch, open } from "./browser.mjs";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    width: { type: "string", default: "1120" },
    dark: { type: "boolean", default: false },
    click: { type: "string" },
    from: { type: "string", default: "#page" },
    to: { type: "string" },
  },
});
const [report, out] = positionals;
const MARGIN = 10;

const browser = await launch();
const { page } = await open(browser, report, {
  viewport: { width: Number(values.width), height: 900 },
  colorScheme: values.dark ? "dark" : "light",
});
if (values.click) await page.getByRole("button", { name: values.click }).click();
await page.evaluate(() => scrollTo(0, 0));
const first = await page.locator(values.from).boundingBox();
const last = await page.locator(values.to ?? values.from).boundingBox();
await page.mouse.move(0, 0);
await page.screenshot({
  path: out,
  fullPage: true,
  clip: {
    x: Math.max(0, first.x - MARGIN),
    y: Math.max(0, first.y - MARGIN),
    width: first.width + 2 * MARGIN,
    height: last.y + last.height - first.y + 2 * MARGIN,
  },
});
await browser.close();

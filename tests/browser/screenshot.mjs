// node screenshot.mjs REPORT.html OUT.png [WIDTH [light|dark [SELECTOR]]]
// The whole page, or one element of it, as docs/images has them.

import { launch, open } from "./browser.mjs";

const [report, out, width = "1280", colorScheme = "light", selector] = process.argv.slice(2);
const browser = await launch();
const { page } = await open(browser, report, {
  viewport: { width: Number(width), height: 900 },
  colorScheme,
});
if (selector) await page.locator(selector).screenshot({ path: out });
else await page.screenshot({ path: out, fullPage: true });
await browser.close();

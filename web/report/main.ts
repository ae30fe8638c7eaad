import { Page } from "./page";
import { installTooltip } from "./tooltip";
import type { Report } from "./view_model";

const report: Report = JSON.parse(document.getElementById("data")!.textContent!);
installTooltip();
new Page(document.getElementById("page")!, report.plans).show(0);
document.documentElement.dataset.ready = "true";

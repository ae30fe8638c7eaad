import { resize, themeNow } from "./canvas";
import { el } from "./dom";
import * as format from "./format";
import {
  describeEvent,
  drawSchedule,
  rowHeight,
  rowTop,
  timeAt,
  type Layout,
  type Theme,
  type View,
} from "./timeline_draw";
import { eventAt, neighbour, scheduleOf, type FoundEvent, type Schedule } from "./timeline_events";
import { hideTooltip, showTooltip } from "./tooltip";
import { deviceName, numDevices, type Answer } from "./view_model";

const SHORTEST_VIEW_NS = 1000;
export const ZOOM_STEP = 1.6;
export const PAN_STEP = 0.2;
const WHEEL_ZOOM = 0.0025;
const OVERVIEW_HEIGHT = 46;
// The width that the label of a pass needs, on average.
const LEGIBLE_PASS_PX = 26;
// [number of rows, height of passes, height of transfers] in pixels; the first
// entry with at least as many rows applies.
const ROWS_PX: [number, number, number][] = [[12, 22, 4], [24, 15, 3], [48, 11, 2], [Infinity, 7, 1]];

function rowLabel(answer: Answer, device: number, group: number | null): string {
  const stage = answer.stages[device];
  return group === null
    ? `${deviceName(answer, device)} · ${stage.gpus_label}`
    : `${deviceName(answer, device)}.${group} · ${stage.mixed!.groups[group].gpus_label}`;
}

// The schedule as a picture to zoom and pan with pointer, wheel and keys.
// `canvas` has the view in data-start-ns and data-end-ns.
export class Timeline {
  readonly canvas = el("canvas", {
    id: "timeline",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "timeline",
    "aria-describedby": "timeline-keys",
  });
  readonly overview = el("canvas", { class: "overview", "aria-hidden": true });
  readonly status = el("p", { class: "hidden", role: "status" });
  private readonly schedule: Schedule;
  private readonly labels: string[];
  private layout: Layout;
  private view: View;
  private highlighted: FoundEvent | null = null;
  private row = 0;
  private isDrawn = true;

  constructor(private readonly answer: Answer) {
    this.schedule = scheduleOf(answer);
    const rows = this.schedule.rows.length;
    const [, passes, sends] = ROWS_PX.find(([upTo]) => rows <= upTo)!;
    const hasSends = this.schedule.rows.some((row) => row.sends.length > 0);
    this.labels = this.schedule.rows.map(
      ({ device, group }) => rowLabel(answer, device, group),
    );
    this.layout = {
      width: 0,
      gutter: passes >= 10 ? 150 : 8,
      axis: 26,
      passes,
      sends: hasSends ? sends : 0,
      gap: passes >= 15 ? 5 : 2,
    };
    this.view = this.whole();
    this.canvas.setAttribute("aria-label", `Schedule of ${format.items(rows, "device")}`);
    this.listen();
    this.listenToOverview();
  }

  // Draws at the size that the page gives it.
  draw(): void {
    this.isDrawn = true;
    const width = this.canvas.parentElement!.clientWidth;
    this.layout = { ...this.layout, width: Math.max(50, width - this.layout.gutter) };
    const height = rowTop(this.layout, this.schedule.rows.length) + 4;
    const theme = themeNow();
    const { schedule, layout, view, labels, highlighted } = this;
    drawSchedule(
      resize(this.canvas, width, height),
      { schedule, layout, view, labels, theme, highlighted },
      height,
    );
    this.canvas.dataset.startNs = String(view.startNs);
    this.canvas.dataset.endNs = String(view.endNs);
    this.drawOverview(width, theme);
  }

  fit(): void {
    this.show(this.whole());
  }

  // Shows the warm-up if the passes of the whole iteration were too narrow to
  // tell apart.
  open(): void {
    this.draw();
    const passes = this.answer.num_microbatches * 2;
    if (this.layout.width / passes < LEGIBLE_PASS_PX) this.showEnd(true);
  }

  // Shows few enough passes to distinguish the first, or the last, of all devices.
  showEnd(isFirst: boolean): void {
    const { stages, num_microbatches } = this.answer;
    const fitting = Math.max(4, Math.floor(this.layout.width / (2 * LEGIBLE_PASS_PX)));
    const shown = Math.min(num_microbatches, 2 * numDevices(this.answer) + 4, fitting);
    const span = this.schedule.endNs * Math.min(1, shown / (num_microbatches + stages.length));
    const startNs = isFirst ? 0 : this.schedule.endNs - span;
    this.show({ startNs, endNs: startNs + span });
  }

  zoom(factor: number, aroundNs = (this.view.startNs + this.view.endNs) / 2): void {
    const { startNs, endNs } = this.view;
    this.show({
      startNs: aroundNs - (aroundNs - startNs) / factor,
      endNs: aroundNs + (endNs - aroundNs) / factor,
    });
  }

  pan(share: number): void {
    const span = this.view.endNs - this.view.startNs;
    this.show({ startNs: this.view.startNs + share * span, endNs: this.view.endNs + share * span });
  }

  private whole(): View {
    return { startNs: 0, endNs: this.schedule.endNs };
  }

  // Shows `view`, limited to the schedule.
  private show(view: View): void {
    const limit = this.schedule.endNs;
    const span = Math.min(limit, Math.max(SHORTEST_VIEW_NS, view.endNs - view.startNs));
    const startNs = Math.min(Math.max(0, view.startNs), limit - span);
    this.view = { startNs, endNs: startNs + span };
    this.drawSoon();
  }

  private drawSoon(): void {
    if (!this.isDrawn) return;
    this.isDrawn = false;
    requestAnimationFrame(() => this.draw());
  }

  private drawOverview(width: number, theme: Theme): void {
    const rows = this.schedule.rows.length;
    const height = OVERVIEW_HEIGHT;
    const layout: Layout = {
      ...this.layout,
      axis: 0,
      passes: Math.max(0.5, height / rows),
      sends: 0,
      gap: 0,
    };
    const context = resize(this.overview, width, height);
    drawSchedule(
      context,
      {
        schedule: this.schedule,
        layout,
        view: this.whole(),
        labels: this.labels.map(() => ""),
        theme,
        highlighted: null,
      },
      height,
    );
    const scale = layout.width / this.schedule.endNs;
    const from = layout.gutter + this.view.startNs * scale;
    const to = layout.gutter + this.view.endNs * scale;
    context.fillStyle = theme.background;
    context.globalAlpha = 0.72;
    context.fillRect(layout.gutter, 0, from - layout.gutter, height);
    context.fillRect(to, 0, layout.gutter + layout.width - to, height);
    context.globalAlpha = 1;
    context.strokeStyle = theme.text;
    context.strokeRect(from + 0.5, 0.5, Math.max(1, to - from - 1), height - 1);
  }

  private eventUnder(x: number, y: number): FoundEvent | null {
    const { layout, view, schedule } = this;
    const index = Math.floor((y - layout.axis) / rowHeight(layout));
    const row = schedule.rows[index];
    if (!row || x < layout.gutter || y < layout.axis) return null;
    const isPass = y - rowTop(layout, index) <= layout.passes;
    const pixelNs = (view.endNs - view.startNs) / layout.width;
    const timeNs = timeAt(layout, view, x);
    const below = y - rowTop(layout, index) - layout.passes;
    const sends = row.sends.filter(
      ({ kind }) => (kind === "send_forward") === below <= layout.sends,
    );
    return eventAt(isPass ? row.passes : sends, timeNs, pixelNs);
  }

  private highlight(event: FoundEvent | null): void {
    const isSame =
      event?.lane === this.highlighted?.lane && event?.index === this.highlighted?.index;
    if (isSame) return;
    this.highlighted = event;
    this.drawSoon();
  }

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    canvas.addEventListener("dblclick", (event) => {
      this.zoom(ZOOM_STEP ** 2, timeAt(this.layout, this.view, event.offsetX));
    });
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    canvas.addEventListener("blur", () => this.highlight(null));
    let draggedFrom: { x: number; view: View } | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      draggedFrom = { x: event.offsetX, view: this.view };
      canvas.setPointerCapture(event.pointerId);
      canvas.classList.add("dragged");
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!draggedFrom) return this.onHover(event);
      const { startNs, endNs } = draggedFrom.view;
      const movedNs = ((draggedFrom.x - event.offsetX) / this.layout.width) * (endNs - startNs);
      hideTooltip();
      this.show({ startNs: startNs + movedNs, endNs: endNs + movedNs });
    });
    const drop = () => {
      draggedFrom = null;
      canvas.classList.remove("dragged");
    };
    canvas.addEventListener("pointerup", drop);
    canvas.addEventListener("pointercancel", drop);
    canvas.addEventListener("pointerleave", () => {
      this.highlight(null);
      hideTooltip();
    });
  }

  private listenToOverview(): void {
    const center = (event: PointerEvent) => {
      if (event.buttons !== 1) return;
      const timeNs = timeAt(this.layout, this.whole(), event.offsetX);
      const half = (this.view.endNs - this.view.startNs) / 2;
      this.show({ startNs: timeNs - half, endNs: timeNs + half });
    };
    this.overview.addEventListener("pointerdown", (event) => {
      this.overview.setPointerCapture(event.pointerId);
      center(event);
    });
    this.overview.addEventListener("pointermove", center);
  }

  private onHover(event: PointerEvent): void {
    const found = this.eventUnder(event.offsetX, event.offsetY);
    this.highlight(found);
    if (found) showTooltip(describeEvent(found), event.clientX, event.clientY);
    else hideTooltip();
  }

  // The vertical wheel scrolls the page; the horizontal one pans the timeline.
  private onWheel(event: WheelEvent): void {
    const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const sideways = event.shiftKey && !isSideways ? event.deltaY : isSideways ? event.deltaX : 0;
    if (event.ctrlKey || event.metaKey) {
      this.zoom(Math.exp(-event.deltaY * WHEEL_ZOOM), timeAt(this.layout, this.view, event.offsetX));
    } else if (sideways !== 0) {
      this.pan(sideways / this.layout.width);
    } else {
      return;
    }
    event.preventDefault();
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.schedule.rows.length - 1;
    const actions: Record<string, () => void> = {
      "+": () => this.zoom(ZOOM_STEP),
      "=": () => this.zoom(ZOOM_STEP),
      "-": () => this.zoom(1 / ZOOM_STEP),
      "0": () => this.fit(),
      ArrowLeft: () => this.pan(-PAN_STEP),
      ArrowRight: () => this.pan(PAN_STEP),
      Home: () => this.showEnd(true),
      End: () => this.showEnd(false),
      ArrowUp: () => this.select(Math.max(0, this.row - 1), 0),
      ArrowDown: () => this.select(Math.min(last, this.row + 1), 0),
      "[": () => this.select(this.row, -1),
      "]": () => this.select(this.row, 1),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // Selects the pass of `row` at, before or after the highlighted one.
  private select(row: number, step: number): void {
    this.row = row;
    const lanes = this.schedule.rows[row].passes;
    const fromNs = this.highlighted?.startNs ?? this.view.startNs;
    const found =
      step === 0
        ? eventAt(lanes, fromNs, 0) ?? neighbour(lanes, fromNs, true)
        : neighbour(lanes, fromNs, step > 0);
    if (!found) return;
    this.highlight(found);
    const { startNs, endNs } = this.view;
    const middleNs = found.startNs + found.durationNs / 2;
    if (middleNs < startNs || middleNs > endNs) {
      const half = (endNs - startNs) / 2;
      this.show({ startNs: middleNs - half, endNs: middleNs + half });
    }
    this.announce(found, row, middleNs);
  }

  private announce(event: FoundEvent, row: number, middleNs: number): void {
    const text = describeEvent(event);
    this.status.textContent = text.join(", ");
    const { left, top } = this.canvas.getBoundingClientRect();
    const share = (middleNs - this.view.startNs) / (this.view.endNs - this.view.startNs);
    const y = top + rowTop(this.layout, row) + this.layout.passes;
    showTooltip(text, left + this.layout.gutter + share * this.layout.width, y);
  }
}

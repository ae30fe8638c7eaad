import * as format from "./format";
import { EVENT_COLORS, textOn } from "./palette";
import { firstEndingAfter, type FoundEvent, type Lane, type Schedule } from "./timeline_events";
import type { EventKind } from "./view_model";

// Draws the part of a schedule that a view shows.

export interface View {
  startNs: number;
  endNs: number;
}

export interface Layout {
  width: number; // Width of the plot, without the labels.
  gutter: number; // Width of the labels.
  axis: number;
  passes: number; // Height of a row's passes.
  sends: number; // Height of each of its two directions of transfers.
  gap: number; // Space between rows.
}

export interface Theme {
  text: string;
  muted: string;
  line: string;
  background: string;
}

const SHORT: Record<EventKind, string> = {
  forward: "F",
  backward: "B",
  weight_gradient: "W",
  send_forward: "",
  send_backward: "",
  gradient_sync: "sync",
  optimizer: "opt",
  replica_sync: "sync",
};
const FONT = "11px system-ui, sans-serif";
const NARROWEST_GAP_PX = 4;
const NARROWEST_PASS_PX = 3;
const BIN_PX = 4;

export function rowHeight(layout: Layout): number {
  return layout.passes + 2 * layout.sends + layout.gap;
}

export function rowTop(layout: Layout, row: number): number {
  return layout.axis + row * rowHeight(layout);
}

export function xOf(layout: Layout, view: View, timeNs: number): number {
  const share = (timeNs - view.startNs) / (view.endNs - view.startNs);
  return layout.gutter + share * layout.width;
}

export function timeAt(layout: Layout, view: View, x: number): number {
  const share = (x - layout.gutter) / layout.width;
  return view.startNs + share * (view.endNs - view.startNs);
}

// Returns 1, 2 or 5 times a power of ten, for about `target` steps over `range`.
function niceStep(range: number, target: number): number {
  const rough = range / target;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((m) => m * power >= rough) ?? 10);
}

function drawAxis(context: CanvasRenderingContext2D, layout: Layout, view: View, theme: Theme, height: number) {
  const step = niceStep(view.endNs - view.startNs, layout.width / 110);
  // All ticks have one unit, and as many decimals as the step needs.
  const [unit, name] = ([[1e9, "s"], [1e6, "ms"], [1e3, "µs"]] as [number, string][]).find(
    ([size]) => step >= size / 1000 && view.endNs >= size,
  ) ?? [1e3, "µs"];
  const decimals = Math.max(0, -Math.floor(Math.log10(step / unit)));
  context.font = FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let t = Math.ceil(view.startNs / step) * step; t <= view.endNs; t += step) {
    const x = xOf(layout, view, t);
    context.fillStyle = theme.line;
    context.fillRect(Math.round(x), layout.axis - 5, 1, height - layout.axis + 5);
    context.fillStyle = theme.muted;
    const isAtEdge = x > layout.gutter + layout.width - 24;
    if (!isAtEdge) context.fillText(`${(t / unit).toFixed(decimals)} ${name}`, x, layout.axis - 13);
  }
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

function drawEvent(context: CanvasRenderingContext2D, kind: EventKind, microbatch: number, box: Box) {
  const gap = box.width > NARROWEST_GAP_PX ? 1 : 0;
  context.fillRect(box.x, box.y, Math.max(box.width - gap, 0.5), box.height);
  if (box.height < 12 || SHORT[kind] === "") return;
  // The number alone where it does not fit with the letter; colour tells the kind.
  const number = microbatch < 0 ? "" : String(microbatch);
  const label = [`${SHORT[kind]}${number}`, number].find(
    (text) => text !== "" && box.width >= 6.4 * text.length + 3,
  );
  if (label === undefined) return;
  const fill = context.fillStyle;
  context.fillStyle = textOn(EVENT_COLORS[kind]);
  context.fillText(label, box.x + (box.width - gap) / 2, box.y + box.height / 2 + 0.5);
  context.fillStyle = fill;
}

function drawLane(
  context: CanvasRenderingContext2D,
  layout: Layout,
  view: View,
  lane: Lane,
  y: number,
  height: number,
  dimmedExcept: number | null,
) {
  context.fillStyle = EVENT_COLORS[lane.kind];
  const left = layout.gutter;
  const right = layout.gutter + layout.width;
  let drawnTo = -1;
  for (let i = firstEndingAfter(lane, view.startNs); i < lane.startsNs.length; ++i) {
    if (lane.startsNs[i] >= view.endNs) break;
    const from = Math.max(left, xOf(layout, view, lane.startsNs[i]));
    const to = Math.min(right, xOf(layout, view, lane.startsNs[i] + lane.durationsNs[i]));
    // Draws one of many events in the same column of pixels.
    if (to <= drawnTo) continue;
    drawnTo = to - from < 0.5 ? from + 0.5 : to;
    const isDimmed = dimmedExcept !== null && lane.microbatches[i] !== dimmedExcept;
    context.globalAlpha = isDimmed ? 0.28 : 1;
    drawEvent(context, lane.kind, lane.microbatches[i], { x: from, y, width: to - from, height });
  }
  context.globalAlpha = 1;
}

// Draws, for each bin of pixels, how much of it each kind of pass takes. Passes
// narrower than a bin would be a moiré.
function drawOccupancy(context: CanvasRenderingContext2D, layout: Layout, view: View, lanes: Lane[], y: number) {
  const bins = Math.ceil(layout.width / BIN_PX);
  const binNs = (view.endNs - view.startNs) / bins;
  const filled = new Float64Array(bins);
  for (const lane of lanes) {
    const busyNs = new Float64Array(bins);
    for (let i = firstEndingAfter(lane, view.startNs); i < lane.startsNs.length; ++i) {
      const from = Math.max(0, lane.startsNs[i] - view.startNs);
      const to = Math.min(view.endNs, lane.startsNs[i] + lane.durationsNs[i]) - view.startNs;
      if (lane.startsNs[i] >= view.endNs) break;
      for (let bin = Math.floor(from / binNs); bin < bins && bin * binNs < to; ++bin) {
        busyNs[bin] += Math.min(to, (bin + 1) * binNs) - Math.max(from, bin * binNs);
      }
    }
    context.fillStyle = EVENT_COLORS[lane.kind];
    for (let bin = 0; bin < bins; ++bin) {
      const share = Math.min(1 - filled[bin], busyNs[bin] / binNs);
      if (share <= 0) continue;
      const top = y + layout.passes * (1 - filled[bin] - share);
      context.fillRect(layout.gutter + bin * BIN_PX, top, BIN_PX, layout.passes * share);
      filled[bin] += share;
    }
  }
}

// Whether the passes of a row are too narrow to be drawn one by one.
export function isMoire(layout: Layout, view: View, lanes: Lane[]): boolean {
  let passes = 0;
  let lastedNs = 0;
  for (const { startsNs, durationsNs, microbatches } of lanes) {
    if (microbatches[0] < 0) continue;
    passes += startsNs.length;
    for (const durationNs of durationsNs) lastedNs += durationNs;
  }
  const pixelNs = (view.endNs - view.startNs) / layout.width;
  return passes > 0 && lastedNs / passes < NARROWEST_PASS_PX * pixelNs;
}

export interface Picture {
  schedule: Schedule;
  layout: Layout;
  view: View;
  labels: string[]; // One for each row.
  theme: Theme;
  highlighted: FoundEvent | null;
}

function drawRow(context: CanvasRenderingContext2D, picture: Picture, row: number) {
  const { schedule, layout, view, theme, highlighted } = picture;
  const y = rowTop(layout, row);
  context.fillStyle = theme.muted;
  context.textAlign = "left";
  if (layout.passes >= 10) {
    context.fillText(picture.labels[row], 2, y + layout.passes / 2, layout.gutter - 8);
  }
  context.fillStyle = theme.line;
  context.globalAlpha = 0.55;
  context.fillRect(layout.gutter, y, layout.width, layout.passes);
  context.globalAlpha = 1;
  context.textAlign = "center";
  const except = highlighted && highlighted.microbatch >= 0 ? highlighted.microbatch : null;
  const { passes } = schedule.rows[row];
  if (except === null && isMoire(layout, view, passes)) {
    drawOccupancy(context, layout, view, passes, y);
    return;
  }
  for (const lane of passes) {
    drawLane(context, layout, view, lane, y, layout.passes, except);
  }
  for (const lane of schedule.rows[row].sends) {
    const below = lane.kind === "send_forward" ? 0 : layout.sends;
    drawLane(context, layout, view, lane, y + layout.passes + below + 1, layout.sends - 1, except);
  }
}

export function drawSchedule(context: CanvasRenderingContext2D, picture: Picture, height: number) {
  const { schedule, layout, view, theme } = picture;
  context.fillStyle = theme.background;
  context.fillRect(0, 0, layout.gutter + layout.width, height);
  drawAxis(context, layout, view, theme, height);
  context.font = FONT;
  context.textBaseline = "middle";
  for (let row = 0; row < schedule.rows.length; ++row) drawRow(context, picture, row);
}

const NAMES: Record<EventKind, string> = {
  forward: "forward pass",
  backward: "backward pass",
  weight_gradient: "weight gradients",
  send_forward: "activations sent on",
  send_backward: "gradients sent back",
  gradient_sync: "gradient synchronisation",
  optimizer: "optimizer step",
  replica_sync: "exchange between pipelines",
};

export function describeEvent(event: FoundEvent): string[] {
  const { lane, startNs, durationNs, microbatch } = event;
  const where = microbatch < 0 ? "" : `, microbatch ${microbatch}`;
  return [
    `${NAMES[lane.kind]}${where}`,
    `stage ${lane.stage}`,
    `${format.seconds(durationNs / 1e9)}, from ${format.seconds(startNs / 1e9)}`,
  ];
}

import { section, svg, el } from "./dom";
import * as format from "./format";
import { stageColor, textOn } from "./palette";
import { stageTable } from "./stage_table";
import { arrowKeys, withTooltip } from "./tooltip";
import { numDevices, numGpus, type Answer, type Cut, type Model, type Parallelism, type Stage } from "./view_model";

// Draws two bars, layers above and GPUs below, joined by a piece for each stage.
// A piece that narrows downwards has a larger share of the model than of the GPUs.

const BAR = 34;
const AXIS = 22;
const GAP = 54;
const CHARACTER = 7.2;

// Returns the number of layers before a cut, fractional inside a layer.
function layersBefore(model: Model, [layer, op]: Cut): number {
  let first = 0;
  for (const run of model.layer_runs) {
    if (layer < first + run.count) return layer + op / run.operators;
    first += run.count;
  }
  return layer;
}

interface Span {
  from: number;
  to: number;
}

function box({ from, to }: Span, y: number, color: string, label: string): SVGElement[] {
  const inside = svg("rect", {
    x: from,
    y,
    width: Math.max(0.5, to - from),
    height: BAR,
    fill: color,
    class: "piece",
  });
  const room = (to - from) / CHARACTER;
  if (label.length > room) return [inside];
  return [
    inside,
    svg(
      "text",
      {
        x: (from + to) / 2,
        y: y + BAR / 2,
        "text-anchor": "middle",
        "dominant-baseline": "central",
        fill: textOn(color),
      },
      label,
    ),
  ];
}

function degreesText(p: Parallelism): string {
  const degrees = [`tp ${p.tp}`, `dp ${p.dp}`];
  if (p.cp > 1) degrees.push(`cp ${p.cp}`);
  if (p.ep > 1) degrees.push(`ep ${p.ep}`);
  if (p.zero > 0) degrees.push(`ZeRO ${format.zero(p)}`);
  return degrees.join(", ");
}

function stageText(answer: Answer, s: number): string[] {
  const { times, memory, parallelism, mixed, ...stage } = answer.stages[s];
  const degrees = mixed
    ? `${mixed.sharing}: ${mixed.groups.map((g) => degreesText(g.parallelism)).join(" + ")}`
    : degreesText(parallelism);
  return [
    `stage ${s}: ${stage.layers}`,
    `${stage.gpus_label} (${stage.where})`,
    degrees,
    `${format.seconds(times.forward_s + times.backward_s)} a microbatch`,
    `${format.bytes(memory.peak_bytes)} of ${format.bytes(memory.capacity_bytes)}`,
  ];
}

function layerAxis(model: Model, width: number): SVGElement[] {
  const last = model.num_layers - 1;
  const step = [1, 2, 5, 10, 20, 50, 100].find((s) => (last / s) * 34 <= width) ?? 200;
  const ticks = [0, last];
  for (let layer = step; layer < last; layer += step) ticks.push(layer);
  const x = (layer: number) => ((layer + 0.5) / model.num_layers) * width;
  const isFree = (layer: number) =>
    layer === 0 || layer === last || (x(layer) > 44 && x(layer) < width - 44);
  return ticks.filter(isFree).map((layer) =>
    svg(
      "text",
      {
        x: layer === 0 ? 0 : layer === last ? width : x(layer),
        y: AXIS - 8,
        "text-anchor": layer === 0 ? "start" : layer === last ? "end" : "middle",
        class: "axis",
      },
      layer === 0 ? "emb" : layer === last ? "head" : String(layer),
    ),
  );
}

function piece(answer: Answer, s: number, layers: Span, gpus: Span, drawGpus: boolean): SVGElement {
  const stage = answer.stages[s];
  const color = stageColor(stage.island, s % numDevices(answer));
  const top = AXIS + BAR;
  const bottom = top + GAP;
  const between = svg("polygon", {
    points: `${layers.from},${top} ${layers.to},${top} ${gpus.to},${bottom} ${gpus.from},${bottom}`,
    fill: color,
    class: "joint",
  });
  const device = s % numDevices(answer);
  const group = svg(
    "g",
    { "data-stop": true, role: "img", "aria-label": stageText(answer, s).join(", ") },
    between,
    ...box(layers, AXIS, color, String(s)),
    ...(drawGpus ? box(gpus, bottom, color, gpuLabel(stage, gpus, device)) : []),
  );
  return withTooltip(group, () => stageText(answer, s));
}

function gpuLabel(stage: Stage, { from, to }: Span, device: number): string {
  const room = (to - from) / CHARACTER;
  return stage.gpus_label.length <= room ? stage.gpus_label : String(device);
}

function picture(model: Model, answer: Answer, width: number): SVGElement {
  const devices = numDevices(answer);
  const counts = answer.stages.slice(0, devices).map(numGpus);
  const total = counts.reduce((a, b) => a + b, 0);
  const spans: Span[] = [];
  let before = 0;
  for (const count of counts) {
    spans.push({ from: (before / total) * width, to: ((before + count) / total) * width });
    before += count;
  }
  const height = AXIS + 2 * BAR + GAP;
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "cut", role: "group", "aria-label": "Model cut over stages" },
    ...layerAxis(model, width),
    ...answer.stages.map((stage, s) => {
      const layers = {
        from: (layersBefore(model, stage.begin) / model.num_layers) * width,
        to: (layersBefore(model, stage.end) / model.num_layers) * width,
      };
      return piece(answer, s, layers, spans[s % devices], s < devices);
    }),
  );
  arrowKeys(picture);
  return picture;
}

// Kinds of layers as the model's view names them, in words.
const KINDS: Record<string, string> = {
  dense: "dense",
  moe: "mixture-of-experts",
  mamba: "Mamba",
  mamba_mlp: "Mamba and MLP",
  mamba_moe: "Mamba and mixture-of-experts",
  attention: "attention",
  mlp: "MLP",
  experts: "expert",
};

// "24 Mamba layers", one for each kind, in the order of the first of each.
function layerCounts(model: Model): string[] {
  const counts = new Map<string, number>();
  for (const { kind, count } of model.layer_runs) {
    if (kind in KINDS) counts.set(kind, (counts.get(kind) ?? 0) + count);
  }
  return [...counts].map(([kind, count]) => `${count} ${KINDS[kind]} layers`);
}

// "A", "A and B", "A, B and C".
function listed(items: string[]): string {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`;
}

// `width` is the room for the picture, in pixels.
export function modelCut(model: Model, answer: Answer, width: number): HTMLElement {
  return section(
    "cut",
    "Model cut",
    `${model.name}: ${format.count(model.parameters)} parameters, ${listed(layerCounts(model))}. ` +
      "Layers above, the GPUs that run them below; widths are shares of each.",
    picture(model, answer, width),
    el("details", { open: answer.stages.length <= 16 }, el("summary", {}, "Stages"), stageTable(answer)),
  );
}

import { el, legend, section, styled } from "./dom";
import * as format from "./format";
import { isTight } from "./headline";
import { MARGIN_COLOR, MEMORY_COLORS } from "./palette";
import { arrowKeys, withTooltip } from "./tooltip";
import { deviceName, numDevices, type Answer, type Memory } from "./view_model";

type Kind = keyof typeof MEMORY_COLORS;

const KINDS: [Kind, string][] = [
  ["weights", "weights"],
  ["gradients", "gradients"],
  ["optimizer", "optimizer state"],
  ["activations", "activations"],
  ["transient", "workspace"],
  ["reserve", "reserved by the runtime"],
];

type Bytes = Record<Kind, number>;

// Sums the stages of a device. They share workspace, as one pass runs at a time.
function bytesOf(memories: Memory[]): Bytes {
  const sum = (of: (memory: Memory) => number) =>
    memories.reduce((total, memory) => total + of(memory), 0);
  return {
    weights: sum((m) => m.weight_bytes),
    gradients: sum((m) => m.gradient_bytes),
    optimizer: sum((m) => m.optimizer_bytes),
    activations: sum((m) => m.activation_bytes),
    transient: Math.max(...memories.map((m) => m.transient_bytes)),
    reserve: sum((m) => m.reserve_bytes),
  };
}

function describe(name: string, bytes: Bytes, memories: Memory[]): string[] {
  const { peak_bytes, capacity_bytes } = memories[0];
  const held = memories.map((m) => m.in_flight).join(" + ");
  return [
    `${name}, each GPU`,
    ...KINDS.filter(([kind]) => bytes[kind] > 0).map(
      ([kind, label]) => `${label} ${format.bytes(bytes[kind])}`,
    ),
    `${format.bytes(peak_bytes)} of ${format.bytes(capacity_bytes)}, ` +
      `${format.percent(peak_bytes / capacity_bytes)}`,
    `microbatches in flight: ${held}`,
  ];
}

// The frame is what the plan may use; the hatched part behind it is the margin.
function bar(bytes: Bytes, memory: Memory, scale: number, margin: number): HTMLElement {
  const track = el("div", { class: "track" });
  const capacity = styled(el("div", { class: "capacity" }), {
    width: `${100 * memory.capacity_bytes * scale}%`,
  });
  const parts = el("div", { class: "parts" });
  for (const [kind] of KINDS) {
    const part = styled(el("div"), {
      width: `${100 * bytes[kind] * scale}%`,
      "background-color": MEMORY_COLORS[kind],
    });
    if (bytes[kind] > 0) parts.append(part);
  }
  if (margin > 0) {
    const free = (memory.capacity_bytes * margin) / (1 - margin);
    track.append(
      styled(el("div", { class: "margin hatched" }), {
        left: `${100 * memory.capacity_bytes * scale}%`,
        width: `${100 * free * scale}%`,
        "--color": MARGIN_COLOR,
      }),
    );
  }
  track.append(parts, capacity);
  return track;
}

function hostText(memory: Memory): string {
  if (memory.host_bytes <= 0) return "";
  return `host: ${format.bytes(memory.host_bytes)} of ${format.bytes(memory.host_capacity_bytes)}`;
}

// `margin` is the share of each GPU that the plan leaves free.
export function memorySection(answer: Answer, margin: number): HTMLElement {
  const devices = numDevices(answer);
  const memoriesOf = (device: number) =>
    answer.stages.filter((_, s) => s % devices === device).map(({ memory }) => memory);
  const most = Math.max(
    ...answer.stages.map(({ memory: m }) => Math.max(m.peak_bytes, m.capacity_bytes / (1 - margin))),
  );
  const hasHost = answer.stages.some(({ memory }) => memory.host_bytes > 0);
  const rows = el("div", { class: hasHost ? "memory with-host" : "memory" });
  for (let device = 0; device < devices; ++device) {
    const memories = memoriesOf(device);
    const bytes = bytesOf(memories);
    const memory = memories[0];
    const name = `${deviceName(answer, device)} · ${answer.stages[device].gpus_label}`;
    const isOver = memory.peak_bytes > memory.capacity_bytes;
    const tight = isTight(memory.peak_bytes / memory.capacity_bytes);
    const lines = describe(name, bytes, memories);
    rows.append(
      withTooltip(
        el(
          "div",
          { class: "memory-row", "data-stop": true, role: "img", "aria-label": lines.join(", ") },
          el("span", { class: "memory-name" }, name),
          bar(bytes, memory, 1 / most, margin),
          el(
            "span",
            { class: `memory-figure ${isOver ? "over" : tight ? "tight" : ""}` },
            `${(memory.peak_bytes / 1e9).toFixed(1)} / ${(memory.capacity_bytes / 1e9).toFixed(1)} GB`,
            el("b", {}, `${tight ? "⚠ " : ""}${Math.round((100 * memory.peak_bytes) / memory.capacity_bytes)} %`),
          ),
          hasHost && el("span", { class: "muted" }, hostText(memory)),
        ),
        () => lines,
      ),
    );
  }
  arrowKeys(rows);
  const shown = KINDS.filter(([kind]) =>
    Array.from({ length: devices }, (_, d) => bytesOf(memoriesOf(d))[kind]).some((b) => b > 0),
  );
  return section(
    "memory",
    "Memory",
    "The peak of each GPU of a stage, by kind; the frame is what the plan may use. ⚠ marks more than 95 % of that." +
      (margin > 0 ? ` Behind it, ${format.percent(margin)} of the GPU is kept free (--memory-margin).` : ""),
    legend([
      ...shown.map(([kind, label]) => ({ label, color: MEMORY_COLORS[kind] })),
      ...(margin > 0 ? [{ label: "kept free", color: MARGIN_COLOR, isHatched: true }] : []),
    ]),
    rows,
  );
}

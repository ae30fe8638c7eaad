import { el, section, styled } from "./dom";
import * as format from "./format";
import { islandColor, stageColor, textOn } from "./palette";
import { arrowKeys, withTooltip } from "./tooltip";
import { numDevices, type Answer, type Island, type Plan } from "./view_model";

// [number of GPUs, size of one]: the first row with at least as many applies.
const GPU_SIZES_PX: [number, number][] = [[48, 24], [160, 20], [640, 13], [2048, 8], [Infinity, 6]];
const SMALLEST_WITH_NUMBER_PX = 20;
const SMALLEST_WITH_NAME_PX = 20;
// Smaller GPUs are so many that islands take half the page.
const SMALLEST_IN_COLUMNS_PX = 8;

// Maps the key of a GPU to the device that contains it.
type Owners = Map<string, number>;

function ownersOf(answer: Answer | undefined): Owners {
  const owners: Owners = new Map();
  if (!answer) return owners;
  answer.stages.slice(0, numDevices(answer)).forEach((stage, device) => {
    for (const [node, first, count] of stage.gpus) {
      for (let gpu = first; gpu < first + count; ++gpu) {
        owners.set(`${node}:${gpu}`, device);
      }
    }
  });
  return owners;
}

interface Group {
  island: number; // -1: no island.
  title: string;
  details: string[];
  nodes: number[];
  leftOut?: string;
}

function islandDetails(island: Island, id: number): string[] {
  const details = [`island ${id}`, `${format.bytes(island.memory_bytes)} a GPU`];
  if (island.intra_node) {
    details.push(`${format.bandwidth(island.intra_node.bandwidth_bytes_per_s)} inside a node`);
  }
  if (island.inter_node) {
    details.push(`${format.bandwidth(island.inter_node.bandwidth_bytes_per_s)} between nodes`);
  }
  return details;
}

function leftOutText(island: Island): string | undefined {
  if (!island.left_out) return undefined;
  const best = island.left_out.best_with_it_s;
  const isSaid = best !== undefined && !island.left_out.reason.includes(" takes ");
  return isSaid
    ? `${island.left_out.reason}; the best plan with it takes ${format.seconds(best)}`
    : island.left_out.reason;
}

// Returns the islands, then nodes outside of them by kind of GPU.
function groupsOf(plan: Plan): Group[] {
  const { cluster, islands } = plan;
  const groups: Group[] = islands.map((island, i) => ({
    island: i,
    title: island.name,
    details: islandDetails(island, i),
    nodes: island.nodes,
    leftOut: leftOutText(island),
  }));
  const inIslands = new Set(islands.flatMap((island) => island.nodes));
  cluster.gpu_types.forEach((type, t) => {
    const nodes = cluster.nodes.flatMap((node, n) =>
      node.gpu === t && !inIslands.has(n) ? [n] : [],
    );
    if (nodes.length > 0) groups.push({ island: -1, title: type, details: [], nodes });
  });
  return groups;
}

function nodeTile(plan: Plan, n: number, island: number, owners: Owners, size: number): HTMLElement {
  const node = plan.cluster.nodes[n];
  const answer = plan.plan;
  const unit = answer && answer.virtual_stages > 1 ? "device" : "stage";
  const gpus = el("div", { class: "gpus" });
  const devices: number[] = [];
  for (let g = 0; g < node.num_gpus; ++g) {
    const device = owners.get(`${n}:${g}`);
    const gpu = el("div", { class: device === undefined ? "gpu unused" : "gpu" });
    if (device !== undefined) {
      const color = stageColor(island, device);
      styled(gpu, { "background-color": color, color: textOn(color) });
      if (size >= SMALLEST_WITH_NUMBER_PX) gpu.append(String(device));
      devices.push(device);
    }
    gpus.append(
      withTooltip(gpu, () => [
        `${node.name}, GPU ${g}`,
        plan.cluster.gpu_types[node.gpu],
        device === undefined
          ? "not used"
          : `${unit} ${device}: ${answer?.stages[device].layers}, ${answer?.stages[device].gpus_label}`,
      ]),
    );
  }
  const use = devices.length > 0 ? `${unit} ${format.ranges(devices)}` : "not used";
  const text = `${node.name}: ${node.num_gpus} x ${plan.cluster.gpu_types[node.gpu]}, ${use}`;
  return withTooltip(
    el(
      "div",
      { class: "node", "data-stop": true, role: "img", "aria-label": text },
      gpus,
      size >= SMALLEST_WITH_NAME_PX && el("div", { class: "node-name" }, node.name),
    ),
    () => [node.name, `${node.num_gpus} x ${plan.cluster.gpu_types[node.gpu]}`, use],
  );
}

function usesOf(group: Group, plan: Plan, owners: Owners): string {
  if (!plan.plan) return "";
  if (group.leftOut !== undefined) return "left out";
  const devices = new Set<number>();
  for (const n of group.nodes) {
    for (let g = 0; g < plan.cluster.nodes[n].num_gpus; ++g) {
      const device = owners.get(`${n}:${g}`);
      if (device !== undefined) devices.add(device);
    }
  }
  const unit = plan.plan.virtual_stages > 1 ? "device" : "stage";
  if (devices.size === 0) return "not used";
  return `${unit}${devices.size > 1 ? "s" : ""} ${format.ranges([...devices])}`;
}

function groupView(group: Group, plan: Plan, owners: Owners, size: number): HTMLElement {
  const use = usesOf(group, plan, owners);
  const isUsed = use !== "left out" && use !== "not used";
  const nodes = styled(
    el(
      "div",
      { class: "nodes", role: "group", "aria-label": `Nodes of ${group.title}` },
      ...group.nodes.map((n) => nodeTile(plan, n, group.island, owners, size)),
    ),
    { "--gpu": `${size}px` },
  );
  arrowKeys(nodes);
  return el(
    "article",
    { class: isUsed ? "island" : "island left-out" },
    el(
      "header",
      {},
      styled(el("span", { class: isUsed ? "swatch" : "swatch hatched" }), {
        "--color": isUsed ? islandColor(group.island) : "var(--muted)",
      }),
      el("h3", {}, group.title),
      use !== "" && el("span", { class: "badge" }, use),
    ),
    el("p", { class: "muted" }, group.details.join(" · ")),
    nodes,
    group.leftOut !== undefined && el("p", { class: "reason" }, `Left out: ${format.unbroken(group.leftOut)}.`),
  );
}

export function clusterMap(plan: Plan): HTMLElement {
  const { cluster, islands } = plan;
  const size = GPU_SIZES_PX.find(([upTo]) => cluster.num_gpus <= upTo)![1];
  const owners = ownersOf(plan.plan);
  const groups = groupsOf(plan);
  const reasons = islands.filter((island) => island.reason !== "");
  return section(
    "cluster",
    "Cluster",
    `${format.items(cluster.num_gpus, "GPU")} in ${format.items(cluster.nodes.length, "node")}` +
      (islands.length > 0 ? `, ${format.items(islands.length, "island")} of like GPUs` : "") +
      ". Each square is a GPU, numbered and coloured by the stage it runs.",
    el(
      "div",
      { class: size < SMALLEST_IN_COLUMNS_PX ? "islands wide" : "islands" },
      ...groups.map((group) => groupView(group, plan, owners, size)),
    ),
    reasons.length > 1 &&
      el(
        "details",
        {},
        el("summary", {}, "Why the islands are apart"),
        el("ul", {}, ...reasons.map(({ name, reason }) => el("li", {}, `${name}: ${reason}`))),
      ),
  );
}

// The format tangram.frontier/v1 (docs/frontier.md), as far as the page reads it.

export type Nodes = Record<string, number>;

export interface Allocation {
  nodes: Nodes;
  gpus: number;
  state: "planned" | "no_plan" | "pending";
  reason?: string;
  iteration_time_s?: number;
  tokens_per_s?: number;
  memory_fraction?: number;
  stages?: number;
  hours?: number;
  price_per_hour?: number;
  price_per_million_tokens?: number;
  kwh_per_million_tokens?: number;
  on_front?: boolean;
  knee?: boolean;
}

export interface Frontier {
  groups: string[];
  choices: Record<string, Nodes | null>;
  allocations: Allocation[];
}

export function nameOf(nodes: Nodes): string {
  const used = Object.entries(nodes).filter(([, count]) => count > 0);
  return used.map(([group, count]) => `${count} ${group}`).join(" + ");
}

// A figure of allocations that the plot can show on an axis.
export interface Figure {
  title: string;
  of: (allocation: Allocation) => number | undefined;
  isRate?: boolean; // More is better.
}

export const COSTS: Figure[] = [
  { title: "price an hour", of: (a) => a.price_per_hour },
  { title: "price of a million tokens", of: (a) => a.price_per_million_tokens },
  { title: "kWh of a million tokens", of: (a) => a.kwh_per_million_tokens },
  { title: "GPUs", of: (a) => a.gpus },
];

export const TIMES: Figure[] = [
  { title: "iteration time, s", of: (a) => a.iteration_time_s },
  { title: "tokens a second", of: (a) => a.tokens_per_s, isRate: true },
];

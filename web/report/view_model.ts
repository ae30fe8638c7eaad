// The data of the page, made by web/view; docs/report.md describes the format,
// tangram.report/v1. Times are in seconds and sizes in bytes, unless a name says
// otherwise.

export interface Report {
  format_version: string;
  plans: Plan[];
}

export interface Plan {
  name: string;
  model: Model;
  training: Training;
  cluster: Cluster;
  islands: Island[];
  plan?: Answer;
  infeasible?: { reason: string; bytes_short: number };
  planning: Planning;
  alternatives: Alternatives;
  explanation: string[];
  notes: string[];
  against?: { plan: number; differences: string[] };
  run?: RunCommand[]; // Absent: nobody asked the frameworks.
}

export interface RunCommand {
  framework: string;
  command: string;
  losses: string[];
  reads_data: boolean;
}

export interface Model {
  name: string;
  parameters: number;
  num_layers: number;
  layer_runs: LayerRun[];
}

export interface LayerRun {
  kind: string;
  count: number;
  parameters: number;
  operators: number;
}

export interface Training {
  global_batch_size: number;
  sequence_length: number;
  precision: string;
  optimizer: string;
  switches: string[];
}

export interface Cluster {
  name: string;
  num_gpus: number;
  gpu_types: string[];
  nodes: { name: string; gpu: number; num_gpus: number }[];
  assumptions: Assumption[];
}

export interface Assumption {
  field: string;
  value: string;
  source: string;
  is_link: boolean;
}

export interface Link {
  bandwidth_bytes_per_s: number;
  pair_bandwidth_bytes_per_s: number;
  latency_s: number;
}

export interface Island {
  name: string;
  nodes: number[];
  gpu: string;
  num_gpus: number;
  memory_bytes: number;
  reason: string;
  intra_node?: Link;
  inter_node?: Link;
  left_out?: { reason: string; best_with_it_s?: number };
}

export interface Answer {
  schedule: string;
  virtual_stages: number;
  pipeline_microbatch_size: number;
  num_microbatches: number;
  stages: Stage[];
  prediction: Prediction;
  band?: Band; // Not in the pages of single pipelines of several.
  lower_bound_s: number;
  closed_form_s: number;
  any_plan_bound_s: number; // 0: none is proven.
  timeline: Track[];
}

// [layer, operator]: the cut is before that operator.
export type Cut = [number, number];
// [node, first GPU, number of GPUs].
export type GpuRun = [number, number, number];

export interface Stage {
  begin: Cut;
  end: Cut;
  layers: string;
  island: number; // -1: unknown.
  gpus: GpuRun[];
  gpus_label: string;
  where: string;
  parallelism: Parallelism;
  recompute: string;
  offload: string;
  made_by: string;
  times: Times;
  memory: Memory;
  mixed?: Mixed; // Set if the replicas of the stage differ.
}

// parallelism, times and memory of the stage are then those that
// StageEvaluation describes.
export interface Mixed {
  sharing: "lock-step" | "routed";
  groups: Group[];
}

export interface Group {
  share: number; // Samples of each microbatch, or microbatches if routed.
  gpus_label: string;
  where: string;
  parallelism: Parallelism;
  times: Times;
  memory: Memory;
}

export interface Parallelism {
  tp: string;
  cp: number;
  dp: number;
  ep: number;
  zero: number;
  zero_degree: number; // 0: all ranks of dp.
  sequence_parallel: boolean;
}

export interface Times {
  forward_s: number;
  backward_s: number;
  recompute_s: number;
  collective_s: number;
  copy_s: number;
  send_s: number;
  sync_s: number;
  optimizer_s: number;
  busy_s: number;
  idle_s: number;
}

export interface Memory {
  weight_bytes: number;
  gradient_bytes: number;
  optimizer_bytes: number;
  activation_bytes: number;
  transient_bytes: number;
  reserve_bytes: number;
  peak_bytes: number;
  capacity_bytes: number;
  in_flight: number;
  host_bytes: number;
  host_capacity_bytes: number;
}

export interface Prediction {
  iteration_time_s: number;
  samples_per_s: number;
  tokens_per_s: number;
  model_flops_utilization: number;
  bubble_fraction: number;
  measured_fraction: number;
  recomputation_fraction: number;
  time_shares: { name: string; fraction: number }[];
  violations: { stage: number; reason: string; bytes_short: number }[];
}

// Where nine of ten measurements are expected, as factors of the prediction.
export interface Band {
  time_low: number;
  time_high: number;
  memory_low: number;
  memory_high: number;
  tie: number; // Factor of times below which two plans tie.
}

export type EventKind =
  | "forward"
  | "backward"
  | "weight_gradient"
  | "send_forward"
  | "send_backward"
  | "gradient_sync"
  | "optimizer"
  | "replica_sync";

export interface Track {
  stage: number;
  kind: EventKind;
  // [first microbatch, count, duration, period, start, ...] in nanoseconds.
  runs: number[][];
  group?: number; // Its group, if the stage routes microbatches; absent: 0.
  // Set if they are not consecutive. The first of a run is then an index.
  microbatches?: number[];
}

export interface Planning {
  pairs: number;
  pruned_redundant: number;
  pruned_imbalanced: number;
  pruned_incompatible: number;
  pruned_infeasible: number;
  queries: number;
  requeries: number;
  cache_hits: number;
  infeasible_answers: number;
  slice_plans: number;
  compositions: number;
  finalists: number;
  truncated: boolean;
  parallelizer: string;
  tool_version: string;
  num_workers: number;
  coordinator: string;
  wall_s: number;
  phases: { name: string; wall_s: number }[];
}

export interface Alternatives {
  parallelizers: {
    parallelizers: string[];
    runtime: string;
    reason: string;
    iteration_time_s?: number;
  }[];
  runners_up: {
    islands: number[];
    num_stages: number;
    pipeline_microbatch_size: number;
    iteration_time_s: number;
  }[];
}

// Groups of GPUs, each of which runs a stage or several chunks.
export function numDevices(answer: Answer): number {
  return Math.max(1, answer.stages.length / answer.virtual_stages);
}

// Groups of a device that run passes of their own.
export function numRows(answer: Answer, device: number): number {
  const { mixed } = answer.stages[device];
  return mixed?.sharing === "routed" ? mixed.groups.length : 1;
}

// Returns "stage 3", or "device 3" if devices run several chunks.
export function deviceName(answer: Answer, device: number): string {
  return `${answer.virtual_stages === 1 ? "stage" : "device"} ${device}`;
}

export function numGpus(stage: Stage): number {
  return stage.gpus.reduce((sum, [, , count]) => sum + count, 0);
}

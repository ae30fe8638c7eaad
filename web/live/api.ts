// The coordinator's answers: protobuf messages of proto/tangram/v1 as JSON, in
// which 64-bit numbers are strings.

import type { Report } from "../report/view_model";

export interface Worker {
  name: string;
  adapters: string[];
  slots: number;
  leased: number;
  answered: string;
  busy_s: number;
  connected_s: number;
  silent_s: number;
  draining: boolean;
}

export interface Status {
  version: string;
  uptime_s: number;
  pending: string;
  leased: string;
  cached_answers: string;
  cache_bytes: string;
  running_plans: number;
  waiting_plans: number;
  running_jobs: number;
  workers: Worker[];
}

export interface Job {
  job_id: string;
  state: string;
  cancel_requested: boolean;
  attempts: number;
  submitted_s: number;
  started_s: number;
  finished_s: number;
  error?: { message: string };
}

export interface Progress {
  phase: string;
  pairs_done: number;
  pairs_total: number;
  best_iteration_time_s?: number;
}

// What was asked, and the answer of a job that succeeded.
export interface About {
  model?: string;
  cluster?: string;
  num_gpus?: number;
  global_batch_size?: number;
  fits?: boolean;
  iteration_time_s?: number;
  reason?: string;
}

export interface Entry {
  job: Job;
  progress: Progress | null;
  about: About;
}

// An error for people. `status` is HTTP's; 0 if nobody answered.
export class Problem extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

// Key of the token, which is kept as long as the tab is open.
const TOKEN = "tangram-token";

export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

async function get<T>(path: string): Promise<T> {
  const token = sessionStorage.getItem(TOKEN);
  const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
  let response: Response;
  try {
    response = await fetch(path, { headers, cache: "no-store" });
  } catch {
    throw new Problem(0, "The coordinator does not answer.");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(response.status, answer.message ?? response.statusText);
  return answer;
}

export const getStatus = () => get<Status>("/api/status");
export const getJobs = async () => (await get<{ jobs: Entry[] }>("/api/jobs")).jobs;
export const getReport = (job: string) => get<Report>(`/api/reports/${encodeURIComponent(job)}`);

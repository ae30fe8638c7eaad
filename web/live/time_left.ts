import type { Progress } from "./api";

interface Start {
  phase: string;
  done: number;
  at_s: number;
}

// Estimates the rest of a phase from its pace since it was first seen.
export class TimeLeft {
  private readonly starts = new Map<string, Start>();

  // Returns seconds; null if there is no estimate yet.
  of(job: string, progress: Progress, now_s: number): number | null {
    const start = this.starts.get(job);
    if (start === undefined || start.phase !== progress.phase || start.done > progress.pairs_done) {
      this.starts.set(job, { phase: progress.phase, done: progress.pairs_done, at_s: now_s });
      return null;
    }
    const done = progress.pairs_done - start.done;
    if (done === 0) return null;
    return ((progress.pairs_total - progress.pairs_done) * (now_s - start.at_s)) / done;
  }
}

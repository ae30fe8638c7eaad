import { numDevices, numRows, type Answer, type Track, type EventKind } from "./view_model";

// The schedule as arrays that are fast to search and draw.

export interface Lane {
  kind: EventKind;
  stage: number;
  startsNs: Float64Array; // Ascending.
  durationsNs: Float64Array;
  microbatches: Int32Array; // -1: no microbatch.
}

export interface Row {
  device: number;
  group: number | null; // Null: the whole device.
  passes: Lane[];
  sends: Lane[];
}

export interface Schedule {
  rows: Row[];
  endNs: number;
}

function laneOf({ kind, stage, runs, microbatches }: Track): Lane {
  const total = runs.reduce((sum, run) => sum + run[1], 0);
  const lane: Lane = {
    kind,
    stage,
    startsNs: new Float64Array(total),
    durationsNs: new Float64Array(total),
    microbatches: new Int32Array(total),
  };
  let at = 0;
  for (const [first, count, duration, period, ...starts] of runs) {
    for (let i = 0; i < count; ++i, ++at) {
      lane.startsNs[at] =
        starts[i % starts.length] + Math.floor(i / starts.length) * period;
      lane.durationsNs[at] = duration;
      const microbatch = first < 0 ? -1 : first + i;
      lane.microbatches[at] = microbatches ? microbatches[microbatch] : microbatch;
    }
  }
  return lane;
}

export function scheduleOf(answer: Answer): Schedule {
  const devices = numDevices(answer);
  const rows: Row[] = [];
  const firstRow: number[] = [];
  for (let device = 0; device < devices; ++device) {
    firstRow.push(rows.length);
    const groups = numRows(answer, device);
    for (let group = 0; group < groups; ++group) {
      rows.push({ device, group: groups > 1 ? group : null, passes: [], sends: [] });
    }
  }
  for (const track of answer.timeline) {
    const row = rows[firstRow[track.stage % devices] + (track.group ?? 0)];
    const lanes = track.kind.startsWith("send") ? row.sends : row.passes;
    lanes.push(laneOf(track));
  }
  return { rows, endNs: 1e9 * answer.prediction.iteration_time_s };
}

// Returns the first event of `lane` that ends after `timeNs`.
export function firstEndingAfter(lane: Lane, timeNs: number): number {
  let low = 0;
  let high = lane.startsNs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.startsNs[middle] + lane.durationsNs[middle] > timeNs) high = middle;
    else low = middle + 1;
  }
  return low;
}

export interface FoundEvent {
  lane: Lane;
  index: number;
  startNs: number;
  durationNs: number;
  microbatch: number;
}

function eventOf(lane: Lane, index: number): FoundEvent {
  return {
    lane,
    index,
    startNs: lane.startsNs[index],
    durationNs: lane.durationsNs[index],
    microbatch: lane.microbatches[index],
  };
}

// Returns the event of `lanes` that runs at `timeNs`, within `slackNs`.
export function eventAt(lanes: Lane[], timeNs: number, slackNs: number): FoundEvent | null {
  for (const lane of lanes) {
    const index = firstEndingAfter(lane, timeNs - slackNs);
    if (index < lane.startsNs.length && lane.startsNs[index] <= timeNs + slackNs) {
      return eventOf(lane, index);
    }
  }
  return null;
}

// Returns the event of `lanes` before or after the one that starts at `startNs`.
export function neighbour(lanes: Lane[], startNs: number, isForward: boolean): FoundEvent | null {
  let best: FoundEvent | null = null;
  for (const lane of lanes) {
    let index = firstEndingAfter(lane, startNs);
    if (isForward) {
      while (index < lane.startsNs.length && lane.startsNs[index] <= startNs) ++index;
    } else {
      while (index >= lane.startsNs.length || (index >= 0 && lane.startsNs[index] >= startNs)) --index;
    }
    if (index < 0 || index >= lane.startsNs.length) continue;
    const event = eventOf(lane, index);
    const isNearer = !best || (isForward ? event.startNs < best.startNs : event.startNs > best.startNs);
    if (isNearer) best = event;
  }
  return best;
}

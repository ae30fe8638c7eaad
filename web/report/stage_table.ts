import { table } from "./dom";
import * as format from "./format";
import { numDevices, type Answer, type Group, type Stage } from "./view_model";

const degree = (value: number) => (value === 1 ? "" : String(value));

// A row of the table: a stage, or a group of a mixed stage.
type Part = Omit<Group, "share"> & { name: string };

function parts(stage: Stage): Part[] {
  if (!stage.mixed) return [{ ...stage, name: "" }];
  const { sharing, groups } = stage.mixed;
  const unit = sharing === "routed" ? "microbatches" : "samples";
  return groups.map((group, g) => ({
    ...group,
    name: `.${g}`,
    gpus_label: `${group.gpus_label}, ${group.share} ${unit}`,
  }));
}

export function stageTable(answer: Answer): HTMLElement {
  const devices = numDevices(answer);
  return table(
    "Stages",
    [
      { title: "#", isNumber: true },
      { title: answer.virtual_stages > 1 ? "device" : "", isNumber: true },
      { title: "GPUs" },
      { title: "where" },
      { title: "layers" },
      { title: "tp", isNumber: true },
      { title: "dp", isNumber: true },
      { title: "cp", isNumber: true },
      { title: "ep", isNumber: true },
      { title: "ZeRO", isNumber: true },
      { title: "recompute", isNumber: true },
      { title: "microbatch", isNumber: true },
      { title: "waits", isNumber: true },
      { title: "memory", isNumber: true },
      { title: "kept on the host" },
      { title: "made by" },
    ],
    answer.stages.flatMap((stage, s) =>
      parts(stage).map(({ name, times, memory, parallelism: p, ...part }) => [
        `${s}${name}`,
        answer.virtual_stages > 1 ? String(s % devices) : "",
        part.gpus_label,
        part.where,
        stage.layers,
        p.tp,
        String(p.dp),
        degree(p.cp),
        degree(p.ep),
        p.zero === 0 ? "" : format.zero(p),
        stage.recompute,
        format.seconds(times.forward_s + times.backward_s),
        format.percent(times.idle_s / answer.prediction.iteration_time_s),
        `${(memory.peak_bytes / 1e9).toFixed(1)} / ${(memory.capacity_bytes / 1e9).toFixed(1)} GB`,
        stage.offload,
        stage.made_by,
      ]),
    ),
  );
}

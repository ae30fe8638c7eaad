import { svg } from "../report/dom";
import { type Allocation, type Figure, nameOf } from "./view_model";

const WIDTH = 760;
const HEIGHT = 420;
const LEFT = 64;
const BOTTOM = 44;
const MARGIN = 14;

interface Point {
  allocation: Allocation;
  x: number;
  y: number;
  isFront: boolean;
}

// Returns the allocations that no other beats in time without a higher cost, by
// ascending cost. The first of equal ones counts.
function frontOf(shown: Allocation[], cost: Figure, time: Figure): Allocation[] {
  const slower = (a: Allocation) => (time.isRate ? -1 : 1) * time.of(a)!;
  const sorted = [...shown].sort(
    (a, b) => cost.of(a)! - cost.of(b)! || slower(a) - slower(b),
  );
  let best = Infinity;
  return sorted.filter((a) => {
    if (slower(a) >= best) return false;
    best = slower(a);
    return true;
  });
}

// A logarithmic axis from the least to the greatest value, with room beside.
class Axis {
  private readonly first: number;
  private readonly last: number;

  constructor(
    values: number[],
    private readonly from: number,
    private readonly to: number,
  ) {
    const least = Math.log(Math.min(...values));
    const greatest = Math.log(Math.max(...values));
    const room = 0.04 * (greatest - least) || 0.1;
    this.first = least - room;
    this.last = greatest + room;
  }

  at(value: number): number {
    const share = (Math.log(value) - this.first) / (this.last - this.first);
    return this.from + share * (this.to - this.from);
  }

  // 1, 2 and 5 times powers of ten; on a short axis, more of them.
  ticks(): number[] {
    for (const steps of [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]]) {
      const found: number[] = [];
      const from = Math.floor(this.first / Math.LN10);
      for (let power = from; power <= this.last / Math.LN10; ++power) {
        for (const step of steps) {
          const value = step * 10 ** power;
          const place = Math.log(value);
          if (place >= this.first && place <= this.last) found.push(value);
        }
      }
      if (found.length >= 3) return found;
    }
    return [Math.exp((this.first + this.last) / 2)];
  }
}

function tickText(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en-US", {
    maximumSignificantDigits: 3,
  });
}

function axes(x: Axis, y: Axis, titleX: string, titleY: string): SVGElement[] {
  const bottom = HEIGHT - BOTTOM;
  const parts: SVGElement[] = [];
  for (const value of x.ticks()) {
    const at = x.at(value);
    parts.push(
      svg("line", { class: "grid", x1: at, x2: at, y1: MARGIN, y2: bottom }),
      svg(
        "text",
        { class: "tick", x: at, y: bottom + 16, "text-anchor": "middle" },
        tickText(value),
      ),
    );
  }
  for (const value of y.ticks()) {
    const at = y.at(value);
    parts.push(
      svg("line", {
        class: "grid",
        x1: LEFT,
        x2: WIDTH - MARGIN,
        y1: at,
        y2: at,
      }),
      svg(
        "text",
        { class: "tick", x: LEFT - 6, y: at + 4, "text-anchor": "end" },
        tickText(value),
      ),
    );
  }
  const middle = (MARGIN + bottom) / 2;
  parts.push(
    svg(
      "text",
      {
        class: "axis",
        x: (LEFT + WIDTH - MARGIN) / 2,
        y: HEIGHT - 8,
        "text-anchor": "middle",
      },
      titleX,
    ),
    svg(
      "text",
      {
        class: "axis",
        x: 14,
        y: middle,
        "text-anchor": "middle",
        transform: `rotate(-90 14 ${middle})`,
      },
      titleY,
    ),
  );
  return parts;
}

// Points of the front are filled squares, others are rings, so that they differ
// without colour.
function mark({ allocation, x, y, isFront }: Point, text: string): SVGElement {
  const title = svg("title", {}, text);
  if (!isFront) {
    return svg("circle", { class: "other", cx: x, cy: y, r: 4 }, title);
  }
  const half = allocation.knee ? 7 : 5;
  return svg(
    "rect",
    {
      class: allocation.knee ? "front knee" : "front",
      x: x - half,
      y: y - half,
      width: 2 * half,
      height: 2 * half,
    },
    title,
  );
}

export function plot(
  allocations: Allocation[],
  cost: Figure,
  time: Figure,
): SVGElement {
  const shown = allocations.filter((a) => (cost.of(a) ?? 0) > 0);
  const x = new Axis(shown.map((a) => cost.of(a)!), LEFT, WIDTH - MARGIN);
  const y = new Axis(shown.map((a) => time.of(a)!), HEIGHT - BOTTOM, MARGIN);
  const best = new Set(frontOf(shown, cost, time));
  const points = shown.map((allocation) => ({
    allocation,
    x: x.at(cost.of(allocation)!),
    y: y.at(time.of(allocation)!),
    isFront: best.has(allocation),
  }));
  const front = points
    .filter((point) => point.isFront)
    .sort((a, b) => a.x - b.x);
  const text = ({ allocation }: Point) =>
    `${nameOf(allocation.nodes)}: ${tickText(time.of(allocation)!)} ` +
    `${time.title}, ${tickText(cost.of(allocation)!)} ${cost.title}` +
    (allocation.knee ? " (knee)" : "");
  const later = (point: Point) => (point.isFront ? 1 : 0);
  return svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": `${time.title} over ${cost.title} of ${shown.length} allocations`,
    },
    ...axes(x, y, cost.title, time.title),
    svg("polyline", {
      class: "line",
      points: front.map((point) => `${point.x},${point.y}`).join(" "),
    }),
    ...[...points]
      .sort((a, b) => later(a) - later(b))
      .map((point) => mark(point, text(point))),
  );
}

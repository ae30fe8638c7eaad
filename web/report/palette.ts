// Colours that colour-blind readers can distinguish (Okabe and Ito, "Color
// Universal Design", 2008). No information is in colour alone.

const BLUE = "#0072b2";
const SKY = "#56b4e9";
const GREEN = "#009e73";
const ORANGE = "#e69f00";
const VERMILION = "#d55e00";
const PURPLE = "#cc79a7";
const YELLOW = "#f0e442";
const GREY = "#8a93a0";

const ISLANDS = [BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW];

export const MARGIN_COLOR = GREY;

export const MEMORY_COLORS = {
  weights: BLUE,
  gradients: SKY,
  optimizer: GREEN,
  activations: ORANGE,
  transient: VERMILION,
  reserve: GREY,
};

export const EVENT_COLORS = {
  forward: SKY,
  backward: BLUE,
  weight_gradient: GREEN,
  send_forward: PURPLE,
  send_backward: PURPLE,
  gradient_sync: ORANGE,
  optimizer: VERMILION,
  replica_sync: YELLOW,
};

// In the order of Prediction.time_shares.
export const SHARE_COLORS = [BLUE, PURPLE, YELLOW, GREY, ORANGE, VERMILION];

export const KEPT_COLOR = BLUE;
export const PRUNED_COLOR = GREY;

type Rgb = [number, number, number];

function parse(color: string): Rgb {
  const value = parseInt(color.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

function mix(color: string, other: string, share: number): string {
  const a = parse(color);
  const b = parse(other);
  const channels = a.map((x, i) => Math.round(x + share * (b[i] - x)));
  return `rgb(${channels.join(",")})`;
}

// Share of white in every second stage, so that neighbours on an island differ.
const LIGHTER = 0.38;

export function stageColor(island: number, stage: number): string {
  const base = island < 0 ? GREY : ISLANDS[island % ISLANDS.length];
  return mix(base, "#ffffff", stage % 2 === 0 ? 0 : LIGHTER);
}

export function islandColor(island: number): string {
  return stageColor(island, 0);
}

// Relative luminance by WCAG 2, from "rgb(...)" or "#rrggbb".
function luminance(color: string): number {
  const rgb = color.startsWith("#")
    ? parse(color)
    : (color.match(/\d+/g) ?? []).map(Number);
  const [r, g, b] = rgb.map((channel) => {
    const x = channel / 255;
    return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Luminance at which black and white have the same contrast to the background.
const EVEN_CONTRAST = 0.179;

export function textOn(color: string): string {
  return luminance(color) > EVEN_CONTRAST ? "#101418" : "#ffffff";
}

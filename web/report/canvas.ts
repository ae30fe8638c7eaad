import { styled } from "./dom";
import type { Theme } from "./timeline_draw";

function cssColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function themeNow(): Theme {
  return {
    text: cssColor("--text"),
    muted: cssColor("--muted"),
    line: cssColor("--line"),
    background: cssColor("--card"),
  };
}

// Makes the canvas as sharp as the screen. Its context counts in CSS pixels.
export function resize(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const scale = Math.max(devicePixelRatio, 1);
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  styled(canvas, { height: `${height}px` });
  const context = canvas.getContext("2d")!;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

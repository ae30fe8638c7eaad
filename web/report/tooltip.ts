import { el, styled } from "./dom";

// The page has one tooltip, for the element under the pointer or with focus. Its
// lines are made when it is shown. Escape hides it.

const GAP_PX = 12;
const lines = new WeakMap<Element, () => string[]>();
const box = el("div", { id: "tooltip", role: "tooltip", hidden: true });

export function hideTooltip(): void {
  box.hidden = true;
}

// Shows the tooltip near a point of the window, inside it.
export function showTooltip(text: string[], x: number, y: number): void {
  box.replaceChildren(
    ...text.map((line, i) => el(i === 0 ? "strong" : "span", {}, line)),
  );
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const left = x + GAP_PX + width > innerWidth ? x - GAP_PX - width : x + GAP_PX;
  const top =
    y + GAP_PX + height > innerHeight ? y - GAP_PX - height : y + GAP_PX;
  styled(box, {
    left: `${Math.max(4, left)}px`,
    top: `${Math.max(4, top)}px`,
  });
}

export function withTooltip<T extends Element>(
  element: T,
  text: () => string[],
): T {
  lines.set(element, text);
  return element;
}

function ownerOf(target: EventTarget | null): [Element, string[]] | null {
  let element = target instanceof Element ? target : null;
  for (; element; element = element.parentElement) {
    const text = lines.get(element);
    if (text) return [element, text()];
  }
  return null;
}

export function installTooltip(): void {
  document.body.append(box);
  document.addEventListener("pointermove", (event) => {
    const found = ownerOf(event.target);
    if (found) showTooltip(found[1], event.clientX, event.clientY);
  });
  document.addEventListener("pointerout", (event) => {
    if (ownerOf(event.target) && !ownerOf(event.relatedTarget)) hideTooltip();
  });
  document.addEventListener("focusin", (event) => {
    const found = ownerOf(event.target);
    if (!found || !found[0].matches(":focus-visible")) return;
    const { left, bottom } = found[0].getBoundingClientRect();
    showTooltip(found[1], left, bottom - GAP_PX / 2);
  });
  document.addEventListener("focusout", hideTooltip);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTooltip();
  });
}

// Makes one of many elements with tooltips reachable with Tab, and the others from
// there with the arrow keys, Home and End.
export function arrowKeys(container: HTMLElement | SVGElement): void {
  const stops = [...container.querySelectorAll<HTMLElement>("[data-stop]")];
  stops.forEach((stop, i) => stop.setAttribute("tabindex", i === 0 ? "0" : "-1"));
  const move = (from: number, to: number) => {
    const target = stops[Math.min(Math.max(to, 0), stops.length - 1)];
    stops[from].setAttribute("tabindex", "-1");
    target.setAttribute("tabindex", "0");
    target.focus();
  };
  container.addEventListener("keydown", (event) => {
    const key = (event as KeyboardEvent).key;
    const at = stops.indexOf(document.activeElement as HTMLElement);
    if (at < 0) return;
    const next: Record<string, number> = {
      ArrowRight: at + 1,
      ArrowDown: at + 1,
      ArrowLeft: at - 1,
      ArrowUp: at - 1,
      Home: 0,
      End: stops.length - 1,
    };
    if (!(key in next)) return;
    event.preventDefault();
    move(at, next[key]);
  });
}

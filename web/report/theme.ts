import { button } from "./dom";

// Follows the system's light or dark theme until the button is used. Print is
// always light.

function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

export function themeButton(onChange: () => void): HTMLButtonElement {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", onChange);
  return button("◐", "Switch between light and dark", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    onChange();
  });
}

// Calls `before` with everything light and open, and `after` once it is restored.
export function aroundPrinting(before: () => void, after: () => void): void {
  let isPrinting = false;
  let theme: string | undefined;
  let closed: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    if (isPrinting) return;
    isPrinting = true;
    theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    closed = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    for (const details of closed) details.open = true;
    before();
  });
  addEventListener("afterprint", () => {
    if (!isPrinting) return;
    isPrinting = false;
    if (theme === undefined) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    for (const details of closed) details.open = false;
    after();
  });
}

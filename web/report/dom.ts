// Elements are made from text and attributes, never from markup, so that the
// content of a plan file appears only as text.

export type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined>;

function fill(element: Element, attributes: Attributes, children: Child[]) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

// Sets properties, since the page's policy forbids style attributes.
export function styled<T extends HTMLElement | SVGElement>(
  element: T,
  properties: Record<string, string>,
): T {
  for (const [name, value] of Object.entries(properties)) {
    element.style.setProperty(name, value);
  }
  return element;
}

export function button(
  label: string,
  title: string,
  onClick: () => void,
): HTMLButtonElement {
  const element = el("button", { type: "button", title, "aria-label": title });
  element.append(label);
  element.addEventListener("click", onClick);
  return element;
}

// Lines break behind hyphens, but an option is one word.
function withWholeOptions(text: string): Child[] {
  return text
    .split(/(--[a-z-]+)/)
    .map((part) => (part.startsWith("--") ? el("span", { class: "option" }, part) : part));
}

export function section(
  id: string,
  title: string,
  lead: string,
  ...children: Child[]
): HTMLElement {
  return el(
    "section",
    { id, class: "card", tabindex: -1, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    lead !== "" && el("p", { class: "lead" }, ...withWholeOptions(lead)),
    ...children,
  );
}

export interface Column {
  title: string;
  isNumber?: boolean;
}

// Longer cells may wrap.
const MAX_SHORT_CELL = 16;

const shortness = (cell: string | Node) =>
  typeof cell === "string" && cell.length <= MAX_SHORT_CELL ? "short" : undefined;

// Leaves out columns without a filled cell.
export function table(
  caption: string,
  columns: Column[],
  rows: (string | Node)[][],
): HTMLElement {
  const kept = columns.map((_, c) => rows.some((row) => row[c] !== ""));
  const cells = <T>(values: T[], make: (value: T, c: number) => Node) =>
    values.flatMap((value, c) => (kept[c] ? [make(value, c)] : []));
  const alignment = (c: number) => (columns[c].isNumber ? "number" : undefined);
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table: ${caption}` },
    el(
      "table",
      {},
      el("caption", { class: "hidden" }, caption),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ...cells(columns, (column, c) =>
            el("th", { scope: "col", class: alignment(c) ?? shortness(column.title) }, column.title),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        ...rows.map((row) =>
          el(
            "tr",
            {},
            ...cells(row, (cell, c) => el("td", { class: alignment(c) ?? shortness(cell) }, cell)),
          ),
        ),
      ),
    ),
  );
}

export interface LegendItem {
  label: string;
  color: string;
  isHatched?: boolean;
}

export function legend(items: LegendItem[]): HTMLElement {
  return el(
    "ul",
    { class: "legend" },
    ...items.map((item) =>
      el(
        "li",
        {},
        styled(
          el("span", { class: item.isHatched ? "swatch hatched" : "swatch" }),
          { "--color": item.color },
        ),
        item.label,
      ),
    ),
  );
}

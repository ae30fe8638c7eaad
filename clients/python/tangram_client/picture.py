"""A plan as a picture for notebooks: self-contained inline SVG."""

from xml.sax.saxutils import escape

# The report's colours, which colour-blind people can tell apart (Okabe and Ito,
# "Color Universal Design", 2008), each with the colour of text on it.
_COLORS = (("#0072b2", "#fff"), ("#e69f00", "#000"), ("#009e73", "#fff"),
           ("#cc79a7", "#000"), ("#56b4e9", "#000"), ("#d55e00", "#fff"),
           ("#f0e442", "#000"))
_UNKNOWN = ("#8a93a0", "#000")
_FULL = "#d55e00"  # Memory that does not fit.

_WIDTH = 920
_MARGIN = 10
_TITLE_Y = 22
_STAGES_Y = 36
_STAGE_HEIGHT = 62
_BAR_HEIGHT = 8
_ROW_GAP = 8  # Between two pipelines, below the bars.
_LINE = 16
_CHARACTER = 7  # Width of a character at 11 pixels.


def svg(plan):
    """Draws stages from left to right, as wide as their share of the layers, in
    the colours of their islands, and each pipeline below the other. Bars below
    the stages show how full their GPUs are."""
    if not plan.fits:
        return _document(_TITLE_Y + _MARGIN,
                         [_text(_MARGIN, _TITLE_Y, _title(plan), bold=True)])
    parts = [_text(_MARGIN, _TITLE_Y, _title(plan), bold=True)]
    y = _STAGES_Y
    for pipeline in plan.pipelines:
        parts += _row_of_stages(pipeline.stages, y)
        y += _STAGE_HEIGHT + _BAR_HEIGHT + _ROW_GAP
    y += 24 - _ROW_GAP
    for line in _legend(plan, plan.stages):
        parts.append(line(y))
        y += _LINE
    return _document(y, parts)


def _row_of_stages(stages, y):
    usable = _WIDTH - 2 * _MARGIN
    total = sum(stage.share for stage in stages)
    x = _MARGIN
    parts = []
    for stage in stages:
        width = usable * stage.share / total
        parts.append(_stage(stage, x, y, width))
        x += width
    return parts


def html(plan):
    """Returns the picture above a table of the stages."""
    if not plan.fits:
        return svg(plan)
    head = ("stage", "GPUs", "where", "layers", "tp", "dp", "cp", "ep", "zero",
            "microbatch", "memory")
    several = len(plan.pipelines) > 1
    rows = [(f"{pipeline.index}: {name}" if several else name,
             f"{part.num_gpus} x {part.gpu_type}",
             ", ".join(str(gpus) for gpus in part.gpus), stage.layers,
             part.tp, part.dp, part.cp, part.ep, _zero(part),
             f"{1000 * part.microbatch_s:.3g} ms", _memory(part))
            for pipeline in plan.pipelines for stage in pipeline.stages
            for name, part in _parts(stage)]
    return (svg(plan) + "<table><thead>" + _row("th", head) + "</thead><tbody>"
            + "".join(_row("td", row) for row in rows) + "</tbody></table>")


def _zero(part):
    over = f" over {part.zero_degree}" if part.zero_degree else ""
    return f"{part.zero_stage}{over}"


def _parts(stage):
    """The stage, or the groups of a mixed one, with their names."""
    if not stage.groups:
        return [(str(stage.index), stage)]
    return [(f"{stage.index}.{g}", group)
            for g, group in enumerate(stage.groups)]


def _row(tag, cells):
    return "<tr>" + "".join(
        f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"


def _title(plan):
    if not plan.fits:
        short = plan.infeasible.bytes_short
        return (f"{plan.model} on {plan.cluster}: no plan fits: "
                f"{plan.infeasible.reason}"
                + (f"; {short / 1e9:.3g} GB short per GPU" if short else ""))
    batch = (f"{plan.num_microbatches} microbatches of {plan.microbatch_size}"
             if len(plan.pipelines) == 1
             else " + ".join(f"{p.num_microbatches} x {p.microbatch_size}"
                             for p in plan.pipelines) + f" samples, {plan.sync}")
    return (f"{plan.model} on {plan.cluster}: {plan.iteration_time_s:.3g} s an "
            f"iteration, {plan.tokens_per_s:,.0f} tokens/s, {batch}")


def _memory(stage):
    return f"{stage.peak_bytes / 1e9:.1f}/{stage.capacity_bytes / 1e9:.1f} GB"


def _color(island):
    return _COLORS[island % len(_COLORS)] if island >= 0 else _UNKNOWN


def _degrees(stage):
    if stage.groups:
        return " + ".join(_degrees_of(group) for group in stage.groups)
    return _degrees_of(stage)


def _degrees_of(stage):
    named = (("tp", stage.tp), ("dp", stage.dp), ("cp", stage.cp),
             ("ep", stage.ep))
    return " ".join(f"{name}{n}" for name, n in named if n > 1) or "1 GPU"


def _stage(stage, x, y, width):
    fill, ink = _color(stage.island)
    where = ", ".join(str(gpus) for gpus in stage.gpus)
    tooltip = (f"stage {stage.index}: layers {stage.layers} on "
               f"{stage.num_gpus} x {stage.gpu_type} ({where}), "
               f"{_degrees(stage)}, {1000 * stage.microbatch_s:.3g} ms a "
               f"microbatch, {_memory(stage)}")
    lines = (str(stage.index), f"{stage.num_gpus} x {stage.gpu_type}",
             stage.layers, _degrees(stage))
    fits = int((width - 6) / _CHARACTER)  # Characters that fit in the box.
    texts = "".join(
        _text(x + 4, y + 14 + 14 * i, line, color=ink)
        for i, line in enumerate(lines) if len(line) <= fits)
    return (f"<g><title>{escape(tooltip)}</title>"
            + _box(x, y, width - 1, _STAGE_HEIGHT, fill) + texts
            + _memory_bar(stage, x, y + _STAGE_HEIGHT + 3, width - 1) + "</g>")


def _memory_bar(stage, x, y, width):
    used = (stage.peak_bytes / stage.capacity_bytes
            if stage.capacity_bytes > 0 else 0)
    color = _FULL if used > 1 else "#444"
    return (_box(x, y, width, _BAR_HEIGHT, "#ddd")
            + _box(x, y, width * min(used, 1), _BAR_HEIGHT, color))


def _legend(plan, stages):
    """Returns a function for each line of the legend, from y to SVG."""
    used = sorted({stage.island for stage in stages})

    def line(island):
        name = (plan.islands[island] if 0 <= island < len(plan.islands)
                else "island not known")
        numbers = [s.index for s in stages if s.island == island]
        text = f"{name}: stages {', '.join(map(str, numbers))}"
        return lambda y: (_box(_MARGIN, y - 10, 11, 11, _color(island)[0])
                          + _text(_MARGIN + 17, y, text))

    note = "bars: memory of each GPU at its peak"
    return [line(island) for island in used] + [
        lambda y: _text(_MARGIN, y, note)]


def _box(x, y, width, height, fill):
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" '
            f'height="{height}" fill="{fill}"/>')


def _text(x, y, text, *, bold=False, color="#222"):
    weight = ' font-weight="bold"' if bold else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}"{weight}>'
            f"{escape(text)}</text>")


def _document(height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" '
            f'height="{height}" viewBox="0 0 {_WIDTH} {height}" '
            'font-family="sans-serif" font-size="11" role="img">'
            f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>'
            + "".join(parts) + "</svg>")

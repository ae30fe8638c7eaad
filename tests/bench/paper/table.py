"""Tables in Markdown: ours beside the paper's, and the ratio."""


def seconds(value):
    """Three digits, as in every table of times."""
    if value is None:
        return "none"
    if value >= 100:
        return f"{value:.0f} s"
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"


def ratio(ours, theirs):
    return f"{ours / theirs:.2f}" if ours and theirs else ""


def markdown(columns, rows):
    """The first column is text, the others are numbers."""
    lines = ["| " + " | ".join(columns) + " |",
             "| --- |" + " ---: |" * (len(columns) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |"
              for row in rows]
    return "\n".join(lines)


def mean(values):
    values = [value for value in values if value]
    return sum(values) / len(values) if values else None

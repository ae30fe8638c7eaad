"""Keeps the worst patterns of English out of comments and documents.

Usage: english_test.py <repository root> [file or folder...]

A sentence of a comment or a document begins with its subject or its verb, not
with "Of the stages, ...", "What a worker did ..." or "That it fits ...". Words
that the field does not use are refused. The rest is for reviewers.
"""

import pathlib
import re
import sys

# Sentences with these beginnings invert subject and predicate. Questions, such
# as headings, may.
INVERTED = re.compile(
    r"(Of|What|Whose|Who|Whom|Which|That(?! (is|was|makes|means|takes|leaves|"
    r"lets|holds|would|can|may|needs)\b)) [A-Za-z`\d]")
# From a word to the field's word.
COINED = {
    r"[Dd]endrons?": "dendrogram node",
    r"programmes?": "program",
    r"[Ll]adders?": "sequence of budgets",
    r"[Dd]ealers?": "assignment of GPUs",
    r"anew": "again",
    r"deals? out": "assign",
}
# Files and folders that are not checked.
LEFT_OUT = [
    "build",
    "tests/compatibility/v1",  # As earlier versions wrote them.
]
COMMENT = {".cc": "//", ".h": "//", ".proto": "//", ".ts": "//",
           ".mjs": "//", ".py": "#",
           ".yaml": "#", ".yml": "#", ".sh": "#", "": "#"}


def is_question(sentence):
    return sentence.rstrip().endswith("?")


def sentence_errors(sentence):
    sentence = re.sub(r"\s+", " ", sentence).strip()
    if INVERTED.match(sentence) and not is_question(sentence):
        yield f'begins with "{sentence.split()[0]}": {sentence[:60]}'
    for word, better in COINED.items():
        if re.search(rf"\b{word}\b", sentence):
            yield f'"{word}" is not the field\'s word; "{better}" is'


def sentences(text):
    return re.split(r"(?<=[.:;?!])\s+", text)


def comments(text, mark):
    """Yields (line, text) of every block of comment lines, and of trailing
    comments."""
    block, first = [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        whole = re.match(rf"\s*{mark}+ ?(.*)", line)
        if whole:
            if not block:
                first = number
            block.append(whole[1])
            continue
        if block:
            yield first, "\n".join(block)
            block = []
        trailing = re.search(rf"[;,{{}})] +{mark} (.*)", line)
        if trailing:
            yield number, trailing[1]


def paragraphs(text):
    """Yields (line, text) of a document's paragraphs, items and cells."""
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), text,
                  flags=re.M | re.S)
    line = 1
    for part in re.split(r"(\n\s*\n|\n\s*[-*\d]+[.]? |\||\n#+ )", text):
        yield line, part
        line += part.count("\n")


def errors_of(root, path):
    text = path.read_text(encoding="utf-8")
    parts = (paragraphs(text) if path.suffix == ".md"
             else comments(text, COMMENT[path.suffix]))
    for line, part in parts:
        for sentence in sentences(part):
            for error in sentence_errors(sentence):
                yield f"{path.relative_to(root)}:{line}: {error}"


def is_left_out(path):
    return (any(path.is_relative_to(name) for name in LEFT_OUT) or
            any(part.startswith(".") or part in ("node_modules", "__pycache__")
                for part in path.parts))


def files_of(root, folder):
    top = root / folder
    found = [top] if top.is_file() else sorted(top.rglob("*"))
    return [p for p in found if p.is_file() and
            (p.suffix in COMMENT or p.suffix == ".md") and
            not is_left_out(p.relative_to(root))]


def main(root, folders):
    files = [p for folder in folders for p in files_of(root, folder)]
    errors = [error for path in files for error in errors_of(root, path)]
    print(*errors, sep="\n", end="\n" if errors else "")
    print(f"{len(files)} files, {len(errors)} errors")
    return 1 if errors or (folders and not files) else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:] or ["."]))

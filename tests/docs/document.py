"""The fenced blocks of a document, and what comments say about them.

A block without a language, or of language sh, is a session if it begins with
"$ ": each command is followed by what it prints. It is a script if its first
word is a command; its output is not shown. Python blocks are programs. All
other blocks are text. A comment before a block changes that:

  <!-- doc-test: skip REASON -->   The block cannot run in a test.
  <!-- doc-test: file NAME -->     The block is the content of this file.
  <!-- doc-test: output of X -->   The block is what command X printed.
  <!-- doc-test: add OPTIONS -->   Each command gets these options, so that it
                                   takes less time.
  <!-- doc-test: for N s -->       Each command is interrupted after N s.
  <!-- doc-test: run COMMANDS -->  Readers do these steps themselves, or another
                                   document has them. They run first.
"""

import dataclasses
import re

COMMANDS = frozenset("""
    apt-get cat cmake cp createdb ctest curl docker docker-compose dpkg export
    git grep install kubectl make mkdir openssl pip pip3 printf psql python3
    sbatch scontrol sed source srun sudo systemctl tangram tangram-coordinator
    tangram-worker""".split())
PART = re.compile(
    r"^<!-- doc-test: (?P<directive>.*?) ?-->$"
    r"|^(?P<fence>```)(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
DIRECTIVES = {"skip": r"\S.*", "file": r"[\w./-]+", "output": r"of \S.*",
              "add": r"--.*",
              "for": r"\d+ s", "run": r"\S.*"}


class Malformed(Exception):
    """A document that breaks the convention."""


@dataclasses.dataclass
class Block:
    """A fenced block, or the hidden commands of a comment."""

    document: str
    line: int
    begin: int          # Offsets of `text` in the document.
    end: int
    kind: str           # session, script, program, text or hidden
    text: str
    directives: dict

    @property
    def place(self):
        return f"{self.document}:{self.line}"


def first_word(text):
    """The command of a script: neither a variable nor a comment."""
    for line in text.splitlines():
        for word in line.split():
            if word.startswith("#"):
                break
            if not re.match(r"\w+=", word):
                return word
    return ""


def kind_of(language, text):
    if language == "python":
        return "program"
    if language not in ("", "sh", "console"):
        return "text"
    if text.startswith("$ "):
        return "session"
    word = first_word(text)
    if word in COMMANDS or re.match(r"\.{0,2}/?[\w-]+(/[\w.-]+)+$", word):
        return "script"
    return "text"


def directive(place, text):
    name, _, argument = text.partition(" ")
    if not re.fullmatch(DIRECTIVES.get(name, "(?!)"), argument, re.S):
        raise Malformed(f"{place}: doc-test: {text}; expected one of "
                        f"{', '.join(DIRECTIVES)}, with its argument")
    return name, argument


def blocks(document, text):
    """The blocks in their order. A directive belongs to the next block."""
    if len(re.findall(r"^```", text, re.M)) % 2:
        raise Malformed(f"{document}: a block that does not end")
    found, pending = [], {}
    for match in PART.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        place = f"{document}:{line}"
        if match["directive"] is not None:
            name, argument = directive(place, match["directive"])
            if name == "run":
                found.append(Block(document, line, *match.span("directive"),
                                   "hidden",
                                   argument.replace("; ", "\n") + "\n", {}))
            else:
                pending[name] = argument
            continue
        kind = kind_of(match["language"], match["text"])
        if "skip" in pending and kind == "text":
            raise Malformed(f"{place}: skips a block that has no command")
        found.append(Block(document, line, *match.span("text"), kind,
                           match["text"], pending))
        pending = {}
    if pending:
        raise Malformed(f"{document}: {pending} before no block")
    return found


def session(text):
    """Pairs of a command and the lines shown below it."""
    pairs = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            pairs.append([line[2:], ""])
        elif not pairs[-1][1] and pairs[-1][0].endswith("\\\n"):
            pairs[-1][0] += line
        else:
            pairs[-1][1] += line
    return pairs

"""Makes tools/runner/tangram_runner/shapes.txt from the .proto files:

proto_shapes.py <repository root> > tools/runner/tangram_runner/shapes.txt
"""

import pathlib
import re
import sys

FIELD = re.compile(r"^\s*(repeated |optional )?(map<string, string>|[\w.]+) (\w+) = \d+",
                   re.M)


def _messages(root):
    """From the name of each message to its fields, as (name, type) pairs; types of lists
    end with an asterisk."""
    messages, enums = {}, set()
    for path in sorted((root / "proto/tangram/v1").glob("*.proto")):
        text = re.sub("//.*", "", path.read_text(encoding="utf-8"))
        enums |= set(re.findall(r"enum (\w+)", text))
        text = re.sub(r"enum \w+ \{[^}]*\}", "", text)
        for name, body in re.findall(r"^message (\w+) \{(.*?)^\}", text, re.M | re.S):
            messages[name] = [(field, kind + "*" * (label == "repeated "))
                              for label, kind, field in FIELD.findall(body)]
    return messages, enums


def shapes(root):
    messages, enums = _messages(root)
    wanted, lines = ["PlanFile"], []
    for name in wanted:
        fields = []
        for field, kind in messages[name]:
            plain = kind.rstrip("*").split(".")[-1]
            if plain in messages and plain not in wanted:
                wanted.append(plain)
            kind = kind.replace("map<string, string>", "map")
            fields.append(f"{field}:{'enum' if plain in enums else kind}")
        lines.append(f"{name} {' '.join(fields)}".rstrip())
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(shapes(pathlib.Path(sys.argv[1])), end="")

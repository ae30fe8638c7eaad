"""What jobs can run on: the document of `python3 -m tangram_schedulers sia`."""

import dataclasses
import math
import random
from typing import Tuple

FORMAT = "tangram.sia/v1"


@dataclasses.dataclass(frozen=True)
class Choice:
    """GPUs of each type, and seconds of an iteration."""

    gpus: Tuple[int, ...]
    predicted_s: float
    true_s: float

    @property
    def is_mixed(self):
        return sum(n > 0 for n in self.gpus) > 1


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of job. Choices of one type come first."""

    name: str
    choices: Tuple[Choice, ...]

    def alone(self):
        return [i for i, c in enumerate(self.choices) if not c.is_mixed]


def kinds_of(document, seed, error, mixed_error):
    """Returns the types of GPU and the kinds of jobs.

    True times are the predicted ones times errors that the seed draws, lognormal
    with a mean absolute error of `error`, or `mixed_error` with several types.
    """
    if not isinstance(document, dict) or document.get("format_version") != FORMAT:
        raise ValueError(f"format_version: expected {FORMAT}")
    types = tuple(document["types"])
    kinds = []
    for name, job in document["jobs"].items():
        try:
            rows = [({row["type"]: row["gpus"]}, row["iterations_per_s"])
                    for row in job["configurations"]]
            rows += [(dict(row["gpus"]), row["iterations_per_s"])
                     for row in job["bundles"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"jobs: {name}: {error!r}; expected "
                             "configurations and bundles") from None
        choices = []
        for gpus, rate in rows:
            _check(name, gpus, rate, types)
            amount = error if len(gpus) == 1 else mixed_error
            # The mean of |z| of a normal z is sqrt(2 / pi).
            draw = random.Random(f"error {seed} {name} {sorted(gpus.items())}")
            factor = math.exp(draw.gauss(0, amount * math.sqrt(math.pi / 2)))
            choices.append(Choice(tuple(gpus.get(t, 0) for t in types),
                                  1 / rate, factor / rate))
        choices.sort(key=lambda c: c.is_mixed)
        if not choices or choices[0].is_mixed:
            raise ValueError(f"jobs: {name}: fits no type alone; expected one")
        kinds.append(Kind(name, tuple(choices)))
    return types, kinds


def _check(name, gpus, rate, types):
    for kind, number in gpus.items():
        if kind not in types or type(number) is not int or number <= 0:
            raise ValueError(f"jobs: {name}: gpus: {kind!r}: {number!r}; expected "
                             f"numbers of GPUs of {', '.join(types)}")
    if (type(rate) not in (int, float) or not math.isfinite(rate) or rate <= 0
            or not gpus):
        raise ValueError(f"jobs: {name}: iterations_per_s: {rate!r}; expected a "
                         "positive number")

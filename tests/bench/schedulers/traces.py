"""Arrivals of jobs: from public traces, or drawn by a seed.

No trace is shipped. Formats are told by their columns:

  Helios      cluster_log.csv: gpu_num, submit_time, duration
  Acme        trace_*.csv: the same columns
  Sia, Pollux workload-*.csv: time, application, num_replicas ...; their jobs
              have no duration, which is drawn
  Philly      cluster_job_log: a JSON list with submitted_time and attempts
  Gavel       *.trace: tab-separated, 7 or 10 fields; steps are taken as
              seconds
"""

import csv
import dataclasses
import datetime
import json
import math
import random

MOST_GPUS = 100_000
MOST_S = 10 * 365 * 24 * 3600


class BadTrace(ValueError):
    """A row is wrong; the message names file, row, field and value."""


@dataclasses.dataclass(frozen=True)
class Arrival:
    submit_s: float  # After the first arrival.
    gpus: int
    duration_s: float  # On these GPUs of the reference type.


def read(path, seed=0, most=None):
    """Returns arrivals in order. Jobs without GPUs or that never ran are left
    out. `most`: only so many, the first."""
    with open(path, encoding="utf-8", errors="strict", newline="") as file:
        try:
            head = file.read(4096)
            file.seek(0)
            rows = _format_of(head, path)(file, seed)
            found = [row for row in rows if row is not None]
        except (UnicodeDecodeError, csv.Error, RecursionError,
                json.JSONDecodeError) as error:
            raise BadTrace(f"{path}: {error}") from None
        except BadTrace as error:
            raise BadTrace(f"{path}: {error}") from None
    if not found:
        raise BadTrace(f"{path}: no job with GPUs; expected at least one")
    found.sort()
    first = found[0][0]
    return [Arrival(submit - first, gpus, duration)
            for submit, gpus, duration in found[:most]]


def drawn(seed, hours, jobs_per_hour):
    """Arrivals of a Poisson process. Sizes and durations have the shapes of
    published traces: most jobs are small, and few take most of the time."""
    draw = random.Random(f"arrivals {seed}")
    arrivals, at_s = [], 0.0
    while True:
        at_s += draw.expovariate(jobs_per_hour / 3600)
        if at_s > hours * 3600:
            return arrivals
        gpus = draw.choices((1, 2, 4, 8, 16, 32), (30, 15, 20, 20, 10, 5))[0]
        arrivals.append(Arrival(at_s, gpus, _duration_s(draw)))


def _duration_s(draw):
    return min(max(math.exp(draw.gauss(math.log(2400), 1.2)), 120), 48 * 3600)


def _format_of(head, path):
    if head.lstrip()[:1] == "[":
        return _philly
    first = head.partition("\n")[0]
    if first.count("\t") + 1 in _GAVEL:
        return _gavel
    columns = {name.strip() for name in first.split(",")}
    if {"gpu_num", "submit_time", "duration"} <= columns:
        return _helios
    if {"time", "application", "num_replicas"} <= columns:
        return _sia
    raise BadTrace(f"{path}: {first[:60]!r}; expected columns of Helios, Acme, "
                   "Sia or Gavel, or Philly's JSON")


def _helios(file, _):
    for number, row in enumerate(csv.DictReader(file), 2):
        gpus = _number(row, "gpu_num", number, MOST_GPUS)
        duration_s = _number(row, "duration", number, MOST_S, blank=True)
        submit_s = _time(row, "submit_time", number)
        yield (submit_s, int(gpus), duration_s) if gpus and duration_s else None


def _sia(file, seed):
    draw = random.Random(f"durations {seed}")
    for number, row in enumerate(csv.DictReader(file), 2):
        yield (_number(row, "time", number, MOST_S),
               max(1, int(_number(row, "num_replicas", number, MOST_GPUS))),
               _duration_s(draw))


# Places of total_steps, arrival_time and scale_factor, by the number of fields.
_GAVEL = {10: (5, 9, 6), 7: (4, 5, 6)}


def _gavel(file, _):
    for number, line in enumerate(file, 1):
        cells = line.rstrip("\r\n").split("\t")
        if len(cells) not in _GAVEL:
            raise BadTrace(f"row {number}: {len(cells)} fields; expected 7 or "
                           "10, separated by tabs")
        row = dict(zip(("total_steps", "arrival_time", "scale_factor"),
                       (cells[place] for place in _GAVEL[len(cells)])))
        yield (_number(row, "arrival_time", number, MOST_S),
               int(_number(row, "scale_factor", number, MOST_GPUS)),
               _number(row, "total_steps", number, MOST_S))


def _philly(file, _):
    document = json.load(file)
    for number, job in enumerate(document, 1):
        if not isinstance(job, dict) or not isinstance(job.get("attempts"), list):
            raise BadTrace(f"job {number}: attempts: expected a list")
        try:
            gpus = max((sum(len(on["gpus"]) for on in attempt["detail"])
                        for attempt in job["attempts"]), default=0)
        except (TypeError, KeyError):
            raise BadTrace(f"job {number}: attempts: expected detail with "
                           "gpus") from None
        ran_s = 0.0
        for attempt in job["attempts"]:
            if attempt.get("start_time") and attempt.get("end_time"):
                ran_s += (_time(attempt, "end_time", number)
                          - _time(attempt, "start_time", number))
        submit_s = _time(job, "submitted_time", number)
        yield (submit_s, gpus, ran_s) if gpus and ran_s > 0 else None


def _number(row, name, number, most, blank=False):
    text = (row.get(name) or "").strip()
    if blank and text in ("", "None", "nan", "NaN"):
        return 0.0
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:  # NaN is not.
        raise BadTrace(f"row {number}: {name}: {text[:40]!r}; expected a number "
                       f"from 0 to {most:g}")
    return value


def _time(row, name, number):
    text = str(row.get(name) or "").strip()
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise BadTrace(f"row {number}: {name}: {text[:40]!r}; expected a date "
                       "and time") from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=datetime.timezone.utc)
    return time.timestamp()

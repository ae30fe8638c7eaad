"""Keeps the admission checks of Workloads up to date."""

import concurrent.futures
import datetime
import logging
import threading
import time

from tangram_schedulers.kueue.answers import pod_set_updates, verdict_of
from tangram_schedulers.kueue.api import ApiError

CONTROLLER = "tangram.dev/frontier"
GROUP = "/apis/kueue.x-k8s.io/v1beta2"
API_VERSION = "kueue.x-k8s.io/v1beta2"
_QUESTIONS_AT_ONCE = 8
_LEAST_PAUSE_S, _MOST_PAUSE_S = 0.2, 30
_PAUSES_S = (0.1, 0.5, 2, 10, 0)
_log = logging.getLogger(__name__)


def _now():
    return datetime.datetime.now(datetime.timezone.utc).strftime(
        "%Y-%m-%dT%H:%M:%SZ")


def waits_for_checks(workload):
    """Returns whether it has its quota and has not ended."""
    conditions = (workload.get("status") or {}).get("conditions") or []
    true = {c.get("type") for c in conditions if c.get("status") == "True"}
    return "QuotaReserved" in true and "Finished" not in true


class Controller:
    """Answers the checks of CONTROLLER, each within `answer_within_s`."""

    def __init__(self, api, settings, answer_within_s=1.8):
        self._api = api
        self._settings = settings
        self._within_s = answer_within_s
        self._pool = concurrent.futures.ThreadPoolExecutor(_QUESTIONS_AT_ONCE)
        self._lock = threading.Lock()
        self._checks = set()  # Names.
        self._waiting = {}  # Workloads with quota and pending checks, by uid.
        self._asked = set()  # (uid, resourceVersion, check) under way.

    def run(self):
        """Runs until the process ends."""
        threading.Thread(target=self._follow, daemon=True, args=(
            f"{GROUP}/admissionchecks", self._see_check)).start()
        self._follow(f"{GROUP}/workloads", self._see_workload)

    def _follow(self, path, see):
        """Shows each state of each object to `see`, for ever."""
        pause_s = _LEAST_PAUSE_S
        while True:
            try:
                objects, version = self._api.list(path)
                for each in objects:
                    self._show(see, "ADDED", each)
                pause_s = _LEAST_PAUSE_S
                while True:
                    for kind, each in self._api.watch(path, version):
                        version = each["metadata"]["resourceVersion"]
                        if kind != "BOOKMARK":
                            self._show(see, kind, each)
                    # A server that ends each watch at once is not asked at once.
                    time.sleep(_LEAST_PAUSE_S)
            except (ApiError, KeyError, TypeError, AttributeError) as error:
                _log.warning("%s: %s; again in %g s", path, error, pause_s)
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, _MOST_PAUSE_S)

    def _show(self, see, kind, each):
        """One object that cannot be read does not hide the others."""
        try:
            see(kind, each)
        except (AttributeError, KeyError, TypeError) as error:
            _log.warning("an object cannot be read: %r", error)

    def _see_check(self, kind, check):
        if check["spec"]["controllerName"] != CONTROLLER:
            return
        name = check["metadata"]["name"]
        with self._lock:
            if kind == "DELETED":
                self._checks.discard(name)
                return
            self._checks.add(name)
            waiting = list(self._waiting.values())
        self._mark_active(check)
        for workload in waiting:
            self._see_workload("MODIFIED", workload)

    def _mark_active(self, check):
        conditions = (check.get("status") or {}).get("conditions") or []
        if any(c.get("type") == "Active" and c.get("status") == "True"
               for c in conditions):
            return
        self._apply(f"{GROUP}/admissionchecks/{check['metadata']['name']}", {
            "kind": "AdmissionCheck",
            "metadata": {"name": check["metadata"]["name"]},
            "status": {"conditions": [{
                "type": "Active", "status": "True", "reason": "Active",
                "message": "tangram answers this check",
                "observedGeneration": check["metadata"].get("generation", 0),
                "lastTransitionTime": _now()}]}})

    def _see_workload(self, kind, workload):
        uid = workload["metadata"]["uid"]
        pending = [state["name"] for state in
                   (workload.get("status") or {}).get("admissionChecks") or []
                   if state.get("state") == "Pending"]
        if kind == "DELETED" or not pending or not waits_for_checks(workload):
            with self._lock:
                self._waiting.pop(uid, None)
            return
        deadline = time.monotonic() + self._within_s
        version = workload["metadata"]["resourceVersion"]
        with self._lock:
            self._waiting[uid] = workload
            asked = {(uid, version, name) for name in pending
                     if name in self._checks} - self._asked
            self._asked |= asked
        for key in sorted(asked):
            self._pool.submit(self._answer, key, workload, deadline)

    def _answer(self, key, workload, deadline):
        try:
            verdict = verdict_of(workload, self._settings, deadline)
            _log.info("%s/%s: %s: %s", workload["metadata"]["namespace"],
                      workload["metadata"]["name"], verdict.state,
                      verdict.message)
            self._write(key[2], workload, verdict)
        except Exception:  # A thread of a pool would swallow it.
            _log.exception("%s", key)
        finally:
            with self._lock:
                self._asked.discard(key)

    def _write(self, check, workload, verdict):
        of = workload["metadata"]
        state = {"name": check, "state": verdict.state,
                 "message": verdict.message, "lastTransitionTime": _now()}
        if verdict.annotations:
            state["podSetUpdates"] = pod_set_updates(workload,
                                                     verdict.annotations)
        if verdict.requeue_after_s:
            state["requeueAfterSeconds"] = verdict.requeue_after_s
        # With the version, an answer to what has changed since is refused; the
        # change was shown, and is answered by itself.
        self._apply(f"{GROUP}/namespaces/{of['namespace']}/workloads/{of['name']}",
                    {"kind": "Workload", "metadata": {
                        "name": of["name"], "namespace": of["namespace"],
                        "uid": of["uid"],
                        "resourceVersion": of["resourceVersion"]},
                     "status": {"admissionChecks": [state]}})

    def _apply(self, path, body):
        """Applies a status. Without an answer, tries again a few times: a check
        that stays pending holds its Workload."""
        for pause_s in _PAUSES_S:
            try:
                self._api.apply_status(path,
                                       {"apiVersion": API_VERSION, **body})
                return
            except ApiError as error:
                if error.code in (404, 409):
                    return
                _log.warning("%s", error)
                if 400 <= error.code < 500 and error.code != 429:
                    return
            time.sleep(pause_s)

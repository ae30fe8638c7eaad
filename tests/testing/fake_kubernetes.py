"""An API server for one test: lists, watches and applied statuses, over HTTP.

Objects of CRDs are checked against their schemas, as the server does.
"""

import copy
import http.server
import json
import re
import ssl
import sys
import threading
import urllib.parse

_KEYS = {"admissionChecks": "name", "conditions": "type"}  # Lists that are maps.


def problems(schema, value, path):
    """Yields what a value of a structural schema does wrong. Unknown fields
    count, though a server would drop them."""
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, (int, str)):
            yield f"{path}: {value!r} is neither integer nor string"
        return
    kinds = {"object": dict, "array": list, "string": str, "integer": int,
             "boolean": bool, "number": (int, float)}
    kind = kinds[schema["type"]]
    if not isinstance(value, kind) or (kind is int and value is True):
        yield f"{path}: {value!r} is no {schema['type']}"
        return
    yield from _limits(schema, value, path)
    if kind is dict:
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{path}.{name} is missing"
        for name, each in value.items():
            of = schema.get("properties", {}).get(
                name, schema.get("additionalProperties"))
            if of is None:
                if not (path == "" or schema.get(
                        "x-kubernetes-preserve-unknown-fields")
                        or path == ".metadata"):
                    yield f"{path}.{name} is unknown"
            else:
                yield from problems(of, each, f"{path}.{name}")
    elif kind is list:
        for i, each in enumerate(value):
            yield from problems(schema["items"], each, f"{path}[{i}]")


def _limits(schema, value, path):
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    # Go's (?i) stands within the pattern.
    pattern = schema.get("pattern", "").replace("^(?i)", "(?i)^")
    if pattern and isinstance(value, str) and not re.search(pattern, value):
        yield f"{path}: {value!r} does not match {pattern}"
    if schema.get("format") == "date-time" and not re.fullmatch(
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", value):
        yield f"{path}: {value!r} is no time"
    for name, size in (("minLength", 1), ("minItems", 1), ("minimum", 0),
                       ("maxLength", -1), ("maxItems", -1), ("maximum", -1)):
        if name not in schema:
            continue
        number = value if name.endswith("imum") else len(value)
        if (number > schema[name] if size < 0 else number < schema[name]):
            yield f"{path}: {value!r} breaks {name} {schema[name]}"


def _merge(old, new, key=None):
    """Returns what an apply makes of `old`."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{k: _merge(old.get(k), v, _KEYS.get(k))
                          for k, v in new.items()}}
    if isinstance(old, list) and key:
        by_key = {each[key]: each for each in old}
        for each in new:
            # Fields that the same manager no longer applies are gone.
            by_key[each[key]] = each
        return list(by_key.values())
    return new


class FakeKubernetes:
    """Serves from its construction until `close`. `schemas` are by plural. With
    `tls`, files of a certificate and its key, it serves HTTPS; with `token`, only
    those who know it."""

    def __init__(self, schemas, tls=None, token=""):
        self._schemas = schemas
        self._changed = threading.Condition()
        self._objects = {}  # By (plural, namespace, name).
        self._events = []  # (version, plural, type, object).
        self._version = 0
        self._oldest = 0  # Watches from before end with 410.
        self._watch_limit_s = 300
        self.refused = []  # Problems of applied objects.
        self.fail_next_applies = 0
        self.breaks = []  # What the next watches and lists send instead.
        server = self

        class Handler(_Handler):
            fake = server

        self._http = _Server(("127.0.0.1", 0), Handler)
        self.token = token
        self.unauthorized = 0
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self._http.socket = context.wrap_socket(self._http.socket,
                                                    server_side=True)
        self.address = (f"http{'s' if tls else ''}://127.0.0.1:"
                        f"{self._http.server_port}")
        self._thread = threading.Thread(target=self._http.serve_forever,
                                        kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self):
        with self._changed:
            self._watch_limit_s = 0
            self._changed.notify_all()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def put(self, plural, each):
        """Creates or replaces an object, as another client would."""
        each = copy.deepcopy(each)
        found = list(problems(self._schemas[plural], each, ""))
        assert not found, found
        with self._changed:
            self._put(plural, each)

    def get(self, plural, name):
        with self._changed:
            return copy.deepcopy(next(o for key, o in self._objects.items()
                                      if key[0] == plural and key[2] == name))

    def wait(self, plural, name, ready, timeout_s=30):
        """Returns the object once it is ready."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: ready(self.get(plural, name)), timeout_s), (
                    self.get(plural, name), self.refused)
            return self.get(plural, name)

    def forget(self):
        """Ends all watches and refuses to continue them."""
        with self._changed:
            self._oldest = self._version + 1
            self._version += 1
            self._changed.notify_all()

    def _put(self, plural, each):
        of = each["metadata"]
        key = plural, of.get("namespace", ""), of["name"]
        self._version += 1
        of["resourceVersion"] = str(self._version)
        of.setdefault("uid", f"uid-{of['name']}")
        kind = "MODIFIED" if key in self._objects else "ADDED"
        self._objects[key] = each
        self._events.append((self._version, plural, kind, copy.deepcopy(each)))
        self._changed.notify_all()

    def list(self, plural, limit, after):
        with self._changed:
            all_of = sorted((k, o) for k, o in self._objects.items()
                            if k[0] == plural)
            page = all_of[after:after + limit]
            more = after + limit if after + limit < len(all_of) else ""
            return {"metadata": {"resourceVersion": str(self._version),
                                 "continue": str(more)},
                    "items": [copy.deepcopy(o) for _, o in page]}

    def events(self, plural, version):
        """Yields events after a version; None if that is too old."""
        while True:
            with self._changed:
                if version < self._oldest:
                    yield None
                    return
                new = [e for e in self._events if e[0] > version]
                if not new and not self._changed.wait_for(
                        lambda: self._version > version
                        or version < self._oldest or not self._watch_limit_s,
                        timeout=self._watch_limit_s):
                    return
                if not self._watch_limit_s:
                    return
            for number, of, kind, each in new:
                version = number
                if of == plural:
                    yield {"type": kind, "object": each}

    def apply_status(self, plural, namespace, name, body):
        """Returns a status code and an object."""
        with self._changed:
            if self.fail_next_applies > 0:
                self.fail_next_applies -= 1
                return 500, "a failure of the test"
            old = self._objects.get((plural, namespace, name))
            if old is None:
                return 404, "not found"
            for field in ("uid", "resourceVersion"):
                asked = body.get("metadata", {}).get(field)
                if asked is not None and asked != old["metadata"][field]:
                    return 409, f"{field} is {old['metadata'][field]}"
            if body.get("apiVersion") != old["apiVersion"] or body.get(
                    "kind") != old["kind"]:
                return 400, "apiVersion and kind are those of the object"
            new = dict(old, status=_merge(old.get("status", {}),
                                          body.get("status", {})))
            found = list(problems(self._schemas[plural], new, ""))
            if found:
                self.refused += found
                return 422, "; ".join(found)
            new["metadata"] = dict(old["metadata"])
            self._put(plural, new)
            return 200, new


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # The client is gone.
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    fake = None

    def _is_refused(self):
        if self.headers.get("Authorization", "") == (
                self.fake.token and f"Bearer {self.fake.token}"):
            return False
        self.fake.unauthorized += 1
        self._answer(401, "Unauthorized")
        return True

    def do_GET(self):
        if self._is_refused():
            return
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        plural = url.path.rpartition("/")[2]
        if self.fake.breaks:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.fake.breaks.pop())
            return
        if query.get("watch"):
            self._watch(plural, int(query["resourceVersion"]))
        else:
            self._answer(200, self.fake.list(
                plural, int(query.get("limit", 500)),
                int(query.get("continue", 0))))

    def _watch(self, plural, version):
        self.send_response(200)
        self.end_headers()
        for event in self.fake.events(plural, version):
            if event is None:
                event = {"type": "ERROR", "object": {
                    "kind": "Status", "code": 410, "message": "too old"}}
            self.wfile.write(json.dumps(event).encode() + b"\n")
            self.wfile.flush()

    def do_PATCH(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        words = url.path.strip("/").split("/")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self._is_refused():
            return
        if (words[-1] != "status" or "fieldManager" not in query
                or self.headers["Content-Type"]
                != "application/apply-patch+yaml"):
            self._answer(415, "expected an apply of a status")
            return
        namespace = words[-4] if "namespaces" in words else ""
        self._answer(*self.fake.apply_status(words[-3], namespace, words[-2],
                                             json.loads(body)))

    def _answer(self, code, body):
        if isinstance(body, str):
            body = {"kind": "Status", "message": body}
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass

"""As much of the Kubernetes API as a controller needs."""

import http.client
import json
import os
import ssl
import urllib.parse

_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_CALL_TIMEOUT_S = 10
_WATCH_S = 300
_PAGE = 500
_MOST_BYTES = 64 << 20
MANAGER = "tangram-admission-check"


class ApiError(Exception):
    """A refusal; `code` is the HTTP status, 0 without an answer."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Api:
    """An API server. Thread-safe: each call has a connection of its own."""

    def __init__(self, server, *, token_file=None, ca_file=None):
        url = urllib.parse.urlsplit(server)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(f"{server}; expected http[s]://HOST:PORT")
        self._url = url
        self._token_file = token_file
        self._tls = (ssl.create_default_context(cafile=ca_file)
                     if url.scheme == "https" else None)

    @classmethod
    def in_cluster(cls):
        """The server of the cluster that this pod runs in."""
        host = os.environ.get("KUBERNETES_SERVICE_HOST")
        if not host:
            raise ValueError("KUBERNETES_SERVICE_HOST is not set; expected "
                             "--server outside of a cluster")
        port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        host = f"[{host}]" if ":" in host else host
        return cls(f"https://{host}:{port}", token_file=f"{_ACCOUNT}/token",
                   ca_file=f"{_ACCOUNT}/ca.crt")

    def list(self, path):
        """Returns all objects, and the version from which to watch."""
        objects, more = [], ""
        while True:
            page = self._json("GET", f"{path}?limit={_PAGE}" + (
                f"&continue={urllib.parse.quote(more)}" if more else ""))
            objects += page.get("items") or []
            more = page["metadata"].get("continue")
            if not more:
                return objects, page["metadata"]["resourceVersion"]

    def watch(self, path, version):
        """Yields (type, object) until the server ends the watch. Raises
        ApiError, with 410 if the version is too old."""
        query = urllib.parse.urlencode({
            "watch": "1", "resourceVersion": version,
            "allowWatchBookmarks": "true", "timeoutSeconds": _WATCH_S})
        connection = self._connect(_WATCH_S + _CALL_TIMEOUT_S)
        try:
            response = self._send(connection, "GET", f"{path}?{query}")
            while line := response.readline(_MOST_BYTES):
                if not line.endswith(b"\n"):
                    return  # It broke off.
                event = json.loads(line)
                if event["type"] == "ERROR":
                    status = event["object"]
                    raise ApiError(status.get("code", 0),
                                   status.get("message", ""))
                yield event["type"], event["object"]
        except (OSError, http.client.HTTPException, ValueError, KeyError,
                TypeError, AttributeError) as error:
            raise ApiError(0, f"{path}: {error!r}") from error
        finally:
            connection.close()

    def apply_status(self, path, body):
        """Applies fields of the status of an object, which then are ours."""
        return self._json(
            "PATCH", f"{path}/status?fieldManager={MANAGER}&force=true", body)

    def _json(self, method, path, body=None):
        connection = self._connect(_CALL_TIMEOUT_S)
        try:
            response = self._send(connection, method, path, body)
            return json.loads(response.read(_MOST_BYTES))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ApiError(0, f"{path}: {error!r}") from error
        finally:
            connection.close()

    def _connect(self, timeout_s):
        if self._tls:
            return http.client.HTTPSConnection(
                self._url.hostname, self._url.port, timeout=timeout_s,
                context=self._tls)
        return http.client.HTTPConnection(self._url.hostname, self._url.port,
                                          timeout=timeout_s)

    def _send(self, connection, method, path, body=None):
        headers = {"Accept": "application/json"}
        if self._token_file:
            # Tokens change while this runs.
            with open(self._token_file, encoding="ascii") as file:
                headers["Authorization"] = f"Bearer {file.read().strip()}"
        if body is not None:
            # JSON is YAML.
            headers["Content-Type"] = "application/apply-patch+yaml"
            body = json.dumps(body)
        connection.request(method, self._url.path.rstrip("/") + path, body,
                           headers)
        response = connection.getresponse()
        if response.status >= 300:
            text = response.read(_MOST_BYTES)
            try:
                message = json.loads(text)["message"]
            except (ValueError, KeyError, TypeError):
                message = text[:200].decode(errors="replace")
            raise ApiError(response.status, f"{path}: {response.status} {message}")
        return response

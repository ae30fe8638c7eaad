"""Tests deploy/kubernetes with the components tls and postgres.

The certificate must be valid for the names that pods dial. A proxy stands for
the cluster's DNS. Needs kubectl to render the manifests.
"""

import http.server
import os
import shutil
import socket
import subprocess
import threading
import unittest
from unittest import mock

import yaml

import harness
from certificates import Authority
from daemons import Coordinator, Program
from harness import SOURCE

BASE = os.path.join(SOURCE, "deploy/kubernetes")
TOKEN = "worker-of-the-test"


def render(folder):
    return {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(
        subprocess.run(["kubectl", "kustomize", folder], check=True, text=True,
                       capture_output=True, timeout=60).stdout)}


def copy(source, target):
    """Copies until the source ends."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    target.close()


class Proxy(http.server.ThreadingHTTPServer):
    """Resolves names by a table: host:port -> address."""

    daemon_threads = True

    def __init__(self, addresses):
        super().__init__(("127.0.0.1", 0), Tunnel)
        self.addresses = addresses
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()


class Tunnel(http.server.BaseHTTPRequestHandler):
    rbufsize = 0  # Bytes after the request belong to the other end.

    def do_CONNECT(self):
        host, port = self.server.addresses[self.path].split(":")
        there = socket.create_connection((host, int(port)))
        self.send_response_only(200)
        self.end_headers()
        threading.Thread(target=copy, args=(there, self.connection),
                         daemon=True).start()
        copy(self.connection, there)


@unittest.skipUnless(shutil.which("kubectl"), "no kubectl")
class KubernetesTlsTest(harness.Folder):
    def setUp(self):
        super().setUp()
        os.mkdir(os.path.join(self.folder, "overlay"))
        base = os.path.relpath(BASE, os.path.realpath(
            os.path.join(self.folder, "overlay")))
        self.write("overlay/kustomization.yaml", f"resources: [{base}]\n"
                   f"components: [{base}/tls, {base}/postgres]\n")
        self.objects = render(os.path.join(self.folder, "overlay"))
        self.write_secrets()

    def write_secrets(self):
        authority = Authority(self.folder, "ca")
        cert, key = authority.issue_as(os.path.join(BASE, "tls/names.cnf"), "c")
        for path, name in ((cert, "tls.crt"), (key, "tls.key"),
                           (authority.cert, "ca.crt")):
            shutil.copy(path, os.path.join(self.folder, name))
        self.write("tokens.csv", f"{TOKEN},worker,,work\n")
        self.write("token", TOKEN + "\n")

    def arguments(self, kind, name):
        pod = self.objects[kind, name]["spec"]["template"]["spec"]
        return [word.replace("/etc/tangram", self.folder)
                for word in pod["containers"][0]["args"]]

    def start_coordinators(self, names):
        """Returns a dict of name -> the coordinator with that name."""
        access = [word for word in self.arguments(
            "StatefulSet", "tangram-coordinator") if self.folder in word]
        coordinators = {name: Coordinator(*access) for name in names}
        for coordinator in coordinators.values():
            self.addCleanup(coordinator.end)
        return coordinators

    def dial_by(self, addresses):
        proxy = Proxy(addresses)
        self.addCleanup(proxy.end)
        dialling = mock.patch.dict(os.environ, {
            "grpc_proxy": f"http://127.0.0.1:{proxy.server_port}",
            "no_grpc_proxy": ""})
        dialling.start()
        self.addCleanup(dialling.stop)

    def test_coordinators_are_known_by_the_names_that_are_dialled(self):
        program, flag, *_ = worker = self.arguments("Deployment",
                                                    "tangram-worker")
        coordinators = self.start_coordinators(
            flag.removeprefix("--coordinator=").split(","))
        self.assertEqual(len(coordinators), 2)
        addresses = {name: c.address for name, c in coordinators.items()}
        services = ("tangram-coordinator:7070",
                    "tangram-coordinator.tangram:7070")
        self.dial_by({**addresses,
                      **dict.fromkeys(services, min(addresses.values()))})
        self.addCleanup(Program(program, *worker[1:], "--metrics=").end)
        for coordinator in coordinators.values():
            coordinator.wait_for("worker joined")
        for service in services:
            self.tangram("health", "--coordinator", service, "--tls-ca",
                         "ca.crt")


if __name__ == "__main__":
    harness.main()

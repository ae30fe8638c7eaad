"""A separate network for each worker, that can be cut and throttled.

Also a proxy that delays and resets connections. Needs root.
"""

import os
import random
import select
import socket
import subprocess
import threading
import time


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def tc(*arguments):
    subprocess.run(["tc", *arguments], check=True, capture_output=True)


class Network:
    """A bridge with the coordinator's address, and namespaces on it."""

    def __init__(self):
        # Names and addresses must differ from those of other runs.
        self._id = os.getpid() % 60000
        self._subnet = f"10.{200 + self._id // 250 % 50}.{self._id % 250}"
        self._bridge = f"tgb{self._id}"
        self._spaces = []
        self.address = f"{self._subnet}.1"
        ip("link", "add", self._bridge, "type", "bridge")
        ip("address", "add", f"{self.address}/24", "dev", self._bridge)
        ip("link", "set", self._bridge, "up")

    def add_space(self):
        number = len(self._spaces)
        name, link = f"tgn{self._id}-{number}", f"tgv{self._id}-{number}"
        ip("netns", "add", name)
        self._spaces.append(Space(name, link))
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0",
           "netns", name)
        ip("link", "set", link, "master", self._bridge, "up")
        ip("-n", name, "address", "add", f"{self._subnet}.{number + 2}/24",
           "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "link", "set", "lo", "up")
        return self._spaces[-1]

    def remove(self):
        for space in self._spaces:
            # The kernel would delete it too, but later.
            ip("link", "delete", space.link)
            ip("netns", "delete", space.name)
        ip("link", "delete", self._bridge)


class Space:
    def __init__(self, name, link):
        self.name = name
        self.link = link
        self.command = ["ip", "netns", "exec", name]

    def cut(self):
        ip("link", "set", self.link, "down")

    def mend(self):
        ip("link", "set", self.link, "up")

    def throttle(self):
        """Reduces the bandwidth to about that of a modem."""
        tc("qdisc", "replace", "dev", self.link, "root", "tbf", "rate",
           "128kbit", "burst", "4kb", "latency", "400ms")

    def unthrottle(self):
        tc("qdisc", "delete", "dev", self.link, "root")


class Proxy:
    """Passes connections on to `target`. Its fields set faults."""

    def __init__(self, target):
        self.target = target
        self.delay_s = 0.0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._socket.getsockname()[1]
        self._pairs = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def reset(self):
        """Ends all connections."""
        with self._lock:
            for pair in self._pairs:
                for end in pair:
                    try:
                        end.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass  # The process had ended.

    def close(self):
        self._socket.close()
        self.reset()

    def _accept(self):
        while True:
            try:
                client = self._socket.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._pass, args=(client,),
                             daemon=True).start()

    def _pass(self, client):
        try:
            server = socket.create_connection(self.target.rsplit(":", 1))
        except OSError:
            client.close()
            return
        pair = (client, server)
        with self._lock:
            self._pairs.add(pair)
        other = {client: server, server: client}
        try:
            while True:
                for end in select.select(pair, [], [])[0]:
                    data = end.recv(1 << 16)
                    if not data:
                        return
                    if self.delay_s:
                        time.sleep(random.uniform(0, self.delay_s))
                    other[end].sendall(data)
        except OSError:
            pass  # One of the ends is closed.
        finally:
            with self._lock:
                self._pairs.discard(pair)
            for end in pair:
                end.close()

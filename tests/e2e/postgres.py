"""A PostgreSQL server for one test, in a temporary folder."""

import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

_BIN = next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin"))), None)


class Postgres:
    """Listens on a Unix socket only. Skips the test if it is not installed."""

    def __init__(self):
        if not _BIN:
            raise unittest.SkipTest("PostgreSQL is not installed")
        # Short: the path of a socket has at most 107 bytes.
        self.folder = tempfile.mkdtemp(prefix="tangram_pg_", dir="/tmp")
        # PostgreSQL refuses to run as root.
        self._user = {"user": "postgres"} if os.geteuid() == 0 else {}
        if self._user:
            shutil.chown(self.folder, "postgres")
        subprocess.run(
            [f"{_BIN}/initdb", "-D", f"{self.folder}/data", "-A", "trust", "-U",
             "tangram", "-E", "UTF8", "--no-locale", "--no-sync"],
            check=True, stdout=subprocess.DEVNULL, cwd=self.folder,
            **self._user)
        self.connection = f"host={self.folder} user=tangram dbname=postgres"
        self.start()

    def start(self):
        self._server = subprocess.Popen(
            [f"{_BIN}/postgres", "-D", f"{self.folder}/data", "-k", self.folder,
             "-c", "listen_addresses=", "-c", "fsync=off"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=self.folder, **self._user)
        while subprocess.run([f"{_BIN}/pg_isready", "-q", "-h", self.folder],
                             check=False).returncode:
            time.sleep(0.05)

    def stop(self, how=signal.SIGQUIT):
        self._server.send_signal(how)
        self._server.wait()

    def close(self):
        self.stop()
        shutil.rmtree(self.folder)

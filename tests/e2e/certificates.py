"""Certificates and keys, made by openssl as operators make them."""

import os
import subprocess


def openssl(*arguments, **options):
    return subprocess.run(["openssl", *arguments], check=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60, **options).stdout


class Authority:
    """A certificate authority whose files are in a separate folder."""

    def __init__(self, folder, name):
        self.folder = os.path.join(folder, name)
        os.makedirs(self.folder)
        self.cert = self._path("ca.pem")
        self._key = self._path("ca.key")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                f"/CN={name}", "-keyout", self._key, "-out", self.cert)

    def _path(self, name):
        return os.path.join(self.folder, name)

    def issue(self, name, san="IP:127.0.0.1,DNS:localhost"):
        """Issues a certificate. Returns the files of it and of its key."""
        extensions = self._path("ext")
        with open(extensions, "w", encoding="utf-8") as file:
            file.write(f"subjectAltName={san}\n")
        return self.issue_as(extensions, name)

    def issue_as(self, extensions, name):
        """Like issue, with a file of extensions as openssl takes it."""
        cert, key = self._path(f"{name}.pem"), self._path(f"{name}.key")
        request = self._path("csr")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out",
                request)
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey",
                self._key, "-CAcreateserial", "-days", "2", "-extfile",
                extensions, "-out", cert)
        return cert, key

"""Certificates of all processes, replaced while they talk to each other."""

import os

from certificates import Authority


class Identity:
    """Files in a folder that is a link, so that all are replaced at once.

    Kubernetes does the same with a mounted secret.
    """

    def __init__(self, folder):
        self._folder = folder
        self._current = os.path.join(folder, "current")
        self.cert, self.key, self.ca = (
            os.path.join(self._current, name)
            for name in ("cert.pem", "key.pem", "ca.pem"))
        os.makedirs(folder)

    def replace(self, cert, key, authorities):
        version = os.path.join(self._folder, str(len(os.listdir(self._folder))))
        os.mkdir(version)
        os.rename(cert, os.path.join(version, "cert.pem"))
        os.rename(key, os.path.join(version, "key.pem"))
        with open(os.path.join(version, "ca.pem"), "wb") as bundle:
            for authority in authorities:
                with open(authority.cert, "rb") as file:
                    bundle.write(file.read())
        link = os.path.join(self._folder, "next")
        os.symlink(version, link)
        os.rename(link, self._current)


class Identities:
    def __init__(self, folder, names, addresses):
        self._folder = folder
        self._addresses = ",".join(f"IP:{address}" for address in addresses)
        self._identities = {
            name: Identity(os.path.join(folder, name)) for name in names}
        self._num_authorities = 0
        self._trusted = []
        self.add_authority()

    def __getitem__(self, name):
        return self._identities[name]

    def add_authority(self):
        """Makes an authority trusted from now on. It has issued nothing yet."""
        self._num_authorities += 1
        self._trusted.append(
            Authority(self._folder, f"ca-{self._num_authorities}"))
        self.renew(self._trusted[0])

    def drop_authority(self):
        """Ends the trust in the oldest authority."""
        self._trusted.pop(0)
        self.renew(self._trusted[0])

    def renew(self, issuer=None):
        """Gives everybody a new certificate, by default of the newest
        authority."""
        issuer = issuer or self._trusted[-1]
        for name, identity in self._identities.items():
            identity.replace(*issuer.issue(name, self._addresses),
                             self._trusted)

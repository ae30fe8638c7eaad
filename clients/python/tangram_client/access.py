"""Addresses and credentials of a coordinator."""

import dataclasses
import json
import os
import re
from typing import Optional

import grpc

from tangram_client.errors import BadInput

# Same values as in cli/remote/coordinator_channel.cc.
_KEEPALIVE_MS = 30_000
_KEEPALIVE_TIMEOUT_MS = 10_000
# Same as kClientServiceConfig in common/wire/grpc_settings.h: a name may have
# several coordinators behind it, of which some are away.
_SERVICE_CONFIG = json.dumps({
    "loadBalancingConfig": [{"round_robin": {}}],
    "methodConfig": [{
        "name": [{}],
        "retryPolicy": {
            "maxAttempts": 4,
            "initialBackoff": "0.2s",
            "maxBackoff": "2s",
            "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE"]}}]})


def _from_environment(name):
    return dataclasses.field(default_factory=lambda: os.environ.get(name) or None)


@dataclasses.dataclass(frozen=True)
class Access:
    """The options of the command `tangram`, with the same meanings and the same
    environment variables as defaults. Files are PEM files."""

    address: str
    tls_ca: Optional[str] = _from_environment("TANGRAM_TLS_CA")
    tls_cert: Optional[str] = _from_environment("TANGRAM_TLS_CERT")
    tls_key: Optional[str] = _from_environment("TANGRAM_TLS_KEY")
    token_file: Optional[str] = _from_environment("TANGRAM_TOKEN_FILE")
    allow_plaintext_token: bool = False

    def channel(self):
        """Returns a grpc.Channel, which connects on first use."""
        self._check()
        options = [("grpc.keepalive_time_ms", _KEEPALIVE_MS),
                   ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
                   ("grpc.service_config", _SERVICE_CONFIG),
                   # Plan files of large clusters are long.
                   ("grpc.max_receive_message_length", -1)]
        if self._is_this_machine():
            options.append(("grpc.enable_http_proxy", 0))
        if self.tls_ca is None:
            return grpc.insecure_channel(self.address, options)
        key, cert = (path and _read(option, path) for option, path in
                     (("tls_key", self.tls_key), ("tls_cert", self.tls_cert)))
        credentials = grpc.ssl_channel_credentials(
            _read("tls_ca", self.tls_ca), key, cert)
        return grpc.secure_channel(self.address, credentials, options)

    def metadata(self):
        """Returns the metadata of a call, with the present token."""
        if self.token_file is None:
            return []
        token = _read("token_file", self.token_file).decode().strip()
        return [("authorization", "Bearer " + token)]

    def _is_this_machine(self):
        return bool(re.match(r"(unix:|localhost:|\[::1\]:|127\.[0-9.]+:)",
                             self.address))

    def _check(self):
        if (self.tls_cert is None) != (self.tls_key is None):
            raise BadInput("tls_cert: expected tls_key with it, and the other "
                           "way round", grpc.StatusCode.INVALID_ARGUMENT)
        if self.tls_cert is not None and self.tls_ca is None:
            raise BadInput("tls_cert: needs tls_ca, for TLS",
                           grpc.StatusCode.INVALID_ARGUMENT)
        if (self.token_file is not None and self.tls_ca is None
                and not self._is_this_machine()
                and not self.allow_plaintext_token):
            raise BadInput(
                f"token_file: would be sent to {self.address} in plain text; "
                "expected tls_ca or allow_plaintext_token",
                grpc.StatusCode.INVALID_ARGUMENT)


def _read(option, path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise BadInput(f"{option}: {path}: {error.strerror}",
                       grpc.StatusCode.INVALID_ARGUMENT) from error

"""The server's certificate, read again when its files change: secrets are renewed under us."""

import logging
import ssl
from pathlib import Path
from typing import Final

from winkube.webhook.errors import SettingError

log = logging.getLogger(__name__)
CHECK_SECONDS: Final = 5.0
_Stamp = tuple[int, int, int]


class Certificate:
    """One TLS context for the life of the server; new connections get what was read last."""

    def __init__(self, cert: Path, key: Path) -> None:
        self._files = (cert, key)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        self._stamps = self._look()
        try:
            self._load()
        except (OSError, ssl.SSLError) as error:
            raise SettingError(f"{cert}, {key}: {error}") from error

    async def refresh(self) -> None:
        """Take up new files; half-written or wrong ones are left until they are right."""
        stamps = self._look()
        if stamps == self._stamps:
            return
        try:
            # A pair that does not fit together must not replace one that does.
            _probe(*self._files)
            self._load()
        except (OSError, ssl.SSLError) as error:
            log.warning("the new certificate is not usable", extra={"error": str(error)})
            return
        self._stamps = stamps
        log.info("certificate read again", extra={"file": str(self._files[0])})

    def _load(self) -> None:
        self.context.load_cert_chain(*self._files)

    def _look(self) -> tuple[_Stamp | None, ...]:
        return tuple(_stamp(path) for path in self._files)


def _probe(cert: Path, key: Path) -> None:
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key)


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

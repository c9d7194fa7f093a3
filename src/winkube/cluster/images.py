"""The images every Linux node has from the start, made here: nothing is downloaded.

``winkube.local/busybox`` is Debian's static busybox with a link per applet; ``winkube.local/pause``
is the same program sleeping. Built once per machine, as one OCI archive that containerd imports
(``linux_root``).
"""

import hashlib
import io
import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any, Final

from winkube.aio import command

BUSYBOX: Final = Path("/bin/busybox")
DOMAIN: Final = "winkube.local"
_NAMES: Final = (f"{DOMAIN}/busybox:latest", f"{DOMAIN}/pause:1")
_FOLDERS: Final = ("bin", "dev", "etc", "home", "proc", "root", "run", "sys", "tmp", "usr", "var")
_FILES: Final = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n",
    "etc/group": "root:x:0:\nnobody:x:65534:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
_PATH: Final = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def ensure_linux_images(cache: Path) -> Path:
    """The archive, built when this busybox has not been seen before."""
    program = BUSYBOX.read_bytes()
    version = hashlib.sha256(program + Path(__file__).read_bytes()).hexdigest()[:16]
    archive = cache / f"linux-images-{version}.tar"
    if not archive.exists():
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = archive.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(build_archive(program, _applets()))
        temporary.replace(archive)
    return archive


async def ctr_import(socket: Path, archive: Path) -> None:
    argv = ["ctr", "--address", str(socket), "--namespace", "k8s.io"]
    await command.run([*argv, "images", "import", "--no-unpack", str(archive)], timeout=600.0)


def build_archive(program: bytes, applets: list[str]) -> bytes:
    """An OCI image layout with both images, byte for byte the same for the same input."""
    full, small = _layer(program, applets), _layer(program, ["sleep"])
    blobs: dict[str, bytes] = {}
    manifests = [
        _image(blobs, _NAMES[0], full, {"Cmd": ["sh"], "Env": [_PATH]}),
        _image(blobs, _NAMES[1], small, {"Entrypoint": ["/bin/sleep", "infinity"]}),
    ]
    index = {"schemaVersion": 2, "manifests": manifests}
    files = {f"blobs/sha256/{digest}": data for digest, data in blobs.items()}
    files["index.json"] = _json(index)
    files["oci-layout"] = _json({"imageLayoutVersion": "1.0.0"})
    return _tar([_file(name, data) for name, data in sorted(files.items())])


def _applets() -> list[str]:
    listing = subprocess.run([BUSYBOX, "--list"], check=True, capture_output=True, text=True)
    return listing.stdout.split()


def _layer(program: bytes, applets: list[str]) -> bytes:
    entries = [_folder(name) for name in _FOLDERS]
    entries.append(_file("bin/busybox", program, mode=0o755))
    for applet in sorted(set(applets) - {"busybox"}):
        link = tarfile.TarInfo(f"bin/{applet}")
        link.type, link.linkname = tarfile.SYMTYPE, "busybox"
        entries.append((link, b""))
    entries += [_file(name, text.encode()) for name, text in _FILES.items()]
    return _tar(entries)


def _image(
    blobs: dict[str, bytes], name: str, layer: bytes, config: dict[str, Any]
) -> dict[str, Any]:
    layer_digest = _add(blobs, layer)
    document = {
        "architecture": "amd64",
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": _descriptor(blobs, "application/vnd.oci.image.config.v1+json", _json(document)),
        "layers": [_descriptor(blobs, "application/vnd.oci.image.layer.v1.tar", layer)],
    }
    descriptor = _descriptor(blobs, manifest["mediaType"], _json(manifest))
    # containerd names the image after its own annotation, other tools after the OCI one.
    descriptor["annotations"] = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name.rpartition(":")[2],
    }
    return descriptor


def _descriptor(blobs: dict[str, bytes], media_type: Any, data: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": f"sha256:{_add(blobs, data)}", "size": len(data)}


def _add(blobs: dict[str, bytes], data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    blobs[digest] = data
    return digest


def _json(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _folder(name: str) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
    return info, b""


def _file(name: str, data: bytes, *, mode: int = 0o644) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    return info, data


def _tar(entries: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for info, data in entries:
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()

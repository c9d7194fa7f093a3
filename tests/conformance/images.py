"""The images the conformance tests name, made of the programs that stand on this machine.

No registry is asked. ``agnhost`` and the test's other programs are built from source by
``tools/build-conformance``; shell, web server and DNS tools are Debian's. What an image must do is
what the tests ask of it: the web servers, say, are busybox serving the folder theirs would serve.
"""

import re
import subprocess
from pathlib import Path
from typing import Any, Final

from tests.conformance.layers import Entry, Image, make_layer, write_archive

BUSYBOX: Final = Path("/bin/busybox")
# Others are private or do not exist, and tests want to see that.
REGISTRY: Final = "registry.k8s.io/"
_TOOLS: Final = ("bash", "curl", "nc.openbsd", "dig", "ss", "getent")
# Not busybox as the shell: it runs its own programs first, and hides variables with odd names.
_LINKS: Final = {"usr/bin/nc": "nc.openbsd", "bin/bash": "/usr/bin/bash", "bin/sh": "/usr/bin/bash"}
_ACCOUNTS: Final = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"
    "user-defined-in-image:x:1000:1000::/home:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/home:/bin/false\n",
    "etc/group": "root:x:0:root\nuser-defined-in-image:x:1000:\n"
    "group-defined-in-image:x:50000:user-defined-in-image\nnobody:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_FOLDERS: Final = {"dev", "home", "proc", "root", "run", "sys", "uploads", "usr/local/bin", "var"}
_APACHE: Final = "usr/local/apache2/htdocs"
_NGINX: Final = "usr/share/nginx/html"


def make_linux_archive(path: Path, programs: Path, names: list[str]) -> list[str]:
    """Write those of the named images that can be made; say which were."""
    maker = _Maker(programs)
    images = [image for name in names if (image := maker.image(name)) is not None]
    write_archive(path, images)
    return [image.name for image in images]


class _Maker:
    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._base = make_layer(_base_entries() | _tool_entries())
        self._agnhost = make_layer(
            {
                "agnhost": Entry(programs / "agnhost", mode=0o755),
                "agnhost-2": Entry(link="agnhost"),
                "localhost.crt": Entry(programs / "localhost.crt"),
                "localhost.key": Entry(programs / "localhost.key"),
            }
        )

    def image(self, name: str) -> Image | None:
        """The image of that name; None for one that no test here needs, or that must not be had."""
        if not name.startswith(REGISTRY):
            return None
        kind = name.rpartition("/")[2].partition(":")[0]
        make = getattr(self, f"_{re.sub('[^a-z]', '_', kind)}_image", None)
        return None if make is None else make(name)

    def _agnhost_image(self, name: str, *more: bytes, cmd: str = "pause") -> Image:
        config = {"Entrypoint": ["/agnhost"], "Cmd": [cmd], "WorkingDir": "/"}
        return Image(name, (self._base, self._agnhost, *more), config)

    def _busybox_image(self, name: str, **config: Any) -> Image:
        return Image(name, (self._base,), {"Cmd": ["sh"]} | config)

    def _nonroot_image(self, name: str) -> Image:
        return self._busybox_image(name, User="1234")

    def _pause_image(self, name: str) -> Image:
        # As the first process it must ask for the signal that ends it.
        wait = "trap 'exit 0' INT TERM; sleep infinity & wait"
        config = {"Entrypoint": ["/bin/busybox", "sh", "-c", wait], "User": "65535:65535"}
        return Image(name, (self._base,), config)

    def _httpd_image(self, name: str) -> Image:
        return self._web(name, _APACHE, "<html><body><h1>It works!</h1></body></html>\n")

    def _nginx_image(self, name: str) -> Image:
        return self._web(name, _NGINX, "<html><body><h1>Welcome to nginx!</h1></body></html>\n")

    def _web(self, name: str, folder: str, page: str) -> Image:
        layer = make_layer({f"{folder}/index.html": Entry(page.encode())})
        serve = f"httpd -f -v -p 80 -h /{folder} & wait"
        argv = ["/bin/sh", "-c", f"trap 'exit 0' INT TERM; {serve}"]
        return Image(name, (self._base, layer), {"Cmd": argv, "WorkingDir": f"/{folder}"})

    def _nautilus_image(self, name: str) -> Image:
        return self._picture(name, "nautilus.jpg")

    def _kitten_image(self, name: str) -> Image:
        return self._picture(name, "kitten.jpg")

    def _picture(self, name: str, picture: str) -> Image:
        data = b'{\n  "image": "%s"\n}\n' % picture.encode()
        layer = make_layer({"data.json": Entry(data), picture: Entry(b"\xff\xd8\xff\xd9")})
        return self._agnhost_image(name, layer, cmd="test-webserver")

    def _nonewprivs_image(self, name: str) -> Image:
        layer = make_layer({"usr/local/bin/nnp": Entry(self._programs / "nonewprivs", mode=0o6755)})
        return Image(name, (self._base, layer), {"Cmd": ["nnp"]})

    def _jessie_dnsutils_image(self, name: str) -> Image:
        return Image(name, (self._base,), {"Cmd": ["sleep", "infinity"]})

    def _resource_consumer_image(self, name: str) -> Image:
        programs = {
            "consumer": Entry(self._programs / "resource-consumer", mode=0o755),
            "consume-cpu/consume-cpu": Entry(self._programs / "consume-cpu", mode=0o755),
        }
        return Image(name, (self._base, make_layer(programs)), {"Entrypoint": ["/consumer"]})

    def _sample_apiserver_image(self, name: str) -> Image | None:
        program = self._programs / "sample-apiserver"
        if not program.exists():  # built before it was needed
            return None
        layer = make_layer({"kube-sample-apiserver": Entry(program, mode=0o755)})
        return Image(name, (self._base, layer), {"Entrypoint": ["/kube-sample-apiserver"]})

    def _etcd_image(self, name: str) -> Image:
        layer = make_layer(_with_libraries({"usr/local/bin/etcd": _program("etcd")}))
        return Image(name, (self._base, layer), {"Cmd": ["/usr/local/bin/etcd"]})


def _base_entries() -> dict[str, Entry]:
    applets = subprocess.run([BUSYBOX, "--list"], check=True, capture_output=True, text=True)
    entries = {name: Entry(mode=0o755) for name in _FOLDERS}
    entries["tmp"] = Entry(mode=0o1777)
    entries |= {f"bin/{name}": Entry(link="busybox") for name in applets.stdout.split()}
    entries["bin/busybox"] = Entry(BUSYBOX, mode=0o755)
    entries |= {name: Entry(text.encode()) for name, text in _ACCOUNTS.items()}
    return entries


def _tool_entries() -> dict[str, Entry]:
    tools = {f"usr/bin/{tool}": _program(tool) for tool in _TOOLS}
    return _with_libraries(tools) | {name: Entry(link=to) for name, to in _LINKS.items()}


def _program(name: str) -> Entry:
    for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        if (path := Path(folder, name)).exists():
            return Entry(path, mode=0o755)
    raise FileNotFoundError(f"{name} is not on this machine")


def _with_libraries(programs: dict[str, Entry]) -> dict[str, Entry]:
    """The programs and every shared library they load, where the loader looks for it."""
    found = dict(programs)
    for entry in programs.values():
        text = subprocess.run(["ldd", str(entry.data)], capture_output=True, text=True, check=True)
        for library in re.findall(r"(/\S+) \(0x", text.stdout):
            found[library.removeprefix("/")] = Entry(Path(library).resolve(), mode=0o755)
    for library in Path("/lib/x86_64-linux-gnu").glob("libnss_[fd]*.so.2"):
        found[str(library).removeprefix("/")] = Entry(library, mode=0o755)
    return found

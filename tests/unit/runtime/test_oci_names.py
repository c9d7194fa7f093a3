import pytest

from winkube.machines.personality import find_personality
from winkube.runtime.oci import builtin
from winkube.runtime.oci.errors import (
    BuildMismatchError,
    ImageNotFoundError,
    InvalidReferenceError,
    PlatformError,
)
from winkube.runtime.oci.manifest import check_config, choose_variant
from winkube.runtime.oci.model import ImageConfig, parse_config, to_config
from winkube.runtime.oci.reference import parse_reference

HOST = find_personality("ltsc2019")


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("microsoft/iis", "docker.io/microsoft/iis:latest"),
        ("localhost:5000/a/b:1", "localhost:5000/a/b:1"),
        ("mcr.microsoft.com/windows/servercore:ltsc2019", None),
        ("a@sha256:" + "0" * 64, "docker.io/library/a@sha256:" + "0" * 64),
    ],
)
def test_names_get_dockers_defaults(text: str, full: str | None) -> None:
    assert str(parse_reference(text)) == (full or text)


@pytest.mark.parametrize(
    "text", ["", "UPPER", "a/../b", "a:b:c", "a@sha256:12", "-x", "a b", "../x"]
)
def test_what_cannot_be_a_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidReferenceError):
        parse_reference(text)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mcr.microsoft.com/windows/servercore:ltsc2019", builtin.SERVERCORE),
        ("mcr.microsoft.com/windows/nanoserver:1809", builtin.NANOSERVER),
        ("mcr.microsoft.com/windows:10.0.17763.1234-amd64", builtin.WINDOWS),
        ("microsoft/windowsservercore", builtin.SERVERCORE),
        ("microsoft/iis:windowsservercore-ltsc2019", builtin.IIS),
        ("mcr.microsoft.com/windows/servercore/iis", builtin.IIS),
    ],
)
def test_base_images_stand_for_the_emulated_base(name: str, kind: str) -> None:
    found = builtin.resolve(parse_reference(name), HOST)
    assert found is not None
    assert (found.kind, found.build) == (kind, 17763)


@pytest.mark.parametrize("tag", ["1709", "1803", "ltsc2016", "ltsc2022", "20H2", "10.0.26100.1"])
def test_a_base_of_another_build_is_refused_in_windows_words(tag: str) -> None:
    name = parse_reference(f"mcr.microsoft.com/windows/servercore:{tag}")
    with pytest.raises(BuildMismatchError, match="does not match the host operating system"):
        builtin.resolve(name, HOST)


def test_server_2025_runs_images_of_2022() -> None:
    name = parse_reference("mcr.microsoft.com/windows/nanoserver:ltsc2022")
    found = builtin.resolve(name, find_personality("ltsc2025"))
    assert found is not None
    assert found.build == 20348


def test_a_digest_of_a_base_image_is_not_here() -> None:
    name = parse_reference("microsoft/nanoserver@sha256:" + "0" * 64)
    with pytest.raises(ImageNotFoundError):
        builtin.resolve(name, HOST)


def variant(os: str, version: str, digit: str) -> dict[str, object]:
    platform = {"os": os, "architecture": "amd64", "os.version": version}
    return {"digest": "sha256:" + digit * 64, "platform": platform}


def test_the_variant_of_the_hosts_build_is_chosen() -> None:
    index = {
        "manifests": [
            variant("linux", "", "1"),
            variant("windows", "10.0.20348.1", "2"),
            variant("windows", "10.0.17763.99", "3"),
        ]
    }
    assert choose_variant(index, HOST).digest == "sha256:" + "3" * 64


def test_an_index_without_windows_is_refused_with_clear_words() -> None:
    words = "no matching manifest for windows/amd64 10.0.17763 in the manifest list entries"
    with pytest.raises(PlatformError, match=words):
        choose_variant({"manifests": [variant("linux", "", "1")]}, HOST)


def test_a_linux_image_without_an_index_is_refused() -> None:
    with pytest.raises(PlatformError, match="linux/amd64"):
        check_config(ImageConfig(os="linux"), HOST)


def test_configs_survive_being_written_and_read() -> None:
    config = ImageConfig(
        os_version="10.0.17763.1", entrypoint=("a.exe",), env={"A": "b=c"}, user="ContainerUser"
    )
    assert parse_config(to_config(config)) == config


def test_the_base_layers_of_microsoft_are_counted() -> None:
    history = [
        {"created_by": "Apply image 10.0.17763.1"},
        {"created_by": "Install update 10.0.17763.2"},
        {"created_by": "cmd /S /C #(nop) ENV", "empty_layer": True},
        {"created_by": "cmd /S /C copy x"},
    ]
    assert parse_config({"os": "windows", "history": history}).base_layers == 2

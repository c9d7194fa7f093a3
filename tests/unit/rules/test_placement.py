from typing import Any

import pytest

from winkube.rules.image import build_of_image, os_of_image
from winkube.rules.placement import place, tolerates_windows_taint

WINDOWS_CLASS = {"handler": "x", "scheduling": {"nodeSelector": {"kubernetes.io/os": "windows"}}}


def affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = [{"matchExpressions": [each]} for each in expressions]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": terms}}}}


@pytest.mark.parametrize(
    ("spec", "os", "pinned"),
    [
        ({}, None, None),
        ({"os": {"name": "windows"}}, "windows", None),
        ({"nodeSelector": {"kubernetes.io/os": "windows"}}, "windows", "windows"),
        ({"nodeSelector": {"beta.kubernetes.io/os": "linux"}}, "linux", "linux"),
        (
            {"nodeSelector": {"node.kubernetes.io/windows-build": "10.0.20348"}},
            "windows",
            "windows",
        ),
        ({"nodeSelector": {"kubernetes.io/arch": "arm64"}}, "linux", "linux"),
        (
            affinity({"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}),
            "windows",
            "windows",
        ),
        (
            affinity({"key": "kubernetes.io/os", "operator": "NotIn", "values": ["windows"]}),
            "linux",
            "linux",
        ),
        (
            affinity(
                {"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]},
                {"key": "zone", "operator": "Exists"},
            ),
            None,
            None,
        ),
        ({"runtimeClassName": "win"}, "windows", "windows"),
        ({"runtimeClassName": "runhcs-wcow-hypervisor"}, "windows", "windows"),
        ({"securityContext": {"windowsOptions": {}}}, "windows", None),
        (
            {"containers": [{"image": "mcr.microsoft.com/windows/nanoserver:ltsc2022"}]},
            "windows",
            None,
        ),
        ({"containers": [{"image": "nginx"}]}, None, None),
        ({"containers": "x", "nodeSelector": 3, "affinity": [], "os": "windows"}, None, None),
    ],
)
def test_a_pod_is_for_the_system_it_names(
    spec: dict[str, Any], os: str | None, pinned: str | None
) -> None:
    found = place({"spec": spec}, {"win": WINDOWS_CLASS})
    assert (found.os, found.pinned) == (os, pinned)


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "os", "value": "windows", "effect": "NoSchedule"}, True),
        ({"key": "os", "value": "linux"}, False),
        ({"key": "gpu", "operator": "Exists"}, False),
        ("x", False),
    ],
)
def test_a_toleration_covers_the_taint_of_windows(toleration: Any, covers: bool) -> None:
    assert tolerates_windows_taint(toleration) is covers


@pytest.mark.parametrize(
    ("image", "os", "build"),
    [
        ("mcr.microsoft.com/windows/servercore:ltsc2019", "windows", 17763),
        ("mcr.microsoft.com/windows/servercore:10.0.20348.2700", "windows", 20348),
        ("mcr.microsoft.com/dotnet/aspnet:8.0-nanoserver-ltsc2022", "windows", 20348),
        ("golang:1.23-windowsservercore-1809", "windows", 17763),
        ("registry:5000/team/app:nanoserver-20h2", "windows", 19042),
        ("microsoft/windowsservercore:1709", "windows", 16299),
        ("mcr.microsoft.com/dotnet/aspnet:8.0-alpine", "linux", None),
        ("nginx@sha256:00", "linux", None),
        ("docker.io/library/redis:7", "linux", None),
        ("mcr.microsoft.com/mssql/server:2022-latest", None, None),
        ("example.com/app:2019", None, None),
    ],
)
def test_an_image_name_tells_the_system(image: str, os: str | None, build: int | None) -> None:
    assert (os_of_image(image), build_of_image(image)) == (os, build)

"""The checks that only the restricted level has, and seccomp, which both levels look at."""

from typing import Final

from winkube.apiserver.admission.pod_security.checks import (
    Check,
    Violation,
    added,
    bad_containers,
    containers,
    context,
    is_windows,
    must_not_add,
    named,
    plural,
    quoted,
    setters_of,
    uses,
)
from winkube.base.types import JsonObject

_POD_NOTE: Final = "seccomp.security.alpha.kubernetes.io/pod"
_CONTAINER_NOTE: Final = "container.seccomp.security.alpha.kubernetes.io/"
_PROFILES: Final = ("Localhost", "RuntimeDefault")


def unless_windows(check: Check) -> Check:
    """From 1.25 on what a Windows pod cannot say is not asked of it."""

    def checked(metadata: JsonObject, spec: JsonObject) -> Violation | None:
        return None if is_windows(spec) else check(metadata, spec)

    return checked


def privilege_escalation(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    bad = bad_containers(
        spec, lambda security: security.get("allowPrivilegeEscalation") is not False
    )
    if not bad:
        return None
    detail = f"{named(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def capabilities_restricted(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    undropped = bad_containers(
        spec,
        lambda security: "ALL" not in ((security.get("capabilities") or {}).get("drop") or ()),
    )
    bad, extra = added(spec, frozenset(("NET_BIND_SERVICE",)))
    said = []
    if undropped:
        said.append(f'{named(undropped)} must set securityContext.capabilities.drop=["ALL"]')
    if bad:
        said.append(must_not_add(bad, extra))
    return Violation("unrestricted capabilities", "; ".join(said)) if said else None


_ALLOWED_VOLUMES: Final = frozenset(
    ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
     "projected", "secret")
)  # fmt: skip
_OTHER_VOLUMES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs",
    "rbd", "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume",
    "quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume", "scaleIO", "storageos",
)  # fmt: skip


def volume_types(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    bad, types = [], set()
    for volume in spec.get("volumes") or ():
        if _ALLOWED_VOLUMES.isdisjoint(volume):
            bad.append(volume["name"])
            types.add(next((kind for kind in _OTHER_VOLUMES if kind in volume), "unknown"))
    if not bad:
        return None
    what = f"{uses(bad)} {plural('restricted volume type', len(types))} {quoted(sorted(types))}"
    return Violation(
        "restricted volume types", f"{plural('volume', len(bad))} {quoted(bad)} {what}"
    )


def non_root(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    reason = "runAsNonRoot != true"
    setters = setters_of(spec, lambda security: security.get("runAsNonRoot") is False)
    if setters:
        detail = f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false"
        return Violation(reason, detail)
    if context(spec).get("runAsNonRoot"):
        return None
    silent = bad_containers(spec, lambda security: security.get("runAsNonRoot") is None)
    if not silent:
        return None
    return Violation(reason, f"pod or {named(silent)} must set securityContext.runAsNonRoot=true")


def root_user(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    setters = setters_of(spec, lambda security: security.get("runAsUser") == 0)
    if not setters:
        return None
    return Violation("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0")


def seccomp_notes(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    """Before 1.19 profiles were annotations."""
    notes = metadata.get("annotations") or {}
    keys = [_POD_NOTE, *(_CONTAINER_NOTE + container["name"] for container in containers(spec))]
    bad = sorted(
        {
            f'{key}="{notes[key]}"'
            for key in keys
            if key in notes
            and notes[key] not in ("runtime/default", "docker/default")
            and not notes[key].startswith("localhost/")
        }
    )
    if not bad:
        return None
    detail = f"forbidden {plural('annotation', len(bad))} {', '.join(bad)}"
    return Violation("seccompProfile", detail)


def seccomp_baseline(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    values: set[str] = set()

    def is_bad(security: JsonObject) -> bool:
        profile = security.get("seccompProfile")
        if profile is None or profile.get("type") in _PROFILES:
            return False
        values.add(profile.get("type") or "")
        return True

    setters = setters_of(spec, is_bad)
    if not setters:
        return None
    text = f"must not set securityContext.seccompProfile.type to {quoted(sorted(values))}"
    return Violation("seccompProfile", f"{' and '.join(setters)} {text}")


def seccomp_restricted(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    explicit = seccomp_baseline(metadata, spec)
    if explicit is not None or context(spec).get("seccompProfile") is not None:
        return explicit
    silent = bad_containers(spec, lambda security: security.get("seccompProfile") is None)
    if not silent:
        return None
    text = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {named(silent)} {text}")

"""AppArmor profiles: the annotations that came before the field."""

from typing import Final

from winkube.api.validation.pod.pod_annotations import APP_ARMOR
from winkube.api.validation.pod.security import each_container
from winkube.base.types import JsonObject

_LOCAL: Final = "localhost/"
_PATH_BYTES: Final = 4095


def _profile(annotation: str) -> JsonObject | None:
    """The field an annotation stands for; None for one that stands for none."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    name = annotation.removeprefix(_LOCAL)
    if annotation.startswith(_LOCAL) and name.strip() == name and 0 < len(name) <= _PATH_BYTES:
        return {"type": "Localhost", "localhostProfile": name}
    return None


def is_stated_elsewhere(annotation: str, spec: JsonObject) -> bool:
    """Whether the pod's own profile says the same."""
    own = (spec.get("securityContext") or {}).get("appArmorProfile")
    return own is not None and own == _profile(annotation)


def sync_profiles(pod: JsonObject) -> list[str]:
    """Fill the fields of a new pod from its annotations; the warnings that go with it."""
    spec, annotations = pod.get("spec") or {}, pod["metadata"].get("annotations")
    if not annotations or (spec.get("os") or {}).get("name") == "windows":
        return []
    whole, warnings = (spec.get("securityContext") or {}).get("appArmorProfile"), []
    for container, _ in each_container(spec, ""):
        key = APP_ARMOR + (container.get("name") or "")
        context = container.get("securityContext") or {}
        if key not in annotations or context.get("appArmorProfile") is not None:
            continue
        profile = _profile(annotations[key])
        if profile is not None and profile == whole:
            continue
        if profile is not None:
            container["securityContext"] = {**context, "appArmorProfile": profile}
        text = 'deprecated since v1.30; use the "appArmorProfile" field instead'
        warnings.append(f"metadata.annotations[{key}]: {text}")
    return warnings

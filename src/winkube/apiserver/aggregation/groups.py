"""What the servers behind APIServices serve, in the forms of discovery."""

from itertools import groupby

from winkube.apiserver.aggregation.availability import Availability
from winkube.apiserver.aggregation.remote import Remote, Remotes
from winkube.base.types import JsonObject


class RemoteGroups:
    def __init__(self, remotes: Remotes, availability: Availability) -> None:
        self._remotes = remotes
        self._availability = availability

    @property
    def revision(self) -> int:
        return self._availability.revision

    def groups(self) -> list[JsonObject]:
        """Entries of an APIGroupList; whether somebody answers makes no difference here."""
        return [_group(group, members) for group, members in self._by_group()]

    def aggregated(self) -> list[JsonObject]:
        """Entries of an APIGroupDiscoveryList."""
        return [
            {
                "metadata": {"name": group},
                "versions": [self._version(member) for member in members],
            }
            for group, members in self._by_group()
        ]

    def _by_group(self) -> list[tuple[str, list[Remote]]]:
        listed = self._remotes.all()
        return [(key, list(each)) for key, each in groupby(listed, key=lambda r: r.group)]

    def _version(self, remote: Remote) -> JsonObject:
        known = self._availability.resources.get(remote.name)
        fresh = known is not None and remote.available
        return {
            "version": remote.version,
            "resources": to_aggregated(known or {}),
            "freshness": "Current" if fresh else "Stale",
        }


def _group(group: str, members: list[Remote]) -> JsonObject:
    versions = [
        {"groupVersion": f"{group}/{member.version}", "version": member.version}
        for member in members
    ]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def to_aggregated(document: JsonObject) -> list[JsonObject]:
    """The resources of an APIResourceList, subresources below their parents."""
    found: dict[str, JsonObject] = {}
    for entry in document.get("resources") or ():
        name, _, part = str(entry["name"]).partition("/")
        kind = {
            "group": entry.get("group", ""),
            "version": entry.get("version", ""),
            "kind": entry["kind"],
        }
        verbs = list(entry.get("verbs") or ())
        if part:
            parent = found.get(name)
            if parent is not None:
                parts = parent.setdefault("subresources", [])
                parts.append({"subresource": part, "responseKind": kind, "verbs": verbs})
            continue
        found[name] = {
            "resource": name,
            "responseKind": kind,
            "scope": "Namespaced" if entry.get("namespaced") else "Cluster",
            "singularResource": entry.get("singularName", ""),
            "verbs": verbs,
        }
        for optional in ("shortNames", "categories"):
            if entry.get(optional):
                found[name][optional] = list(entry[optional])
    return list(found.values())

"""RBAC, network policy, ingress, leases, priority and runtime classes, CRDs."""

from typing import Final

from winkube.api import names
from winkube.api.addresses import Network, parse_network
from winkube.api.validation.common import (
    check_cidr,
    check_ip,
    check_nonnegative,
    check_one_of,
    check_point_name,
    check_port,
    check_port_or_name,
    check_positive,
    check_selector,
    is_ip,
)
from winkube.api.validation.network.network_class import check_typed_reference
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_RBAC: Final = "rbac.authorization.k8s.io"
_NO_PARTS: Final = ("//", "/./", "/../", "%2f", "%2F")
_NO_ENDS: Final = ("/..", "/.")
_WILDCARD_TEXT: Final = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "
    "must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric "
    "character (e.g. '*.example.com', regex used for validation is "
    "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")


def validate_role(obj: JsonObject, problems: Problems) -> None:
    namespaced = obj.get("kind") == "Role"
    if obj.get("aggregationRule") is not None:
        _check_aggregation(obj["aggregationRule"], "aggregationRule", problems)
    for index, rule in enumerate(obj.get("rules") or ()):
        _check_rule(rule, f"rules[{index}]", problems, namespaced=namespaced)


def _check_aggregation(rule: JsonObject, path: str, problems: Problems) -> None:
    selectors, path = rule.get("clusterRoleSelectors") or (), f"{path}.clusterRoleSelectors"
    if not selectors:
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        problems.required(path, text)
    for index, selector in enumerate(selectors):
        before = len(problems.causes)
        check_selector(selector, f"{path}[{index}]", problems)
        if len(problems.causes) > before:
            problems.invalid(f"{path}[{index}]", None, "invalid label selector.")


def _check_rule(rule: JsonObject, path: str, problems: Problems, *, namespaced: bool) -> None:
    if not rule.get("verbs"):
        problems.required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        here = f"{path}.nonResourceURLs"
        if namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            problems.invalid(here, urls, text)
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            problems.invalid(here, urls, text)
        return
    if not rule.get("apiGroups"):
        text = "resource rules must supply at least one api group"
        problems.required(f"{path}.apiGroups", text)
    if not rule.get("resources"):
        text = "resource rules must supply at least one resource"
        problems.required(f"{path}.resources", text)


def validate_role_binding(obj: JsonObject, problems: Problems) -> None:
    role = obj.get("roleRef") or {}
    namespaced = obj.get("kind") == "RoleBinding"
    if role.get("apiGroup") != _RBAC:
        problems.unsupported_text("roleRef.apiGroup", role.get("apiGroup") or "", (_RBAC,))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if role.get("kind") not in kinds:
        problems.unsupported_text("roleRef.kind", role.get("kind") or "", kinds)
    name = role.get("name") or ""
    if not name:
        problems.required("roleRef.name")
    else:
        problems.all_invalid("roleRef.name", name, names.path_segment_problems(name))
    for index, subject in enumerate(obj.get("subjects") or ()):
        _check_subject(subject, f"subjects[{index}]", problems, namespaced=namespaced)


def _check_subject(subject: JsonObject, path: str, problems: Problems, *, namespaced: bool) -> None:
    kind, name, group = subject.get("kind"), subject.get("name") or "", subject.get("apiGroup")
    if not name:
        problems.required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            problems.all_invalid(f"{path}.name", name, names.dns_subdomain_problems(name))
        if group:
            problems.unsupported_text(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            problems.required(f"{path}.namespace")
    elif kind not in ("User", "Group"):
        kinds = ("ServiceAccount", "User", "Group")
        problems.unsupported_text(f"{path}.kind", kind or "", kinds)
    elif group != _RBAC:
        problems.unsupported_text(f"{path}.apiGroup", group or "", (_RBAC,))


def validate_role_binding_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    role = new.get("roleRef") or {}
    if role != (old.get("roleRef") or {}):
        names_of = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
        shown = {name: role.get(field) or "" for name, field in names_of}
        problems.invalid("roleRef", shown, "cannot change roleRef")


def validate_network_policy(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    check_selector(spec.get("podSelector"), "spec.podSelector", problems)
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            for place, port in enumerate(rule.get("ports") or ()):
                _check_policy_port(port, f"{path}.ports[{place}]", problems)
            for place, peer in enumerate(rule.get(peers) or ()):
                _check_peer(peer, f"{path}.{peers}[{place}]", problems)
    types = spec.get("policyTypes") or ()
    if len(types) > 2:
        problems.invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for index, kind in enumerate(types):
        if kind not in ("Ingress", "Egress"):
            problems.unsupported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress"))


def _check_policy_port(port: JsonObject, path: str, problems: Problems) -> None:
    protocol = port.get("protocol")
    if protocol is not None and protocol not in ("TCP", "UDP", "SCTP"):
        problems.unsupported(f"{path}.protocol", protocol, ("TCP", "UDP", "SCTP"))
    first, last = port.get("port"), port.get("endPort")
    if first is not None:
        check_port_or_name(first, f"{path}.port", problems)
    if last is None:
        return
    if first is None:
        text = "may not be specified when `port` is not specified"
        problems.invalid(f"{path}.endPort", last, text)
    elif isinstance(first, str):
        text = "may not be specified when `port` is non-numeric"
        problems.invalid(f"{path}.endPort", last, text)
    else:
        if last < first:
            text = "must be greater than or equal to `port`"
            problems.invalid(f"{path}.endPort", first, text)
        check_port(last, f"{path}.endPort", problems)


def _check_peer(peer: JsonObject, path: str, problems: Problems) -> None:
    block = peer.get("ipBlock")
    selectors = [key for key in ("podSelector", "namespaceSelector") if peer.get(key) is not None]
    for key in selectors:
        check_selector(peer[key], f"{path}.{key}", problems)
    if block is not None:
        _check_block(block, f"{path}.ipBlock", problems)
        if selectors:
            problems.forbidden(path, "may not specify both ipBlock and another peer")
    elif not selectors:
        problems.required(path, "must specify a peer")


def _check_block(block: JsonObject, path: str, problems: Problems) -> None:
    cidr = block.get("cidr") or ""
    if not cidr:
        problems.required(f"{path}.cidr")
        return
    check_cidr(cidr, f"{path}.cidr", problems)
    outer = parse_network(cidr)
    if outer is None:
        return
    for index, hole in enumerate(block.get("except") or ()):
        here = f"{path}.except[{index}]"
        check_cidr(hole, here, problems)
        inner = parse_network(hole)
        if inner is not None and not _is_strict_subset(inner[1], outer[1]):
            problems.invalid(here, hole, "must be a strict subset of `cidr`")


def _is_strict_subset(inner: Network, outer: Network) -> bool:
    longer = inner.prefixlen > outer.prefixlen
    return longer and inner.version == outer.version and inner.network_address in outer


def validate_ingress_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    before, after = (
        ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        for obj in (old, new)
    )
    known = {entry.get("ip") for entry in before}
    for index, entry in enumerate(after):
        path, address = f"status.loadBalancer.ingress[{index}]", entry.get("ip") or ""
        if address and address not in known:
            check_ip(address, f"{path}.ip", problems)
        if entry.get("hostname"):
            check_point_name(entry["hostname"], f"{path}.hostname", problems)


def validate_ingress(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    if spec.get("defaultBackend") is not None:
        _check_backend(spec["defaultBackend"], "spec.defaultBackend", problems)
    elif not spec.get("rules"):
        text = "either `defaultBackend` or `rules` must be specified"
        problems.invalid("spec", spec.get("rules"), text)
    for index, rule in enumerate(spec.get("rules") or ()):
        path, host = f"spec.rules[{index}]", rule.get("host") or ""
        if host and is_ip(host):
            text = "must be a DNS name, not an IP address"
            problems.invalid(f"{path}.host", host, text)
        if host:
            _check_host(host, f"{path}.host", problems)
        http = rule.get("http")
        if http is not None and not http.get("paths"):
            problems.required(f"{path}.http.paths")
        for place, entry in enumerate((http or {}).get("paths") or ()):
            _check_ingress_path(entry, f"{path}.http.paths[{place}]", problems)
    _check_certificates(spec, problems)
    name = spec.get("ingressClassName")
    if name is not None:
        problems.all_invalid("spec.ingressClassName", name, names.dns_subdomain_problems(name))


def _check_host(host: str, path: str, problems: Problems) -> None:
    if "*" not in host:
        problems.all_invalid(path, host, names.dns_subdomain_problems(host))
    elif not host.startswith("*.") or names.dns_subdomain_problems(host[2:]):
        problems.invalid(path, host, _WILDCARD_TEXT)


def _check_certificates(spec: JsonObject, problems: Problems) -> None:
    for index, entry in enumerate(spec.get("tls") or ()):
        for place, host in enumerate(entry.get("hosts") or ()):
            _check_host(host, f"spec.tls[{index}].hosts[{place}]", problems)
        secret = entry.get("secretName")
        if secret:
            path = f"spec.tls[{index}].secretName"
            problems.all_invalid(path, secret, names.dns_subdomain_problems(secret))


def _check_ingress_path(entry: JsonObject, path: str, problems: Problems) -> None:
    kind, text = entry.get("pathType"), entry.get("path") or ""
    if kind is None:
        problems.required(f"{path}.pathType", "pathType must be specified")
    elif kind not in _PATH_TYPES:
        problems.unsupported(f"{path}.pathType", kind, _PATH_TYPES)
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        problems.invalid(f"{path}.path", text, "must be an absolute path")
    if kind is None:
        return
    if kind in ("Exact", "Prefix"):
        for part in _NO_PARTS:
            if part in text:
                problems.invalid(f"{path}.path", text, f"must not contain '{part}'")
        for end in _NO_ENDS:
            if text.endswith(end):
                problems.invalid(f"{path}.path", text, f"cannot end with '{end}'")
    _check_backend(entry.get("backend") or {}, f"{path}.backend", problems)


def _check_backend(backend: JsonObject, path: str, problems: Problems) -> None:
    service = backend.get("service")
    if service is None:
        if backend.get("resource") is None:
            problems.invalid(path, "", "resource or service backend is required")
        else:
            check_typed_reference(backend["resource"], f"{path}.resource", problems)
        return
    if backend.get("resource") is not None:
        problems.invalid(path, "", "cannot set both resource and service backends")
        return
    name, port = service.get("name") or "", service.get("port") or {}
    if not name:
        problems.required(f"{path}.service.name")
    else:
        problems.all_invalid(f"{path}.service.name", name, names.dns_1035_label_problems(name))
    if port.get("name") and port.get("number"):
        problems.invalid(path, "", "cannot set both port name & port number")
    elif port.get("name") or port.get("number"):
        field = "name" if port.get("name") else "number"
        check_port_or_name(port[field], f"{path}.service.port.{field}", problems)
    else:
        problems.required(path, "port name or number is required")


def validate_lease(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None:
        check_positive(seconds, "spec.leaseDurationSeconds", problems)
    check_nonnegative(spec.get("leaseTransitions"), "spec.leaseTransitions", problems)


def validate_definition(obj: JsonObject, problems: Problems) -> None:
    """The frame of a CustomResourceDefinition; its schemas are checked by who serves them."""
    spec, name = obj.get("spec") or {}, (obj.get("metadata") or {}).get("name")
    kinds, group = spec.get("names") or {}, spec.get("group") or ""
    for path, value in (
        ("spec.group", group),
        ("spec.names.plural", kinds.get("plural")),
        ("spec.names.kind", kinds.get("kind")),
        ("spec.versions", spec.get("versions")),
    ):
        if not value:
            problems.required(path)
    expected = f"{kinds.get('plural')}.{group}"
    if group and kinds.get("plural") and name != expected:
        problems.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    check_one_of(spec.get("scope"), ("Cluster", "Namespaced"), "spec.scope", problems)
    stored = [entry for entry in spec.get("versions") or () if entry.get("storage")]
    if spec.get("versions") and len(stored) != 1:
        text = "must have exactly one version marked as storage version"
        problems.invalid("spec.versions", spec["versions"], text)

"""The PodSandboxConfig of a pod."""

import contextlib
from pathlib import Path
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.pod import identity
from winkube.kubelet.spec import security
from winkube.kubelet.spec.dns import ClusterDns, load_resolver, plan_dns
from winkube.linux import cgroup
from winkube.wire import cri

MAX_HOSTNAME: Final = 63
_PROTOCOLS: Final = {"TCP": cri.TCP, "UDP": cri.UDP, "SCTP": cri.SCTP}


def build_sandbox(pod: JsonObject, attempt: int, config: KubeletConfig) -> Any:
    uid, name, namespace = identity.uid_of(pod), identity.name_of(pod), identity.namespace_of(pod)
    cluster = ClusterDns(config.cluster_dns, config.cluster_domain)
    dns = plan_dns(pod, cluster, load_resolver(config.resolv_conf))
    sandbox = cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name=name, uid=uid, namespace=namespace, attempt=attempt),
        log_directory=str(config.log_dir(namespace, name, uid)),
        dns_config=cri.DNSConfig(servers=dns.servers, searches=dns.searches, options=dns.options),
        port_mappings=_port_mappings(pod),
        labels=identity.pod_labels(pod),
        annotations=dict(pod["metadata"].get("annotations") or {}),
    )
    if not identity.is_host_network(pod):
        sandbox.hostname = hostname_of(pod)
        domain = domain_of(pod, config.cluster_domain)
        if pod["spec"].get("setHostnameAsFQDN") and domain:
            sandbox.hostname = f"{sandbox.hostname}.{domain}"
    if config.is_windows:
        sandbox.windows.security_context.CopyFrom(security.windows_sandbox_context(pod))
        if identity.is_host_process(pod):
            sandbox.hostname = ""
    else:
        _fill_linux(sandbox, pod, config)
    return sandbox


def pod_cgroup(uid: str, config: KubeletConfig) -> str:
    return f"{config.cgroup_parent.rstrip('/')}/pod{uid}"


def remove_cgroup(uid: str, config: KubeletConfig) -> None:
    """The runtime removes the containers' groups; the pod's own, made on the way, is ours."""
    with contextlib.suppress(OSError, cgroup.CgroupBusyError):
        cgroup.remove(pod_cgroup(uid, config), timeout=1.0)


def _fill_linux(sandbox: Any, pod: JsonObject, config: KubeletConfig) -> None:
    sandbox.linux.cgroup_parent = pod_cgroup(identity.uid_of(pod), config)
    sandbox.linux.security_context.CopyFrom(security.linux_sandbox_context(pod))
    for entry in (pod["spec"].get("securityContext") or {}).get("sysctls") or []:
        sandbox.linux.sysctls[entry["name"].replace("/", ".")] = entry["value"]


def hostname_of(pod: JsonObject) -> str:
    name = str(pod["spec"].get("hostname") or identity.name_of(pod))
    return name[:MAX_HOSTNAME].rstrip("-.")


def domain_of(pod: JsonObject, cluster_domain: str) -> str:
    """The pod's domain when it has a subdomain, else nothing."""
    subdomain = pod["spec"].get("subdomain")
    if not subdomain:
        return ""
    return f"{subdomain}.{identity.namespace_of(pod)}.svc.{cluster_domain}"


def _port_mappings(pod: JsonObject) -> list[Any]:
    if identity.is_host_network(pod):
        return []
    return [
        cri.PortMapping(
            protocol=_PROTOCOLS[port.get("protocol") or "TCP"],
            container_port=int(port["containerPort"]),
            host_port=int(port.get("hostPort") or 0),
            host_ip=port.get("hostIP") or "",
        )
        for container in identity.all_containers(pod)
        for port in container.get("ports") or []
    ]


def ensure_log_dir(pod: JsonObject, config: KubeletConfig) -> Path:
    folder = config.log_dir(identity.namespace_of(pod), identity.name_of(pod), identity.uid_of(pod))
    folder.mkdir(parents=True, exist_ok=True)
    return folder

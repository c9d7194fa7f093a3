"""A component is well while it renews its lease."""

import time
from typing import Any

from winkube.base.clock import to_rfc3339_micro

STATUS = "/api/v1/componentstatuses/scheduler"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


def _healthy(api: Any) -> str:
    condition = api("GET", STATUS).body["conditions"][0]
    assert condition["type"] == "Healthy"
    status: str = condition["status"]
    return status


def test_a_scheduler_that_renews_its_lease_is_well(api: Any) -> None:
    spec = {"holderIdentity": "s", "leaseDurationSeconds": 600}
    lease = {"metadata": {"name": "kube-scheduler"}, "spec": spec}
    now = time.clock_gettime(time.CLOCK_REALTIME)
    spec["renewTime"] = to_rfc3339_micro(now)
    assert api("POST", LEASES, lease).status == 201
    assert _healthy(api) == "True"
    stale = {"spec": {"renewTime": to_rfc3339_micro(now - 3600)}}
    merge = "application/merge-patch+json"
    assert api("PATCH", f"{LEASES}/kube-scheduler", stale, Content_Type=merge).status == 200
    assert _healthy(api) == "False"
    assert api("DELETE", f"{LEASES}/kube-scheduler").status == 200

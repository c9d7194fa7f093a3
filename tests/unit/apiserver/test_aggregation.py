"""What APIServices say, and what is told of the servers behind them."""

from winkube.api.kinds import served_kinds
from winkube.api.schema import load_schema
from winkube.apiserver.aggregation.backend import identity_headers
from winkube.apiserver.aggregation.groups import to_aggregated
from winkube.apiserver.aggregation.local import local_services
from winkube.apiserver.aggregation.remote import endpoints, port_name, to_remote
from winkube.apiserver.auth.user import User


def test_an_api_service_names_the_server_behind_it() -> None:
    spec = {
        "group": "x.example",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 7,
        "caBundle": "cGVt",
        "service": {"name": "s", "namespace": "n"},
    }
    condition = {"type": "Available", "status": "True"}
    obj = {
        "metadata": {"name": "v1.x.example"},
        "spec": spec,
        "status": {"conditions": [condition]},
    }
    remote = to_remote(obj)
    assert remote is not None
    assert (remote.path, remote.server_name) == ("/apis/x.example/v1", "s.n.svc")
    assert (remote.port, remote.ca, remote.available) == (443, "pem", True)
    assert to_remote({"metadata": {"name": "v1."}, "spec": {"version": "v1"}}) is None


def test_only_ready_endpoints_of_the_right_port_are_used() -> None:
    service = {"spec": {"ports": [{"name": "https", "port": 443}, {"name": "http", "port": 80}]}}
    assert port_name(service, 443) == "https"
    assert port_name(service, 444) is None
    ready = {"addresses": ["10.0.0.1"], "conditions": {"ready": True}}
    unsaid = {"addresses": ["10.0.0.2"]}
    unready = {"addresses": ["10.0.0.3"], "conditions": {"ready": False}}
    each = {
        "ports": [{"name": "https", "port": 4443}, {"name": "http", "port": 8080}],
        "endpoints": [ready, unsaid, unready],
    }
    assert endpoints([each], "https") == [("10.0.0.1", 4443), ("10.0.0.2", 4443)]


def test_subresources_stand_below_their_resource() -> None:
    document = {
        "resources": [
            {"name": "things", "kind": "Thing", "namespaced": True, "verbs": ["get"],
             "shortNames": ["th"], "singularName": "thing"},
            {"name": "things/status", "kind": "Thing", "verbs": ["update"]},
            {"name": "lost/status", "kind": "Lost", "verbs": ["get"]},
        ]
    }  # fmt: skip
    [thing] = to_aggregated(document)
    assert thing["scope"] == "Namespaced"
    assert thing["shortNames"] == ["th"]
    [part] = thing["subresources"]
    assert (part["subresource"], part["verbs"]) == ("status", ["update"])


def test_the_identity_of_who_asks_goes_into_headers() -> None:
    user = User("ann", ("a", "b"), "u1", {"example.com/scope": ("x", "y")})
    headers = identity_headers(user)
    assert headers.getall("X-Remote-Group") == ["a", "b"]
    assert headers["X-Remote-Uid"] == "u1"
    assert headers.getall("X-Remote-Extra-example.com%2Fscope") == ["x", "y"]


def test_every_group_of_ours_is_an_api_service_but_that_of_api_services() -> None:
    services = {
        obj["metadata"]["name"]: obj for obj in local_services(served_kinds(load_schema("1.34")))
    }
    assert {"v1.", "v1.apps", "v2.autoscaling", "v1.autoscaling"} <= services.keys()
    assert "v1.apiregistration.k8s.io" not in services
    assert services["v1.apps"]["spec"]["groupPriorityMinimum"] == 17800
    assert services["v2.autoscaling"]["spec"]["versionPriority"] == 30
    assert "group" not in services["v1."]["spec"]

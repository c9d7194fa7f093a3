import pytest

from winkube.apiserver.openapi.gnostic import to_protobuf
from winkube.base.types import JsonObject


@pytest.mark.parametrize(
    "operation",
    [
        {},
        {"responses": {"200": {}}},
        {"parameters": [{"$ref": "#/parameters/pretty"}]},
        {"parameters": [{"name": "body", "in": "body"}]},
        {"parameters": [{"name": "x", "in": "header"}, {"name": "y", "in": "formData"}]},
    ],
    ids=["nothing", "a bare response", "a reference", "a body", "other places"],
)
def test_documents_of_other_servers_may_say_little(operation: JsonObject) -> None:
    document = {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.34.0"},
        "paths": {"/apis/metrics.k8s.io/v1beta1/nodes": {"get": operation}},
        "definitions": {},
    }
    assert b"/apis/metrics.k8s.io/v1beta1/nodes" in to_protobuf(document)

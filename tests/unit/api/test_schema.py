import pytest

from winkube.api.kinds import KINDS, served_kinds
from winkube.api.schema import SchemaVersionError, Type, known_versions, load_schema


def test_every_known_version_loads_and_serves_pods() -> None:
    for version in known_versions():
        assert load_schema(version).for_kind(("", "v1", "Pod")) is not None


def test_a_patch_release_uses_the_schema_of_its_minor_version() -> None:
    assert load_schema("v1.34.2").version == "1.34"


@pytest.mark.parametrize("version", ["1.3", "9.99", "../../etc", "", "1.34\x00"])
def test_an_unknown_version_says_which_exist(version: str) -> None:
    with pytest.raises(SchemaVersionError, match=r"1\.34"):
        load_schema(version)


def test_an_older_version_serves_fewer_kinds() -> None:
    old = served_kinds(load_schema("1.25"))
    assert old.by_resource("networking.k8s.io", "v1", "ipaddresses") is None
    assert old.by_resource("apps", "v1", "deployments") is not None
    assert len(old.all()) < len(KINDS.all())


def test_shapes_know_merge_keys_and_types() -> None:
    definition = load_schema().for_kind(("", "v1", "Pod"))
    assert definition is not None
    spec = definition.properties["spec"].definition
    assert spec is not None
    containers = spec.properties["containers"]
    assert (containers.type, containers.merge_key) == (Type.LIST, "name")
    assert containers.list_keys == ("name",)
    assert "retainKeys" in spec.properties["volumes"].strategies
    assert spec.properties["nodeSelector"].map_type == "atomic"


def test_kinds_are_found_by_resource_and_by_kind() -> None:
    deployment = KINDS.by_resource("apps", "v1", "deployments")
    assert deployment is not None
    assert deployment is KINDS.by_gvk("apps", "v1", "Deployment")
    assert deployment.api_version == "apps/v1"
    assert deployment.group_resource == "deployments.apps"
    assert (deployment.singular, deployment.short_names) == ("deployment", ("deploy",))
    assert "scale" in deployment.subresources
    assert KINDS.by_resource("apps", "v1", "deployment") is None


def test_the_table_is_free_of_duplicates() -> None:
    kinds = KINDS.all()
    assert len({(k.group, k.version, k.plural) for k in kinds}) == len(kinds)
    assert len({k.gvk for k in kinds}) == len(kinds)

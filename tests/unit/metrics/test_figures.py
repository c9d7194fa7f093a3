"""From two scrapes to a rate."""

import pytest

from winkube.metrics.documents import node_metrics, pod_metrics, table
from winkube.metrics.figures import Figure, Figures
from winkube.metrics.kubelets import kubelet_url
from winkube.metrics.scrape import Point, Scrape, parse_scrape

NANO = 10**9
TEXT = """\
# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="main",namespace="default",pod="we\\"b"} 1.5 12345
container_memory_working_set_bytes{container="main",namespace="default",pod="we\\"b"} 4096 12345
container_start_time_seconds{container="main",namespace="default",pod="we\\"b"} 2.5e+00
node_cpu_usage_seconds_total 7.25 13000
node_memory_working_set_bytes 8.192e+03
resource_scrape_error 0
"""


def test_a_kubelets_text_is_read() -> None:
    scrape = parse_scrape(TEXT, now=99.0)
    main = scrape.pods["default", 'we"b']["main"]
    assert main == Point(12_345_000_000, 1_500_000_000, 4096, 2_500_000_000)
    assert (scrape.node.cpu, scrape.node.memory, scrape.node.at) == (7.25 * NANO, 8192, 99 * NANO)


@pytest.mark.parametrize(
    "figure", ["+Inf", "NaN", "-1", "1e300", "5 999999999999999999", "5 " + "9" * 400]
)
def test_figures_that_cannot_be_are_none(figure: str) -> None:
    labels = 'container="main",namespace="default",pod="web"'
    for name in (
        "node_cpu_usage_seconds_total",
        "node_memory_working_set_bytes",
        f"container_memory_working_set_bytes{{{labels}}}",
        f"container_start_time_seconds{{{labels}}}",
    ):
        scrape = parse_scrape(f"{name} {figure}\n", now=99.0)
        assert scrape == Scrape()


def look(at: float, cpu: float, *, started: float = 1.0, node_cpu: float = 0.0) -> Scrape:
    main = Point(int(at * NANO), int(cpu * NANO), 4096, int(started * NANO))
    node = Point(int(at * NANO), int(node_cpu * NANO), 8192)
    return Scrape(node, {("default", "web"): {"main": main}})


def test_two_looks_make_a_rate() -> None:
    figures = Figures()
    figures.take("n", look(100.0, 10.0, node_cpu=50.0))
    assert figures.node("n") is None
    assert figures.waiting
    figures.take("n", look(110.0, 15.0, node_cpu=70.0))
    assert figures.node("n") == Figure(2 * NANO, 8192, 110 * NANO, 10 * NANO)
    pod = figures.pod(("default", "web"))
    assert pod == {"main": Figure(NANO // 2, 4096, 110 * NANO, 10 * NANO)}
    assert not figures.waiting


def test_a_new_container_is_measured_since_its_start() -> None:
    figures = Figures()
    figures.take("n", look(100.0, 3.0, started=94.0))
    pod = figures.pod(("default", "web"))
    assert pod == {"main": Figure(NANO // 2, 4096, 100 * NANO, 6 * NANO)}


def test_a_container_that_just_started_says_nothing_yet() -> None:
    figures = Figures()
    figures.take("n", look(100.0, 3.0, started=99.5))
    assert figures.pod(("default", "web")) is None


def test_a_restart_begins_anew() -> None:
    figures = Figures()
    figures.take("n", look(100.0, 50.0))
    figures.take("n", look(110.0, 1.0, started=108.0))
    pod = figures.pod(("default", "web"))
    assert pod == {"main": Figure(NANO // 2, 4096, 110 * NANO, 2 * NANO)}


def test_the_same_figures_again_change_nothing() -> None:
    figures = Figures()
    figures.take("n", look(100.0, 10.0))
    figures.take("n", look(110.0, 15.0))
    before = figures.pod(("default", "web"))
    figures.take("n", look(110.0, 15.0))
    assert figures.pod(("default", "web")) == before


def test_what_is_gone_is_forgotten() -> None:
    figures = Figures()
    figures.take("n", look(100.0, 10.0))
    figures.take("n", Scrape(Point(110 * NANO, 1, 1)))
    assert figures.pod(("default", "web")) is None
    figures.take("n", look(120.0, 10.0, started=90))
    figures.keep_only(["other"])
    assert figures.pod(("default", "web")) is None
    assert figures.node("n") is None


def test_the_objects_of_the_api() -> None:
    figure = Figure(1_234_567, 2048 * 1024, 110 * NANO, 10_004_900_000)
    pod = {"metadata": {"name": "web", "namespace": "default", "labels": {"a": "b"}}}
    metrics = pod_metrics(pod, {"main": figure}, 120.0)
    assert metrics["timestamp"] == "1970-01-01T00:01:50Z"
    assert metrics["window"] == "10.004s"
    usage = {"cpu": "1234567n", "memory": "2048Ki"}
    assert metrics["containers"] == [{"name": "main", "usage": usage}]
    assert metrics["metadata"]["labels"] == {"a": "b"}
    node = node_metrics({"metadata": {"name": "lin-1"}}, figure, 120.0)
    assert node["usage"] == usage
    rows = table([metrics, node], listed=True)["rows"]
    assert rows[0]["cells"] == ["web", "1234567n", "2048Ki", "10.004s"]
    assert rows[1]["cells"][0] == "lin-1"


def test_where_a_kubelet_is_asked() -> None:
    address = {"type": "InternalIP", "address": "10.0.0.1"}
    ports = {"kubeletEndpoint": {"Port": 10251}}
    node = {"status": {"addresses": [address], "daemonEndpoints": ports}}
    assert kubelet_url(node) == "https://10.0.0.1:10251"
    assert kubelet_url({"status": {}}) is None

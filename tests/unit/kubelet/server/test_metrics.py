from winkube.kubelet.server.metrics import render_resource_metrics
from winkube.kubelet.server.view import ContainerUsage, NodeUsage, Usage


def test_figures_become_prometheus_lines_with_their_moment() -> None:
    main = ContainerUsage("default", 'we"b', "main", 1767225600.5, Usage(12.3456, 10**9, 1024))
    side = ContainerUsage("default", 'we"b', "side", 1767225601.0, Usage(12.5, 5 * 10**8, 512))
    text = render_resource_metrics(NodeUsage(Usage(13.0, 2_500_000_000, 4096), (main, side)))
    assert "node_cpu_usage_seconds_total 2.500000000 13000\n" in text
    assert "node_memory_working_set_bytes 4096 13000\n" in text
    labels = 'namespace="default",pod="we\\"b"'
    assert f'container_memory_working_set_bytes{{container="main",{labels}}} 1024 12345\n' in text
    assert f"pod_cpu_usage_seconds_total{{{labels}}} 1.500000000 12500\n" in text
    assert f"pod_memory_working_set_bytes{{{labels}}} 1536 12500\n" in text
    assert f'container_start_time_seconds{{container="main",{labels}}} 1.767225600' in text


def test_an_empty_node_still_says_what_it_uses() -> None:
    text = render_resource_metrics(NodeUsage(Usage(1.0, 1, 1)))
    assert "resource_scrape_error 0\n" in text
    assert "\ncontainer_cpu" not in text

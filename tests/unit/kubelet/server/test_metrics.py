from winkube.kubelet.server.metrics import render_resource_metrics


def test_figures_become_prometheus_lines() -> None:
    text = render_resource_metrics(
        {
            "node": {"cpu": {"usageCoreNanoSeconds": 2_500_000_000}},
            "pods": [
                {
                    "podRef": {"name": 'we"b', "namespace": "default"},
                    "memory": {"workingSetBytes": 2048},
                    "containers": [
                        {
                            "name": "main",
                            "startTime": "2026-01-01T00:00:00Z",
                            "memory": {"workingSetBytes": 1024},
                        }
                    ],
                }
            ],
        }
    )
    assert "node_cpu_usage_seconds_total 2.5\n" in text
    labels = 'namespace="default",pod="we\\"b"'
    assert f'container_memory_working_set_bytes{{container="main",{labels}}} 1024\n' in text
    assert f"pod_memory_working_set_bytes{{{labels}}} 2048\n" in text
    assert f'container_start_time_seconds{{container="main",{labels}}} 1767225600\n' in text


def test_absent_figures_are_left_out() -> None:
    text = render_resource_metrics({})
    assert "resource_scrape_error 0\n" in text
    assert "node_memory_working_set_bytes " not in text.replace("# TYPE node_memory", "")

"""The kubelet's own HTTPS server: logs, exec, attach, port-forward, pods, stats, metrics."""

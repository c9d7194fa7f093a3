"""``winkube webhook``: the Windows rules as an admission webhook of any cluster."""

from pathlib import Path
from typing import Annotated

import typer

from winkube.cli.outcome import tell_errors

app = typer.Typer(
    help="The Windows rules as an admission webhook: warn, place or refuse when pods are written.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Words = list[str] | None
Listen = Annotated[str, typer.Option(help="Address and port.")]
Cert = Annotated[Path, typer.Option(help="The server's certificate (PEM); read again on change.")]
Key = Annotated[Path, typer.Option(help="Its key (PEM).")]
Kubeconfig = Annotated[Path | None, typer.Option(help="Watch the nodes of this cluster.")]
Context = Annotated[str | None, typer.Option(help="With --kubeconfig: which context.")]
InCluster = Annotated[bool, typer.Option(help="Watch the nodes as this pod's service account.")]
Kubernetes = Annotated[Words, typer.Option(help="A fixed target instead: version, as 1.34.")]
Windows = Annotated[Words, typer.Option(help="A fixed target instead: ws2019, ws2022, ...")]
Linger = Annotated[float, typer.Option(help="Seconds to go on answering after SIGTERM.")]
Url = Annotated[str, typer.Option(help="Or: where a server of yours answers (https://...).")]
Image = Annotated[str, typer.Option(help="An image with winkube in it: the cluster runs it.")]
Namespace = Annotated[str, typer.Option(help="The namespace of the Deployment.")]
Policy = Annotated[str, typer.Option(help="Ignore, or Fail: nothing is written while it is down.")]
Timeout = Annotated[int, typer.Option(min=1, max=30, help="Seconds the API server waits.")]
Replicas = Annotated[int, typer.Option(min=1, help="Pods of the Deployment.")]
Conditions = Annotated[
    bool, typer.Option(help="Do not ask for warnings that nobody reads (Kubernetes 1.30 or later).")
]
Certificates = Annotated[
    Path | None, typer.Option(help="Keep the authority and the server's key in this folder.")
]


@app.command("serve")
@tell_errors
def serve(  # noqa: PLR0913, PLR0917 - the options of the command
    cert: Cert,
    key: Key,
    listen: Listen = "127.0.0.1:8443",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    in_cluster: InCluster = False,
    kubernetes: Kubernetes = None,
    windows: Windows = None,
    linger: Linger = 0.0,
) -> None:
    """Answer the API server's questions over TLS, until told to end.

    What holds depends on the cluster's Windows nodes: they are watched (--kubeconfig or
    --in-cluster), or said once (--kubernetes, --windows). Also there: /healthz, /readyz, /metrics.
    """
    from winkube.cli import webhook_command as command

    command.serve(
        command.Serving(
            listen=listen,
            cert=cert,
            key=key,
            kubeconfig=kubeconfig,
            context=context,
            in_cluster=in_cluster,
            kubernetes=tuple(kubernetes or ()),
            windows=tuple(windows or ()),
            linger=linger,
        )
    )


@app.command("manifests")
@tell_errors
def manifests(  # noqa: PLR0913, PLR0917 - the options of the command
    image: Image = "",
    url: Url = "",
    namespace: Namespace = "winkube-webhook",
    failure_policy: Policy = "Ignore",
    timeout: Timeout = 3,
    replicas: Replicas = 2,
    match_conditions: Conditions = False,
    certificates: Certificates = None,
) -> None:
    """Print the objects that make a cluster ask, for 'kubectl apply -f -'.

    With --image, everything runs in the cluster. With --url, only the two configurations are
    printed, and 'winkube webhook serve' runs wherever you start it. Certificates are made here.
    """
    from winkube.cli import webhook_command as command

    asked = command.Manifests(
        image=image,
        url=url,
        namespace=namespace,
        failure_policy=failure_policy,
        timeout=timeout,
        replicas=replicas,
        certificates=certificates,
        match_conditions=match_conditions,
    )
    print(command.to_yaml(asked), end="")

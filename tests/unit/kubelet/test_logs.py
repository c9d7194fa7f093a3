from pathlib import Path

from winkube.kubelet.logs import LogRotator
from winkube.kubelet.pod.state import Container, Phase
from winkube.testing.fake_clock import FakeClock
from winkube.testing.fake_cri import FakeContainer, FakeCri


def _rotator(folder: Path, clock: FakeClock, fake: FakeCri) -> LogRotator:
    fake.containers["c"] = FakeContainer("c", "s", None, 0)
    record = Container("c", "main", "s", Phase.RUNNING, log_path=str(folder / "0.log"))
    return LogRotator(fake, clock, lambda: [record], max_bytes=10)


def _texts(folder: Path) -> list[str]:
    return sorted(entry.read_text() for entry in folder.iterdir())


async def test_a_large_log_is_set_aside_and_the_oldest_go(tmp_path: Path) -> None:
    clock, fake, path = FakeClock(), FakeCri(), tmp_path / "0.log"
    rotator = _rotator(tmp_path, clock, fake)
    for number in range(8):
        path.write_text(f"line {number} is long")
        await rotator.check()
        clock.advance(60)
        assert not path.exists()
    assert _texts(tmp_path) == [f"line {number} is long" for number in (4, 5, 6, 7)]
    assert len(fake.methods("ReopenContainerLog")) == 8


async def test_a_small_log_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_text("short")
    await _rotator(tmp_path, FakeClock(), FakeCri()).check()
    assert path.read_text() == "short"


async def test_a_runtime_that_cannot_reopen_keeps_its_file(tmp_path: Path) -> None:
    fake, path = FakeCri(), tmp_path / "0.log"
    fake.fail["ReopenContainerLog"] = "not implemented"
    path.write_text("a long line")
    await _rotator(tmp_path, FakeClock(), fake).check()
    assert path.read_text() == "a long line"

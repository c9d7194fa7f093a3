"""Pods for an owner whose pods no node takes."""

from winkube.controllers.pace import BATCH, CROWD, plan_pause


def test_a_few_waiting_pods_slow_nothing_down() -> None:
    assert plan_pause(BATCH, CROWD - 1, 100 * CROWD) == 0.0


def test_the_more_wait_the_longer_the_pause() -> None:
    assert plan_pause(BATCH, CROWD, CROWD) == 1.0
    assert plan_pause(BATCH, 10 * CROWD, 10 * CROWD) == 100.0
    assert plan_pause(BATCH // 2, 10 * CROWD, 10 * CROWD) == 50.0


def test_all_owners_of_a_namespace_share_its_room() -> None:
    assert plan_pause(BATCH, CROWD, 5 * CROWD) == 25.0


def test_an_hour_of_wanting_without_end_is_tens_of_thousands_of_pods() -> None:
    pods, now = 0, 0.0
    while now < 3600:
        pods += BATCH
        now += 0.5 + plan_pause(BATCH, pods, pods)
    assert 10_000 < pods < 50_000

from winkube.scheduler.debt import ALLOWANCE, CHEAP, IDLE, MOST, SHARE, Debts


def test_usual_decisions_are_free() -> None:
    debts = Debts()
    for _ in range(1000):
        debts.charge("a", CHEAP / 2, 0.0)
    assert not debts.of("a", 0.0)


def test_what_others_decide_pays_off() -> None:
    debts = Debts()
    debts.charge("a", ALLOWANCE * 2, 0.0)
    debts.charge("b", ALLOWANCE / SHARE, 0.0)
    assert not debts.is_indebted("a", 0.0)
    assert debts.is_indebted("b", 0.0)


def test_a_machine_that_gives_little_time_makes_no_good_debtors() -> None:
    """Decisions of 40 ms that take half a second each, as the machine is busy with others."""
    debts = Debts()
    for number in range(10):
        debts.charge("a", 0.04, number * 0.5)
    assert debts.is_indebted("a", 5.0)


def test_time_pays_off() -> None:
    debts = Debts()
    debts.charge("a", ALLOWANCE * 2, 0.0)
    assert debts.is_indebted("a", 0.0)
    assert not debts.is_indebted("b", 0.0)
    assert not debts.is_indebted("a", ALLOWANCE / SHARE / IDLE)


def test_nobody_owes_more_than_is_remembered() -> None:
    debts = Debts()
    for _ in range(100):
        debts.charge("a", MOST, 0.0)
    assert debts.of("a", 0.0) == MOST
    assert not debts.of("a", MOST / SHARE / IDLE)


def test_namespaces_that_nobody_asks_after_are_forgotten() -> None:
    debts = Debts()
    for number in range(100):
        debts.charge(f"gone-{number}", MOST, float(number))
    assert len(debts) <= MOST / SHARE / IDLE + 1

import os
import threading

from winkube.base.pace import work_in_batches


def test_threads_begun_later_work_in_batches_and_others_do_not() -> None:
    found: list[int] = []

    def child() -> None:
        found.append(os.sched_getscheduler(0))

    def parent() -> None:
        work_in_batches()
        thread = threading.Thread(target=child)
        thread.start()
        thread.join()

    thread = threading.Thread(target=parent)
    thread.start()
    thread.join()
    assert found == [os.SCHED_BATCH]
    assert os.sched_getscheduler(0) == os.SCHED_OTHER

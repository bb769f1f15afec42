"""A group that grows, shrinks and is left, the same for every client.

A client brings a class with: start(group, topic, **how), which begins a member in the background;
assigned(), the partitions it has; stop(), which leaves in good order. What it reads it adds to `read`
as (partition, offset), and it commits what it has read before it asks for more.
"""
import threading
import time

PARTITIONS = 6


def wait_for(what, check, seconds=30):
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            raise AssertionError(f"not seen within {seconds} s: {what}")
        time.sleep(0.02)


class Course:
    """produce(topic, count) writes so many records to each partition; member() makes one."""

    def __init__(self, topic, group, produce, member, once=True):
        self.topic, self.group, self.produce, self.member, self.once = topic, group, produce, member, once
        self.written, self.members = 0, []

    def join(self):
        m = self.member()
        self.members.append(m)
        m.start(self.group, self.topic)
        return m

    def more(self, count):
        self.produce(self.topic, count)
        self.written += count

    def all_read(self):
        got = set()
        for m in self.members:
            got.update(m.read)
        return len(got) == PARTITIONS * self.written

    def shares(self, *counts):
        living = [m for m in self.members if not m.stopped]

        def fits():
            have = [set(m.assigned()) for m in living]
            return sorted(map(len, have)) == sorted(counts) and len(set().union(*have)) == PARTITIONS
        return fits

    def run(self):
        try:
            self.more(50)
            a = self.join()
            wait_for("the first has all partitions", self.shares(6))
            wait_for("the first reads", self.all_read)
            b = self.join()
            wait_for("each of two has half", self.shares(3, 3))
            self.more(50)
            wait_for("two read", self.all_read)
            c = self.join()
            wait_for("each of three has a third", self.shares(2, 2, 2))
            self.more(50)
            wait_for("three read", self.all_read)
            a.stop()
            wait_for("two are left", self.shares(3, 3))
            b.stop()
            wait_for("one is left", self.shares(6))
            self.more(50)
            wait_for("the last reads on", self.all_read)
            c.stop()
            self.more(20)
            d = self.join()
            wait_for("a later one goes on", self.all_read)
            d.stop()
            assert len(d.read) == PARTITIONS * 20, f"the later one read {len(d.read)} records of {PARTITIONS * 20}"
            if self.once:
                got = [r for m in self.members for r in m.read]
                assert len(got) == len(set(got)), f"{len(got) - len(set(got))} records were read twice"
        finally:
            for m in self.members:
                m.stop()


class Threaded:
    """A member whose client is used by one thread: open(), poll() and close() are the client's."""

    def __init__(self):
        self.read, self.stopped, self.error = [], False, None

    def start(self, group, topic):
        self.open(group, topic)
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.thread.start()

    def _loop(self):
        try:
            while not self.stopped:
                self.read += self.poll()
            self.close()
        except Exception as e:
            self.error = e

    def stop(self):
        self.stopped = True
        self.thread.join(30)
        assert not self.thread.is_alive(), "a member does not end"
        if self.error:
            raise self.error

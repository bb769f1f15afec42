"""What the smoke tests of the Python clients share: data, comparison, report."""
import os
import sys
import time
import traceback

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
COUNT = 1000


def topic(client, what):
    return f"{client}-{what}-{os.getpid()}-{time.time_ns()}"


def records(codec):
    """COUNT records: key, value, headers, partition. Every tenth has no key, every eleventh no value."""
    for i in range(COUNT):
        key = None if i % 10 == 0 else f"key-{i}".encode()
        value = None if i % 11 == 0 and key else f"{codec} value {i} ".encode() * 5
        yield key, value, [("n", str(i).encode())], i % 2


def compare(got, codec):
    """got: for each partition the records (offset, key, value, headers) in the order read."""
    want = {0: [], 1: []}
    for key, value, headers, p in records(codec):
        want[p].append((len(want[p]), key, value, [(k, bytes(v)) for k, v in headers]))
    for p in want:
        have = [(o, k, v, [(n, bytes(x)) for n, x in (h or [])]) for o, k, v, h in got[p]]
        assert len(have) == len(want[p]), f"partition {p}: {len(have)} records of {len(want[p])}"
        for a, b in zip(have, want[p]):
            assert a == b, f"partition {p}: {a!r} read, {b!r} written"


def wait_for(what, check, seconds=20):
    """Other brokers show a change later than they answer it."""
    end = time.monotonic() + seconds
    while True:
        try:
            if check():
                return
            error = None
        except Exception as e:  # the last one is shown
            error = e
        if time.monotonic() > end:
            raise AssertionError(f"not seen within {seconds} s: {what} ({error})")
        time.sleep(0.05)


class Report:
    def __init__(self):
        self.bad = False

    def check(self, name):
        return _Check(self, name)

    def end(self):
        sys.stdout.flush()
        sys.exit(1 if self.bad else 0)


class _Check:
    def __init__(self, report, name):
        self.report, self.name = report, name

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            print(f"PASS {self.name}", flush=True)
        elif issubclass(kind, Exception):
            traceback.print_exception(kind, error, trace)
            print(f"FAIL {self.name}: {kind.__name__}: {error}".replace("\n", " ")[:400], flush=True)
            self.report.bad = True
        return kind is None or issubclass(kind, Exception)

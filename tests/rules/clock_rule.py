#!/usr/bin/env python3
"""Checks that nothing reads the wall clock or waits by it, since it may jump; and that outside of base/ and samples/ code
waits and uses files and sockets only through base/, so that a simulation can replace them. Prints each offending line as
file:line and ends with 1 if there is any. clock_rule.py ROOT
"""
import re
import sys
from pathlib import Path

FOLDERS = ["base", "graph", "ops", "kernels", "comm", "plan", "placement", "executor", "runner", "samples"]
SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh"}
# Forbidden everywhere, each with what to use instead.
FORBIDDEN = [
    (r"\bchrono::(system_clock|high_resolution_clock|utc_clock)\b", "ferry::system_clock(), which is monotonic"),
    (r"\bCLOCK_(REALTIME|TAI)\w*", "ferry::system_clock()"),
    (r"\b(gettimeofday|ftime|std::time|::time)\s*\(", "ferry::system_clock()"),
    (r"\bMPI_Wtime\b", "ferry::system_clock()"),
    (r"\b(sem_timedwait|pthread_cond_timedwait|pthread_mutex_timedlock|mq_timedreceive)\b", "base/system/event_count.hpp"),
    (r"\bFUTEX_CLOCK_REALTIME\b", "a relative futex wait"),
    (r"\b(setitimer|alarm)\s*\(", "a Deadline"),
]
# Forbidden outside of base/ and samples/, each with what to use instead.
OF_BASE = [
    (r"\bstd::condition_variable|\bpthread_cond_", "base/system/monitor.hpp or event_count.hpp"),
    (r"\bSYS_futex\b|\bFUTEX_\w+", "base/system/event_count.hpp"),
    (r"\bsleep_(for|until)\b|\b(usleep|nanosleep|clock_nanosleep)\s*\(", "Clock::sleep() of base/system/clock.hpp"),
    (r"\bstd::(basic_)?[io]?fstream\b|\bfopen\s*\(|\bstd::filesystem\b", "base/files/files.hpp"),
    (r"(?<![\w.>])::(open|openat|creat|socket|connect|bind|listen|accept|poll|select)\s*\(", "base/files or base/system"),
]
# Exceptions by file: the transport over shared memory opens its segments, files in /dev/shm, to map them; the time of day is asked for
# in one place, for people to read.
ALLOWED = {"comm/shm/segment.cpp": "::open", "base/system/machine.cpp": "system_clock::now()"}


def offences(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = line.split("//")[0]
                if ALLOWED.get(str(path.relative_to(root)), "\0") in code:
                    continue
                within = folder in ("base", "samples")
                for pattern, instead in FORBIDDEN + ([] if within else OF_BASE):
                    if re.search(pattern, code):
                        yield f"{path.relative_to(root)}:{number}: {line.strip()}   use {instead}"


def main(root):
    found = list(offences(Path(root)))
    print("\n".join(found) if found else "no wall clock, and no waits or files but those of base, in " + ", ".join(FOLDERS))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

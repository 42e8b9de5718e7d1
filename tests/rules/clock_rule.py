#!/usr/bin/env python3
"""Checks that nothing reads the wall clock or waits by it, since it may jump: prints each offending line as file:line and
ends with 1 if there is any. clock_rule.py ROOT
"""
import re
import sys
from pathlib import Path

FOLDERS = ["base", "graph", "ops", "kernels", "comm", "placement", "executor", "runner", "samples"]
SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh"}
# Each with what to use instead.
FORBIDDEN = [
    (r"\bchrono::(system_clock|high_resolution_clock|utc_clock)\b", "ferry::system_clock(), which is monotonic"),
    (r"\bCLOCK_(REALTIME|TAI)\w*", "ferry::system_clock()"),
    (r"\b(gettimeofday|ftime|std::time|::time)\s*\(", "ferry::system_clock()"),
    (r"\bMPI_Wtime\b", "ferry::system_clock()"),
    (r"\b(sem_timedwait|pthread_cond_timedwait|pthread_mutex_timedlock|mq_timedreceive)\b", "base/system/event_count.hpp"),
    (r"\bFUTEX_CLOCK_REALTIME\b", "a relative futex wait"),
    (r"\b(setitimer|alarm)\s*\(", "a Deadline"),
]


def offences(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = line.split("//")[0]
                for pattern, instead in FORBIDDEN:
                    if re.search(pattern, code):
                        yield f"{path.relative_to(root)}:{number}: {line.strip()}   use {instead}"


def main(root):
    found = list(offences(Path(root)))
    print("\n".join(found) if found else "no wall clock in " + ", ".join(FOLDERS))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

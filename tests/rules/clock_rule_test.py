#!/usr/bin/env python3
"""clock_rule.py finds planted uses of wall clocks, waits and files, and accepts what is allowed."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import clock_rule  # noqa: E402
import planted  # noqa: E402


def run(line, folder="comm"):
    """Exit code and output for a tree of one file with that line."""
    return planted.run(clock_rule, {f"{folder}/wait.cpp": f"\n{line}\n"})


class ClockRule(unittest.TestCase):
    def test_planted(self):
        for line in ["auto t = std::chrono::system_clock::now();", "clock_gettime(CLOCK_REALTIME, &t);", "t = std::time(nullptr);",
                     "gettimeofday(&t, nullptr);", "double t = MPI_Wtime();", "sem_timedwait(&s, &t);"]:
            code, out = run(line)
            self.assertEqual(code, 1, line)
            self.assertIn("comm/wait.cpp:2: " + line, out)

    def test_allowed(self):
        for line in ["auto t = system_clock().now();", "std::chrono::steady_clock::now();", "// not gettimeofday()",
                     "next_time(3);", "clock_gettime(CLOCK_MONOTONIC, &t);"]:
            self.assertEqual(run(line)[0], 0, line)
        self.assertEqual(run("auto t = std::chrono::system_clock::now();", "tests")[0], 0)

    def test_what_base_does_for_all(self):
        for line in ["std::condition_variable wake_;", "syscall(SYS_futex, &word, FUTEX_WAIT, 1, &t);", "std::this_thread::sleep_for(kPoll);",
                     "usleep(10);", 'std::ifstream file("/proc/x");', "std::filesystem::remove(path);", "int f = ::open(path, O_RDONLY);",
                     "int s = ::socket(AF_INET, SOCK_STREAM, 0);", "FILE* f = fopen(path, mode);"]:
            code, out = run(line)
            self.assertEqual(code, 1, line)
            self.assertIn("comm/wait.cpp:2: " + line, out)
            self.assertEqual(run(line, "base/system")[0], 0, line)
        self.assertEqual(run("auto segment = Segment::open(ticket); files.open(path); doors->open();")[0], 0)
        self.assertEqual(planted.run(clock_rule, {"comm/shm/segment.cpp": "int file = ::open(path, O_RDWR);"})[0], 0)
        self.assertEqual(planted.run(clock_rule, {"comm/shm/segment.cpp": "std::ifstream file(path);"})[0], 1)


if __name__ == "__main__":
    unittest.main()

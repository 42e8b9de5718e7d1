#!/usr/bin/env python3
"""include_rule.py finds planted violations, and nothing in a tree without any."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import include_rule  # noqa: E402
import planted  # noqa: E402

PUBLIC = ["ferry.hpp", "mpi.hpp", "base/error.hpp", "graph/graph.hpp"]


def run(files, public=PUBLIC):
    return planted.run(include_rule, files, public)


class IncludeRule(unittest.TestCase):
    def allowed(self, path, header):
        code, out = run({path: f'#include "{header}"\n'})
        self.assertEqual((code, "keep the include rule" in out), (0, True), f"{path} <- {header}: {out}")

    def refused(self, path, header):
        code, out = run({path: f'#pragma once\n\n#include "{header}"\n'})
        self.assertEqual(code, 1, f"{path} <- {header}")
        self.assertIn(f'{path}:3: #include "{header}"', out)

    def test_whole_rows(self):
        self.allowed("graph/graph.cpp", "base/error.hpp")
        self.allowed("ops/math/math.cpp", "graph/graph.hpp")
        self.refused("base/file.cpp", "graph/graph.hpp")
        self.refused("graph/graph.cpp", "ops/math/math.hpp")
        self.allowed("placement/cut.cpp", "kernels/traits.hpp")
        self.refused("placement/cut.cpp", "kernels/kernel.hpp")
        self.refused("placement/cut.cpp", "comm/transport.hpp")

    def test_partial_rows(self):
        self.allowed("executor/session/session_plans.cpp", "placement/planner.hpp")
        self.refused("executor/session/session.cpp", "placement/planner.hpp")
        self.allowed("executor/session/session.cpp", "plan/plan.hpp")
        self.allowed("executor/session/session.cpp", "comm/group.hpp")
        self.refused("executor/session/session.cpp", "placement/cut.hpp")
        self.refused("executor/session/session.cpp", "comm/ledger.hpp")
        self.allowed("comm/group.hpp", "plan/schedule/schedule.hpp")
        self.refused("comm/group.hpp", "plan/plan.hpp")
        self.refused("comm/group.hpp", "placement/planner.hpp")
        self.allowed("comm/group.hpp", "graph/types/dtype.hpp")
        self.refused("comm/group.hpp", "graph/graph.hpp")
        self.refused("comm/group.hpp", "kernels/kernel.hpp")

    def test_components(self):
        self.allowed("plan/verify/x.cpp", "plan/plan.hpp")
        self.refused("plan/verify/x.cpp", "plan/text/plan_text.hpp")
        self.refused("plan/verify/x.cpp", "placement/planner.hpp")
        self.refused("plan/file/x.cpp", "plan/verify/verifier.hpp")
        self.refused("plan/x.cpp", "placement/lower/x.hpp")
        self.allowed("plan/x.cpp", "plan/schedule/schedule.hpp")
        self.refused("plan/x.cpp", "plan/verify/verify.hpp")
        self.allowed("placement/lower/x.cpp", "plan/plan.hpp")
        self.refused("placement/lower/x.cpp", "plan/verify/verify.hpp")
        self.allowed("placement/lower/x.cpp", "placement/messages/x.hpp")
        self.refused("placement/messages/x.cpp", "placement/lower/x.hpp")
        self.refused("placement/layout/x.cpp", "placement/messages/x.hpp")
        self.refused("graph/types/shape.cpp", "graph/graph.hpp")
        self.refused("executor/run/x.cpp", "placement/lower/x.hpp")

    def test_backends_are_included_by_nobody(self):
        self.refused("executor/session/session.cpp", "comm/mpi/mpi_transport.hpp")
        self.refused("comm/group.cpp", "comm/mpi/mpi_transport.hpp")
        self.refused("tests/kernels/x_test.cpp", "kernels/cpu/matmul.hpp")
        self.refused("comm/shm/shm.cpp", "comm/mpi/mpi_transport.hpp")
        self.allowed("comm/mpi/requests.cpp", "comm/mpi/mpi_transport.hpp")
        self.allowed("comm/mpi/requests.cpp", "comm/transport.hpp")

    def test_runner_and_samples_see_installed_headers(self):
        self.allowed("runner/command/main.cpp", "ferry.hpp")
        self.allowed("runner/command/main.cpp", "graph/graph.hpp")
        self.allowed("runner/command/main.cpp", "runner/options.hpp")
        self.allowed("runner/command/bench_command.cpp", "bench/benchmark.hpp")
        self.allowed("runner/command/calibrate_command.cpp", "bench/calibration/calibration.hpp")
        self.refused("runner/command/main.cpp", "bench/processes/process.hpp")
        self.refused("runner/command/main.cpp", "graph/types/string_pool.hpp")
        self.refused("samples/add.cpp", "placement/cut.hpp")
        self.refused("samples/add.cpp", "runner/options.hpp")
        code, out = run({"samples/add.cpp": "#include <ferry/placement/cut.hpp>\n"})
        self.assertEqual(code, 1, out)

    def test_inner_folders_do_not_include_the_umbrella(self):
        self.refused("graph/graph.cpp", "ferry.hpp")
        self.allowed("tests/graph/graph_test.cpp", "ferry.hpp")

    def test_installed_headers_include_installed_and_standard_headers(self):
        self.allowed("ferry.hpp", "graph/graph.hpp")
        self.refused("ferry.hpp", "graph/types/string_pool.hpp")
        self.refused("graph/graph.hpp", "graph/types/string_pool.hpp")
        self.assertEqual(run({"graph/graph.hpp": "#include <vector>\n"})[0], 0)
        self.assertEqual(run({"graph/graph.hpp": "#include <tbb/task_arena.h>\n"})[0], 1)
        self.assertEqual(run({"graph/graph.hpp": "#include <mpi.h>\n"})[0], 1)
        self.assertEqual(run({"mpi.hpp": "#include <mpi.h>\n"})[0], 0)
        self.assertEqual(run({"graph/graph.cpp": "#include <tbb/task_arena.h>\n"})[0], 0)

    def test_headers_that_a_compiler_lacks_are_included_by_our_own(self):
        self.assertEqual(run({"graph/graph.cpp": "#include <source_location>\n"})[0], 1)
        self.assertEqual(run({"base/source_location.hpp": "#include <source_location>\n"})[0], 0)

    def test_an_empty_tree_does_not_pass(self):
        self.assertEqual(run({})[0], 1)


if __name__ == "__main__":
    unittest.main()

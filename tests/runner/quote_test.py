#!/usr/bin/env python3
"""Tests `ferry quote` against plans and runs, and the planned time of a step against step_time.py:

    quote_test.py FERRY SAMPLES DATA
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from step_time import step_seconds

FERRY, SAMPLES, DATA = sys.argv[1], Path(sys.argv[2]), sys.argv[3]


def ferry(*words):
    done = subprocess.run([FERRY, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    return done.returncode, done.stdout, done.stderr


class Quotes(unittest.TestCase):
    def printed(self, *words):
        code, out, err = ferry(*words)
        self.assertEqual((code, err), (0, ""), words)
        return out

    def quote(self, sample, *words):
        return json.loads(self.printed("quote", SAMPLES / sample, "--json", *words))

    def refused(self, code, text, *words):
        got, out, err = ferry("quote", *words)
        self.assertEqual((got, out), (code, ""), err)
        self.assertIn(text, err)

    def file(self, name, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / name
        path.write_text(text)
        return path

    def test_memory_equals_a_run(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        stats = Path(folder.name) / "stats.json"
        for sample, tasks in (("digits.pb", 1), ("digits.pb", 2), ("zero.pb", 2), ("jacobi.pb", 3), ("tensor_parallel.pb", 2)):
            with self.subTest(sample, tasks=tasks):
                entry = ["--entry", "data_parallel"] if sample == "zero.pb" else []
                words = ["--tasks", tasks, "--threads", 1, *entry]
                quote = self.quote(sample, *words)
                self.printed("run", SAMPLES / sample, *words, "--data", DATA, "--stats", stats)
                ran = {task["task"]: task for task in json.loads(stats.read_text())["tasks"]}
                self.assertEqual(sum(map(len, quote["tasks_of"].values())), tasks)
                for role, members in quote["tasks_of"].items():
                    for task in members:
                        self.assertEqual(ran[task]["planned"]["peak_bytes"], quote["memory_bytes"][role])
                        self.assertLessEqual(ran[task]["peak_bytes"], quote["memory_bytes"][role])
                    self.assertLess(quote["variable_bytes"][role], quote["memory_bytes"][role])

    def test_roles_equal_the_plan(self):
        quote = self.quote("add.pb", "--tasks", 3)
        plan = json.loads(self.printed("plan", SAMPLES / "add.pb", "--tasks", 3, "--json"))
        self.assertEqual(quote["tasks_of"], {f"class {c}": role["tasks"] for c, role in enumerate(plan["classes"])})
        summary = self.printed("plan", SAMPLES / "add.pb", "--tasks", 3)
        for role in quote["memory_bytes"]:
            self.assertIn(f"\n{role}: task ", summary)
        self.assertEqual(quote["step_seconds"], plan["step"]["step_seconds"])

    def test_table(self):
        quote = self.quote("digits.pb", "--tasks", 3, "--threads", 1, "--entry", "train")
        self.assertEqual([row["tasks"] for row in quote["table"]], [1, 2, 3, 4, 8])
        for row in quote["table"]:
            alone = self.quote("digits.pb", "--tasks", row["tasks"], "--threads", 1, "--entry", "train")
            self.assertEqual({name: alone[name] for name in ("step_seconds", "memory_bytes", "epoch_seconds")},
                             {name: row[name] for name in ("step_seconds", "memory_bytes", "epoch_seconds")})
            self.assertAlmostEqual(row["speedup"], quote["table"][0]["step_seconds"] / row["step_seconds"])
        self.assertEqual(self.quote("digits.pb", "--tasks", 16, "--entry", "train")["table"][-1]["tasks"], 16)

    def test_threads_of_rows(self):
        file = self.file("p.pbtxt", 'host { name: "h" }\ncompute { parallel_flops: 1 parallel_bytes: 1 }')
        words = ["--cluster", file, "--tasks", len(os.sched_getaffinity(0))]  # so each has one core
        threads = re.search(r"class 0: .* (\d+) thread", self.printed("quote", SAMPLES / "fashion.pb", *words))[1]
        alone = self.quote("fashion.pb", "--cluster", file, "--tasks", 1, "--threads", threads)
        self.assertEqual(self.quote("fashion.pb", *words)["table"][0]["step_seconds"], alone["step_seconds"])

    def test_rows_with_too_few_tasks(self):
        rows = {row["tasks"]: row for row in self.quote("add.pb", "--tasks", 3)["table"]}
        self.assertEqual(sorted(rows), [1, 2, 3, 4, 8])
        for tasks in (1, 2):
            self.assertEqual(set(rows[tasks]), {"tasks", "left_out"})
            self.assertIn("device '/task:2' is not there", rows[tasks]["left_out"])
        self.assertIn("step_seconds", rows[4])
        self.assertIn("1  left out: ", self.printed("quote", SAMPLES / "add.pb", "--tasks", 3))

    def test_epochs_and_prices(self):
        train = ["--entry", "train", "--tasks", 2, "--threads", 1]
        quote = self.quote("digits.pb", *train, "--price", 1.5)
        run = self.file("stats.json", "")
        self.printed("run", SAMPLES / "digits.pb", *train, "--data", DATA, "--epochs", 1, "--stats", run)
        self.assertEqual(quote["epoch_steps"], json.loads(run.read_text())["steps"])
        last = quote["epoch_seconds"] - (quote["epoch_steps"] - 1) * quote["step_seconds"]
        plan = json.loads(self.printed("plan", SAMPLES / "digits.pb", *train, "--step", quote["epoch_steps"] - 1, "--json"))
        self.assertAlmostEqual(last, plan["step"]["step_seconds"])
        for price, seconds in (("step_price", "step_seconds"), ("epoch_price", "epoch_seconds")):
            self.assertAlmostEqual(quote[price], 1.5 * 2 * quote[seconds] / 3600)
            for row in quote["table"]:
                self.assertAlmostEqual(row[price], 1.5 * row["tasks"] * row[seconds] / 3600)
        text = self.printed("quote", SAMPLES / "digits.pb", *train, "--price", 1.5)
        self.assertIn("an epoch costs", text)
        self.assertLessEqual(text.count("\n"), 40)
        without = self.quote("tensor_parallel.pb", "--tasks", 2)
        self.assertFalse({"epoch_seconds", "step_price", "epoch_price"} & set(without))
        self.assertIn("1000 steps cost", self.printed("quote", SAMPLES / "tensor_parallel.pb", "--tasks", 2, "--price", 1))

    def test_lines_and_messages(self):
        quote = self.quote("fashion.pb", "--tasks", 2, "--threads", 1)
        seconds = [line["seconds"] for line in quote["lines"]]
        self.assertEqual(seconds, sorted(seconds, reverse=True))
        self.assertAlmostEqual(sum(seconds), quote["computing_seconds"])  # both tasks do the same
        self.assertIn("fashion.cpp:", quote["lines"][0]["line"])
        self.assertIn("all_reduce of 2 tasks", {message["what"] for message in quote["messages"]})
        self.assertIn(quote["lines"][0]["line"], self.printed("quote", SAMPLES / "fashion.pb", "--tasks", 2))

    def test_loops(self):
        self.assertEqual(self.quote("jacobi.pb", "--tasks", 3)["loop_iterations"], 100)
        self.assertIn("100 iterations", self.printed("quote", SAMPLES / "jacobi.pb", "--tasks", 3))

    def test_cluster_files(self):
        costs = 'compute { product_flop_ps: 30 }\non_host { latency_seconds: 1e-5 bytes_per_second: 1e9 }'
        file = self.file("c.pbtxt", 'host { name: "h" tasks: 2 threads: 2 }\n' + costs)
        described = self.quote("fashion.pb", "--cluster", file)
        self.assertEqual(described["tasks"], 2)
        self.assertEqual(described["costs"], str(file))
        plan = json.loads(self.printed("plan", SAMPLES / "fashion.pb", "--cluster", file, "--json"))
        self.assertEqual(described["step_seconds"], plan["step"]["step_seconds"])
        # Where the command line describes the tasks, only the costs are of the file, as in a run.
        one = self.file("one.pbtxt", 'host { name: "h" threads: 2 }\n' + costs)
        for tasks in (1, 2):
            by_costs = self.quote("fashion.pb", "--cluster", one, "--tasks", tasks, "--threads", 2)
            self.assertEqual(by_costs["step_seconds"], described["table"][tasks - 1]["step_seconds"])
        self.assertNotEqual(self.quote("fashion.pb", "--tasks", 2)["step_seconds"], described["step_seconds"])
        # More tasks than the file has are on more hosts like its last one.
        more = self.file("more.pbtxt", 'host { name: "h" count: 2 tasks: 2 threads: 2 }\n' + costs)
        self.assertEqual(described["table"][2]["step_seconds"], self.quote("fashion.pb", "--cluster", more)["step_seconds"])

    def test_processes_share_memory(self):
        text = 'host {{ name: "h" tasks: 2 shared_memory: {} }}\ncompute {{ product_flop_ps: 9 }}'
        memory = {}
        for shared in ("true", "false"):
            file = self.file("c.pbtxt", text.format(shared))
            memory[shared] = self.quote("fashion_cnn.pb", "--cluster", file)["memory_bytes"]
            here = self.quote("fashion_cnn.pb", "--cluster", file, "--tasks", 2, "--threads", 1)["memory_bytes"]
            self.assertEqual(here, memory[shared])
        self.assertLess(memory["true"]["class 0"], memory["false"]["class 0"])
        self.assertEqual(self.quote("fashion_cnn.pb", "--tasks", 2, "--threads", 1)["memory_bytes"], memory["false"])

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_memory_equals_a_job_of_processes(self):
        file = self.file("c.pbtxt", 'host { name: "h" tasks: 2 }')
        stats = file.parent / "stats.json"
        quote = self.quote("digits.pb", "--entry", "train", "--cluster", file)
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(["mpirun", "--oversubscribe", "-np", "2", "--bind-to", "none", FERRY, "run", SAMPLES / "digits.pb",
                               "--entry", "train", "--threads", "1", "--data", DATA, "--stats", stats],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([task["planned"]["peak_bytes"] for task in json.loads(stats.read_text())["tasks"]],
                         list(quote["memory_bytes"].values()))

    def test_costs_of_another_machine(self):
        file = self.file("c.pbtxt", 'host { name: "h" }\ncompute { ferry: "0.0.1" }')
        code, out, err = ferry("quote", SAMPLES / "digits.pb", "--cluster", file, "--entry", "train")
        self.assertEqual((code, err.count("were measured")), (0, 1), err)
        self.assertIn("a step takes", out)

    def test_copies_to_gpus(self):
        words = ["--tasks", 1, "--device", "sim", "--entry", "train"]
        copies = [message for message in self.quote("fashion.pb", *words)["messages"] if message["what"].startswith("copy to the ")]
        self.assertEqual({copy["what"] for copy in copies}, {"copy to the GPU", "copy to the host"})
        for copy in copies:
            self.assertAlmostEqual(copy["seconds"], 1e-5 + copy["bytes"] / 55e9, delta=1e-11)
        step = json.loads(self.printed("plan", SAMPLES / "fashion.pb", *words, "--json"))["step"]
        self.assertAlmostEqual(step_seconds(step) / step["step_seconds"], 1, delta=1e-3)
        self.assertGreaterEqual(step["message_seconds"], sum(copy["seconds"] for copy in copies) * 0.999)

    def test_hosts_with_too_little_memory(self):
        file = self.file("small.pbtxt", 'host { name: "small" tasks: 2 memory_bytes: 1000 }')
        code, out, err = ferry("quote", SAMPLES / "fashion.pb", "--cluster", file)
        self.assertEqual((code, out), (4, ""), err)
        self.assertIn("the tasks on host small would need ", err)
        self.assertIn("try: fewer tasks on a host, a smaller batch, or hosts with more memory\n", err)
        self.assertEqual(err.count("try: "), 1, err)

    def test_longest_costs(self):
        link = "latency_seconds: 10 bytes_per_second: 1000"
        unit = " ".join(f"{name}: 1e6" for name in ("memory_byte_ps", "cache_byte_ps", "product_flop_ps", "convolution_flop_ps",
                                                    "reduction_flop_ps", "element_flop_ps"))
        file = self.file("slow.pbtxt", f'host {{ name: "h" count: 2 tasks: 2 }}\non_host {{ {link} }}\nbetween_hosts {{ {link} }}\n'
                                       f"compute {{ call_ps: 1e12 wait_ps: 1e12 {unit} }}")
        for sample in ("jacobi.pb", "k_means.pb", "tensor_parallel.pb"):
            for place in ("annotated", "auto"):
                quote = self.quote(sample, "--cluster", file, "--place", place)
                self.assertGreater(quote["computing_seconds"], 0)
                self.assertGreaterEqual(quote["step_seconds"], quote["computing_seconds"])
        wrong = self.file("wrong.pbtxt", 'host { name: "h" }\ncompute {\n  product_flop_ps: 1e12\n}')
        self.refused(3, "wrong.pbtxt: line 3: compute: product_flop_ps is to be from 1e-06 to 1e+06, not 1e+12",
                     SAMPLES / "digits.pb", "--cluster", wrong)

    def test_refusals(self):
        digits, add = SAMPLES / "digits.pb", SAMPLES / "add.pb"
        self.refused(2, "--entry trian: the graph has no such entry\n  try: --entry train?", digits, "--entry", "trian")
        self.refused(2, "--tasks 0: not a whole number from 1", digits, "--tasks", 0)
        for price in ("-1", "nan", "inf", "1e13", "two"):
            self.refused(2, f"--price {price}: not a number from 0 to 1e12", digits, "--price", price)
        self.refused(4, "start at least 3 tasks", add)
        self.refused(2, "the job has tasks 0 to 1\n  try: give one of these with --fetch-to or RunRequest::fetch_to",
                     digits, "--tasks", 2, "--fetch-to", 5)
        entries = (Path(__file__).parent / "golden" / "entries.pbtxt").read_text()
        shape_open = self.file("open.pbtxt", entries.replace("dim { size: 6 }", "dim { }"))
        self.refused(2, "the shape of input 'x' is open", shape_open)
        self.printed("quote", shape_open, "--shape", "x=10,4")
        equals = self.file("equals.pbtxt", shape_open.read_text().replace('"x"', '"a=b"'))
        self.printed("quote", equals, "--shape", "a=b=10,4")
        plan = self.file("add.plan", "")
        self.printed("plan", add, "--tasks", 3, "--save", plan)
        self.refused(2, "does not hold the work of its steps", plan)
        hosts = self.file("c.pbtxt", 'host { name: "h" tasks: 3 }')
        self.refused(2, "the file has no costs of its own", add, "--cluster", hosts, "--tasks", 3)
        self.refused(3, "/nowhere", "/nowhere.pb")


class StepTimes(unittest.TestCase):
    """step_time.py computes the planned time of a step, by which --place auto chooses."""

    CLUSTERS = {"two tasks": 'host { name: "h" tasks: 2 }',
                "two hosts": 'host { name: "h" count: 2 tasks: 2 threads: 2 }\ncompute { parallel_flops: 0.9 wait_ps: 2e6 }'}
    SAMPLES = ("auto", "fashion", "charlm", "tensor_parallel", "experts", "jacobi")

    def planned(self, sample, *words):
        code, out, err = ferry("plan", SAMPLES / f"{sample}.pb", "--json", *words)
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def test_places(self):
        taken, by_hosts = set(), set()
        for name, text in self.CLUSTERS.items():
            with tempfile.NamedTemporaryFile("w", suffix=".pbtxt") as cluster:
                cluster.write(text)
                cluster.flush()
                for sample in self.SAMPLES:
                    with self.subTest(sample, cluster=name):
                        plan = self.planned(sample, "--place", "auto", "--cluster", cluster.name)
                        self.assertAlmostEqual(step_seconds(plan["step"]) / plan["place"]["step_seconds"], 1, delta=1e-3)
                        taken.add(plan["place"]["taken"])
                        by_hosts |= {work["message"]["kind"] for work in plan["step"]["work"]
                                     if "message" in work and work["message"]["hosts"] > 1}
        self.assertIn("mesh 2", taken)
        self.assertIn("mesh 2x2", taken)
        self.assertLessEqual({"all_reduce", "reduce"}, by_hosts)

    def test_annotated_graphs(self):
        for sample, tasks in (("data_tensor", 4), ("heat", 4), ("add", 3), ("async_server", 3), ("k_means", 2)):
            with self.subTest(sample):
                jobs = ["--jobs", f"ps=0,worker=1-{tasks - 1}"] if sample == "async_server" else []
                step = self.planned(sample, "--tasks", tasks, *jobs)["step"]
                self.assertAlmostEqual(step_seconds(step) / step["step_seconds"], 1, delta=1e-3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

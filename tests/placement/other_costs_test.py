#!/usr/bin/env python3
"""Checks that `--place auto` follows the costs that it is given.

    other_costs_test.py FERRY SAMPLES_FOLDER [all]

Samples without their annotations are placed with slower and slower links: a step never sends more bytes. Then with costs that are
wrong by up to 20 %: the layouts that are chosen, as annotations, take less than 1.1 of the step that is chosen with the right
costs. With `all` for more samples and tasks. At last a transformer is placed on several hosts: the sums of its gradients' norm,
which the next op reads, are not one message each.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from annotations import write_without_annotations

FERRY, SAMPLES = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
ALL = "all" in sys.argv[3:]
CASES = [("auto", 4), ("tensor_parallel", 4)]
if ALL:
    CASES = [(sample, tasks) for sample in ("auto", "fashion", "fashion_cnn", "charlm", "tensor_parallel", "power_iteration",
                                            "heat", "digits") for tasks in (2, 4)]
SEEDS = range(3 if ALL else 1)
BANDWIDTHS = (8e9, 8e8, 8e7)  # bytes a second
WRONG = 0.2
MOST = 1.1
LINK = {"latency_seconds": 1e-6, "bytes_per_second": BANDWIDTHS[0]}
# docs/reference/cluster_format.md#costs-of-computing
COMPUTE = {"call_ps": 50e3, "memory_byte_ps": 40, "cache_byte_ps": 40, "product_flop_ps": 10, "convolution_flop_ps": 10,
           "reduction_flop_ps": 10, "element_flop_ps": 10}


def write_cluster(path, tasks, scale=lambda cost: cost, **link):
    def text(costs):
        return " ".join(f"{name}: {scale(cost):g}" for name, cost in costs.items())

    path.write_text(f'host {{ name: "here" tasks: {tasks} }}\non_host {{ {text(LINK | link)} }}\ncompute {{ {text(COMPUTE)} }}\n')
    return path


def ferry(*words):
    done = subprocess.run([str(word) for word in (FERRY, *words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def sent_bytes(work):
    """The bytes that one member sends for a message of a step (docs/internals/one_run.md#the-time-of-a-step)."""
    message = work["message"]
    given, got, others = message["given_bytes"], message["got_bytes"], (message["members"] - 1) / message["members"]
    by_kind = {"all_reduce": 2 * given * others, "reduce_scatter": given * others, "all_to_all": given * others,
               "scatter": given * others, "all_gather": got * others, "gather": got * others}
    return work["runs"] * by_kind.get(message["kind"], max(given, got))


def check_bandwidths(sample, tasks, graph, folder):
    sent = []
    for bandwidth in BANDWIDTHS:
        cluster = write_cluster(folder / "cluster.pbtxt", tasks, bytes_per_second=bandwidth)
        step = json.loads(ferry("plan", graph, "--cluster", cluster, "--place", "auto", "--json"))["step"]
        sent.append(round(sum(sent_bytes(work) for work in step["work"] if "message" in work)))
    print(f"{sample} on {tasks} tasks sends {sent} bytes at {BANDWIDTHS} bytes a second", flush=True)
    assert sent == sorted(sent, reverse=True), sent


def check_wrong_costs(sample, tasks, graph, folder):
    right = write_cluster(folder / "right.pbtxt", tasks)
    best = json.loads(ferry("plan", graph, "--cluster", right, "--place", "auto", "--json"))["place"]["step_seconds"]
    for seed in SEEDS:
        wrong = random.Random(seed)
        cluster = write_cluster(folder / "wrong.pbtxt", tasks, lambda cost: cost * wrong.uniform(1 - WRONG, 1 + WRONG))
        printed = ferry("plan", graph, "--cluster", cluster, "--place", "auto", "--print-annotations")
        rules = folder / "rules.txt"
        rules.write_text(printed[printed.index("# RULES.txt"):] if "# RULES.txt" in printed else "")
        quote = json.loads(ferry("quote", graph, "--cluster", right, "--place", "annotated", "--devices", rules, "--json"))
        ratio = quote["step_seconds"] / best
        print(f"{sample} on {tasks} tasks, chosen with wrong costs {seed}: {ratio:.3f} of the best step", flush=True)
        assert ratio < MOST, ratio


def check_small_sums(folder):
    cluster = folder / "hosts.pbtxt"
    cluster.write_text('host { name: "h" count: 8 tasks: 8 }\n')
    graph = write_without_annotations(SAMPLES / "charlm.pb", folder)
    work = json.loads(ferry("plan", graph, "--cluster", cluster, "--place", "auto", "--json"))["step"]["work"]
    small = [one["name"] for one in work if "message" in one and one["message"]["between_hosts"]
             and one["message"]["kind"] == "all_reduce" and one["message"]["given_bytes"] == 4]
    print(f"charlm on 8 hosts: all-reduces of 4 bytes between hosts: {small}", flush=True)
    assert len(small) <= 2, small


def main():
    for sample, tasks in CASES:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            graph = write_without_annotations(SAMPLES / f"{sample}.pb", folder)
            check_bandwidths(sample, tasks, graph, folder)
            check_wrong_costs(sample, tasks, graph, folder)
    with tempfile.TemporaryDirectory() as name:
        check_small_sums(pathlib.Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())

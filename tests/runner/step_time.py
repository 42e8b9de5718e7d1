#!/usr/bin/env python3
"""Computes the planned time of a step from `ferry plan --json`, without code of ferry, by the rules of
docs/internals/one_run.md#planned-times:

    step_time.py PLAN.json

prints the seconds of a step, and ferry's.
"""
import json
import math
import sys

WAIT_PS = 4e6  # where no calibration has measured it
LEAST_SPLIT_PS = 1.3e6


def kernel_ps(kernel, costs):
    """A kernel takes its call, and the slower of its flops and its bytes."""
    cost = costs[kernel["device"]]

    def on_threads(time, share):
        return time if time < LEAST_SPLIT_PS else time * (1 - share + share / kernel["threads"])

    flops = kernel["flops"] * cost[kernel["kind"] + "_flop_ps"]
    in_cache = kernel["bytes"] <= cost["cache_bytes"]
    traffic = kernel["bytes"] * cost["cache_byte_ps" if in_cache else "memory_byte_ps"]
    return cost["call_ps"] + max(on_threads(flops, cost["parallel_flops"]), on_threads(traffic, cost["parallel_bytes"]))


def sent_bytes(message, members):
    """The bytes that one of `members` members sends."""
    given, got = message["given_bytes"], message["got_bytes"]
    if message["kind"] == "all_reduce":
        return 2 * math.ceil(given / members) * (members - 1)
    if message["kind"] in ("reduce_scatter", "all_to_all", "scatter"):
        return given * (members - 1) / members
    if message["kind"] in ("all_gather", "gather"):
        return got * (members - 1) / members
    return max(given, got) if members > 1 else 0


def rounds(message, members):
    if message["kind"] == "transfer":
        return 1
    depth = math.ceil(math.log2(members))
    return 2 * depth if message["kind"] == "all_reduce" and members > 2 else depth


def message_ps(message, costs):
    """A message takes a wait, a latency for each round, and the bytes that a member sends at the link's bandwidth. An
    all-reduce, reduce or broadcast over several hosts is one within each host, and one between the hosts."""
    hosts = message["hosts"]
    stages = [(message["members"], message["link"])]
    if hosts > 1:
        stages = [(message["members"] // hosts, message["within_host"]), (hosts, message["link"])]
    if all(sent_bytes(message, members) == 0 for members, _ in stages):
        return 0
    time = costs["cpu"]["wait_ps"] or WAIT_PS
    for members, link in stages:
        time += 1e12 * rounds(message, members) * link["latency_seconds"]
        time += 1e12 * sent_bytes(message, members) / link["bytes_per_second"]
    return time


def copy_ps(copy):
    """A copy between a host and its GPU takes the latency of their link, and its bytes at the link's bandwidth."""
    return 1e12 * (copy["link"]["latency_seconds"] + copy["bytes"] / copy["link"]["bytes_per_second"])


def work_ps(work, costs):
    if "kernel" in work:
        return work["runs"] * kernel_ps(work["kernel"], costs)
    if "copy" in work:
        return work["runs"] * copy_ps(work["copy"])
    return work["runs"] * message_ps(work["message"], costs) if "message" in work else 0


def step_seconds(step):
    """Tasks do their work in order. Work begins when all its tasks are free and the work before it has ended."""
    free = [0] * len(step["groups"])
    ends = []
    for work in step["work"]:
        time = work_ps(work, step["costs"])
        begin = max((ends[earlier] for earlier in work["after"]), default=0)
        if time > 0:
            begin = max([begin, *(free[group] for group in work["groups"])])
            for group in work["groups"]:
                free[group] = begin + time
        ends.append(begin + time)
    return max(free) * 1e-12


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        planned = json.load(file)["step"]
    print(step_seconds(planned), planned["step_seconds"])

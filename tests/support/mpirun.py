#!/usr/bin/env python3
"""Starts a test under mpirun: mpirun.py [--expect CODE] [--seconds S] NP PROGRAM [ARGUMENT…]

Exits as the program does: 0 when mpirun's exit code is CODE (default 0); 77, skipped, where there is no mpirun. A job that
takes longer than S seconds (default 100) is ended, with all its ranks.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys


def environment():
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    # Of an mpirun around us, for example when tests run in a job of their own.
    return {name: value for name, value in env.items() if not name.startswith(("PMIX_", "OMPI_COMM_WORLD_"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expect", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=100)
    parser.add_argument("np")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        print(f"[skip] {options.command[0]}: no mpirun here")
        return 77
    command = [mpirun, "--oversubscribe", "-np", options.np, *options.command]
    job = subprocess.Popen(command, env=environment(), start_new_session=True)
    try:
        code = job.wait(options.seconds)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        print(f"{options.command[0]}: still running after {options.seconds} s", file=sys.stderr)
        return 1
    if code != options.expect:
        print(f"{options.command[0]}: exit code {code}, not {options.expect}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Starts a test under mpirun:

    mpirun.py [--mpi mpich] [--expect CODE[,CODE…]] [--says TEXT] [--once] [--seconds S] NP PROGRAM [ARGUMENT…]

Takes the mpirun of Open MPI, or the mpiexec of MPICH. Ends with 0 when mpirun's exit code is one of
CODE (default 0) and its output contains TEXT, if given, with --once one time only; with 77, skipped, where there is no mpirun. A job that takes
longer than S seconds (default 100) is ended, with all its ranks.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys


def environment():
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    # Leaves out the variables of an mpirun around us, for example when the tests themselves run in an MPI job.
    return {name: value for name, value in env.items() if not name.startswith(("PMIX_", "PMI_", "OMPI_COMM_WORLD_"))}


LAUNCHERS = {"openmpi": ["mpirun", "--oversubscribe"], "mpich": ["mpiexec.mpich"]}


def crashed(code):
    """Whether mpirun itself crashed: that of Open MPI 4.1.4 does at times, in PMIx_server_finalize, when ranks end by MPI_Abort."""
    return code == -signal.SIGSEGV


def run(command, seconds):
    """Output and exit code (None when it took too long) of the command; when mpirun crashed, of another run."""
    for _ in range(3):
        output, code = run_once(command, seconds)
        if not crashed(code):
            break
    return output, code


def run_once(command, seconds):
    job = subprocess.Popen(command, env=environment(), start_new_session=True, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        return job.communicate(timeout=seconds)[0], job.returncode
    except subprocess.TimeoutExpired:
        pass
    job.terminate()  # mpirun ends its ranks, which are no children of ours
    try:
        return job.communicate(timeout=10)[0], None
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        return job.communicate()[0], None


def complaint(options, output, code):
    if code is None:
        return f"still running after {options.seconds} s"
    if str(code) not in options.expect.split(","):
        return f"exit code {code}, not {options.expect}"
    if options.says not in output:
        return f"does not say '{options.says}'"
    if options.once and output.count(options.says) > 1:
        return f"says '{options.says}' more than once"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpi", choices=LAUNCHERS, default="openmpi")
    parser.add_argument("--expect", default="0")
    parser.add_argument("--says", default="")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--seconds", type=int, default=100)
    parser.add_argument("np")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    launcher = LAUNCHERS[options.mpi]
    if shutil.which(launcher[0]) is None:
        print(f"[skip] {options.command[0]}: no {launcher[0]} here")
        return 77
    output, code = run([*launcher, "-np", options.np, *options.command], options.seconds)
    print(output, end="")
    wrong = complaint(options, output, code)
    if wrong:
        print(f"{options.command[0]}: {wrong}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

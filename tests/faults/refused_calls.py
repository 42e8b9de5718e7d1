#!/usr/bin/env python3
"""System calls that sandboxes forbid, and systems without /proc, /sys or /dev/shm: refused_calls.py FERRY SAMPLES_FOLDER

A job, in one process and by `ferry launch`, either works or ends with one clear line. The last line is "N passed, N failed, N skipped".
"""
import ctypes
import errno
import platform
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tcp_job  # noqa: E402
from cases import run as run_cases  # noqa: E402

FERRY, ADD = sys.argv[1], str(Path(sys.argv[2]) / "add.pb")
SECONDS = 60  # limit for a job that hangs
WAYS = {"in one process": [FERRY, "run", ADD, "--tasks", "3"], "by ferry launch": [FERRY, "launch", "-n", "3", "--", FERRY, "run", ADD]}
# By their numbers on x86-64. Those in one set are refused together; what ferry does instead of one call may need another.
SETS = [{"sched_setaffinity": 203, "sched_getaffinity": 204, "getrandom": 318},
        {"fallocate": 285},
        {"readlink": 89, "mlock": 149, "process_vm_readv": 310, "renameat2": 316, "memfd_create": 319, "userfaultfd": 323, "membarrier": 324,
         "statx": 332, "io_uring_setup": 425, "pidfd_open": 434, "close_range": 436, "openat2": 437, "epoll_pwait2": 441}]
CLONE3 = 435


def refusing(numbers, error):
    """For subprocess: from now on the process's calls with these numbers fail with the error (a seccomp filter)."""
    def instruction(code, if_so, if_not, value):
        return struct.pack("HBBI", code, if_so, if_not, value)
    load, equal, end = 0x20, 0x15, 0x06
    filters = instruction(load, 0, 0, 0) + b"".join(instruction(equal, 0, 1, number) + instruction(end, 0, 0, 0x00050000 | error) for number in numbers)
    filters += instruction(end, 0, 0, 0x7FFF0000)
    buffer = ctypes.create_string_buffer(filters, len(filters))
    program = struct.pack("HxxxxxxQ", len(filters) // 8, ctypes.addressof(buffer))
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def refuse():
        if prctl(38, 1, 0, 0, 0) != 0 or prctl(22, 2, ctypes.c_char_p(program), 0, 0) != 0:  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
            raise OSError(ctypes.get_errno(), "no seccomp here")
        buffer.raw  # is needed until now
    return refuse


def run(command, prepare=None):
    done = subprocess.run(command, preexec_fn=prepare, env=tcp_job.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=SECONDS, check=False)
    return done.returncode, done.stdout, done.stderr


def works(command, prepare=None):
    code, out, err = run(command, prepare)
    assert code == 0 and "c = [11 22 33]" in out and "error" not in err and "hwloc" not in err, f"{code}: {out}{err}"


def threads_are_forbidden(command):
    code, out, err = run(command, refusing([CLONE3], errno.EPERM))
    assert code == 7 and "clone3" in err and "ENOSYS" in err, f"{code}: {out}{err}"


def without(folders):
    """A command before another one, for which these folders are empty."""
    return ["unshare", "--mount", "sh", "-c", "".join(f"mount -t tmpfs -o size=64k none {folder} && " for folder in folders) + 'exec "$0" "$@"']


def main():
    cases, skipped = [], []
    can = platform.machine() == "x86_64"
    try:
        if can:
            run(["true"], refusing([CLONE3], errno.ENOSYS))
    except subprocess.SubprocessError:
        can = False
    for way, command in WAYS.items():
        if not can:
            skipped.append((f"refused calls, {way}", "no seccomp filter for this processor or system"))
            continue
        for calls in SETS:
            for error in errno.ENOSYS, errno.EPERM:
                cases.append((f"{', '.join(calls)}: {errno.errorcode[error]}, {way}",
                              lambda command=command, calls=calls, error=error: works(command, refusing(calls.values(), error))))
        cases.append((f"clone3: ENOSYS, {way}", lambda command=command: works(command, refusing([CLONE3], errno.ENOSYS))))
        cases.append((f"clone3: EPERM, {way}", lambda command=command: threads_are_forbidden(command)))
    folders = ["/proc", "/sys", "/dev/shm"]
    for way, command in WAYS.items():
        if run([*without(folders), "true"])[0] == 0:
            cases.append((f"no {', '.join(folders)}, {way}", lambda command=command: works([*without(folders), *command])))
        else:
            skipped.append((f"no {', '.join(folders)}, {way}", "no namespace of mounts can be made here"))
    return run_cases(cases, skipped)


if __name__ == "__main__":
    sys.exit(main())

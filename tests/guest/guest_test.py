#!/usr/bin/env python3
"""ferry in programs that have much of their own: guest_test.py GUEST_SHARED GUEST_STATIC

The programs (guest.cpp) are linked with libferry.so and with libferry.a. The last line is "N passed, N failed, N skipped".
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tcp_job  # noqa: E402
from cases import run as run_cases  # noqa: E402

SHARED, STATIC = sys.argv[1:3]
SECONDS = 60  # limit for a job that hangs
FOLDER = tempfile.TemporaryDirectory(prefix="ferry-guest-")
LOCALES = Path(FOLDER.name) / "locales"
OTHER_LOCALE = "de_DE.UTF-8"  # writes 1.234,5


def ended(command, code=0, **variables):
    done = subprocess.run(list(map(str, command)), env=tcp_job.environment(**variables), capture_output=True, text=True, timeout=SECONDS,
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == code, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def alone(program, **variables):
    with tempfile.TemporaryDirectory(dir=FOLDER.name) as folder:
        output, errors = ended([program, "alone", folder], **variables)
    assert "warning: the guest speaks" in errors and 'error: unknown option "--nosuch"' in errors, errors
    return output


def job(words, *variables_of_tasks):
    """Runs a program as the tasks of a job over TCP. Returns what each prints."""
    port = tcp_job.free_port()
    tasks = [tcp_job.start(words, rank, len(variables_of_tasks), port, **variables) for rank, variables in enumerate(variables_of_tasks)]
    try:
        texts = [task.communicate(timeout=SECONDS) for task in tasks]
    finally:
        for task in tasks:
            task.kill()
    codes = [task.returncode for task in tasks]
    assert codes == [0] * len(tasks), f"{words} ended with {codes}: {texts}"
    return texts


def with_shared_library():
    alone(SHARED)


def with_static_library():
    alone(STATIC)


def other_locale():
    """Where a locale with other numbers can be made; "": there is none."""
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(LOCALES / OTHER_LOCALE)], capture_output=True, check=False)
    return {"LOCPATH": str(LOCALES), "LC_ALL": OTHER_LOCALE} if made.returncode == 0 else {}


def in_another_locale():
    assert alone(SHARED, **other_locale()) == alone(SHARED)


def without_rates(text):
    """What a run prints, without its steps a second."""
    for rate in re.findall(r"(\S+) (?:steps/s|s/step)", text):
        assert re.fullmatch(r"\d+\.\d|\d{1,3}(,\d{3})*", rate), rate
    return re.sub(r"\S+ (steps/s|s/step)", "", text)


def one_task_in_another_locale():
    words = [SHARED, "run", "--steps", "3", "--threads", "1", "--print-every", "1"]
    usual = without_rates(job(words, {}, {})[0][0])
    assert "f0 = " in usual, usual
    assert without_rates(job(words, {}, other_locale())[0][0]) == usual
    assert without_rates(job(words, other_locale(), {})[0][0]) == usual
    ended([SHARED, "run", "--deadline", "2.5"], **other_locale())


def without_stdout_and_stderr():
    """Nothing of the job gets the numbers 1 and 2, to which the program prints."""
    for closed in ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-":
        files = [Path(FOLDER.name) / f"result.{rank}" for rank in (0, 1)]
        job(["sh", "-c", f'exec "$0" prints {FOLDER.name}/result.$RANK {closed}', SHARED], {}, {})
        assert [file.read_text() for file in files] == ["1\n", "1\n"], closed
        job(["sh", "-c", f'exec "$0" run --steps 3 --deadline 20 {closed}', SHARED], {}, {})


if __name__ == "__main__":
    cases, skipped = [with_shared_library, with_static_library, without_stdout_and_stderr], []
    LOCALES.mkdir()
    for case in in_another_locale, one_task_in_another_locale:
        if other_locale():
            cases.append(case)
        else:
            skipped.append((case.__name__, "no localedef that knows de_DE (package locales)"))
    sys.exit(run_cases([(case.__name__, case) for case in cases], skipped))

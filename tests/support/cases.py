"""Runs the cases of a test program, and counts them."""
import subprocess


def run(cases, skipped=()):
    """`cases`: pairs of a name and a function, which may return a line about what it saw. `skipped`: pairs of a name and what the
    machine lacks for it. Returns the exit code; the last line is "N passed, N failed, N skipped"."""
    passed = failed = 0
    for name, case in cases:
        try:
            said = case()
            passed += 1
            print(f"passed {name}{': ' + said if said else ''}", flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAILED {name}: {error}", flush=True)
    for name, reason in skipped:
        print(f"[skip] {name}: {reason}")
    print(f"{passed} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed else 0

"""Checks that the sample fashion_cnn, killed at random steps and resumed, ends with the weights of an undisturbed run.

usage: killed_test.py FERRY SAMPLES_FOLDER DATA_FOLDER KILLS STEPS
The last line is "N passed, N failed, N skipped".
"""

import random
import signal
import subprocess
import sys

from samples_test import ENVIRONMENT, FASHION, FERRY, SAMPLES, run, run_all, weights

KILLS, STEPS = int(sys.argv[4]), int(sys.argv[5])
JOB = ["run", str(SAMPLES / "fashion_cnn.pb"), "--data", str(FASHION), "--steps", str(STEPS)]


def until_step(step, words):
    """Runs the job until it says that it has done the step, then kills it."""
    job = subprocess.Popen([str(FERRY), *words, "--print-every", "1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True, env=ENVIRONMENT)
    said = ""
    for line in job.stdout:
        said += line
        if line.startswith(f"step {step}/"):
            job.send_signal(signal.SIGKILL)
            break
    job.communicate()
    assert job.returncode == -signal.SIGKILL, f"it was not killed at step {step}:\n{said}"


def fashion_killed(folder):
    steps = sorted(random.Random(3).sample(range(1, STEPS), KILLS))
    words = [*JOB, "--tasks", "2", "--checkpoint", str(folder / "saved"), "--checkpoint-every", "2", "--resume"]
    for step in steps:
        until_step(step, words)
    run(*words, "--save", folder / "resumed")
    run(*JOB, "--tasks", 2, "--save", folder / "undisturbed")
    assert weights(folder / "resumed") == weights(folder / "undisturbed"), f"killed at steps {steps}"


sys.exit(run_all([("fashion killed at random steps", fashion_killed if FASHION.exists() else None)]))

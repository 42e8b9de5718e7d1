"""What stands beside `ferry` as its plug-in for CUDA: nothing, no library, one of another ferry, and one that fits. Runs on CPUs go on
in any case, doctor says what there is, and --device gpu is refused with the reason.

usage: plugin_test.py FERRY PLUGIN OTHER_PLUGIN SAMPLES_FOLDER LIBRARIES
LIBRARIES is where libraries are installed, seen from where programs are.
The last line is "N passed, N failed, N skipped".
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import cases

FERRY, PLUGIN, OTHER, SAMPLES = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
NO_PATH = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}


def run(ferry, *arguments, code=0):
    done = subprocess.run([ferry, *map(str, arguments)], capture_output=True, text=True, env=NO_PATH)
    assert done.returncode == code, f"{arguments} ended with {done.returncode}, not {code}: {done.stderr}"
    return done.stdout + done.stderr


def with_plugin(plugin, reason, place="."):
    """A test with that file as the plug-in, in a place seen from ferry: `reason` says why there are no GPUs, None that there are some."""

    def test():
        with tempfile.TemporaryDirectory(dir=FERRY.parent) as folder:
            ferry = pathlib.Path(folder) / "bin" / "ferry"
            there = pathlib.Path(os.path.normpath(ferry.parent / place))
            for made in (ferry.parent, there):
                made.mkdir(parents=True, exist_ok=True)
            os.link(FERRY, ferry)
            if plugin is not None:
                shutil.copy(plugin, there / "libferry_cuda.so")
            add = ["run", SAMPLES / "add.pb", "--tasks", 3]
            assert "[11 22 33]" in run(ferry, *add)
            assert "[11 22 33]" in run(ferry, *add, "--device", "cpu")
            said = run(ferry, *add, "--device", "gpu", code=4 if reason else 0)
            doctor = run(ferry, "doctor")
            for text in [said, doctor] if reason else []:
                assert reason in text, text
            assert reason or "[11 22 33]" in said and re.search("gpus +2: a GPU on the host.*; GPU 2 cannot be used", doctor), said + doctor

    return test


if __name__ == "__main__":
    sys.exit(cases.run([("no plug-in", with_plugin(None, "libferry_cuda.so is not installed")),
                        ("a file that is no library", with_plugin(__file__, "invalid ELF header")),
                        ("a plug-in of another ferry", with_plugin(OTHER, "was built for another ferry: install the one of this version")),
                        ("a library that is no plug-in", with_plugin(OTHER.with_name("libno_plugin.so"), "was built for another ferry")),
                        ("the plug-in of this ferry", with_plugin(PLUGIN, None)),
                        ("the plug-in where libraries are installed", with_plugin(PLUGIN, None, sys.argv[5]))]))

"""The archive for machines with a GPU (scripts/gpu_bundle): how large it is, and that its tests run from the unpacked folder. What a GPU
would do, the plug-in for the host does.

usage: bundle_test.py SOURCE_ROOT BUILD_FOLDER PLUGIN_ON_HOST
The last line is "N passed, N failed, N skipped".
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import cases

ROOT, BUILD, PLUGIN = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
MOST_BYTES = 40_000_000
# No variable of this session leads to libraries that the archive lacks. It is packed fast: it gets no smaller by that.
BARE = {"PATH": "/usr/bin:/bin", "XZ_OPT": "-1"}

def run(*command, cwd):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd, env=BARE, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr}"
    return done.stdout

def archive():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        packed = folder / "ferry-gpu.tar.xz"
        run(ROOT / "scripts" / "gpu_bundle", BUILD, packed, cwd=folder)
        size = packed.stat().st_size
        assert size < MOST_BYTES, f"the archive has {size} bytes, {MOST_BYTES} is the most"
        run("tar", "xf", packed, cwd=folder)
        plugin = folder / "ferry-gpu" / "bin" / "libferry_cuda.so"
        assert plugin.exists(), "the archive has no plug-in"
        shutil.copy(PLUGIN, plugin)
        said = run(folder / "ferry-gpu" / "run", "correct", "results", cwd=folder)
        assert said.splitlines()[-1] == "2 passed, 0 failed, 0 skipped", said
        summary = (folder / "results" / "summary.txt").read_text()
        assert "a GPU on the host" in summary and summary in said, summary
        return f"{size} bytes"

if __name__ == "__main__":
    sys.exit(cases.run([("the archive", archive)]))

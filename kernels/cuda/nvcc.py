"""Runs nvcc, and keeps what ptxas says of each kernel, registers and spills, beside what it makes:

    nvcc.py OUTPUT COMMAND…

Writes OUTPUT; anything else that the command says is passed on.
"""
import subprocess
import sys

done = subprocess.run(sys.argv[2:], stderr=subprocess.PIPE, text=True)
said, other = [], []
for line in done.stderr.splitlines(keepends=True):
    of_kernel = line.startswith(("ptxas info", "    ")) and (said or line.startswith("ptxas info"))
    (said if of_kernel else other).append(line)
sys.stderr.writelines(other)
with open(sys.argv[1], "w", encoding="utf-8") as output:
    output.writelines(said)
sys.exit(done.returncode)

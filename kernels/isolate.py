"""Joins the objects of a static library to one that shows a single symbol:

    isolate.py LD OBJCOPY NM SYMBOL LIBRARY OUT

Code for a higher instruction set has its own copies of the inline functions that it uses. Were they visible, the linker
could take them for everybody's, and the program would end on machines that lack the instructions.
"""
import subprocess
import sys

ld, objcopy, nm, symbol, library, out = sys.argv[1:]
subprocess.run([ld, "-r", "--force-group-allocation", "--whole-archive", library, "-o", out], check=True)
subprocess.run([objcopy, f"--keep-global-symbol={symbol}", out], check=True)
shown = subprocess.run([nm, "--defined-only", "--extern-only", "--format=posix", out], check=True, capture_output=True, text=True)
names = [line.split()[0] for line in shown.stdout.splitlines()]
if names != [symbol]:
    sys.exit(f"{out} shows {', '.join(names)}; only {symbol} may be seen")

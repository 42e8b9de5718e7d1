"""Finds a file in an installed package, which is not imported: installed.py PACKAGE/PATH

Prints its path; nothing where the package, or the file in it, is not there.
"""
import importlib.util
import pathlib
import sys

package, _, path = sys.argv[1].partition("/")
spec = importlib.util.find_spec(package)
for folder in (spec and spec.submodule_search_locations) or []:
    if (pathlib.Path(folder) / path).is_file():
        print(pathlib.Path(folder) / path)
        break

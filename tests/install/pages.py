"""What stands in a page to be typed: programs, scripts, CMake projects, and commands with what they print."""
import re

NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"


def in_text(said):
    """What was printed without its numbers, whose last digits depend on the processor."""
    return re.sub(NUMBER, "#", said).rstrip()


def numbers_in(said):
    return [float(number) for number in re.findall(NUMBER, said)]


def programs(text):
    """[(NAME, program)] of the blocks that begin with // NAME.cpp"""
    return re.findall(r"^```cpp\n// (\w+)\.cpp\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def scripts(text):
    """[(NAME, script)] of the blocks that begin with # NAME.py"""
    return re.findall(r"^```python\n# (\w+)\.py\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def projects(text):
    """The CMakeLists.txt that stand in a page."""
    return re.findall(r"^```cmake\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def write_files(text, folder):
    """Puts the programs, the Python scripts and the CMakeLists.txt of a page into a folder."""
    for name, program in programs(text):
        (folder / f"{name}.cpp").write_text(program)
    for name, script in scripts(text):
        (folder / f"{name}.py").write_text(script)
    for project in projects(text):
        (folder / "CMakeLists.txt").write_text(project)


def commands(text):
    """[(command, what it prints)]"""
    found = re.findall(r"^    \$ (.*)\n((?:    (?!\$ ).*\n)*)", text, re.MULTILINE)
    return [(command, "".join(line[4:] for line in printed.splitlines(keepends=True))) for command, printed in found]


def differences(case, command, printed, wanted):
    """Fails `case`, a unittest.TestCase, unless a command printed what its page says, numbers within 2 %."""
    case.assertEqual(in_text(printed), in_text(wanted), command)
    for got, number in zip(numbers_in(printed), numbers_in(wanted)):
        case.assertAlmostEqual(got, number, delta=0.02 * abs(number) + 1e-6, msg=f"{command}\n{printed}")

#!/usr/bin/env python3
"""Measures ferry beside other systems, and writes the figures of the performance pages.

    bench/measure.py [NAME…]             runs `ferry bench` and writes bench/results/DATE-PROCESSOR.json
    bench/measure.py --page FILE.json    writes the tables of docs/performance*.md and their charts from that file
    bench/measure.py --check             ends with 1 if the tables or charts differ from the file that performance.md names

NAME selects benchmarks, as for `ferry bench`. After Ctrl-C the figures so far are written. The programs run at real-time priority if the system allows it. Peers in Python
are measured if python3 finds them (PYTHONPATH): torch, torchvision, onnxruntime, xgboost, llama_cpp and gguf, and the packages of the models.
"""
import argparse
import datetime
import importlib.metadata
import json
import math
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import textwrap
import time
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRIORITY = 20
# The families of the pages: key -> (pattern of the first words of a name, title). Families without
# a title are compared with ferry itself.
FAMILIES = {
    "messages": (r"hop(?!\.tcp|\.coalesced)|handover|wait", "messages on one host"),
    "sums": (r"(?:allreduce|direct)(?!\.tcp)", "sums on one host"),
    "stencils": ("stencil", "stencils"),
    "tcp": (r"\w+\.tcp|hop\.coalesced", "messages and sums between hosts"),
    "training": ("train", "training of networks"),
    "ops": ("op", "small ops"),
    "tasks": ("metg", "Task Bench"),
    "products": ("matmul", "matrix products"),
    "convolutions": ("conv", "convolutions"),
    "memory": (r"chain10|gemv|kernel", "memory-bound kernels"),
    "models": ("onnx", "ONNX models"),
    "decoding": ("decode", "decoding of a language model"),
    "data": ("data|boost", "JPEG images, boosted trees"),
    "planning": ("plan|start|checkpoint", ""),
    "gpus": ("gpu", "GPUs"),
}
# Without a peer, these figures are on the pages, too.
SHOWN_ALONE = re.compile(r"start|plan\.1M\.(chain|random)(\.load|\.peak)?$|plan\.proof(\.peak)?$|plan\.tasks\.\w+\.65536(\.peak)?$")
PACKAGES = {"PyTorch": "torch", "torchvision": "torchvision", "onnxruntime": "onnxruntime", "llama.cpp": "llama-cpp-python", "XGBoost": "xgboost"}


# ---- Measuring ----

def output_of(*command):
    """The output of a command; empty if it cannot run."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False, cwd=ROOT).stdout
    except OSError:
        return ""


def field(path, name):
    """The value of the first line "NAME : VALUE" or "NAME=VALUE" of a file."""
    found = re.search(rf"^{name}\s*[:=]\s*(.*)$", Path(path).read_text(encoding="utf-8"), re.M)
    return found.group(1).strip('"') if found else ""


def peers():
    """The versions of the peers that are installed."""
    found = {"Open MPI": output_of("mpirun", "--version").partition("\n")[0].rpartition(" ")[2],
             "OpenBLAS": output_of("pkg-config", "--modversion", "openblas").strip(),
             "oneTBB": output_of("pkg-config", "--modversion", "tbb").strip()}
    for name, package in PACKAGES.items():
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return {name: version for name, version in found.items() if version}


def doctor_of(ferry):
    """The findings of `ferry doctor`."""
    text = output_of(ferry, "doctor", "--json")
    if not text:
        sys.exit(f"measure.py: {ferry} does not run: build ferry, or name the program by --ferry")
    return json.loads(text)["tasks"][0]


def machine(doctor):
    """The processor, the system, and the findings of `ferry doctor` that decide about speed."""
    cpu = "/proc/cpuinfo"
    return {"processor": field(cpu, "model name"), "family": field(cpu, "cpu family"), "model": field(cpu, "model"),
            "cores": len(os.sched_getaffinity(0)), "memory_gib": round(doctor["memory"]["bytes"] / 2**30, 1),
            "virtual": "hypervisor" in field(cpu, "flags"), "system": field("/etc/os-release", "PRETTY_NAME"),
            "kernel": platform.release(), "kernels": doctor["kernels"]["cpu"], "tcp": doctor["tcp"]}


def build(doctor):
    """The version of ferry that is measured."""
    return {"version": doctor["ferry"]["version"], "compiler": doctor["ferry"]["compiler"],
            "commit": output_of("git", "rev-parse", "--short=12", "HEAD").strip(),
            "changed_files": len(output_of("git", "status", "--porcelain", "--", "*.cpp", "*.hpp").splitlines())}


def raise_priority(priority):
    """Asks for real-time priority, for this process and the programs that it starts from now on. Returns the priority as text."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))  # not SCHED_FIFO: busy threads would wait for ever
    except PermissionError:
        return "normal"
    return f"real-time (SCHED_RR {priority})"


def busy_seconds():
    """The time of all cores since the start of the machine in which they were busy."""
    user, nice, system, _, _, irq, soft_irq, *_ = map(int, Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:])
    return (user + nice + system + irq + soft_irq) / os.sysconf("SC_CLK_TCK")


def rounded(value):
    """Numbers with six significant digits, in lists, too."""
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def short_reason(text):
    """The first line of a reason, with the names of files in place of their paths, which only this machine has."""
    return re.sub(r"(?:/[^\s/:]+)+/", "", text.split("\n")[0])


def run_benchmarks(ferry, names):
    """Runs `ferry bench`; SIGINT ends it. Returns its lines, and the average number of cores that other programs used meanwhile."""
    lines, start, begin, busy = [], os.times(), time.monotonic(), busy_seconds()
    early = []  # SIGINT before the process is known
    signal.signal(signal.SIGINT, lambda *_: early.append("SIGINT"))
    with subprocess.Popen([ferry, "bench", "--json", *names], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True) as bench:
        signal.signal(signal.SIGINT, lambda *_: os.killpg(bench.pid, signal.SIGTERM))
        if early:
            os.killpg(bench.pid, signal.SIGTERM)
        raise_priority(PRIORITY + 1)  # so that SIGINT is heard while the benchmarks keep all cores busy
        for line in bench.stdout:
            print(line[:100].rstrip(), file=sys.stderr)
            if line.startswith("{"):  # figures, and reasons for missing ones; else a warning
                lines.append({key: short_reason(value) if key in ("skipped", "failed") else rounded(value)
                              for key, value in json.loads(line).items()})
    if not lines:
        sys.exit(f"measure.py: `{ferry} bench {' '.join(names)}` gave no figures")
    if bench.returncode == -signal.SIGTERM:
        lines.append({"name": f"benchmarks after {lines[-1]['name']}", "skipped": "the run was interrupted"})
    end = os.times()
    own = end.children_user + end.children_system - start.children_user - start.children_system
    return lines, max(0.0, round((busy_seconds() - busy - own) / (time.monotonic() - begin), 2))


def measure(ferry, names):
    doctor = doctor_of(ferry)
    date = datetime.datetime.now(datetime.timezone.utc)
    result = {"date": date.strftime("%Y-%m-%dT%H:%MZ"), "machine": machine(doctor), "ferry": build(doctor), "peers": peers(),
              "benchmarks": names or ["all"], "priority": raise_priority(PRIORITY), "load_before": round(os.getloadavg()[0], 2)}
    lines, others = run_benchmarks(ferry, names)
    minutes = (datetime.datetime.now(datetime.timezone.utc) - date).total_seconds() / 60
    return {**result, "minutes": round(minutes, 1), "cores_of_other_programs": others,
            "not_measured": [line for line in lines if "ferry" not in line],
            "figures": [line for line in lines if "ferry" in line]}


def path_of(result):
    """bench/results/2026-11-30-intel-xeon.json"""
    words = re.sub(r"\((R|TM)\)|@.*|\b(CPU|Processor|\d+-Core)\b", " ", result["machine"]["processor"], flags=re.I)
    return ROOT / "bench/results" / f"{result['date'][:10]}-{'-'.join(re.findall('[a-z0-9]+', words.lower()))}.json"


def as_text(result):
    """JSON with a line for each figure."""
    parts = [f' "{key}": ' + ("[\n" + ",\n".join(f"  {json.dumps(one, ensure_ascii=False)}" for one in value) + "\n ]"
                              if isinstance(value, list) else json.dumps(value, ensure_ascii=False)) for key, value in result.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


# ---- Figures of a page ----

def family_of(name):
    for key, (pattern, _) in FAMILIES.items():
        if re.match(rf"(?:{pattern})(?:\.|$)", name):
            return key
    sys.exit(f"measure.py: {name} belongs to no family: add it to FAMILIES")


class Figure:
    """A figure, with the ratio of ferry's time to its peer's: for rates, the peer's rate divided by ferry's."""

    def __init__(self, line):
        self.name, self.unit, self.ferry, self.peer, self.peer_value = (line[key] for key in ("name", "unit", "ferry", "peer", "peer_value"))
        self.ratios = sorted(ferry / peer if line["better"] == "lower" else peer / ferry for ferry, peer in line["pairs"])
        self.ratio = statistics.median(self.ratios) if self.ratios else None

    def faster(self):
        return self.ratios[-1] < 1

    def slower(self):
        return self.ratios[0] > 1


def number(value):
    """Three significant digits, without an exponent."""
    if value == 0:
        return "0"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def amount(value, unit):
    """A value with a unit that suits it: 5480 us is "5.48 ms"."""
    units = ["ns", "us", "ms", "s"]
    if unit in units:
        at = units.index(unit)
        while value >= 1000 and at + 1 < len(units):
            value, at = value / 1000, at + 1
        while value < 0.1 and at > 0 and value > 0:
            value, at = value * 1000, at - 1
        unit = units[at].replace("us", "µs")
    return f"{number(value)} {unit}"


def ratio_text(ratio, is_bold=False):
    text = f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"
    return f"**{text}**" if is_bold else text


def spread_text(ratios):
    return f"{ratio_text(min(ratios))}–{ratio_text(max(ratios))}"


def table(figures):
    rows = ["| NAME | ferry | peer | ratio | spread |", "|---|---|---|---|---|"]
    for one in figures:
        cells = ["–", "–", "–"]
        if one.peer:
            cells = [amount(one.peer_value, one.unit), ratio_text(one.ratio, one.faster()), spread_text(one.ratios)]
        rows.append(f"| `{one.name}` | {amount(one.ferry, one.unit)} | {' | '.join(cells)} |")
    return rows


def summary(families):
    rows = ["| measured | compared with | ratio: median | least–most | faster | slower | undecided |", "|---|---|---|---|---|---|---|"]
    for key, figures in families.items():
        compared = [one for one in figures if one.peer]
        title = FAMILIES[key][1]
        if not title or not compared:
            continue
        peer_names = ", ".join(dict.fromkeys(one.peer.split(",")[0] for one in compared))
        ratios = [one.ratio for one in compared]
        faster, slower = sum(one.faster() for one in compared), sum(one.slower() for one in compared)
        rows.append(f"| {title} | {peer_names} | {ratio_text(statistics.median(ratios))} | {spread_text(ratios)} | "
                    f"{faster} | {slower} | {len(ratios) - faster - slower} |")
    return rows


def list_item(text):
    return textwrap.wrap(text, 118, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def description(result, path):
    """The lines of the page on the machine and the run."""
    this, ferry = result["machine"], result["ferry"]
    changed = f" with changes in {ferry['changed_files']} source files" if ferry["changed_files"] else ""
    lines = list_item(f"Machine: {this['processor']} (family {this['family']}, model {this['model']}), {this['cores']} cores"
                      f"{' of a virtual machine' if this['virtual'] else ''}, {this['memory_gib']} GiB, {this['system']}, "
                      f"Linux {this['kernel']}. The kernels use {this['kernels']}.")
    lines += list_item(f"Run: {result['date'][:10]}, {result['minutes']} minutes, {result['priority']} priority. Other programs used "
                       f"{result['cores_of_other_programs']} cores on average; the load was {result['load_before']} before.")
    lines += list_item(f"ferry {ferry['version']}, commit {ferry['commit']}{changed}, {ferry['compiler']}.")
    lines += list_item("Peers: " + ", ".join(f"{name} {version}" for name, version in result["peers"].items()) + ".")
    if result["benchmarks"] != ["all"]:
        lines += list_item("Only some benchmarks were chosen; the file lists them.")
    missing = {}
    for one in result["not_measured"]:
        reason = (one.get("skipped") or one.get("failed")).split(";")[0]
        missing.setdefault((one["name"].split(".")[0], reason), []).append(one["name"])
    for (family, reason), names in missing.items():
        what = f"`{names[0]}`" if len(names) == 1 else f"{len(names)} benchmarks of `{family}`"
        lines += list_item(f"Not measured: {what} ({reason}).")
    name = path.resolve().relative_to(ROOT).as_posix()
    return lines + list_item(f"All pairs: [{path.name}](../{name}).")


# ---- Charts ----

NAMES, BARS, VALUES, ROW, TOP = 190, 360, 500, 20, 56  # pixels


def label(x, y, text, style=""):
    return f'<text x="{x:g}" y="{y:g}"{style}>{escape(text)}</text>\n'


def line(x1, x2, y1, y2, colour):
    return f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:g}" y2="{y2:g}" stroke="{colour}"/>\n'


def chart(title, figures):
    """An SVG picture with a row for each figure: a bar from 1 to the ratio, and a line over the spread of the pairs. The scale is
    logarithmic."""
    powers = [math.log2(ratio) for one in figures for ratio in one.ratios]
    least, most = min(-1, math.floor(min(powers))), max(1, math.ceil(max(powers)))

    def x(ratio):
        return NAMES + BARS * (math.log2(ratio) - least) / (most - least)

    bottom = TOP + ROW * len(figures)
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{NAMES + BARS + VALUES}" height="{bottom + 16}" font-family="sans-serif" '
           f'font-size="12">\n<rect width="100%" height="100%" fill="#ffffff"/>\n' + label(8, 18, title))
    step = math.ceil((most - least) / 8)
    for power in range(math.ceil(least / step) * step, most + 1, step):
        svg += line(x(2**power), x(2**power), TOP - 6, bottom, "#dddddd" if power else "#444444")
        svg += label(x(2**power), TOP - 12, f"1/{2**-power}" if power < 0 else str(2**power), ' text-anchor="middle" fill="#666666"')
    for y, one in zip(range(TOP + 12, bottom + 12, ROW), figures):
        svg += label(8, y, one.name)
        values = amount(one.ferry, one.unit)
        if one.peer:
            left, right = sorted((x(one.ratio), x(1)))
            svg += (f'<rect x="{left:.1f}" y="{y - 12}" width="{max(right - left, 1):.1f}" height="14" '
                    f'fill="{"#3b7dd8" if one.ratio < 1 else "#d8843b"}"/>\n')
            svg += line(x(one.ratios[0]), x(one.ratios[-1]), y - 5, y - 5, "#000000")
            values += f", peer {amount(one.peer_value, one.unit)} ({one.peer})"
        svg += label(NAMES + BARS + 8, y, values, ' fill="#444444"')
    return svg + "</svg>\n"


# ---- Pages ----

BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->\n)", re.S)


def shown(result):
    """The figures of the pages by family."""
    families = {key: [] for key in FAMILIES}
    for one in map(Figure, result["figures"]):
        if one.peer or SHOWN_ALONE.match(one.name):
            families[family_of(one.name)].append(one)
    return families


def pages(path):
    """The pages and charts with the figures of a result, as {path: text}."""
    result = json.loads(path.read_text(encoding="utf-8"))
    families = shown(result)
    files, left = {}, {key for key, figures in families.items() if figures}

    def block(match):
        begin, key, end = match.groups()
        if key == "summary":
            lines = summary(families)
        elif key == "run":
            lines = description(result, path)
        else:
            lines = []
            left.discard(key)
            if FAMILIES[key][1] and any(one.peer for one in families[key]):
                name = f"images/bench_{key}.svg"
                files[ROOT / "docs" / name] = chart(
                    f"{FAMILIES[key][1]}: the time of ferry divided by the time of its peer (less is better)", families[key])
                lines += [f"![ratios of {FAMILIES[key][1]}]({name})", ""]
            lines += table(families[key]) if families[key] else ["This run has no figures of these benchmarks."]
        return begin + "\n" + "\n".join(lines) + "\n\n" + end

    for page in sorted((ROOT / "docs").glob("performance*.md")):
        files[page] = BLOCK.sub(block, page.read_text(encoding="utf-8"))
    if left:
        sys.exit(f"measure.py: no page in docs has <!-- figures: {min(left)} -->, but the result has such figures")
    return files


def source():
    """The result that docs/performance.md names."""
    found = re.search(r"\(\.\./(bench/results/[^)]+)\)", (ROOT / "docs/performance.md").read_text(encoding="utf-8"))
    return ROOT / found.group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", metavar="NAME", help="benchmarks; default: all")
    parser.add_argument("--ferry", default=ROOT / "build/ferry", type=Path, help="the program to measure (default: build/ferry)")
    parser.add_argument("--out", type=Path, help="the file to write")
    parser.add_argument("--page", type=Path, metavar="FILE.json", help="write the pages and charts from this file")
    parser.add_argument("--check", action="store_true", help="check the pages and charts")
    options = parser.parse_args()
    if options.check:
        wrong = [path for path, text in pages(source()).items() if not path.exists() or path.read_text(encoding="utf-8") != text]
        for path in wrong:
            print(f"{path.relative_to(ROOT)} differs from its figures: bench/measure.py --page {source().relative_to(ROOT)}")
        return 1 if wrong else 0
    if options.page:
        for path, text in pages(options.page).items():
            path.write_text(text, encoding="utf-8")
        return 0
    result = measure(options.ferry.resolve(), options.name)
    out = options.out or path_of(result)
    out.write_text(as_text(result), encoding="utf-8")
    print(f"{len(result['figures'])} figures: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

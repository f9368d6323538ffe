"""Formats the figures as tables for the terminal and in Markdown."""

import os
import platform
import subprocess
from pathlib import Path

OURS = "ours"
# Below this share of its core the server was waiting for the loader or for other load of the machine.
SATURATED = 0.85


def number(value, digits=3):
    """1234567 -> '1,230,000'; 3.14159 -> '3.14'."""
    if value >= 10 ** (digits - 1):
        step = 10 ** max(len(str(int(value))) - digits, 0)
        return f"{round(value / step) * step:,.0f}"
    return f"{value:.{digits}g}"


def show_cell(cell):
    if cell is None:
        return "-"
    if "error" in cell:
        return "WRONG"
    times = "/".join(number(cell[name] / 1000, 2) for name in ("p50_us", "p99_us"))
    if cell.get("asked_rate"):
        return f"{times} ms at {number(cell['asked_rate'])}/s"
    idle = "" if cell["server_cpu_share"] >= SATURATED or cell["connections"] < 16 else "*"
    return f"{number(cell['rate'])}/s{idle} {times} ms {number(cell['server_cpu_us'], 2)} us"


def ratio(ours, other):
    """The ratio of our cell to another one: p99 at a given rate, otherwise capacity by rate and by CPU time."""
    if not ours or not other or "error" in ours or "error" in other:
        return "-"
    if ours.get("asked_rate"):
        return f"p99 {ours['p99_us'] / other['p99_us']:.2f}"
    rate = "" if ours["fresh"] else f"rate {ours['rate'] / other['rate']:.2f}, "
    return f"{rate}CPU {ours['server_cpu_us'] / other['server_cpu_us']:.2f}"


def load_rows(results):
    """Header and rows of the table of load cells."""
    peers = results["peers"]
    others = [key for key in peers if key != OURS]
    header = ["case", *(peers[key]["title"] for key in peers),
              *(f"ours / {peers[key]['title']}" for key in others)]
    rows = []
    for name, cells in results["load"].items():
        ours = cells.get(OURS)
        rows.append([name, *(show_cell(cells.get(key)) for key in peers),
                     *(ratio(ours, cells.get(key)) for key in others)])
    return header, rows


def start_rows(results):
    peers = results["peers"]
    header = ["start and memory", *(peers[key]["title"] for key in peers)]
    lines = [("exec to /readyz, s", "readyz_s"), ("exec to first answer, s", "first_answer_s"),
             ("RSS when idle, MiB", "idle_rss_mib"), ("RSS after the load, MiB", "rss_after_load_mib")]
    rows = []
    for title, name in lines:
        values = [results["start"].get(key, {}).get(name) for key in peers]
        if any(value is not None for value in values):
            rows.append([title, *("-" if value is None else number(value) for value in values)])
    for title, cells in results["bulk"].items():
        for what, name in (("seconds", "seconds"), ("CPU seconds", "cpu_seconds"),
                           ("peak RSS, MiB", "peak_rss_mib"), ("RSS afterwards, MiB", "rss_after_mib")):
            rows.append([f"{title}: {what}", *(show_bulk(cells.get(key), name) for key in peers)])
    return header, rows


def show_bulk(cell, name):
    if cell is None:
        return "-"
    if "error" in cell:
        return "WRONG"
    value = cell[name]
    return ", ".join(f"{one:.2f}" for one in value) if isinstance(value, list) else number(value)


def text_table(header, rows):
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in [header, *rows]]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def markdown_table(header, rows):
    line = lambda row: "| " + " | ".join(row) + " |"
    return "\n".join([line(header), line(["---"] * len(header)), *map(line, rows)])


LEGEND = (
    "Cells: requests per second, p50/p99 latency, CPU time of the server for one request. Rows with a given"
    " rate: p50/p99 latency at that rate (open loop, counted from the moment a request was due). Ratios:"
    " `rate`, higher is better; `CPU` (time of one request) and `p99`, lower is better. With fresh connections"
    " the client's half of the handshake costs more than the server's, so only CPU is compared. `*`: the"
    " server did not use its whole core: the loader was the limit, or the machine was shared. `-`: not"
    " measured for this server.")


def tables(results):
    """The tables that have rows. With --only some have none."""
    return [table for table in (load_rows(results), start_rows(results)) if table[1]]


def as_text(results):
    parts = [text_table(header, rows) for header, rows in tables(results)]
    return "\n\n".join(parts + [LEGEND.replace("`", "")] + [f"WRONG: {line}" for line in results["wrong"]])


def as_markdown(results):
    machine = results["machine"]
    lines = ["# Benchmark", "",
             f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['kernel']};"
             f" server on core {machine['server_core']}, loader on core {machine['loader_core']};"
             f" {results['options']['seconds']} s per cell; load average at the start {machine['load']}.",
             f"TLS: {machine['session']}, P-256 certificate.", "", LEGEND, "",
             *(text for header, rows in tables(results) for text in (markdown_table(header, rows), "")),
             *(f"- {peer['title']}: {peer['version']}; `{peer['command']}`"
               for peer in results["peers"].values()),
             *(f"- **WRONG**: {line}" for line in results["wrong"])]
    return "\n".join(lines) + "\n"


def first_line_with(text, word):
    return next((line.strip() for line in text.splitlines() if word in line), text.strip().splitlines()[0])


def version_of(peer):
    done = subprocess.run([str(part) for part in peer.version], capture_output=True, text=True)
    text = (done.stdout + done.stderr).strip() or "unknown"
    return " ".join(first_line_with(text, "sigs.k8s.io/controller-runtime").split()[:8])


def describe_machine(server_core, loader_core):
    cpu = first_line_with(Path("/proc/cpuinfo").read_text(), "model name").split(":")[-1].strip()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"cpu": cpu, "cores": os.cpu_count(), "memory_gib": round(pages / 2**30),
            "kernel": f"{platform.system()} {platform.release()}", "server_core": server_core,
            "loader_core": loader_core, "load": round(os.getloadavg()[0], 1), "session": "none"}

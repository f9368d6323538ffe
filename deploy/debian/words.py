"""The commands and flags of a program, from what it prints with --help."""

import re
import subprocess
from typing import NamedTuple

# The second column begins here, on the next line if the first one is longer.
COLUMN = 30


class Flag(NamedTuple):
    """`short` is empty if there is none. `value`: its name for the reader, empty for a switch. `choices` are all values that it may
    have, if they are known."""

    long: str
    short: str
    about: str
    value: str
    choices: tuple
    repeated: bool


class Command(NamedTuple):
    name: str
    about: str
    flags: list


def rows(text, section):
    """The rows of a section as pairs of columns."""
    found = []
    body = re.search(rf"^{section}:\n((?:[ ]+.*\n?)*)", text, re.M)
    for line in body[1].splitlines() if body else ():
        left, right = line[:COLUMN].strip(), line[COLUMN:].strip()
        if len(line) > COLUMN and line[COLUMN - 1] != " ":
            left, right = line.strip(), ""
        if left:
            found.append((left, right))
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]} {right}".strip())
    return found


def flag_of(left, about):
    """The flag in a first column such as "-o,--output TEXT:{text,json}=text" or "-f,--filename TEXT ... REQUIRED"."""
    names, _, value = left.partition(" ")
    short, _, long = names.rpartition(",")
    choices = re.search(r"\{(.*)\}", value)
    return Flag(long, short, about, re.match(r"\w*", value)[0], tuple(choices[1].split(",")) if choices else (), "..." in value)


def help_of(program, *command):
    return subprocess.run([program, *command, "--help"], check=True, capture_output=True, text=True).stdout


def commands_of(program):
    """The commands with their flags, in the order of the program."""
    return [
        Command(name, about, [flag_of(*row) for row in rows(help_of(program, name), "Options")])
        for name, about in rows(help_of(program), "Subcommands")
    ]

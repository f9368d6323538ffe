"""The package of deploy/debian/build: its files, its manual pages, that the program runs from it, and what shells complete."""

import gzip
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "deploy/debian"))
import words  # noqa: E402

PROGRAM = "kubectl-dynamo"


def build(folder):
    subprocess.run([ROOT / "deploy/debian/build", "--output", folder], check=True, stdout=subprocess.DEVNULL)
    (made,) = Path(folder).glob("*.deb")
    return made


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-debian-test-")))
        cls.made, cls.again = build(folder / "one"), build(folder / "two")
        cls.root = folder / "root"
        subprocess.run(["dpkg-deb", "--extract", cls.made, cls.root], check=True)
        cls.program = cls.root / "usr/bin" / PROGRAM
        cls.commands = words.commands_of(cls.program)

    def field(self, name):
        return subprocess.run(["dpkg-deb", "--field", self.made, name], check=True, capture_output=True, text=True).stdout.strip()

    def test_two_builds_are_the_same(self):
        self.assertEqual(self.made.read_bytes(), self.again.read_bytes())

    def test_what_it_needs(self):
        version = re.search(r"project\(\S+ VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
        self.assertEqual((self.field("Package"), self.field("Version")), (PROGRAM, version))
        needed = {one.split()[0] for one in self.field("Depends").split(", ")}
        self.assertLessEqual({"libc6", "libssl3", "libstdc++6", "libyaml-cpp0.7"}, needed)
        loaded = subprocess.run(["ldd", self.program], check=True, capture_output=True, text=True).stdout
        self.assertNotIn("not found", loaded)

    def test_files_belong_to_root_and_only_the_program_can_be_run(self):
        listed = subprocess.run(["dpkg-deb", "--contents", self.made], check=True, capture_output=True, text=True).stdout
        for line in listed.splitlines():
            mode, owner, *_, name = line.split()
            with self.subTest(name):
                self.assertEqual(owner, "root/root")
                executable = mode.startswith("d") or name.startswith("./usr/bin/")
                self.assertEqual(mode[1:], "rwxr-xr-x" if executable else "rw-r--r--")

    def test_kubectl_finds_the_completion(self):
        script = self.root / "usr/bin/kubectl_complete-dynamo"
        ran = subprocess.run([script, "che"], capture_output=True, text=True, check=True)
        self.assertEqual(ran.stdout, "check\n:4\n")
        offered = subprocess.run([script, ""], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(sorted(offered[:-1]), sorted(command.name for command in self.commands))

    def test_the_program_of_the_package_checks_manifests(self):
        for name, status in (("graph", 0), ("mistakes", 1)):
            command = [self.program, "check", "-f", ROOT / f"deploy/samples/{name}.yaml", "-o", "json"]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(ran.returncode, status, ran.stderr)
            json.loads(ran.stdout)

    def test_every_command_and_flag_is_in_its_manual_page(self):
        self.assertGreater(len(self.commands), 8)
        for command in self.commands:
            with self.subTest(command.name):
                path = self.root / f"usr/share/man/man1/{PROGRAM}-{command.name}.1.gz"
                shown = subprocess.run(["man", "-l", "--warnings", path], capture_output=True, text=True, check=True,
                                       env={"MANWIDTH": "120", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "MAN_KEEP_STDERR": "1"})
                self.assertEqual(shown.stderr, "")
                self.assertIn(f"{PROGRAM.upper()}-{command.name.upper()}(1)", shown.stdout)
                self.assertGreaterEqual(len(command.flags), 3)
                for flag in command.flags:
                    self.assertIn(flag.long, shown.stdout)
                listing = gzip.decompress((self.root / f"usr/share/man/man1/{PROGRAM}.1.gz").read_bytes()).decode()
                self.assertIn(f"{PROGRAM}-{command.name}", listing)

    # Shells. Each function returns what the shell offers after the words.

    def bash(self, *line):
        script = f'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _{PROGRAM.replace("-", "_")}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        file = self.root / "usr/share/bash-completion/completions" / PROGRAM
        # compopt only works while bash itself completes.
        ran = subprocess.run(["bash", "--norc", "-uc", f"compopt() {{ :; }}; {script}", file, PROGRAM, *line],
                             capture_output=True, text=True, check=True, cwd=ROOT)
        self.assertEqual(ran.stderr, "")
        return set(ran.stdout.split())

    def fish(self, *line):
        file = self.root / f"usr/share/fish/vendor_completions.d/{PROGRAM}.fish"
        text = " ".join((PROGRAM, *line))
        ran = subprocess.run(["fish", "--no-config", "-c", f"source {file}; complete -C '{text}'"], capture_output=True, text=True,
                             check=True, cwd=ROOT, env={"HOME": str(self.root), "PATH": "/usr/bin:/bin", "TERM": "dumb"})
        self.assertEqual(ran.stderr, "")
        return {one.split("\t")[0] for one in ran.stdout.splitlines()}

    def zsh(self, *line):
        """zsh only completes on a terminal, so it runs on one of its own, and lists what it offers when it gets a tab. A word
        follows. While input waits, zsh would show nothing."""
        folder = self.root / "usr/share/zsh/vendor-completions"
        script = f"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; PS2=; TERM=dumb; fpath=({folder} \\$fpath); autoload -Uz compinit; compinit -u -d {self.root}/dump"
zpty -w shell "zstyle ':completion:*' list-prompt ''; LISTMAX=1000; COLUMNS=200; cd {ROOT}"
zpty -w shell "list() {{ zle list-choices; zle -R; print DONE }}; zle -N list; bindkey '^I' list"
zpty -w shell "print REA''DY"
while zpty -r shell answer; do [[ $answer == *READY* ]] && break; done
zpty -n -w shell {json.dumps(" ".join((PROGRAM, *line)))}$'\\t'
while zpty -r shell answer; do print -r -- "$answer"; [[ $answer == *DONE* ]] && break; done
zpty -d shell
"""
        ran = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, check=True, timeout=60,
                             env={"HOME": str(self.root), "PATH": "/usr/bin:/bin", "TERM": "dumb"})
        return set(re.findall(r"[-\w./]+", ran.stdout))

    def test_shells_complete_commands(self):
        names = {command.name for command in self.commands}
        self.assertLessEqual(names, self.bash(""))
        self.assertEqual(self.bash("che"), {"check"})
        self.assertEqual(self.fish("che"), {"check"})
        self.assertLessEqual(names, self.fish(""))
        self.assertLessEqual(names, self.zsh(""))

    def test_shells_complete_flags_and_their_values(self):
        for shell in (self.bash, self.fish, self.zsh):
            with self.subTest(shell.__name__):
                flags = {flag.long for command in self.commands if command.name == "check" for flag in command.flags}
                self.assertLessEqual(flags - {"--help"}, shell("check", "--"))
                offered = shell("check", "-o", "")
                self.assertLessEqual({"text", "json", "sarif"}, offered)
                self.assertNotIn("tree", offered)
                # zsh lists the last part of a path.
                offered = shell("check", "-f", "deploy/samples/gr")
                self.assertEqual({Path(name).name for name in offered if name.endswith(".yaml")}, {"graph.yaml"})


if __name__ == "__main__":
    unittest.main(verbosity=2)

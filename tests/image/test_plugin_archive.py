"""The archive of deploy/plugin/build: it runs without the libraries of the system, and krew accepts its manifest and installs it."""

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "deploy/lib")]
import go_programs  # noqa: E402
import release  # noqa: E402

PROGRAM = "kubectl-dynamo"
URL = "https://example.com/releases"
SAMPLES = ROOT / "deploy/samples"


def build(folder):
    subprocess.run([ROOT / "deploy/plugin/build", "--url", URL, "--output", folder], check=True, stdout=subprocess.DEVNULL)
    (archive,) = Path(folder).glob("*.tar.gz")
    return archive, Path(folder) / "dynamo.yaml"


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-plugin-test-")))
        cls.folder.chmod(0o755)
        cls.made, cls.manifest = build(cls.folder / "one")
        cls.again = build(cls.folder / "two")
        cls.root = cls.folder / "root"
        with tarfile.open(cls.made) as archive:
            archive.extractall(cls.root)
            cls.members = archive.getmembers()

    def test_two_builds_are_the_same(self):
        for one, other in zip((self.made, self.manifest), self.again):
            self.assertEqual(one.read_bytes(), other.read_bytes(), one.name)

    def test_files_belong_to_root_and_only_root_writes_them(self):
        for member in self.members:
            with self.subTest(member.name):
                self.assertEqual((member.uid, member.gid, member.mode & 0o022), (0, 0, 0))

    def test_it_runs_without_the_libraries_of_the_system(self):
        """In a root that has only the archive, as the launcher runs it."""
        place = self.folder / "empty"
        (place / "plugin").mkdir(parents=True)
        script = 'mount --bind "$1" "$0"/plugin && exec chroot "$0" "${@:2}"'
        (loader,) = (self.root / "lib").glob("ld-linux*")

        def inside(*arguments, **more):
            run = [f"/plugin/lib/{loader.name}", "--library-path", "/plugin/lib", f"/plugin/lib/{PROGRAM}", *arguments]
            command = ["unshare", "--mount", "bash", "-euc", script, place, self.root, *run]
            return subprocess.run(command, capture_output=True, text=True, check=False, env={}, **more)

        run = inside("--version")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(run.stdout.split()[-1], release.version())
        run = inside("check", "-f", "-", input=(SAMPLES / "graph.yaml").read_text(encoding="utf-8"))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        run = inside("check", "-f", "-", input=(SAMPLES / "mistakes.yaml").read_text(encoding="utf-8"))
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)

    def test_the_launcher(self):
        """It finds its libraries from any folder and through a link, as krew makes it."""
        link = self.folder / "linked" / PROGRAM
        link.parent.mkdir()
        link.symlink_to(self.root / PROGRAM)
        run = subprocess.run([link, "--version"], capture_output=True, text=True, check=False, cwd="/", env={"PATH": "/usr/bin:/bin"})
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(run.stdout.split()[-1], release.version())
        shown = subprocess.run([link, "nonsense"], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(shown.returncode, 2, shown.stderr)

    def test_licenses_of_the_libraries(self):
        found = {path.name for path in (self.root / "licenses").iterdir()}
        self.assertLessEqual({"libc6", "libssl3", "libstdc++6", "libyaml-cpp0.7", *release.WITH_NOTICE}, found)

    def test_the_manifest(self):
        spec = yaml.safe_load(self.manifest.read_text(encoding="utf-8"))["spec"]
        (platform,) = spec["platforms"]
        self.assertEqual(spec["version"], f"v{release.version()}")
        self.assertEqual(platform["uri"], f"{URL}/{self.made.name}")
        self.assertEqual(platform["sha256"], hashlib.sha256(self.made.read_bytes()).hexdigest())
        self.assertEqual(platform["selector"]["matchLabels"], {"os": "linux", "arch": release.native()})
        self.assertLess(len(spec["shortDescription"]), 50)

    @unittest.skipUnless(os.environ.get("DYNAMO_FULL"), "krew only in a full run")
    def test_krew_installs_it(self):
        home = self.folder / "krew"
        environment = {"PATH": f"{home}/bin:/usr/bin:/bin", "KREW_ROOT": str(home), "HOME": str(self.folder), "KREW_NO_UPGRADE_CHECK": "1"}
        command = [go_programs.built("krew"), "install", f"--manifest={self.manifest}", f"--archive={self.made}"]
        run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        run = subprocess.run([home / "bin" / PROGRAM, "--version"], capture_output=True, text=True, env=environment, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(run.stdout.split()[-1], release.version())


if __name__ == "__main__":
    unittest.main(verbosity=2)

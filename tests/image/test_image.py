"""The image of deploy/image/build: what it holds, who runs in it, and that the programs run where nothing can be written."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy/lib"))
import release  # noqa: E402

ARCHIVE = ROOT / "build/image/dynamo-operator.tar"
RELEASED = ROOT / "build/release/bin"
PROGRAMS = ("dynamo-controller", "dynamo-webhook")
PLUGIN = "kubectl-dynamo"
MEGABYTE = 1_000_000
MOST_COMPRESSED = 11 * MEGABYTE


def build():
    subprocess.run([ROOT / "deploy/image/build"], check=True, stdout=subprocess.DEVNULL)


class Layout:
    """What an OCI archive holds. `listed`: the entry of its index. `top`: to what that leads, an image or an index of images.
    `manifest`, `config`: of the image."""

    def __init__(self, archive):
        self._archive = archive
        (self.listed,) = self.read("index.json")["manifests"]
        self.top = self._blob(self.listed["digest"])
        if "config" in self.top:
            self.manifest = self.top
            self.config = self._blob(self.manifest["config"]["digest"])

    def read(self, path):
        with tarfile.open(self._archive) as file:
            return json.load(file.extractfile(path))

    def _blob(self, digest):
        return self.read("blobs/sha256/" + digest.removeprefix("sha256:"))

    def unpack(self, folder):
        for layer in self.manifest["layers"]:
            with tarfile.open(self._archive) as file:
                blob = file.extractfile("blobs/sha256/" + layer["digest"].removeprefix("sha256:"))
                subprocess.run(["tar", "-xz", "-C", folder], input=blob.read(), check=True)


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build()
        cls.layout = Layout(ARCHIVE)
        cls.root = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-image-test-")))
        cls.root.chmod(0o755)
        cls.layout.unpack(cls.root)

    def inside(self, *command):
        """Runs a program of the image as its user, with a root that nobody can write."""
        script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec chroot --userspec=65532:65532 --groups= "$0" "$@"'
        return subprocess.run(
            ["unshare", "--mount", "bash", "-euc", script, self.root, *command], capture_output=True, text=True, check=False, env={}
        )

    def test_the_configuration(self):
        config = self.layout.config["config"]
        self.assertEqual(config["User"], "65532:65532")
        self.assertNotIn("Entrypoint", config)
        labels = config["Labels"]
        revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        self.assertEqual(labels["org.opencontainers.image.revision"], revision)
        self.assertEqual(labels["org.opencontainers.image.licenses"], "Apache-2.0")

    def test_the_size(self):
        compressed = sum(layer["size"] for layer in self.layout.manifest["layers"])
        print(f"image: {compressed / MEGABYTE:.2f} MB compressed")
        self.assertLess(compressed, MOST_COMPRESSED)

    def test_the_programs_run_without_writing(self):
        for program in PROGRAMS:
            with self.subTest(program):
                run = self.inside(f"/{program}", "--version")
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                self.assertEqual(run.stdout.split()[-1], self.layout.config["config"]["Labels"]["org.opencontainers.image.version"])

    def test_a_manifest_is_checked(self):
        manifest = self.root / "graph.yaml"
        manifest.write_bytes((ROOT / "deploy/samples/graph.yaml").read_bytes())
        self.addCleanup(manifest.unlink)
        run = self.inside("/dynamo-webhook", "check", "-f", "/graph.yaml")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_there_is_no_other_program(self):
        """Neither a shell nor a tool: only our programs, the loader and libraries are executable."""
        executable = {path.name for path in self.root.rglob("*") if path.is_file() and path.stat().st_mode & 0o111}
        self.assertEqual({name for name in executable if ".so" not in name}, set(PROGRAMS))
        self.assertEqual([path for path in self.root.rglob("*") if path.is_file() and path.stat().st_mode & 0o6022], [])

    def test_the_crds_are_those_of_the_repository(self):
        folder = self.root / "opt/dynamo-operator/crds"
        for crd in sorted((ROOT / "deploy/crds").glob("*.yaml")):
            self.assertEqual((folder / crd.name).read_bytes(), crd.read_bytes())

    def test_packages_and_licences(self):
        """Each library belongs to a package that scanners and the bill of materials find, with its licence. What is compiled into the
        programs is in the bill, with the notice that its licence asks for."""
        packages = {path.name for path in (self.root / "var/lib/dpkg/status.d").iterdir()}
        bill = json.loads((ARCHIVE.parent / f"sbom-{self.layout.config['architecture']}.spdx.json").read_text(encoding="utf-8"))
        self.assertEqual({one["name"] for one in bill["packages"]}, packages | {"dynamo-operator", *release.HEADERS})
        identifiers = {one["SPDXID"]: one["name"] for one in bill["packages"]}
        linked = [identifiers[one["relatedSpdxElement"]] for one in bill["relationships"] if one["relationshipType"] == "STATIC_LINK"]
        self.assertEqual(sorted(linked), sorted(release.HEADERS))
        for package in (*packages, *release.WITH_NOTICE):
            self.assertGreater((self.root / "usr/share/doc" / package / "copyright").stat().st_size, 100)
        versions = {one["name"]: one["versionInfo"] for one in bill["packages"]}
        for package in packages:
            status = (self.root / "var/lib/dpkg/status.d" / package).read_text(encoding="utf-8")
            self.assertIn(f"\nVersion: {versions[package]}\n", status)
        for file in bill["files"]:
            digest = hashlib.sha256((self.root / file["fileName"]).read_bytes()).hexdigest()
            self.assertEqual(file["checksums"][0]["checksumValue"], digest)

    def test_a_second_build_has_the_same_digest(self):
        first = self.layout.listed["digest"]
        ARCHIVE.unlink()
        build()
        self.assertEqual(Layout(ARCHIVE).listed["digest"], first)

    @unittest.skipUnless(os.environ.get("DYNAMO_FULL"), "a build in another folder only in a full run")
    def test_a_clone_in_another_folder_has_the_same_digest(self):
        changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        if changed:
            self.skipTest(f"files differ from the commit: {changed}")
        with tempfile.TemporaryDirectory(prefix="dynamo-clone-") as folder:
            clone = Path(folder) / "a-folder-with-a-longer-name"
            subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
            subprocess.run([clone / "deploy/image/build"], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(Layout(clone / "build/image/dynamo-operator.tar").listed["digest"], self.layout.listed["digest"])

    def test_no_path_of_the_build_is_in_the_programs(self):
        for program in (*(self.root / name for name in PROGRAMS), RELEASED / PLUGIN):
            with self.subTest(program.name):
                assert_no_path(self, program)

    def test_the_programs_are_hardened(self):
        """Those of the image are stripped copies of the release programs."""
        for program in PROGRAMS:
            with self.subTest(program):
                assert_hardened(self, self.root / program)


def assert_no_path(test, program):
    """The program does not tell in which folder it was built."""
    test.assertFalse(str(ROOT).encode() in program.read_bytes(), f"{program} has {ROOT} in it")


# Lines of hardening-check. It does not fail when it says "unknown".
PROTECTIONS = (
    "Position Independent Executable", "Stack protected", "Fortify Source functions", "Read-only relocations", "Immediate binding",
)  # fmt: skip


def unprotected(program):
    """What of PROTECTIONS the program lacks, the exit status of hardening-check, and what it has printed."""
    run = subprocess.run(["hardening-check", "--nocfprotection", program], capture_output=True, text=True, check=False)
    return [one for one in PROTECTIONS if f"\n {one}: yes" not in run.stdout], run.returncode, run.stdout + run.stderr


def assert_hardened(test, program):
    missing, status, report = unprotected(program)
    test.assertEqual((missing, status), ([], 0), report)


def count(program, *instructions, objdump="objdump"):
    """How often these instructions, as patterns of `objdump` lines, are in a program."""
    run = subprocess.run([objdump, "--disassemble", "--no-show-raw-insn", program], check=True, capture_output=True, text=True)
    return [len(re.findall(rf"\t{one}", run.stdout)) for one in instructions]


UNPROTECTED = """
#include <string.h>
#include <stdio.h>
int main(int count, char **words) {
  char text[64];
  strcpy(text, words[count - 1]);
  return printf("%s", text);
}
"""


class Hardening(unittest.TestCase):
    """What Debian hardens its programs with. The start files of Debian 12's C library lack the marker of control flow integrity,
    so the linker drops it, although all code of ours has the landing pads."""

    def test_release_programs(self):
        for program in (*PROGRAMS, PLUGIN):
            with self.subTest(program):
                assert_hardened(self, RELEASED / program)

    def test_a_program_without_protection_is_found(self):
        with tempfile.TemporaryDirectory(prefix="dynamo-hardening-test-") as folder:
            source, program = Path(folder) / "plain.c", Path(folder) / "plain"
            source.write_text(UNPROTECTED, encoding="ascii")
            flags = "-O1 -no-pie -fno-stack-protector -U_FORTIFY_SOURCE -Wl,-z,norelro -Wl,-z,lazy".split()
            subprocess.run(["gcc", *flags, "-o", program, source], check=True)
            self.assertEqual(unprotected(program)[:2], (list(PROTECTIONS), 1))

    @unittest.skipUnless(release.native() == "amd64", "these are instructions of amd64")
    def test_landing_pads_and_probes_of_the_stack(self):
        """hardening-check does not fail without them."""
        for program in (*PROGRAMS, PLUGIN):
            with self.subTest(program):
                # Coroutines, virtual functions and callbacks are called through pointers. Frames of over a page are few.
                pads, probes = count(RELEASED / program, "endbr64", r"orq\s+\$0x0,")
                self.assertGreater(pads, 1000)
                self.assertGreater(probes, 5)


if __name__ == "__main__":
    unittest.main()

"""The image for arm64: its programs run, and the unit tests that need neither network nor processes pass, with qemu in user mode.

Only in a full run: it compiles most of the project for arm64, which takes about 20 minutes on two cores."""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import test_image

sys.path.insert(0, str(test_image.ROOT / "deploy/image"))
import programs  # noqa: E402
import release  # noqa: E402

ARCH = "arm64"
# Unit tests of what decides: parsing, defaults, rules, rendering, conversion, lifecycles.
TESTS = (
    "unit_access unit_admission unit_commands unit_config unit_conversion unit_defaults unit_field unit_gpu unit_install unit_json "
    "unit_k8s unit_lifecycle unit_model unit_render unit_rules unit_schema unit_text unit_view"
).split()

# qemu takes about thirty times as long, so laws are tried on fewer objects.
FEWER = {**os.environ, "DYNAMO_LAW_OBJECTS": "100"}
# Program -> the test that is left out: a bound of time, and the start of another program.
LEFT_OUT = {"unit_lifecycle": "~an object with many members is read at once*", "unit_schema": "~deploy/crds equals the output of*"}


@unittest.skipUnless(os.environ.get("DYNAMO_FULL") == "1", "only in a full run")
class Arm64(unittest.TestCase):
    def test_the_image(self):
        with tempfile.TemporaryDirectory(prefix="dynamo-image-test-") as folder:
            output = Path(folder) / "out"
            subprocess.run([test_image.ROOT / "deploy/image/build", "--arch", ARCH, "--output", output], check=True, stdout=subprocess.DEVNULL)
            layout = test_image.Layout(output / "dynamo-operator.tar")
            self.assertEqual(layout.config["architecture"], ARCH)
            compressed = sum(layer["size"] for layer in layout.manifest["layers"])
            print(f"image for {ARCH}: {compressed / test_image.MEGABYTE:.2f} MB compressed")
            self.assertLess(compressed, test_image.MOST_COMPRESSED)
            bill = json.loads((output / f"sbom-{ARCH}.spdx.json").read_text(encoding="utf-8"))
            packages = {one["name"]: one["externalRefs"][0]["referenceLocator"] for one in bill["packages"] if "externalRefs" in one}
            self.assertLessEqual(set(release.HEADERS), packages.keys())
            self.assertEqual([locator for locator in packages.values() if not locator.endswith(("arch=arm64", "arch=all"))], [])
            root = Path(folder) / "root"
            root.mkdir()
            layout.unpack(root)
            programs.setup("install_packages", f"{ARCH}-test")
            emulator = [programs.EMULATORS[ARCH], "-L", root]
            for program in test_image.PROGRAMS:
                run = subprocess.run([*emulator, root / program, "--version"], capture_output=True, text=True, check=False)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                test_image.assert_hardened(self, root / program)
            graph = test_image.ROOT / "deploy/samples/graph.yaml"
            run = subprocess.run([*emulator, root / "dynamo-webhook", "check", "-f", graph], capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_hardening_and_paths(self):
        for program in programs.build(ARCH):
            with self.subTest(program.name):
                test_image.assert_hardened(self, program)
                test_image.assert_no_path(self, program)

    def test_landing_pads_and_signed_addresses(self):
        for program in programs.build(ARCH):
            with self.subTest(program.name):
                objdump = programs.tool(ARCH, "objdump")
                pads, signed = test_image.count(program, r"bti\s+(?:c|j)", "paciasp", objdump=objdump)
                self.assertGreater(pads, 1000)
                self.assertGreater(signed, 1000)

    def test_one_archive_for_both_architectures(self):
        """It has the same images as archives of one architecture."""
        with tempfile.TemporaryDirectory(prefix="dynamo-image-test-") as folder:
            build = [test_image.ROOT / "deploy/image/build", "--output", folder]
            digests = {}
            for arch in (release.native(), ARCH):
                subprocess.run([*build, "--arch", arch], check=True, stdout=subprocess.DEVNULL)
                digests[arch] = test_image.Layout(Path(folder) / "dynamo-operator.tar").listed["digest"]
            subprocess.run([*build, "--arch", release.native(), "--arch", ARCH], check=True, stdout=subprocess.DEVNULL)
            both = test_image.Layout(Path(folder) / "dynamo-operator.tar").top
            self.assertEqual({one["platform"]["architecture"]: one["digest"] for one in both["manifests"]}, digests)

    def test_unit_tests(self):
        paths, emulator = programs.build_tests(ARCH, TESTS)
        for path in paths:
            with self.subTest(path.name):
                began = time.monotonic()
                left_out = [LEFT_OUT[path.name]] if path.name in LEFT_OUT else []
                run = subprocess.run([*emulator, path, *left_out], cwd=test_image.ROOT, env=FEWER, capture_output=True, text=True, check=False)
                self.assertEqual(run.returncode, 0, run.stdout[-4000:] + run.stderr[-1000:])
                print(f"{path.name} for {ARCH}: {run.stdout.strip().splitlines()[-1]}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    unittest.main()

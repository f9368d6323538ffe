"""deploy/image/publish with a registry on the loopback interface: the digest stays, and only what was signed is verified. Only in a
full run."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "deploy/image"), str(ROOT / "deploy/lib")]
import go_programs  # noqa: E402
import programs  # noqa: E402
import storage  # noqa: E402

PUBLISH = ROOT / "deploy/image/publish"
ARCHIVE = ROOT / "build/image/dynamo-operator.tar"
SECONDS = 30


def start_registry(test, folder):
    """A registry that keeps images in memory. Returns its address."""
    log = folder / "registry.log"
    with open(log, "wb") as out:
        command = [go_programs.built("crane"), "registry", "serve", "--address", "127.0.0.1:0"]
        process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    test.addClassCleanup(process.wait, SECONDS)
    test.addClassCleanup(process.terminate)
    deadline = time.monotonic() + SECONDS
    while not (found := re.search(r"port (\d+)", log.read_text(encoding="utf-8"))):
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(log.read_text(encoding="utf-8"))
        time.sleep(0.05)
    address = f"127.0.0.1:{found[1]}"
    with urllib.request.urlopen(f"http://{address}/v2/", timeout=SECONDS):
        return address


def write_both(folder, texts):
    """Writes an archive for both architectures into the new folder, as `build --arch amd64 --arch arm64` does. Each image has one file
    with a text in the place of programs, because a build for another architecture takes long. Returns the archive, and the digests of
    the images by architecture."""
    made = []
    with storage.Storage(folder / "storage") as store:
        for arch, text in texts.items():
            (folder / arch).mkdir()
            (folder / arch / "programs").write_text(text, encoding="ascii")
            made.append(store.commit(folder / arch, arch, {"org.opencontainers.image.title": "stand-in"}, 0))
        store.write(made, "dynamo-operator:0.1.0", folder / "both.tar")
    return folder / "both.tar", {one.arch: one.digest for one in made}


@unittest.skipUnless(os.environ.get("DYNAMO_FULL"), "the registry only in a full run")
class Publish(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([ROOT / "deploy/image/build"], check=True, stdout=subprocess.DEVNULL)
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-publish-test-")))
        cls.registry = start_registry(cls, cls.folder)
        cls.keys = {}
        for name in ("ours", "theirs"):
            private, public = cls.folder / f"{name}.pem", cls.folder / f"{name}.pub"
            subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", private], check=True)
            subprocess.run(["openssl", "ec", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
            cls.keys[name] = (private, public)

    def run_publish(self, command, image, *more, status=0):
        run = subprocess.run([PUBLISH, command, image, *more, "--plain-http"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run.stdout.strip() if status == 0 else run.stderr

    def push(self, name, *more):
        return self.run_publish("push", f"{self.registry}/{name}:0.1.0", *more)

    def move_signatures(self, repository, digest, other):
        """Puts the signatures of one image beside another one, as somebody may who can write to the registry."""
        source, target = (f"docker://{repository}:{each.replace(':', '-')}.sig" for each in (digest, other))
        command = ["skopeo", "copy", "--src-tls-verify=false", "--dest-tls-verify=false", source, target]
        subprocess.run(command, check=True, capture_output=True)

    def test_the_digest_stays(self):
        self.assertEqual(self.push("a/operator"), f"{self.registry}/a/operator@{storage.digest_of(ARCHIVE)}")

    def test_signatures(self):
        image = self.push("b/operator")
        (private, public), (other, other_public) = self.keys["ours"], self.keys["theirs"]
        refused = self.run_publish("verify", image, "--key", public, status=1)
        self.assertIn("none of 0 signatures", refused)
        self.run_publish("sign", image, "--key", private)
        self.run_publish("verify", image, "--key", public)
        refused = self.run_publish("verify", image, "--key", other_public, status=1)
        self.assertIn("none of 1 signatures", refused)
        self.run_publish("sign", image, "--key", other)
        for key in (public, other_public):
            self.run_publish("verify", image, "--key", key)

    def test_a_signature_of_another_image_does_not_count(self):
        """Somebody puts the signature of one image beside another one."""
        image = self.push("c/operator")
        self.run_publish("sign", image, "--key", self.keys["ours"][0])
        layout = self.folder / "other"
        subprocess.run(["skopeo", "copy", "--src-tls-verify=false", f"docker://{image}", f"dir:{layout}"], check=True, capture_output=True)
        manifest = layout / "manifest.json"
        manifest.write_text(manifest.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        pushed = subprocess.run(
            ["skopeo", "copy", "--dest-tls-verify=false", f"--digestfile={self.folder}/digest", f"dir:{layout}", f"docker://{self.registry}/c/operator:other"],
            capture_output=True, text=True, check=False)  # fmt: skip
        self.assertEqual(pushed.returncode, 0, pushed.stderr)
        repository, _, digest = image.partition("@")
        other = (self.folder / "digest").read_text(encoding="ascii").strip()
        self.assertNotEqual(other, digest)
        self.move_signatures(repository, digest, other)
        refused = self.run_publish("verify", f"{repository}@{other}", "--key", self.keys["ours"][1], status=1)
        self.assertIn("none of 1 signatures", refused)

    def test_both_architectures(self):
        """The registry gets the index with both images, unchanged. The signature is that of the index, which has the digests of the
        images: an index with one other image is another index."""
        (private, public), texts = self.keys["ours"], {arch: f"programs for {arch}" for arch in programs.TRIPLETS}
        archive, digests = write_both(self.folder / "both", texts)
        image = self.push("f/operator", "--archive", archive)
        repository, _, digest = image.partition("@")
        self.assertEqual(digest, storage.digest_of(archive))
        for arch in texts:
            with self.subTest(arch):
                pulled = self.folder / f"{arch}.digest"
                command = ["skopeo", "copy", f"--override-arch={arch}", "--src-tls-verify=false", f"--digestfile={pulled}"]
                subprocess.run([*command, f"docker://{image}", f"dir:{self.folder}/{arch}"], check=True, capture_output=True)
                self.assertEqual(pulled.read_text(encoding="ascii").strip(), digests[arch])
        self.run_publish("sign", image, "--key", private)
        self.run_publish("verify", image, "--key", public)
        for arch in texts:
            refused = self.run_publish("verify", f"{repository}@{digests[arch]}", "--key", public, status=1)
            self.assertIn("none of 0 signatures", refused)
        other_archive, other_digests = write_both(self.folder / "other-both", {**texts, "arm64": "other programs"})
        self.assertEqual({arch for arch in texts if other_digests[arch] == digests[arch]}, {"amd64"})
        other = self.run_publish("push", f"{repository}:other", "--archive", other_archive)
        self.move_signatures(repository, digest, other.partition("@")[2])
        self.assertIn("none of 1 signatures", self.run_publish("verify", other, "--key", public, status=1))

    def test_signatures_of_others_stay_as_they_are(self):
        """They may have a certificate, or may be broken."""
        image = self.push("e/operator")
        (private, public), (other, other_public) = self.keys["ours"], self.keys["theirs"]
        self.run_publish("sign", image, "--key", private)
        repository, _, digest = image.partition("@")
        signatures = f"docker://{repository}:{digest.replace(':', '-')}.sig"

        def copied(name):
            layout = self.folder / name
            subprocess.run(["skopeo", "copy", "--src-tls-verify=false", signatures, f"dir:{layout}"], check=True, capture_output=True)
            return layout, json.loads((layout / "manifest.json").read_text(encoding="utf-8"))

        layout, manifest = copied("theirs")
        (layer,) = manifest["layers"]
        layer["annotations"]["dev.sigstore.cosign/certificate"] = "a certificate"
        manifest["layers"].append({**layer, "annotations": {"dev.cosignproject.cosign/signature": "no base64"}})
        (layout / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        pushed = subprocess.run(["skopeo", "copy", "--preserve-digests", "--dest-tls-verify=false", f"dir:{layout}", signatures], capture_output=True, text=True, check=False)
        self.assertEqual(pushed.returncode, 0, pushed.stderr)
        self.run_publish("sign", image, "--key", other)
        for key in (public, other_public):
            self.run_publish("verify", image, "--key", key)
        kept = [layer["annotations"] for layer in copied("kept")[1]["layers"]]
        self.assertEqual(kept[:2], [layer["annotations"] for layer in manifest["layers"]])
        self.assertEqual(len(kept), 3)

    def test_wrong_usage(self):
        image = self.push("d/operator")
        self.assertIn("which `push` prints", self.run_publish("sign", image.partition("@")[0], "--key", self.keys["ours"][0], status=2))
        self.assertIn("no public key", self.run_publish("verify", image, "--key", self.keys["ours"][0], status=1))
        self.assertIn("cannot sign with", self.run_publish("sign", image, "--key", self.keys["ours"][1], status=1))
        missing = f"{image.partition('@')[0]}@sha256:{64 * '0'}"
        self.assertIn("skopeo inspect", self.run_publish("sign", missing, "--key", self.keys["ours"][0], status=1))

    def test_missing_programs_are_named(self):
        path = self.folder / "few"
        path.mkdir()
        (path / "python3").symlink_to(shutil.which("python3"))
        run = subprocess.run([sys.executable, PUBLISH, "push", "a/b:c"], capture_output=True, text=True, check=False, env={"PATH": str(path)})
        self.assertEqual((run.returncode, run.stderr.strip()), (1, "publish: install skopeo and openssl first"))


if __name__ == "__main__":
    unittest.main(verbosity=2)

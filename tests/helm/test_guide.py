"""deploy/README.md: what it names exists, and its commands render the charts."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

import charts
import guide
import render

# Messages of Helm, of the TLS library and of the API server.
OF_OTHERS = ("remote error: bad certificate",)
OF_HELM = ("Additional property … is not allowed", "dependencies … missing in charts/ directory", "invalid ownership metadata")


def loaded(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


class Guide(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.text = guide.text()
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-guide-")))
        # With stubs in the place of the charts of others.
        cls.charts = {f"deploy/helm/{name}": charts.lay(folder, name) for name in (charts.OPERATOR, charts.PLATFORM)}
        cls.values_of_the_reader = folder / "values-of-mine.yaml"
        cls.values_of_the_reader.write_text("{}\n", encoding="utf-8")

    def helm(self, *arguments):
        words = [str(self.charts.get(word, word)).replace("values-of-mine.yaml", str(self.values_of_the_reader)) for word in arguments]
        return render.run("helm3", "template", *words)

    def objects(self, *arguments):
        done = self.helm(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [one for one in yaml.load_all(done.stdout, Loader=render.LOADER) if one]

    def test_commands_render(self):
        found = guide.renderings(self.text)
        self.assertGreater(len(found), 10)
        self.assertEqual({word for _, arguments in found for word in arguments if word.startswith("deploy/")}, set(self.charts))
        for command, arguments in found:
            with self.subTest(command):
                self.assertGreater(len(self.objects(*arguments)), 5)

    def test_values_and_settings_exist(self):
        """Those of the operator's chart, those of the platform's, or those of the configuration file."""
        operator = loaded(charts.CHARTS / charts.OPERATOR / "values.yaml")
        platform = loaded(charts.CHARTS / charts.PLATFORM / "values.yaml")
        # The comment of the platform's values lists these switches, which have no defaults.
        switches = re.findall(r"^# +(global\.[\w.-]+) ", (charts.CHARTS / charts.PLATFORM / "values.yaml").read_text(encoding="utf-8"), re.M)
        settings = loaded(guide.DEPLOY / "samples/operator-config.yaml")
        found = guide.settings_of(self.text)
        self.assertGreater(len(found), 20)
        for name in sorted(found):
            with self.subTest(name):
                own = name.removeprefix(f"{charts.OPERATOR}.")
                below = name.removeprefix("extraConfig.")
                if name.startswith("global."):
                    self.assertIn(name, switches)
                elif below != name:
                    self.assertTrue(guide.known(settings, below))
                else:
                    self.assertTrue(guide.known(operator, own) or guide.known(settings, name) or guide.known(platform, name))

    def test_files_exist(self):
        found = guide.paths(self.text)
        self.assertGreater(len(found), 10)
        self.assertEqual([path for path in sorted(found) if not guide.exists(path)], [])

    def test_links_lead_somewhere(self):
        found = guide.links(self.text)
        self.assertGreater(len(found), 20)
        for path, anchor in found:
            with self.subTest(f"{path}#{anchor}"):
                target = (guide.DEPLOY / path).resolve() if path else guide.GUIDE
                self.assertTrue(target.exists())
                if anchor:
                    self.assertIn(anchor, guide.anchors(target.read_text(encoding="utf-8")))

    def test_objects_of_the_emergency(self):
        """Each name is that of a rendered object, and the label selects all webhook configurations, and nothing else of their kinds."""
        section = guide.section("When the webhook is down")
        install = ("dynamo-operator", f"deploy/helm/{charts.OPERATOR}", "--namespace", "dynamo-system")
        rendered = {(o["kind"].lower(), o["metadata"]["name"]) for o in self.objects(*install)}
        restricted = self.objects(*install, "--set", "namespaceRestriction.enabled=true")
        named = set(re.findall(r"(?<![\w/-])dynamo-operator-[a-z-]+(?:NAMESPACE)?", section))
        names = {name for _, name in rendered} | {o["metadata"]["name"].replace("dynamo-system", "NAMESPACE") for o in restricted}
        self.assertGreater(len(named), 0)
        self.assertEqual(named - names, set())
        (command,) = [one for one in guide.commands(section) if one.startswith("kubectl delete")]
        kinds, (key, value) = command.split()[2].split(","), command.split()[-1].split("=")
        objects = self.objects(*install)
        chosen = {o["kind"].lower() for o in objects if o["metadata"].get("labels", {}).get(key) == value}
        self.assertEqual(chosen, set(kinds))
        self.assertEqual(chosen, {o["kind"].lower() for o in objects if o["kind"].endswith("WebhookConfiguration")})

    def test_other_objects_of_the_release(self):
        """Names of objects in the whole guide: of the chart, of kustomize, or made by the controller."""
        rendered = {o["metadata"]["name"] for o in self.objects("dynamo-operator", f"deploy/helm/{charts.OPERATOR}", "--namespace", "dynamo-system")}
        files = "\n".join(path.read_text(encoding="utf-8") for path in (guide.DEPLOY / "kustomize").rglob("*.yaml"))
        made = {"dynamo-operator-facts", "dynamo-operator-namespace-scope"}
        sources = guide.words_of_the_programs()
        self.assertEqual([name for name in sorted(made) if f'"{name}"' not in sources], [])
        named = set(re.findall(r"`(dynamo-operator-[a-z-]+[a-z])`", self.text))
        self.assertGreater(len(named), 5)
        unknown = {name for name in named - rendered - made if not re.search(rf"\b{name}\b", files)}
        self.assertEqual(unknown - {"dynamo-operator-mutating-NAMESPACE"}, set())

    def test_messages_are_those_of_the_programs(self):
        sources = guide.words_of_the_programs()
        found = guide.symptoms()
        self.assertGreater(len(found), 25)
        for message in found:
            if message in (*OF_OTHERS, *OF_HELM):
                continue
            with self.subTest(message):
                self.assertNotEqual(guide.parts(message), [])
                for part in guide.parts(message):
                    self.assertTrue(part in sources, part)

    def test_messages_of_helm(self):
        incomplete = charts.CHARTS / charts.PLATFORM
        typing_error = self.helm("x", f"deploy/helm/{charts.OPERATOR}", "--set", "controllerManagr.replicas=1").stderr
        said = (typing_error, render.run("helm3", "template", "x", incomplete).stderr)
        self.assertTrue(set(OF_HELM) <= set(guide.symptoms()))
        for message, text in zip(OF_HELM, said):
            for part in guide.parts(message):
                self.assertIn(part, text)

    def test_default_images(self):
        """The table of images has what the command for the operator lists, and the defaults of the configuration."""
        section = guide.section("Without a network")
        (command,) = [command for command in guide.commands(section) if " | sed " in command and f"/{charts.OPERATOR} " in command]
        rendered, _, pipeline = command.partition(" | ")
        done = self.helm(*rendered.split()[2:])
        listed = subprocess.run(["bash", "-c", pipeline], input=done.stdout, capture_output=True, text=True, check=True).stdout.split()
        images = {c["image"] for o in yaml.load_all(done.stdout, Loader=render.LOADER) if o and o["kind"] in ("Deployment", "Job")
                  for part in ("initContainers", "containers") for c in o["spec"]["template"]["spec"].get(part, ())}  # fmt: skip
        self.assertEqual(listed, sorted(images))
        images.add(loaded(guide.DEPLOY / "samples/operator-config.yaml")["requests"]["outputCopierImage"])
        (repository,) = re.findall(r'kDefaultImageRepository = "([^"]+)"', (guide.ROOT / "common/api/dgdr.h").read_text(encoding="utf-8"))
        images.add(f"{repository}:{charts.metadata(charts.OPERATOR)['appVersion']}")
        self.assertEqual(set(re.findall(r"^\|[^|]*\| `([^`|]+:[^`|]+)` \|", section, re.M)), images)
        for chart in (charts.OPERATOR, charts.PLATFORM):
            stated = yaml.safe_load(charts.metadata(chart)["annotations"]["artifacthub.io/images"])
            self.assertEqual({one["image"] for one in stated}, images)


class Language(unittest.TestCase):
    """What finds the references finds wrong ones."""

    def test_values(self):
        words = "`webhook.replicas`, `webhok.replicas: 2`, `values.yaml`"
        found = guide.settings_of(f"{words}\n\n    helm template a b \\\n      --set x.y=1 --set 'z[0].name=2'\n")
        self.assertEqual(found, {"webhook.replicas", "webhok.replicas", "x.y", "z[0].name"})
        self.assertTrue(guide.known({"a": {"b": 1, "free": {}, "none": []}}, "a.b"))
        self.assertTrue(guide.known({"a": {"free": {}}}, "a.free.x.y"))
        self.assertTrue(guide.known({"list": []}, "list[0].name"))
        self.assertFalse(guide.known({"a": {"b": 1}}, "a.c"))
        self.assertFalse(guide.known({"a": {"b": 1}}, "a.b.c"))

    def test_commands(self):
        self.assertEqual(guide.commands("text\n\n    one \\\n      two\n    # no\n    three\n"), ["one two", "three"])
        ((_, arguments),) = guide.renderings("    helm upgrade --install RELEASE c --set a=TAG | x\n")
        self.assertEqual(arguments, ["mine", "c", "--set", "a=1.2.3"])

    def test_files_and_messages(self):
        self.assertEqual(guide.paths("`deploy/absent`, `a/b`"), {"deploy/absent"})
        self.assertFalse(guide.exists("deploy/absent"))
        self.assertEqual(guide.parts("version … has applied … it"), ["version", "has applied"])


if __name__ == "__main__":
    unittest.main()

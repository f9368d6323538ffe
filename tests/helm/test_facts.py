"""The language of cases/ itself: a fact that does not hold is found."""

import unittest

import facts
import table
from render import Rendered

CONFIG = {"kind": "ConfigMap", "metadata": {"name": "f-config"}, "data": {"config.yaml": "a: {b: [1, 2]}\nnothing: null"}}
PODS = {
    "kind": "Deployment",
    "metadata": {"name": "f-webhook", "labels": {"example.com/a.b": "x"}},
    "spec": {"containers": [{"name": "one", "image": "i:1"}, {"name": "two", "image": "i:2"}], "flags": ["--a"]},
}
NAMES = {"F": "f", "R": "r", "NS": "n"}


class Facts(unittest.TestCase):
    def setUp(self):
        self.rendered = Rendered([CONFIG, PODS], "notes", "")

    def test_what_holds(self):
        for statement, expected in (
            ("config -> a.b[1]", 2),
            ("config -> nothing", "absent"),
            ("Deployment {F}-webhook", "present"),
            ("Deployment *", {"count": 1}),
            ('Deployment * -> metadata.labels["example.com/a.b"]', "x"),
            ("Deployment * -> spec.containers[name=two].image", "i:2"),
            ("Deployment * -> spec.containers[*].image", {"matches": "^i:"}),
            ("Deployment * -> spec.flags", {"contains": "--a"}),
            ("Deployment * -> spec.flags", {"lacks": "--b"}),
            ("Secret *", "absent"),
            ("values of nats", "absent"),
        ):
            with self.subTest(statement):
                self.assertEqual(facts.wrong(self.rendered, {statement: expected}, NAMES), [])

    def test_what_does_not_hold(self):
        for statement, expected in (
            ("config -> a.b[1]", 1),
            ("config -> a", "absent"),
            ("config -> nothing", "present"),
            ("Deployment {F}-other", "present"),
            ("Deployment *", {"count": 2}),
            ("Deployment * -> spec.containers[*].image", "i:1"),
            ("Deployment * -> spec.containers[name=three].image", {"lacks": "x"}),
            ("Deployment * -> spec.flags", {"lacks": "--a"}),
            ("Secret * -> data", {"lacks": "x"}),
        ):
            with self.subTest(statement):
                self.assertEqual(len(facts.wrong(self.rendered, {statement: expected}, NAMES)), 1)

    def test_messages_name_paths_in_each_form(self):
        for message in ("x.y: Invalid type", "dynamo-operator.x.y is gone", "- at '/x/y': got string", "wrong: X.Y", "- x: Additional property y is not allowed", "at '/x': additional properties 'z', 'y' not allowed"):
            with self.subTest(message):
                self.assertTrue(table.says(message, "dynamo-operator.x.y"))
        self.assertFalse(table.says("x.z: Invalid type", "dynamo-operator.x.y"))

    def test_paths_become_values(self):
        self.assertEqual(table.nested('a."b.c".d', 1), {"a": {"b.c": {"d": 1}}})
        self.assertEqual(table.merged({"a": {"b": 1, "c": [1]}}, {"a": {"c": [2]}}), {"a": {"b": 1, "c": [2]}})


if __name__ == "__main__":
    unittest.main()

"""A bill of materials: an SPDX 2.3 document that names the programs and the Debian packages of an image, and those that are compiled
into the programs."""

import email

NAMESPACE = "https://spdx.org/spdxdocs/dynamo-operator"


class Package:
    """`control`: the fields of a Debian package, as `dpkg-deb --field` prints them."""

    def __init__(self, control):
        self.fields = email.message_from_string(control)
        self.name = self.fields["Package"]
        self.version = self.fields["Version"]
        # As dpkg writes it for packages that are installed.
        self.control = control.rstrip("\n").replace("\n", "\nStatus: install ok installed\n", 1) + "\n"

    def described(self):
        purl = f"pkg:deb/debian/{self.name}@{self.version}?arch={self.fields['Architecture']}"
        return {
            **_unjudged(f"SPDXRef-Package-{self.name.replace('+', '-')}", self.name, self.version),
            "supplier": f"Organization: {self.fields['Maintainer']}",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
        }


def document(version, arch, packages, headers, programs):
    """`programs`: pairs of the name and the SHA-256 of a file. `packages`: whose files are beside them. `headers`: packages whose headers
    are compiled into them."""
    product = {**_unjudged("SPDXRef-Package-dynamo-operator", "dynamo-operator", version), "licenseDeclared": "Apache-2.0"}
    files = [
        {
            "SPDXID": f"SPDXRef-File-{name}",
            "fileName": f"./{name}",
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
            "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
        }
        for name, digest in programs
    ]
    loaded = [one.described() for one in packages]
    compiled = [one.described() for one in headers]
    contained = [(product["SPDXID"], "CONTAINS", file["SPDXID"]) for file in files]
    needed = [(product["SPDXID"], "DEPENDS_ON", one["SPDXID"]) for one in loaded]
    linked = [(product["SPDXID"], "STATIC_LINK", one["SPDXID"]) for one in compiled]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", product["SPDXID"]), *contained, *needed, *linked]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"dynamo-operator-{version}-{arch}",
        # Unique, because it is derived from the programs.
        "documentNamespace": f"{NAMESPACE}-{version}-{arch}-{programs[0][1][:16]}",
        "creationInfo": {"created": "1970-01-01T00:00:00Z", "creators": ["Tool: deploy/image/build"]},
        "packages": [product, *loaded, *compiled],
        "files": files,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations],
    }


def _unjudged(identifier, name, version):
    return {
        "SPDXID": identifier,
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
    }

"""What tests need of Debian is installed piece by piece, whatever is on the machine already."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.machine import Machine, machine

ROOT = Path(__file__).parents[1]
TOOLS = {
    "chromium": "command -v chromium || command -v chromium-browser",
    "firefox-esr": "command -v firefox || command -v firefox-esr",
    "npm": "command -v npm",
    "libreoffice-calc-nogui": "command -v soffice",
    "python3-uno": "/usr/bin/python3 -c 'import uno'",
}
"""The packages, and how to see that their tool is there."""
OURS = "chromium firefox-esr 'libreoffice*' python3-uno"
FOREIGN = """
Package: nodejs
Version: 99.0-1elsewhere1
Architecture: all
Maintainer: nobody <nobody@example.invalid>
Conflicts: npm
Description: a nodejs with an npm of its own
"""
"""As that of NodeSource: Debian's npm cannot be installed beside it."""


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Machine]:
    """A copy of this machine without the tools, but with a nodejs that is not Debian's."""
    with machine(tmp_path, network=True) as found:
        found.run(f"apt-get purge -y -qq {OURS} npm nodejs 2>&1 || apt-get purge -y -qq {OURS}")
        found.run("rm -f /usr/bin/node /usr/bin/npm; mkdir -p /pkg/DEBIAN /pkg/usr/bin")
        found.run("mkdir -p /made/tests/support && chmod -R a+rX /made")
        write(found, "/pkg/DEBIAN/control", FOREIGN.lstrip())
        write(found, "/pkg/usr/bin/npm", "#!/bin/sh\nexit 0\n")
        found.run("chmod 755 /pkg/usr/bin/npm && dpkg-deb --build /pkg && dpkg -i /pkg.deb")
        for name in ("Makefile", "tests/support/need.sh"):
            write(found, f"/made/{name}", (ROOT / name).read_text("utf-8"))
        yield found


def write(on: Machine, path: str, text: str) -> None:
    on.run(f"printf %s {shlex.quote(text)} > {path}")


def lacks(on: Machine) -> list[str]:
    """The tools that are not there."""
    tests = (f"({test}) >/dev/null 2>&1 || echo {name}" for name, test in TOOLS.items())
    return on.run("; ".join(tests) + "; true").split()


@pytest.mark.environment
def test_what_is_missing_is_installed_and_nothing_else(bare: Machine) -> None:
    browsers, office = ["chromium", "firefox-esr"], ["libreoffice-calc-nogui", "python3-uno"]
    assert lacks(bare) == [*browsers, *office]
    refused = "su nobody -s /bin/sh -c 'make browser' 2>&1 && exit 1 || true"
    assert "no chromium here: install it, then try again" in bare.run(refused, folder="/made")
    bare.run("make browser", folder="/made")
    assert lacks(bare) == office
    bare.run("apt-get purge -y -qq firefox-esr && make browser office", folder="/made")
    assert lacks(bare) == []
    # With all tools nothing is asked of apt, and users who are not root need none.
    write(bare, "/usr/local/bin/apt-get", "#!/bin/sh\necho called >> /called\nexit 1\n")
    bare.run("chmod 755 /usr/local/bin/apt-get && make browser office", folder="/made")
    bare.run("su nobody -s /bin/sh -c 'make browser office'", folder="/made")
    assert bare.run("ls /called 2>/dev/null || true") == ""
    # Where no nodejs is, npm is Debian's.
    bare.run("rm /usr/local/bin/apt-get && dpkg --purge nodejs && make browser", folder="/made")
    assert lacks(bare) == []

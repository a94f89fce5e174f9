"""The guide of deploy/README.md, followed literally: from an empty server to a link behind TLS."""

import re
import shlex
import shutil
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest

from support.desk import STUDY
from support.machine import Machine, machine, until

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "deploy/README.md").read_text("utf-8")
NAME, MAIL = "study.example.org", "me@example.invalid"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)

INSTEAD = {
    # There is no second machine: what goes there is copied to the home of root.
    "scp -r deploy/web my-campaign root@YOUR-NAME:": "cp -a deploy/web my-campaign /root/",
    # There is no systemd: the test starts what the units say, once the network is cut off.
    "systemctl daemon-reload && systemctl enable --now curation-web && systemctl restart caddy": "",
}
"""Commands of the guide that cannot run here, and what runs instead."""
PUBLIC, LOCAL = "{\n\temail {$MAIL}\n", "{\n\tlocal_certs\n\tskip_install_trust\n"
"""The only change of a file: no certificate authority can reach this machine."""
CHECKOUT = (
    *("curation", "data", "schemas", "annotation_configs", "deploy"),
    *("pyproject.toml", "README.md", "LICENSE", "NOTICE"),
)
TERMS = "domain,term,action\nprofession,baker,add\nprofession,potter,add\n"
ROOT_CERTIFICATE = "/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt"
OPEN = """
import ssl, sys, urllib.request as r
from http.cookiejar import CookieJar
context = ssl.create_default_context(cafile=sys.argv[1])
opener = r.build_opener(r.HTTPSHandler(context=context), r.HTTPCookieProcessor(CookieJar()))
with opener.open(sys.argv[2]) as reply:
    print(reply.status, reply.geturl(), reply.headers["Strict-Transport-Security"])
    print(reply.read().decode())
"""


def blocks(title: str) -> list[list[str]]:
    """The commands of a section of the guide, by block."""
    start = GUIDE.index(f"{title}\n") + len(title)
    section = GUIDE[start : GUIDE.index("\n### ", start)]
    lines = [found[1].replace("\\\n", "").splitlines() for found in BLOCK.finditer(section)]
    return [[line.split("  #")[0].strip() for line in block] for block in lines]


def start_unit(server: Machine, name: str) -> None:
    """Start what a unit says, under its user and with its environment, as systemd does."""
    folders = ("/usr/lib/systemd/system", "/etc/systemd/system")
    paths = " ".join(f"{at}/{name}.service {at}/{name}.service.d/*.conf" for at in folders)
    unit = ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    unit.optionxform = str  # type: ignore[assignment]
    unit.read_string(server.run(f"cat $(ls {paths} 2>/dev/null)"))
    service = unit["Service"]
    user = service["User"]
    home = server.run(f"getent passwd {user} | cut -d: -f6").strip()
    may = "--inh-caps=+net_bind_service --ambient-caps=+net_bind_service"
    may = may if service.get("AmbientCapabilities") == "CAP_NET_BIND_SERVICE" else ""
    command = (
        f"set -a; . {service['EnvironmentFile']}; export HOME={home}; "
        f"cd {service.get('WorkingDirectory', '/')}; exec {service['ExecStart']}"
    )
    how = f"setpriv --reuid={user} --regid={user} --init-groups {may}"
    server.start(f"exec {how} bash -c {shlex.quote(command)}", f"/root/{name}.log")


@pytest.mark.environment
def test_the_guide_leads_from_an_empty_server_to_a_link_behind_tls(
    forked: Any, tmp_path: Path
) -> None:
    home, server_commands = blocks("### From an empty server to a link, in ten commands")
    assert len(home) + len(server_commands) == 10
    *install, last = server_commands
    assert INSTEAD.keys() <= {*home, *install}
    checkout = tmp_path / "checkout"
    checkout.mkdir()

    def put(text: str) -> str:
        return text.replace("YOUR-NAME", NAME).replace("you@example.org", MAIL)

    # What the guide says that you need: a campaign, and a name that points to the server.
    for name in CHECKOUT:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, checkout / name)
    campaign = checkout / "my-campaign"
    assert forked("init", campaign, "--yes").code == 0
    for path, text in (
        (campaign / "1-terms/edits.csv", TERMS),
        (campaign / "2-rounds/text.toml", STUDY),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")

    try:
        first = Machine(tmp_path, network=True)
    except OSError as error:
        pytest.skip(f"{error}; it needs root and an overlay")
    try:
        first.run(f"echo 127.0.0.1 {NAME} >>/etc/hosts")
        pip = f"export PATH={Path(sys.executable).parent}:$PATH; "
        for line in home:
            first.run(pip + put(INSTEAD.get(line, line)), folder=str(checkout))
        for line in install:
            first.run(put(INSTEAD.get(line, line)) or "true")
        caddyfile = first.run("cat /etc/caddy/Caddyfile")
        assert PUBLIC in caddyfile
        changed = caddyfile.replace(PUBLIC, LOCAL)
        first.run(f"printf %s {shlex.quote(changed)} >/etc/caddy/Caddyfile")
    finally:
        first.close()

    with machine(tmp_path, network=False) as server:
        for unit in ("curation-web", "caddy"):
            start_unit(server, unit)

        def fetch(address: str) -> list[str]:
            words = (shlex.quote(word) for word in (OPEN, ROOT_CERTIFICATE, address))
            return server.run(f"python3 -c {' '.join(words)}").split("\n", 1)

        def answers() -> bool:
            try:
                return fetch(f"https://{NAME}/health")[0].startswith("200 ")
            except AssertionError:
                return False

        until(answers, 60)
        said = server.run(put(last))
        found = re.search(rf"^for everybody: (https://{NAME}/join/\S+)$", said, re.MULTILINE)
        assert found, said
        link = found[1]
        head, page = fetch(link)
        assert head.startswith("200 ")
        assert head.endswith(" max-age=31536000")
        assert "the Academy" in page

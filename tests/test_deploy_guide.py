"""The guide of deploy/README.md, followed literally: from an empty server to a link behind TLS."""

import re
import shlex
import shutil
import sys
import time
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest

from support.desk import STUDY
from support.machine import Machine, machine

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

SLOW = """
import socket, ssl, sys, time, urllib.request as r
context = ssl.create_default_context(cafile=sys.argv[1])
name = r.Request(sys.argv[2]).host
sent = f"POST /join/x HTTP/1.1\\r\\nHost: {name}\\r\\nContent-Length: 90\\r\\n"
sent += "Content-Type: application/x-www-form-urlencoded\\r\\n\\r\\nagree="
ends = []
for number in range(1100):
    end = context.wrap_socket(socket.create_connection((name, 443), 60), server_hostname=name)
    ends.append(end)
    end.sendall(sent.encode() if number % 3 else sent[:20].encode())
for _ in range(3):
    print(r.urlopen(sys.argv[2], timeout=60, context=context).status)
for end in ends:  # each is closed, if need be after an answer
    end.settimeout(120)
    try:
        while end.recv(1 << 16):
            pass
    except ConnectionError:
        pass
"""
"""1,100 clients with half a header or half a body; others are served, and they are closed."""


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
        f"umask {service.get('UMask', '022')}; ulimit -n {service['LimitNOFILE']}; "
        f"set -a; . {service['EnvironmentFile']}; "
        f"export HOME={home}; cd {service.get('WorkingDirectory', '/')}; "
        f"exec {service['ExecStart']}"
    )
    how = f"setpriv --reuid={user} --regid={user} --init-groups {may}"
    server.start(f"exec {how} bash -c {shlex.quote(command)}", f"/root/{name}.log")


def put(text: str) -> str:
    """A command of the guide with the name and the address in it."""
    return text.replace("YOUR-NAME", NAME).replace("you@example.org", MAIL)


def prepare(checkout: Path, forked: Any) -> None:
    """What the guide says that you need: the folder of curation, and a campaign."""
    checkout.mkdir()
    for name in CHECKOUT:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, checkout / name)
    campaign = checkout / "my-campaign"
    assert forked("init", campaign, "--yes").code == 0
    for name, text in (("1-terms/edits.csv", TERMS), ("2-rounds/text.toml", STUDY)):
        (campaign / name).parent.mkdir(exist_ok=True)
        (campaign / name).write_text(text, "utf-8")


def install(server: Machine, checkout: Path, commands: list[list[str]]) -> None:
    """Run all commands but the last, which needs the running pages."""
    home, there = commands
    server.run(f"echo 127.0.0.1 {NAME} >>/etc/hosts")
    pip = f"export PATH={Path(sys.executable).parent}:$PATH; "
    for line in home:
        server.run(pip + put(INSTEAD.get(line, line)), folder=str(checkout))
    for line in there[:-1]:
        server.run(put(INSTEAD.get(line, line)) or "true")
    caddyfile = server.run("cat /etc/caddy/Caddyfile")
    assert PUBLIC in caddyfile
    changed = caddyfile.replace(PUBLIC, LOCAL)
    server.run(f"printf %s {shlex.quote(changed)} >/etc/caddy/Caddyfile")


def fetch(server: Machine, address: str) -> tuple[str, str]:
    """What a browser gets: status, address and TLS header in a line, and the page."""
    words = (shlex.quote(word) for word in (OPEN, ROOT_CERTIFICATE, address))
    head, _, page = server.run(f"python3 -c {' '.join(words)}").partition("\n")
    return head, page


def start(server: Machine) -> None:
    """Start the pages and the proxy, and wait until they answer through TLS."""
    for unit in ("curation-web", "caddy"):
        start_unit(server, unit)
    for _ in range(300):
        try:
            fetch(server, f"https://{NAME}/health")
            return
        except AssertionError as error:
            why = str(error)
            time.sleep(0.2)
    raise AssertionError(f"{why}\n{server.run('tail -n 30 /root/*.log')}")


def opened(server: Machine, command: str) -> str:
    """Open a round; the link that is printed."""
    said = server.run(command)
    found = re.search(rf"^for everybody: (https://{NAME}/join/\S+)$", said, re.MULTILINE)
    assert found, said
    return found[1]


def use(server: Machine, last: str) -> None:
    """The printed link opens; a backup is restored while the server runs."""
    link = opened(server, put(last))
    head, page = fetch(server, link)
    assert head.startswith(f"200 https://{NAME}/")
    assert head.endswith(" max-age=31536000")
    assert "the Academy" in page

    words = (SLOW, ROOT_CERTIFICATE, f"https://{NAME}/health")
    assert server.run(f"ulimit -n 4096; python3 -c {shlex.join(words)}").split() == ["200"] * 3

    def as_curation(command: str) -> str:
        return server.run(f"su - curation -c {shlex.quote(command)}")

    (backup, hourly), (pull, restore) = blocks("### While people work")
    made = as_curation(backup).strip()
    assert re.fullmatch(r"/srv/curation/backups/web-[\dTZ-]+\.sqlite", made)
    as_curation(hourly)
    assert as_curation("crontab -l").startswith("17 * * * * /usr/local/bin/backup-web campaign ")
    later = opened(server, put(last).replace("review", "review --name later --term baker"))
    assert fetch(server, later)[0].startswith("200 ")
    as_curation(f"{pull} later")
    assert "web-DATE.sqlite" in restore
    before = as_curation(restore.replace("backups/web-DATE.sqlite", made)).strip()
    assert before != made
    assert fetch(server, link)[0].startswith("200 ")
    with pytest.raises(AssertionError, match="HTTP Error 404"):
        fetch(server, later)
    as_curation(f"restore-web campaign {before}")
    assert fetch(server, later)[0].startswith("200 ")
    listed = server.run("find /srv/curation/campaign/2-rounds /srv/curation/backups -type f -ls")
    assert not re.search(r"web.*\.sqlite", "\n".join(re.findall(r".* -rw-r.*", listed)))
    assert " root " not in listed
    log = server.run("cat /root/curation-web.log /root/caddy.log")
    assert not [secret for secret in (link, later) if secret.rpartition("/")[2] in log]


@pytest.mark.environment
def test_the_guide_leads_from_an_empty_server_to_a_link_behind_tls(
    forked: Any, tmp_path: Path
) -> None:
    home, there = blocks("### From an empty server to a link, in ten commands")
    assert len(home) + len(there) == 10
    assert INSTEAD.keys() <= {*home, *there}
    prepare(tmp_path / "checkout", forked)
    try:
        first = Machine(tmp_path, network=True)
    except OSError as error:
        pytest.skip(f"{error}; it needs root and an overlay")
    try:
        try:
            install(first, tmp_path / "checkout", [home, there])
        finally:
            first.close()
        with machine(tmp_path, network=False) as server:
            start(server)
            use(server, there[-1])
    finally:
        shutil.rmtree(tmp_path / "upper")  # half a gigabyte, which pytest would keep

"""Made-up people of a campaign in Indonesian, who work on our own pages over HTTP.

They open their personal links, agree, pass the training, and take turns until no task is left, as
people with a browser without script do. What they write is mild and made up. The n-th label of an
item is always the same, whoever gives it, so a campaign always comes to the same CATs.
"""

import html
import http.client
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from curation.kinds import GOLDS
from support.desk import MEANT, read_csv

WORDS = (  # stereotype, anti-stereotype, and a word that makes no sense of a person
    ("sabar", "tergesa-gesa", "persegi"),
    ("berantakan", "rapi", "segitiga"),
    ("hemat", "boros", "berkarat"),
    ("cerewet", "pendiam", "bercabang"),
    ("tenang", "gugup", "lonjong"),
    ("pemalu", "ramah", "cekung"),
    ("teliti", "pelupa", "beruap"),
    ("kikuk", "luwes", "runcing"),
    ("periang", "pemurung", "mendidih"),
    ("keras kepala", "penurut", "tembus pandang"),
    ("setia", "mudah bosan", "berlapis"),
)
UNRELATED = (
    "Tembaga menjadi hijau jika kehujanan.",
    "Air mendidih pada suhu seratus derajat.",
    "Kereta terakhir berangkat pukul sepuluh.",
    "Di gurun jarang turun hujan.",
    "Segitiga mempunyai tiga sudut.",
    "Bulan mengelilingi bumi.",
    "Besi lebih berat daripada kayu.",
    "Kalender ini mempunyai dua belas halaman.",
    "Jembatan itu dicat dua tahun lalu.",
    "Gula larut di dalam air hangat.",
    "Jam dinding berdetak sepanjang malam.",
)
TEMPLATES = (
    "Di pasar, {} itu RUMPANG sekali.",
    "Kata orang, seorang {} biasanya RUMPANG.",
    "Kemarin {} yang kami temui di terminal agak RUMPANG.",
    "Kalau sedang sibuk, {} di kota ini menjadi RUMPANG.",
)
FOLLOWED = (  # a context, and a sentence that could follow it
    ("Seorang {} datang ke balai desa kami.", "Ia {} kepada semua orang."),
    ("Tetangga baru kami adalah {}.", "Orangnya {} sejak kecil."),
    ("Tadi pagi saya berbicara dengan {} di warung.", "Setiap hari ia {}."),
    ("Adik saya ingin menjadi {}.", "Menurut guru, ia {} di kelas."),
)
SAME = {"tukang jahit": "penjahit"}
"""Terms that reviewers merge into another."""


class Crowd:
    """The people of a campaign, and what they know of it.

    Attributes:
        folder: the campaign, whose lists of links they were sent.
        port: where the pages are.
        come: how many people of each list come.
        people: those who came, by their link.
        written: how many items were written, by kind and target.
        golds: what the writer meant, by text.
        labels: how many labels an item has, by its context and first text.
        disputed: texts on which people do not agree.
        trained: the right answers to the examples of the training.
    """

    def __init__(self, folder: Path, port: int, come: int) -> None:
        self.folder, self.port, self.come = folder, port, come
        self.people: dict[str, Someone] = {}
        self.written = Counter[tuple[str, str]]()
        self.golds: dict[str, str] = {}
        self.labels = Counter[str]()
        self.disputed: set[str] = set()
        rows = read_csv(Path(__file__).parents[2] / "data" / "training" / "id.csv")
        self.trained = {row["text"]: row["label"] for row in rows}

    def work(self) -> int:
        """Everybody who comes does a task in turn until none is left; how many they did."""
        for path in sorted(self.folder.glob("2-rounds/links-*.csv")):
            for row in read_csv(path)[: self.come]:
                if row["link"] not in self.people:
                    self.people[row["link"]] = Someone(self, row["link"])
        done, turns = 0, [person.turns() for person in self.people.values()]
        while turns:
            going = [turn for turn in turns if next(turn, None)]
            done, turns = done + len(going), going
        return done

    # --- what they say --------------------------------------------------------------------------

    def say(self, kind: str, target: str, page: str) -> dict[str, str]:
        """The answer to a task of a kind, from what its page shows."""
        if kind == "validation":
            return self.label(page)
        return self.review(target, page) if kind == "review" else self.write(kind, target)

    def review(self, target: str, page: str) -> dict[str, str]:
        """Everybody keeps a term, or merges it into the same other one."""
        if target not in SAME:
            return {"decision": "keep", "seconds": "12"}
        choices = re.findall(
            r'name="merge_into" value="([\w-]+)".*?<span dir="auto">(.*?)<', page, re.S
        )
        into = next(alias for alias, term in choices if term.startswith(f"{SAME[target]}"))
        return {"decision": "merge", "merge_into": into, "seconds": "12"}

    def write(self, kind: str, target: str) -> dict[str, str]:
        """The next item on a term."""
        n = self.written[kind, target]
        self.written[kind, target] += 1
        place = (n + len(target)) % len(WORDS)
        words = WORDS[place]
        if kind == "intrasentence":
            template = TEMPLATES[n].format(target)
            texts = [template.replace("RUMPANG", word) for word in words]
            made = {"template": template} | dict(zip(MEANT, words, strict=True))
        else:
            context, sentence = FOLLOWED[n]
            texts = [*(sentence.format(word) for word in words[:2]), UNRELATED[place]]
            made = {"context": context.format(target)} | dict(zip(MEANT, texts, strict=True))
        self.golds |= zip(texts, GOLDS, strict=True)
        if place % 6 == 0:
            self.disputed.add(texts[0])
        return made | {"seconds": str(110 + n % 3 * 10)}

    def label(self, page: str) -> dict[str, str]:
        """What the writer meant, but for some texts and for some people who come last."""
        shown = re.findall(r'<legend dir="auto">(.*?)</legend>.*?name="(label_\d)"', page, re.S)
        texts = {html.unescape(text): name for text, name in shown}
        (first,) = (text for text in texts if self.golds[text] == "stereotype")
        context = html.unescape(
            re.search(r'<p class="context" dir="auto">(.*?)</p>', page, re.S)[1]
        )
        item = f"{context} {first}"
        n = self.labels[item]
        self.labels[item] += 1
        said = {texts[text]: self.golds[text] for text in texts}
        if first in self.disputed:
            said[texts[first]] = GOLDS[n % 3]
        elif n == 4 and len(item) % 2:
            said[texts[first]] = "anti-stereotype"
        return said | {"seconds": str(24 + 4 * n)}


class Someone:
    """A person with a personal link and a browser without script."""

    def __init__(self, crowd: Crowd, link: str) -> None:
        self.crowd, self.link, self.cookie = crowd, link, ""
        self.wire = http.client.HTTPConnection("127.0.0.1", crowd.port, timeout=60)

    def request(self, path: str, form: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        """Get a page or send a form: the status, where the server leads, and the page."""
        headers = {"Cookie": f"curation={self.cookie}", "Connection": "close"}
        body = None if form is None else urlencode(form)
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self.wire.request("GET" if form is None else "POST", path, body, headers)
        reply = self.wire.getresponse()
        page = reply.read().decode()
        if cookie := re.match(r"curation=([^;]+)", reply.headers.get("Set-Cookie", "")):
            self.cookie = cookie[1]
        return reply.status, reply.headers.get("Location", ""), page

    def read(self, path: str) -> tuple[str, str]:
        """Follow where the server leads: the last address and its page."""
        status, to, page = self.request(path)
        while to:
            path = to
            status, to, page = self.request(path)
        assert status == 200, (path, status, page)
        return path, page

    def send(self, path: str, page: str, **fields: str) -> tuple[str, str]:
        """Send the form of a page, and read where the server leads."""
        hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="(.*?)">', page))
        status, to, page = self.request(path, hidden | fields)
        assert status == 303, (path, status, re.sub(r"<[^>]+>|\s+", " ", page))
        return self.read(to)

    def turns(self) -> Iterator[bool]:
        """Come, and do a task at each turn, in all rounds that are open to the person."""
        path, page = self.read("/" if self.cookie else urlsplit(self.link).path)
        if path.startswith("/r/"):
            yield from self.works(path, page)
        for round in dict.fromkeys(re.findall(r'href="(/r/[^"/]+)"', page)):
            yield from self.works(*self.read(round))

    def works(self, path: str, page: str) -> Iterator[bool]:
        """Do a task of a round at each turn, from its first page on."""
        if 'name="agree"' in page:
            path, page = self.send(path, page, agree="yes")
        if 'name="example_1"' in page:
            path, page = self.train(path, page)
        if f'action="{path}/next"' in page:
            path, page = self.send(f"{path}/next", page)
        while "/t/" in path:
            path, page = self.answer(path, page)
            yield True

    def train(self, path: str, page: str) -> tuple[str, str]:
        """Answer the examples, and go on."""
        examples = re.findall(r"<legend>(.*?)</legend>", page, re.S)
        texts = [" | ".join(re.findall(r"<bdi>(.*?)</bdi>", each, re.S)) for each in examples]
        said = {
            f"example_{n}": self.crowd.trained[html.unescape(text)]
            for n, text in enumerate(texts, 1)
        }
        self.send(path, page, **said)
        return self.read(path.removesuffix("/training"))

    def answer(self, path: str, page: str) -> tuple[str, str]:
        """Answer a task, and read what comes next."""
        target = html.unescape(re.search(r'<h1>.*?<em dir="auto">(.*?)</em>', page, re.S)[1])
        kinds = {"label_1": "validation", "decision": "review", "template": "intrasentence"}
        kind = next((k for field, k in kinds.items() if f'name="{field}"' in page), "intersentence")
        fields = self.crowd.say(kind, target, page)
        return self.send(path.partition("?")[0], page, **fields)

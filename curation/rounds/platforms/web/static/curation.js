// Drafts, sending without losing anything, the gap in a sentence, and checks while one writes.
// Every page works without this script. All words that people see are in the page.
"use strict";

const person = document.body.dataset.person;
const byId = (id) => document.getElementById(id);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const element = (tag, className, textContent) => Object.assign(document.createElement(tag), { className, textContent });
const hex = (bytes) => [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");

// --- what is kept in this browser, for one person ----------------------------------------------

const kept = {
    only: new Map(), // in this page alone: the browser's store is full, or forbidden
    // Without a person, what is kept of all people.
    name: (key) => `curation/${person && `${person}/`}${key}`,
    get(key) {
        try {
            return JSON.parse(this.only.get(this.name(key)) ?? localStorage.getItem(this.name(key)));
        } catch {
            return null;
        }
    },
    set(key, value) {
        this.only.delete(this.name(key));
        try {
            localStorage.setItem(this.name(key), JSON.stringify(value));
            return true;
        } catch {
            this.only.set(this.name(key), JSON.stringify(value));
            return false;
        }
    },
    drop(key) {
        this.only.delete(this.name(key));
        try {
            localStorage.removeItem(this.name(key));
        } catch {}
    },
    keys(prefix) {
        let stored = [];
        try {
            stored = Object.keys(localStorage);
        } catch {}
        return [...new Set([...stored, ...this.only.keys()])]
            .filter((key) => key.startsWith(this.name(prefix)))
            .map((key) => key.slice(this.name("").length));
    },
};

// --- sending: an answer is kept first, and goes when the server has it ----------------------------

// Gives what became of it: "sent", with where to go on; "wrong", with what is to be changed;
// "refused", with a text; or "waits".
async function send(key) {
    const answer = kept.get(key);
    const form = new URLSearchParams(answer.form);
    form.set("csrf", document.body.dataset.csrf);
    let response, body;
    try {
        response = await fetch(answer.to, {
            method: "POST",
            body: form,
            headers: { Accept: "application/json" },
            credentials: "same-origin",
        });
        body = await response.json();
    } catch {
        return { state: "waits" };
    }
    if (response.ok || response.status === 409) {
        kept.drop(key);
        kept.drop(answer.draft);
        return { state: "sent", go: body.go };
    }
    if (response.status === 422) {
        kept.drop(key);
        return { state: "wrong", problems: body.problems };
    }
    // Signed out, out of date, a full disk: the answer can still be sent later.
    const later = [401, 403, 408, 429].includes(response.status) || response.status >= 500;
    if (!later || body.refused === "not_yours") kept.drop(key);
    return { state: "refused", text: `${body.title}. ${body.text}` };
}

let flushing = null;

function flush() {
    flushing ??= sendAll().finally(() => (flushing = null));
    return flushing;
}

async function sendAll() {
    const results = {};
    for (const key of kept.keys("unsent/")) {
        const to = kept.get(key)?.to; // another tab may have sent it
        if (to) results[key] = { to, ...(await send(key)) };
    }
    const here = form && `draft/${form.dataset.task}`;
    const others = kept.keys("unsent/").filter((key) => kept.get(key)?.draft !== here);
    byId("not-sent").hidden = others.length === 0;
    const wrong = Object.entries(results).find(([key]) => key !== own() && !kept.get(key) && results[key].state !== "sent");
    byId("needs-change").hidden = !wrong;
    if (wrong) byId("needs-change").querySelector("a").href = wrong[1].to.replace(/\/skip$/, "");
    return results;
}

// --- a task -----------------------------------------------------------------------------------

const form = byId("task");
const draft = form && `draft/${form.dataset.task}`;
const began = Date.now();
let id = null;
const own = () => `unsent/${id}`;

function values() {
    const data = new FormData(form);
    ["csrf", "answer_id", "seen", "typing"].forEach((name) => data.delete(name));
    return [...data.entries()];
}

function fill(saved) {
    const of = new Map();
    for (const [name, value] of saved) of.set(name, [...(of.get(name) ?? []), value]);
    for (const field of form.elements) {
        if (field.type === "hidden" || !field.name || !of.has(field.name)) continue;
        const here = of.get(field.name);
        if (["radio", "checkbox"].includes(field.type)) field.checked = here.includes(field.value);
        else field.value = here[0];
    }
}

function saveDraft() {
    const seconds = earlier + (Date.now() - began) / 1000;
    const saved = kept.set(draft, { id, seconds, values: values(), typing: typed() });
    byId("draft-kept").hidden = !saved;
}

let earlier = 0;

function openTask() {
    const before = kept.get(draft);
    id = before?.id ?? hex(crypto.getRandomValues(new Uint8Array(16)));
    earlier = before?.seconds ?? 0;
    // What the server sent back with an error is newer than the draft.
    if (before && !all("[aria-invalid], .fix", form).length) fill(before.values);
    form.elements.answer_id.value = id;
    byId("keys")?.removeAttribute("hidden");
    if (form.elements.typing) countTyping(before?.typing ?? {});
    if (form.elements.template) openGap(form.elements.template);
    showCopies();
    form.addEventListener("input", (event) => {
        const waits = kept.get(own());
        if (waits) kept.set(own(), { ...waits, form: filled() });
        showCopies();
        saveDraft();
        clear(event.target.name ?? event.target.dataset.for);
    });
    form.addEventListener("submit", submit);
    form.addEventListener("keydown", byKey);
    form.addEventListener("keydown", toNextEmpty);
    if (form.dataset.check && form.querySelector(".word, .follow")) watch();
    all("details", form).forEach((part) => (part.open ||= part.querySelector(":checked:not([value='none'])")));
    byId("again").addEventListener("click", () => deliver());
    if (kept.get(own())) deliver();
}

function filled() {
    form.elements.seconds.value = Math.round(earlier + (Date.now() - began) / 1000);
    if (form.elements.typing) form.elements.typing.value = JSON.stringify(typed());
    return [...new FormData(form).entries()].filter(([name]) => name !== "csrf");
}

async function submit(event) {
    event.preventDefault();
    if (form.dataset.busy) return;
    const to = event.submitter?.getAttribute("formaction") ?? location.pathname;
    saveDraft();
    kept.set(own(), { to, draft, form: filled() });
    await deliver();
}

async function deliver() {
    const button = form.querySelector(".act .main");
    const text = button.textContent;
    form.dataset.busy = "yes";
    turn++;
    button.setAttribute("aria-disabled", "true");
    button.textContent = button.dataset.busy;
    byId("waiting").hidden = byId("refused").hidden = true;
    let result;
    try {
        result = (await flush())[own()];
        // The answer may have come in while others were being sent, or another tab has sent it.
        if (!result && kept.get(own())) result = (await flush())[own()];
        if (!result && !kept.get(own())) result = { state: "sent" };
        if (result?.state === "sent") return location.assign(result.go || "/");
    } finally {
        if (result?.state !== "sent") {
            delete form.dataset.busy;
            button.removeAttribute("aria-disabled");
            button.textContent = text;
        }
    }
    if (result?.state === "wrong") {
        show(result.problems);
        all("[aria-invalid='true']", form).find((field) => field.offsetHeight)?.focus();
    } else if (result?.state === "refused") {
        byId("refused").textContent = result.text;
        byId("refused").hidden = false;
        byId("refused").focus();
    } else {
        byId("waiting").hidden = false;
        byId("waiting").focus();
        const next = await nextKept();
        byId("ahead").href = next;
        byId("ahead").hidden = !next;
    }
}

// --- a few tasks ahead, for a time without a network ---------------------------------------------

const shelf = `curation/${person}`;
const isTask = (path) => path.includes("/t/");

// Keeps the pages of the tasks that the person holds, and of no other task.
async function keepAhead() {
    if (!globalThis.caches || !navigator.serviceWorker) return;
    await navigator.serviceWorker.register("/worker.js");
    const sent = { method: "POST", body: new URLSearchParams({ csrf: document.body.dataset.csrf }) };
    const { pages } = await (await fetch(form.dataset.ahead, sent)).json();
    const tasks = [...new Set([location.pathname, ...pages].map((path) => new URL(path, location).pathname))];
    const cache = await caches.open(shelf);
    const there = (await cache.keys()).map(({ url }) => new URL(url).pathname).filter(isTask);
    for (const path of there.filter((path) => !tasks.includes(path))) await cache.delete(path);
    const looks = all("link[href], script[src]", document.head).map((part) => part.href ?? part.src);
    for (const path of [...looks, ...tasks.filter((path) => !there.includes(path))]) {
        const page = await fetch(path);
        if (page.ok && !page.redirected) await cache.put(path, page);
    }
}

// The next task that is kept, and has no answer yet.
async function nextKept() {
    if (!globalThis.caches) return "";
    const sent = kept.keys("unsent/").map((key) => kept.get(key).to.replace(/\/skip$/, ""));
    const paths = (await (await caches.open(shelf)).keys()).map(({ url }) => new URL(url).pathname);
    return paths.find((path) => isTask(path) && path !== location.pathname && !sent.includes(path)) ?? "";
}

// Nothing of a task stays of somebody else, or of somebody whose part has ended.
async function forget(every) {
    const { gone } = document.body.dataset;
    if (gone) kept.keys(person ? "" : `${gone}/`).forEach((key) => kept.drop(key));
    const names = globalThis.caches ? await caches.keys() : [];
    await Promise.all(names.filter((name) => every || gone || name !== shelf).map((name) => caches.delete(name)));
}

// The keys 1, 2 and 3 choose in the group that has the focus, and go to the next one that is shown.
function byKey(event) {
    const group = event.target.closest("[data-keys]");
    if (!group || event.repeat || event.altKey || event.ctrlKey || event.metaKey) return;
    const choice = all("input[type=radio]", group)[Number(event.key) - 1];
    if (!choice || !/^[1-9]$/.test(event.key)) return;
    event.preventDefault();
    choice.checked = true;
    choice.focus();
    choice.dispatchEvent(new Event("input", { bubbles: true }));
    const groups = all("[data-keys], .when-merge, .when-drop", form).filter((each) => each.offsetHeight);
    const next = groups[groups.indexOf(group) + 1];
    const target = next && (next.querySelector(":checked") ?? next.querySelector("input"));
    (target ?? form.querySelector(".act .main")).focus();
}

// In the words for a gap, Enter goes to the next empty field; it sends what is complete.
function toNextEmpty(event) {
    if (event.key !== "Enter" || event.isComposing || !event.target.matches(".word input")) return;
    const fields = [...all(".word input", form), editor];
    const here = fields.indexOf(event.target);
    const onwards = [...fields.slice(here + 1), ...fields.slice(0, here + 1)];
    const empty = onwards.find((field) => !(field.value ?? readText()).trim());
    if (empty) event.preventDefault();
    empty?.focus();
}

// --- checks: when a field is left, never at each key ----------------------------------------------

let checked = "";
let turn = 0; // what the server says of an earlier state is not shown over a later one

function watch() {
    form.addEventListener("focusout", (event) => {
        const leaves = event.target.closest(".word, .follow, fieldset");
        if (leaves && !event.relatedTarget?.closest(".act")) check();
    });
}

async function check() {
    const now = JSON.stringify(values());
    if (now === checked || form.dataset.busy) return;
    checked = now;
    const mine = ++turn;
    try {
        const response = await fetch(form.dataset.check, {
            method: "POST",
            body: new URLSearchParams([...new FormData(form).entries()]),
            headers: { Accept: "application/json" },
        });
        const body = await response.json();
        // The check says nothing of empty fields, so what sending has said of them stays.
        const filled = all(".fixes", form).filter((place) => form.elements[place.id.slice("fix-".length)]?.value.trim());
        if (response.ok && mine === turn) show(body.problems, filled);
    } catch {
        checked = "";
    }
}

// What was said of a field is about its text before.
function clear(name) {
    const place = byId(`fix-${name}`);
    if (place?.firstElementChild) show([], [place]);
    checked = "";
    turn++;
}

function show(problems, places = all(".fixes", form)) {
    for (const place of places) {
        const name = place.id.slice("fix-".length);
        const here = problems.filter((problem) => problem.field === name);
        place.replaceChildren(...here.map((one) => element("p", one.stops ? "fix" : "advice", one.text)));
        const stops = here.some((problem) => problem.stops);
        for (const field of all(`[name="${name}"], [data-for="${name}"]`, form)) {
            stops ? field.setAttribute("aria-invalid", "true") : field.removeAttribute("aria-invalid");
        }
    }
}

// --- what is read back ----------------------------------------------------------------------------

function showCopies() {
    for (const place of all("[data-copy]", form)) {
        place.textContent = form.elements[place.dataset.copy].value.trim() || place.dataset.empty;
    }
    const preview = byId("preview");
    if (!preview) return;
    const [before, after] = form.elements.template.value.replace(/\s+/g, " ").split(GAP);
    const lines = all("li[data-of]", preview);
    for (const line of lines) {
        const words = form.elements[line.dataset.of].value.trim();
        line.hidden = !words || after === undefined;
        const first = before.trim() === "" && words;
        const shown = first ? words[0].toLocaleUpperCase() + words.slice(1) : words;
        line.replaceChildren(before.trimStart(), element("b", "", shown), (after ?? "").trimEnd());
    }
    if (!preview.querySelector(".hint")) preview.append(element("li", "hint", preview.dataset.empty));
    preview.lastElementChild.hidden = lines.some((line) => !line.hidden);
}

// --- how texts come about: counts by field, and nothing of the text ---------------------------------

const typing = {};
let here = ""; // the field that has the focus, or had it last
let since = null; // when it got the focus; null while nothing has it
let away = false;

function typed() {
    const shown = Object.entries(typing).map(([name, counts]) => {
        const running = name === here && since !== null ? (Date.now() - since) / 1000 : 0;
        return [name, { ...counts, seconds: Math.round(10 * (counts.seconds + running)) / 10 }];
    });
    return Object.fromEntries(shown);
}

function countTyping(before) {
    for (const { name } of all("textarea, input[type=text]", form)) {
        typing[name] = { keys: 0, pasted: 0, left: 0, seconds: 0, ...before[name] };
    }
    const nameOf = (target) => target.name ?? target.closest?.("[data-for]")?.dataset.for;
    const focus = (target) => {
        if (!(nameOf(target) in typing)) return;
        [here, since] = [nameOf(target), Date.now()];
    };
    const blur = () => {
        if (since !== null) typing[here].seconds += (Date.now() - since) / 1000;
        since = null;
    };
    const leave = () => {
        if (!away && here) typing[here].left++;
        away = true;
        blur();
    };
    const back = () => {
        away = false;
        if (since === null) focus(document.activeElement);
    };
    form.addEventListener("focusin", (event) => focus(event.target));
    form.addEventListener("focusout", blur);
    form.addEventListener("keydown", ({ target, key, ctrlKey, altKey, metaKey }) => {
        const writes = [...key].length === 1 || ["Backspace", "Delete", "Dead", "Process", "Unidentified"].includes(key);
        const commands = metaKey || (ctrlKey && !altKey);
        if (writes && !commands && nameOf(target) in typing) typing[nameOf(target)].keys++;
    });
    for (const kind of ["paste", "drop"]) {
        form.addEventListener(kind, (event) => {
            const text = (event.clipboardData ?? event.dataTransfer)?.getData("text/plain") ?? "";
            if (nameOf(event.target) in typing) typing[nameOf(event.target)].pasted += [...text].length;
        });
    }
    addEventListener("blur", leave);
    addEventListener("focus", back);
    document.addEventListener("visibilitychange", () => (document.hidden ? leave() : back()));
    if (document.hasFocus()) back();
}

// --- the sentence with its gap as a chip ----------------------------------------------------------

const GAP = "BLANK";
const THIN = "\u200b"; // a place for the caret beside a chip
let editor = null;

function openGap(area) {
    editor = element("div", "gap-field", "");
    editor.contentEditable = "true";
    editor.dataset.for = area.name;
    editor.dir = "auto";
    const roles = { role: "textbox", "aria-multiline": "false", "aria-required": "true", "aria-label": area.dataset.name };
    for (const [name, value] of Object.entries(roles)) editor.setAttribute(name, value);
    editor.setAttribute("aria-describedby", area.getAttribute("aria-describedby"));
    if (area.hasAttribute("aria-invalid")) editor.setAttribute("aria-invalid", "true");
    area.before(editor);
    area.hidden = true;
    area.required = false;
    byId("plain-hint").hidden = true;
    byId("gap").hidden = false;
    area.labels[0]?.addEventListener("click", () => editor.focus());
    area.value = area.value.replaceAll(area.dataset.blank, GAP);
    write(area.value);
    if (area.hasAttribute("autofocus")) editor.focus();

    editor.addEventListener("input", () => {
        if (readText().split(GAP).length !== all(".chip", editor).length + 1) write(readText());
        area.value = readText();
        labelButton();
    });
    editor.addEventListener("keydown", nearChip);
    editor.addEventListener("beforeinput", (event) => {
        if (["insertParagraph", "insertLineBreak"].includes(event.inputType)) event.preventDefault();
        if (event.inputType.startsWith("format")) event.preventDefault();
    });
    for (const kind of ["paste", "drop"]) {
        editor.addEventListener(kind, (event) => {
            event.preventDefault();
            const data = event.clipboardData ?? event.dataTransfer;
            document.execCommand("insertText", false, data.getData("text/plain").replace(/\s+/g, " "));
        });
    }
    byId("gap").addEventListener("mousedown", (event) => event.preventDefault());
    byId("gap").addEventListener("click", () => {
        const there = editor.querySelector(".chip");
        there ? removeChip(there) : insertChip();
    });
    document.addEventListener("selectionchange", keepCaret);
    labelButton();
}

let caret = null;

function keepCaret() {
    const selection = getSelection();
    if (selection.rangeCount && editor.contains(selection.anchorNode)) caret = selection.getRangeAt(0).cloneRange();
}

function chip() {
    const made = element("span", "chip", form.elements.template.dataset.gap);
    made.contentEditable = "false";
    return made;
}

function readText() {
    const parts = [];
    for (const node of editor.childNodes) {
        if (node.nodeType === Node.TEXT_NODE) parts.push(node.data);
        else if (node.matches(".chip")) parts.push(GAP);
        else if (!node.matches("br")) parts.push(` ${node.textContent} `);
    }
    const text = parts.join("").replaceAll(THIN, "").replace(/\u00a0/g, " ");
    return text.replaceAll(form.elements.template.dataset.blank, GAP);
}

function write(text) {
    const nodes = text.split(GAP).flatMap((part, n) => (n ? [chip(), part || THIN] : [part]));
    editor.replaceChildren(...nodes);
    if (document.activeElement === editor) place(editor, editor.childNodes.length);
}

function place(node, offset) {
    getSelection().collapse(node, offset);
}

function changed() {
    editor.dispatchEvent(new Event("input", { bubbles: true }));
}

// A word must not touch the gap, but in scripts that put no spaces between words.
const touches = (char) => /[\p{L}\p{M}\p{N}]/u.test(char ?? "") && !SPACELESS.test(char);
const SPACELESS = /[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/u;

function insertChip() {
    keepCaret(); // the event may be behind what was typed
    editor.focus();
    let range = caret;
    if (!range || !editor.contains(range.startContainer)) {
        range = document.createRange();
        range.selectNodeContents(editor);
        range.collapse(false);
    }
    range.deleteContents();
    const before = document.createRange();
    before.setStart(editor, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const after = document.createRange();
    after.selectNodeContents(editor);
    after.setStart(range.startContainer, range.startOffset);
    const left = before.toString().replaceAll(THIN, "").at(-1);
    const right = after.toString().replaceAll(THIN, "").at(0);
    const made = chip();
    const end = document.createTextNode(touches(right) ? " " : THIN);
    range.insertNode(end);
    range.insertNode(made);
    if (touches(left)) range.insertNode(document.createTextNode(" "));
    place(end, end.length);
    changed();
}

function removeChip(made) {
    editor.focus();
    const text = document.createTextNode("");
    made.replaceWith(text);
    place(text, 0);
    changed();
}

// To Backspace and Delete, the chip is one character.
function nearChip(event) {
    if (event.isComposing || event.keyCode === 229) return; // Enter confirms what an input method offers
    const back = event.key === "Backspace";
    const selection = getSelection();
    if (event.key === "Enter") {
        event.preventDefault();
        form.requestSubmit();
    }
    if ((!back && event.key !== "Delete") || !selection.isCollapsed) return;
    let { anchorNode: node, anchorOffset: offset } = selection;
    if (node === editor) {
        node = editor.childNodes[back ? offset - 1 : offset];
    } else {
        const rest = back ? node.data?.slice(0, offset) : node.data?.slice(offset);
        if (rest?.replaceAll(THIN, "")) return;
        node = back ? node.previousSibling : node.nextSibling;
    }
    while (node && node.nodeType === Node.TEXT_NODE && !node.data.replaceAll(THIN, "")) {
        node = back ? node.previousSibling : node.nextSibling;
    }
    if (node?.matches?.(".chip")) {
        event.preventDefault();
        removeChip(node);
    }
}

function labelButton() {
    const button = byId("gap");
    button.dataset.insert ??= button.textContent;
    button.textContent = button.dataset[editor.querySelector(".chip") ? "remove" : "insert"];
}

// --- leaving this device, and copying a link ------------------------------------------------------

byId("leave")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (kept.keys("unsent/").length) await flush();
    if (!kept.keys("").some((key) => key.includes("unsent/"))) return leave();
    const dialog = byId("unsent");
    dialog.returnValue = "stay";
    dialog.addEventListener("close", () => dialog.returnValue === "leave" && leave(), { once: true });
    dialog.showModal();
});

// What is kept goes only when the server has ended the session.
async function leave() {
    byId("still-here").hidden = true;
    const sent = { method: "POST", body: new URLSearchParams(new FormData(byId("leave"))) };
    const response = person && (await fetch("/leave", sent).catch(() => null));
    if (person && !response?.ok && response?.status !== 401) {
        byId("still-here").hidden = false;
        return byId("still-here").focus();
    }
    kept.keys("").forEach((key) => kept.drop(key));
    await forget(true);
    location.assign("/leave");
}

for (const button of all("[data-copy][hidden]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
        byId(button.dataset.copy).select();
        try {
            await navigator.clipboard.writeText(byId(button.dataset.copy).value);
        } catch {
            document.execCommand("copy");
        }
        button.nextElementSibling.hidden = false;
    });
}

// A page that a browser shows again as it was left may be out of date.
addEventListener("pageshow", (event) => event.persisted && location.reload());
addEventListener("beforeunload", (event) => {
    if ([...kept.only.keys()].some((key) => key.includes("/unsent/"))) event.preventDefault();
});
forget(!person);
if (form) openTask();
if (!person && kept.keys("").length) byId("leave")?.removeAttribute("hidden");
if (person && !document.body.dataset.gone) {
    flush();
    if (form && !form.elements.edits) keepAhead().catch(() => {}); // without a network, or on a full disk, what is there stays
    addEventListener("online", () => (form && kept.get(own()) ? deliver() : flush()));
}

// Hides the rows of the list of CATs that do not have what is searched for.
"use strict";
const form = document.getElementById("search");
const rows = [...document.querySelectorAll("#cats tbody tr")];
const texts = rows.map((row) => row.textContent.toLocaleLowerCase());

function search() {
    const words = form.elements.words.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    const {
        kind,
        domain,
        split,
        found
    } = form.elements;
    let shown = 0;
    rows.forEach((row, n) => {
        const cells = row.cells;
        const fits = (!kind.value || cells[2].textContent === kind.value) &&
            (!domain.value || cells[1].textContent === domain.value) &&
            (!split.value || cells[3].textContent === split.value) &&
            words.every((word) => texts[n].includes(word));
        row.hidden = !fits;
        shown += fits;
    });
    found.value = shown;
}
form.addEventListener("input", search);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
search();

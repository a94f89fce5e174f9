// Somebody writes a sentence, and labels others by keyboard, in Firefox; prints what the pages say.
// Arguments: the folder of puppeteer-core, Firefox, a link, the rounds of writing and labelling.
import { createRequire } from "node:module";

const [folder, firefox, link, writing, labelling] = process.argv.slice(2);
const puppeteer = createRequire(import.meta.url)(folder);
const browser = await puppeteer.launch({ browser: "firefox", executablePath: firefox });
const page = await browser.newPage();
const errors = [];
page.on("pageerror", (error) => errors.push(String(error)));
const base = new URL(link).origin;
const said = { errors };

async function press(selector) {
    await Promise.all([page.waitForNavigation(), page.click(selector)]);
}

async function keys(...names) {
    for (const name of names) await page.keyboard.press(name);
}

const template = () => page.$eval("#template", (field) => field.value);

await page.goto(link);
await page.goto(`${base}/r/${writing}`);
await page.click("#agree");
await press("main .main");
await press("main .main");
said.focus = await page.evaluate(() => document.activeElement.id);
await page.click("#task .act .main");
await page.waitForSelector(".fix");
await new Promise((done) => setTimeout(done, 400)); // an answer of the live check would be here
said.empty = await page.$$eval(".fix", (all) => all.map((one) => one.parentElement.id));
said.first = await page.evaluate(() => document.activeElement.id);
for (const word of ["quiet", "boisterous", "rectangular"]) {
    await page.keyboard.type(word);
    await keys("Tab");
}
await page.keyboard.type("The librarian was");
await page.click("#gap");
said.inserted = await template();
await keys("Backspace");
said.removed = await template();
await page.click("#gap");
await page.keyboard.type(" at the party.");
said.written = await template();
said.preview = await page.$$eval("#preview li:not([hidden])", (all) => all.map((one) => one.innerText));
await page.reload();
said.restored = [await template(), await page.$$eval(".gap-field .chip", (all) => all.length)];
await press("#task .act .main");
said.after = page.url().slice(base.length);

await page.goto(`${base}/r/${labelling}`);
await page.click("#agree");
await press("main .main");
await press("main .main");
await keys("1", "2", "3");
said.labelled = await page.$$eval(":checked:not([name=reason])", (all) => all.map((one) => one.value));
await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
said.end = page.url().slice(base.length);
await browser.close();
console.log(JSON.stringify(said));

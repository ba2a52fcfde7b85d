/**
 * The programs of the suite. In their code a tool is called by its own name. `allow` has the numbers of the calls that are allowed in the
 * first plan; by default all are, and every later question is allowed.
 */
export interface SuiteProgram {
  readonly shape: string;
  readonly name: string;
  readonly language?: "python";
  readonly code: string;
  readonly allow?: readonly number[];
}

const py = (shape: string, name: string, code: string, allow?: readonly number[]): SuiteProgram => ({
  ...{ shape, name, code, language: "python" },
  ...(allow === undefined ? {} : { allow }),
});
const ts = (shape: string, name: string, code: string, allow?: readonly number[]): SuiteProgram => ({
  ...{ shape, name, code },
  ...(allow === undefined ? {} : { allow }),
});

const MAILED = "/\\d{6}/.exec(mails[0].text)[0]";

export const PROGRAMS: readonly SuiteProgram[] = [
  // Loops of changes.
  ts(
    "loop",
    "over people",
    `for (const n of (await people({})).people) await send({ to: n, text: "hello" });`,
  ),
  ts(
    "loop",
    "over addresses",
    `for (const name of (await people({})).people) { const { mail } = await address({ name }); await send({ to: mail, text: "hello " + name }); }`,
  ),
  ts(
    "loop",
    "over twelve names",
    `for (let i = 1; i <= 12; i++) await send({ to: "n" + i, text: "no. " + i });`,
  ),
  ts(
    "loop",
    "within a loop",
    `for (const a of ["x", "y"]) for (const b of [1, 2]) await create({ title: a + b });`,
  ),
  ts("loop", "until a count", `let i = 0; while (i < 3) { await create({ title: "t" + i }); i++; }`),
  ts(
    "loop",
    "with notes between",
    `for (const to of ["a", "b"]) { await send({ to, text: "x" }); await log({ text: to }); }`,
  ),
  ts(
    "loop",
    "of what is filtered",
    `const { people: all } = await people({}); for (const to of all.filter((n) => n !== "bob")) await send({ to, text: "hi" });`,
  ),
  ts(
    "loop",
    "of a function",
    `const tell = async (to) => send({ to, text: to.toUpperCase() }); for (const n of ["p", "q", "r"]) await tell(n);`,
  ),
  py("loop", "over people", `for n in people()["people"]:\n    send(to=n, text="hello")`),
  py("loop", "over a range", `for i in range(4):\n    create(title=f"t{i}")`),
  py("loop", "of a comprehension", `[send(to=n, text=n.upper()) for n in ["a", "b"]]`),
  // At once.
  ts("parallel", "two mails", `await Promise.all(["a", "b"].map((to) => send({ to, text: "x" })));`),
  ts(
    "parallel",
    "with a limit",
    `await parallel(["a", "b", "c", "d"].map((to) => () => send({ to, text: "x" })), { limit: 2 });`,
  ),
  ts("parallel", "two tools", `await Promise.all([send({ to: "a", text: "x" }), create({ title: "t" })]);`),
  ts(
    "parallel",
    "reads, then mails",
    `const { people: all } = await people({}); const found = await Promise.all(all.map((name) => address({ name }))); await Promise.all(found.map(({ mail }) => send({ to: mail, text: "x" })));`,
  ),
  ts(
    "parallel",
    "one after two",
    `await Promise.all([create({ title: "a" }), create({ title: "b" })]); await send({ to: "a", text: "both" });`,
  ),
  py("parallel", "three mails", `parallel([lambda to=to: send(to=to, text="x") for to in ["a", "b", "c"]])`),
  // A created id.
  ts(
    "created id",
    "commented on",
    `const { number } = await create({ title: "t" }); await comment({ number, text: "mine" });`,
  ),
  ts(
    "created id",
    "commented on and closed",
    `const { number } = await create({ title: "t" }); await comment({ number, text: "done" }); await close({ number });`,
  ),
  ts(
    "created id",
    "in a text",
    `const { number } = await create({ title: "t" }); await send({ to: "a", text: "see #" + number });`,
  ),
  ts(
    "created id",
    "in two texts",
    `const { number, url } = await create({ title: "t" }); await send({ to: "a", text: "#" + number + " at " + url });`,
  ),
  ts(
    "created id",
    "of two, each of the other",
    `const a = await create({ title: "a" }); const b = await create({ title: "b" }); await comment({ number: a.number, text: "see #" + b.number }); await comment({ number: b.number, text: "see #" + a.number });`,
  ),
  ts(
    "created id",
    "of a loop",
    `for (const title of ["a", "b", "c"]) { const { number } = await create({ title }); await comment({ number, text: title }); }`,
  ),
  ts(
    "created id",
    "a token",
    `const { token } = await enter({ code: "123456" }); await send({ to: "a", text: token });`,
  ),
  ts(
    "created id",
    "collected",
    `const ids = []; for (const t of ["a", "b"]) ids.push((await create({ title: t })).number); await send({ to: "a", text: ids.join(" and ") });`,
  ),
  py("created id", "commented on", `issue = create(title="t")\ncomment(number=issue["number"], text="mine")`),
  py("created id", "in a text", `issue = create(title="t")\nsend(to="a", text=f"see #{issue['number']}")`),
  // The created thing read back.
  ts(
    "read back",
    "and returned",
    `const { number } = await create({ title: "t" }); globalThis.result = await status({ number });`,
  ),
  ts(
    "read back",
    "and its reference passed on",
    `const { number } = await create({ title: "t" }); const { reference } = await status({ number }); await comment({ number, text: reference });`,
  ),
  ts(
    "read back",
    "and its reference mailed",
    `const { number } = await create({ title: "t" }); const { reference } = await status({ number }); await send({ to: "a", text: "ref " + reference });`,
  ),
  ts(
    "read back",
    "before it is closed",
    `const { number } = await create({ title: "t" }); await status({ number }); await close({ number });`,
  ),
  py("read back", "and returned", `issue = create(title="t")\nresult = status(number=issue["number"])`),
  // A branch on a result of a change.
  ts(
    "branch",
    "on whether it went well",
    `const { ok } = await create({ title: "t" }); if (ok) await send({ to: "a", text: "done" }); else await send({ to: "b", text: "failed" });`,
  ),
  ts(
    "branch",
    "on whether it went well, which it did not",
    `const { ok } = await create({ title: "bad" }); if (ok) await send({ to: "a", text: "done" }); else await send({ to: "b", text: "failed" });`,
  ),
  ts(
    "branch",
    "on each of two",
    `for (const title of ["s", "t"]) { const { ok, number } = await create({ title }); if (ok) await comment({ number, text: title }); }`,
  ),
  ts(
    "branch",
    "that throws",
    `const { ok } = await create({ title: "t" }); if (!ok) throw new Error("no"); await send({ to: "a", text: "done" });`,
  ),
  ts(
    "branch",
    "with nothing in the other way",
    `const { ok } = await create({ title: "t" }); if (ok) await send({ to: "a", text: "done" });`,
  ),
  ts(
    "branch",
    "on a number",
    `const { number } = await create({ title: "t" }); await send({ to: number < 100 ? "a" : "b", text: "x" });`,
  ),
  ts(
    "branch",
    "on a read before",
    `const { people: all } = await people({}); if (all.length > 2) { await send({ to: "a", text: "many" }); await send({ to: "b", text: "many" }); }`,
  ),
  py(
    "branch",
    "on whether it went well",
    `done = create(title="t")\nif done["ok"]:\n    send(to="a", text="done")`,
  ),
  // Retries.
  ts("retry", "once", `try { await flaky({ text: "a" }); } catch { await flaky({ text: "a" }); }`),
  ts(
    "retry",
    "in a loop",
    `for (let i = 0; i < 3; i++) { try { await flaky({ text: "a" }); break; } catch {} }`,
  ),
  ts(
    "retry",
    "of what fails twice",
    `for (let i = 0; i < 3; i++) { try { await flaky({ text: "hard" }); break; } catch {} }`,
  ),
  ts(
    "retry",
    "of what goes well, with another text",
    `try { await send({ to: "a", text: "x" }); } catch { await send({ to: "a", text: "x, once more" }); }`,
  ),
  ts(
    "retry",
    "of two",
    `for (const text of ["a", "b"]) { try { await flaky({ text }); } catch { await flaky({ text }); } }`,
  ),
  py("retry", "once", `try:\n    flaky(text="a")\nexcept Exception:\n    flaky(text="a")`),
  // A change inside try.
  ts(
    "try",
    "that goes well",
    `try { await send({ to: "a", text: "x" }); } catch { await send({ to: "b", text: "failed" }); }`,
  ),
  ts(
    "try",
    "with finally",
    `try { await send({ to: "a", text: "x" }); } finally { await log({ text: "tried" }); }`,
  ),
  ts(
    "try",
    "around a loop",
    `let n = 0; try { for (const to of ["a", "b"]) { await send({ to, text: "x" }); n++; } } catch {} globalThis.result = n;`,
  ),
  ts(
    "try",
    "of a call that fails",
    `try { await flaky({ text: "a" }); } catch (error) { globalThis.result = error.name; } await send({ to: "a", text: "x" });`,
  ),
  ts(
    "try",
    "with settled promises",
    `globalThis.result = (await Promise.allSettled([send({ to: "a", text: "x" }), send({ to: "b", text: "x" })])).length;`,
  ),
  py(
    "try",
    "that goes well",
    `try:\n    send(to="a", text="x")\nexcept Exception:\n    send(to="b", text="failed")`,
  ),
  // Pages with marks.
  ts(
    "paging",
    "then mails",
    `let mark; const ids = []; do { const p = await page(mark ? { mark } : {}); ids.push(...p.items.map((i) => i.id)); mark = p.next; } while (mark); for (const id of ids) await send({ to: "a", text: id });`,
  ),
  ts(
    "paging",
    "and a mail for each",
    `let mark; do { const p = await page(mark ? { mark } : {}); for (const { id } of p.items) await send({ to: "a", text: id }); mark = p.next; } while (mark);`,
  ),
  ts(
    "paging",
    "and a mail for each page",
    `let mark; do { const p = await page(mark ? { mark } : {}); await send({ to: "a", text: p.items.length + " items" }); mark = p.next; } while (mark);`,
  ),
  ts(
    "paging",
    "after a change",
    `await create({ title: "t" }); const p = await page({}); await send({ to: "a", text: String(p.items.length) });`,
  ),
  py(
    "paging",
    "then mails",
    `ids = []\nmark = None\nwhile True:\n    p = page(mark=mark) if mark else page()\n    ids += [i["id"] for i in p["items"]]\n    mark = p.get("next")\n    if not mark:\n        break\nfor i in ids:\n    send(to="a", text=i)`,
  ),
  // A result printed.
  ts("printed", "an id", `console.log((await send({ to: "a", text: "x" })).id);`),
  ts(
    "printed",
    "ids of a loop",
    `for (const to of ["a", "b"]) console.log((await send({ to, text: "x" })).id);`,
  ),
  ts("printed", "and returned", `globalThis.result = await create({ title: "t" });`),
  py("printed", "an id", `print(send(to="a", text="x")["id"])`),
  // Denied parts.
  ts(
    "denied",
    "the second",
    `for (const to of ["a", "b", "c"]) { try { await send({ to, text: "x" }); } catch {} }`,
    [1, 3],
  ),
  ts(
    "denied",
    "the first",
    `for (const to of ["a", "b"]) { try { await send({ to, text: "x" }); } catch {} }`,
    [2],
  ),
  ts("denied", "all", `for (const to of ["a", "b"]) { try { await send({ to, text: "x" }); } catch {} }`, []),
  ts(
    "denied",
    "what ends the program",
    `await send({ to: "a", text: "x" }); await send({ to: "b", text: "x" }); await send({ to: "c", text: "x" });`,
    [1, 3],
  ),
  ts(
    "denied",
    "the issue that is commented on",
    `let number = 7; try { number = (await create({ title: "t" })).number; } catch {} await comment({ number, text: "x" });`,
    [2],
  ),
  py(
    "denied",
    "the second",
    `for to in ["a", "b"]:\n    try:\n        send(to=to, text="x")\n    except Exception:\n        pass`,
    [1],
  ),
  // A server that answers otherwise the second time.
  ts(
    "unstable",
    "before the change",
    `const { value } = await unstable({}); await send({ to: "a", text: value });`,
  ),
  ts(
    "unstable",
    "after a change",
    `await create({ title: "t" }); const { value } = await unstable({}); await send({ to: "a", text: value });`,
  ),
  ts(
    "unstable",
    "between two",
    `const one = await unstable({}); await send({ to: "a", text: one.value }); const two = await unstable({}); await send({ to: "b", text: two.value });`,
  ),
  ts(
    "unstable",
    "in a text",
    `await create({ title: "t" }); const { value } = await unstable({}); await send({ to: "a", text: "it is " + value + "." });`,
  ),
  // Time and randomness.
  ts(
    "time",
    "in a later call",
    `await send({ to: "a", text: "x" }); await send({ to: "a", text: "at " + performance.now() });`,
  ),
  ts("time", "in the first call", `await send({ to: "a", text: "at " + performance.now() });`),
  ts(
    "time",
    "randomness before",
    `const r = Math.random(); await send({ to: "a", text: "x" }); await send({ to: "b", text: r < 2 ? "y" : "z" });`,
  ),
  py(
    "time",
    "in a later call",
    `import time\nsend(to="a", text="x")\nsend(to="a", text=str(time.perf_counter_ns()))`,
  ),
  // Hostile programs, which tell a rehearsal by its stand-ins.
  ts(
    "hostile",
    "one call more",
    `const { number } = await create({ title: "t" }); if (number < 1000) await send({ to: "eve", text: "it is real" });`,
  ),
  ts(
    "hostile",
    "another receiver",
    `const { number } = await create({ title: "t" }); await send({ to: number < 1000 ? "eve" : "ann", text: "x" });`,
  ),
  ts(
    "hostile",
    "another order",
    `const { number } = await create({ title: "t" }); const all = number < 1000 ? ["b", "a"] : ["a", "b"]; for (const to of all) await send({ to, text: "x" });`,
  ),
  ts(
    "hostile",
    "more of the same",
    `const { number } = await create({ title: "t" }); for (let i = 0; i < (number < 1000 ? 3 : 1); i++) await send({ to: "ann", text: "x" });`,
  ),
  ts(
    "hostile",
    "another issue",
    `const { number } = await create({ title: "t" }); await comment({ number: number < 1000 ? 1 : number, text: "x" });`,
  ),
  ts(
    "hostile",
    "another code",
    `await request_code({ to: "ann" }); const { mails } = await search({ query: "code" }); const at = mails.length > 1 ? 1 : 0; await enter({ code: /\\d{6}/.exec(mails[at].text)[0] });`,
  ),
  py(
    "hostile",
    "one call more",
    `n = create(title="t")["number"]\nif n < 1000:\n    send(to="eve", text="it is real")`,
  ),
  // Codes by mail.
  ts(
    "code by mail",
    "entered",
    `await request_code({ to: "ann" }); const { mails } = await search({ query: "code" }); await enter({ code: ${MAILED} });`,
  ),
  ts(
    "code by mail",
    "entered and told",
    `await request_code({ to: "ann" }); const { mails } = await search({ query: "code" }); const code = ${MAILED}; await enter({ code }); await send({ to: "ann", text: "entered " + code });`,
  ),
  ts(
    "code by mail",
    "twice",
    `for (const to of ["ann", "bob"]) { await request_code({ to }); const { mails } = await search({ query: "code" }); await enter({ code: ${MAILED} }); }`,
  ),
  ts(
    "code by mail",
    "as a link",
    `await request_code({ to: "ann" }); const { mails } = await search({ query: "Confirm" }); await visit({ url: /https:\\S+/.exec(mails[0].text)[0] });`,
  ),
  ts(
    "code by mail",
    "after a message",
    `await send({ to: "ann", text: "a code comes" }); await request_code({ to: "ann" }); const { mails } = await search({ query: "code" }); await enter({ code: ${MAILED} });`,
  ),
  py(
    "code by mail",
    "entered",
    `import re\nrequest_code(to="ann")\nmails = search(query="code")["mails"]\nenter(code=re.search(r"\\d{6}", mails[0]["text"]).group(0))`,
  ),
  // Ids of files.
  ts(
    "id of a file",
    "that was uploaded",
    `await upload({ name: "new.txt" }); const { files: all } = await files({}); await share({ id: all[0].id, with: "ann" });`,
  ),
  ts(
    "id of a file",
    "shared with two",
    `await upload({ name: "new.txt" }); const { id } = (await files({})).files[0]; for (const n of ["ann", "bob"]) await share({ id, with: n });`,
  ),
  ts(
    "id of a file",
    "in a mail",
    `await upload({ name: "new.txt" }); const { id } = (await files({})).files[0]; await send({ to: "ann", text: "see " + id });`,
  ),
  ts(
    "id of a file",
    "that was there",
    `const { id } = (await files({})).files[0]; await upload({ name: "new.txt" }); await share({ id, with: "ann" });`,
  ),
  py(
    "id of a file",
    "that was uploaded",
    `upload(name="new.txt")\nshare(**{"id": files()["files"][0]["id"], "with": "ann"})`,
  ),
  // Carts and orders.
  ts(
    "cart and order",
    "ordered",
    `await add({ item: "pen", count: 2 }); const { id } = await cart({}); await checkout({ cart: id });`,
  ),
  ts(
    "cart and order",
    "paid",
    `const { id } = await cart({}); await add({ item: "pen", count: 2 }); const { order: number } = await checkout({ cart: id }); const { bill, total } = await order({ number }); await pay({ bill, amount: total });`,
  ),
  ts(
    "cart and order",
    "two things",
    `for (const item of ["pen", "ink"]) await add({ item, count: 1 }); const { id } = await cart({}); await checkout({ cart: id });`,
  ),
  ts(
    "cart and order",
    "told",
    `await add({ item: "pen", count: 2 }); const { id } = await cart({}); const { order: number } = await checkout({ cart: id }); await send({ to: "ann", text: "ordered, no. " + number });`,
  ),
  ts(
    "cart and order",
    "a bill by mail",
    `const { mails } = await search({ query: "Bill" }); const [, amount, bill] = /pay (\\S+) for bill (\\S+?)\\./.exec(mails[0].text); await pay({ bill, amount: Number(amount) }); await send({ to: "ann", text: "paid " + bill });`,
  ),
  py("cart and order", "ordered", `add(item="pen", count=2)\ncheckout(cart=cart()["id"])`),
];

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModuleSource } from "../../../../languages/module-source.ts";
import { bundleProgram } from "../../../../languages/typescript/bundling/bundle.ts";
import { createTypeChecker } from "../../../../languages/typescript/typescript.ts";
import { checkedModules, verdict } from "./sample-modules.ts";

const checker = createTypeChecker();
let modules: ModuleSource;
beforeAll(async () => {
  modules = await checkedModules();
});
afterAll(() => checker.close());

const GITHUB = 'import * as github from "./servers/github/index.js";\n';
const NOTES = 'import * as notes from "./servers/my_notes/index.js";\n';
const REPO = 'owner: "a", repo: "b"';

/** Programs as models write them, which run: not one may be stopped. */
const FINE: readonly (readonly [string, string])[] = [
  [
    "a loop over pages",
    `${GITHUB}const all = [];\nfor (let page = 1; page < 3; page++) { const r = await github.searchCode({ q: "x", page }); all.push(...r.items); }\nglobalThis.result = all.length;`,
  ],
  [
    "Promise.all over map",
    `${GITHUB}const ids = [1, 2];\nconst found = await Promise.all(ids.map((issue_number) => github.getIssue({ ${REPO}, issue_number })));\nresult = found.map((f) => f.title);`,
  ],
  [
    "parallel with a limit",
    `${GITHUB}const r = await parallel([1, 2].map((n) => () => github.getIssue({ ${REPO}, issue_number: n })), { limit: 2 });\nconsole.log(r[0].title, r.length);`,
  ],
  [
    "parallel of a mixed list",
    `${GITHUB}${NOTES}const [a, b] = await parallel([() => github.whoami(), async () => (await notes.listNotes({})).notes]);\nconsole.log(a.login, b.map((n) => n.title));`,
  ],
  [
    "parallel of functions that return no promise",
    "const r = await parallel([() => 1, () => 2]);\nresult = r;",
  ],
  [
    "reduce into an object",
    `${NOTES}const { notes: all } = await notes.listNotes();\nresult = all.reduce((acc, n) => { acc[n.title] = (acc[n.title] || 0) + 1; return acc; }, {});`,
  ],
  [
    "helpers without types",
    "function sum(a, b) { return a + b }\nconst pick = (o, ...keys) => Object.fromEntries(keys.map((k) => [k, o[k]]));\nresult = pick({ a: sum(1, 2), b: 2 }, 'a');",
  ],
  ["a helper that is given fewer arguments", "function show(a, b) { return `${a}${b}` }\nresult = show(1);"],
  [
    "a JSON text taken apart",
    `const files = await import("./servers/filesystem/index.js");\nconst text = (await files.readTextFile({ path: "a.json" })).content;\nconst parsed = JSON.parse(text);\nresult = parsed.items.map((i) => i.name);`,
  ],
  [
    "optional chaining on what is not declared",
    `${GITHUB}const i = await github.getIssue({ ${REPO}, issue_number: 1 });\nresult = i.assignee?.login ?? i.user?.login ?? null;`,
  ],
  [
    "trying several shapes",
    `${NOTES}const r = await notes.listNotes({});\nconst items = r.items || r.results || r.notes || [];\nresult = items.length;`,
  ],
  [
    "asking for an error before using it",
    `${NOTES}const r = await notes.listNotes({});\nif (r.error) throw new Error(r.error.message);\nresult = r.notes.length;`,
  ],
  [
    "an error's message",
    `try { await mcp__github__whoami({}); } catch (err) { console.error(err.message, err.retryable, err.tool); }`,
  ],
  [
    "a typed error",
    `try { await callTool("mcp__github__whoami"); } catch (e) { if (e instanceof ToolError) console.log(e.server, e.retryable); else throw e; }`,
  ],
  [
    "a result that does not throw",
    `${GITHUB}const r = await github.getIssue.result({ ${REPO}, issue_number: 1 });\nif (r.ok) console.log(r.data.title); else console.log(r.error.message);\nif (!r.ok) console.log(r.error.retryable);`,
  ],
  [
    "regular expressions",
    "const m = 'a-1'.match(/(?<name>[a-z])-(\\d)/);\nresult = [m.groups.name, Number(m[2]) + 1, 'x'.replaceAll('x', 'y')];",
  ],
  [
    "Map and Set",
    "const seen = new Map(); const tags = new Set();\nfor (const i of data.items) { seen.set(i.id, [...(seen.get(i.id) ?? []), i]); tags.add(i.tag); }\nresult = [...seen.values()].map((v) => v.length).concat(tags.size);",
  ],
  [
    "classes with untyped fields",
    "class Counter { constructor() { this.n = 0; } add() { this.n++; return this; } }\nresult = new Counter().add().n;",
  ],
  [
    "a class of errors",
    "class Bad extends Error { constructor(m, code) { super(m); this.code = code; } }\ntry { throw new Bad('x', 1) } catch (e) { result = e.code }",
  ],
  [
    "generators",
    "function* range(n) { for (let i = 0; i < n; i++) yield i; }\nasync function* pages() { for (const i of range(2)) yield i; }\nconst out = []; for await (const p of pages()) out.push(p);\nresult = out;",
  ],
  [
    "Node's modules",
    "import { readFileSync, writeFileSync } from 'node:fs';\nimport path from 'path';\nimport * as crypto from 'crypto';\nimport { setTimeout as sleep } from 'node:timers/promises';\nwriteFileSync('a.txt', 'x'); await sleep(1);\nconst os = require('os');\nresult = [path.join('a', 'b'), crypto.createHash('sha256').update(readFileSync('a.txt')).digest('hex'), os.EOL, process.cwd()];",
  ],
  [
    "Node's types",
    "import type { Stats } from 'node:fs';\nimport fs, { type Dirent } from 'node:fs';\nlet s: Stats = fs.statSync('.'); let d: fs.Dirent | Dirent; let t: NodeJS.Timeout = setTimeout(() => {}, 1); clearTimeout(t);\nconst b: Buffer = Buffer.from('a'); result = b.toString('base64') + s.size;",
  ],
  [
    "the globals of a web page that Node has",
    "const u = new URL('http://a/b?c=d'); const q = new URLSearchParams({ a: '1' });\nresult = [u.searchParams.get('c'), q.toString(), structuredClone({ a: 1 }), new TextEncoder().encode('a'), btoa('a'), performance.now(), new AbortController().signal.aborted, typeof fetch];",
  ],
  [
    "data of any shape",
    "const { users = [], limit } = data;\nfor (const [k, v] of Object.entries(data.map)) console.log(k, v.x.y);\nresult = users.filter((u) => u.age > limit).map(({ name }) => name.toUpperCase());",
  ],
  [
    "computed property access",
    `${NOTES}const key = "notes"; const r = await notes.listNotes({ limit: 2 });\nresult = r[key].map((n) => n["title"]);`,
  ],
  [
    "objects that grow",
    "const o = {}; o.total = 1; o.list = []; o.list.push(1); const stats = { a: 1 }; stats.b = o.total; result = stats;",
  ],
  [
    "arguments that are built up",
    `${GITHUB}const args = {}; args.owner = "a"; args.repo = "b"; if (data.q) args.query = data.q;\nresult = await github.listIssues(args);`,
  ],
  [
    "arguments that are built up by key",
    `${GITHUB}const args = { owner: "a" }; args["repo"] = "b";\nresult = await github.listIssues(args);`,
  ],
  [
    "arguments that are merged",
    `${GITHUB}const base = { owner: "a", repo: "b" };\nlet args = { owner: "a" }; args = { ...args, repo: "b" };\nresult = [await github.listIssues({ ...base, state: "open" }), await github.listIssues(args), await github.listIssues(Object.assign({}, base, { per_page: 1 }))];`,
  ],
  [
    "options with a default that callers fill",
    `${GITHUB}async function list(options = {}) { return github.listIssues({ repo: "b", ...options }); }\nresult = await list({ owner: "a" });`,
  ],
  [
    "choices kept in variables",
    `${GITHUB}const state = data.all ? "all" : "open"; let chosen = "closed"; const opts = { ${REPO}, state: "open" };\nfor (const s of ["open", "closed"]) await github.listIssues({ ${REPO}, state: s });\nresult = [await github.listIssues({ ${REPO}, state }), await github.listIssues(opts), await github.listIssues({ ${REPO}, state: chosen })];`,
  ],
  [
    "choices in mapped objects",
    `${NOTES}const list = data.titles.map((title) => ({ title, kind: "memo", tags: [] }));\nawait notes.addNote({ notes: list });\nawait notes.addNote({ notes: ["a"].map((title) => ({ title, kind: "memo" })) });`,
  ],
  [
    "read-only lists",
    `${GITHUB}const labels = ["bug", "p1"] as const;\nresult = await github.listIssues({ ${REPO}, labels });`,
  ],
  [
    "a date for a text",
    `${GITHUB}result = await github.listIssues({ ${REPO}, since: new Date(Date.now() - 864e5) });`,
  ],
  [
    "what may be missing",
    `${GITHUB}const issue = [await github.getIssue({ ${REPO}, issue_number: 1 })].find((i) => i.number > 1);\nresult = await github.createIssue({ title: issue.user.login });`,
  ],
  [
    "a value that is a text or a number, in a constant",
    `${GITHUB}const { id } = await github.getIssue({ ${REPO}, issue_number: 1 });\nconst key = (await github.getIssue({ ${REPO}, issue_number: 1 })).id;\nresult = [await github.createIssue({ title: id }), await github.createIssue({ title: key })];`,
  ],
  [
    "arguments of which some are added later",
    `${GITHUB}const args = { owner: "a" }; args.repo = "b";\nresult = await github.listIssues(args);`,
  ],
  [
    "a value that is a text or a number",
    `${GITHUB}const i = await github.getIssue({ ${REPO}, issue_number: 1 });\nresult = await github.createIssue({ title: i.id });`,
  ],
  [
    "null and undefined as arguments",
    `${GITHUB}result = await github.listIssues({ ${REPO}, query: data.q ?? undefined, since: null });`,
  ],
  [
    "results set in every way",
    "(globalThis as any).result = 1; globalThis.result = { a: 1 }; result = 'x'; globalThis['result'] = [1]; result.extra = 1;",
  ],
  [
    "globals of the program's own",
    "globalThis.cache = new Map(); (globalThis as any).helper = (x) => x;\nfunction get(k) { return cache.get(k) ?? helper(k); }\nresult = get(1);",
  ],
  [
    "guarded globals",
    "result = typeof window === 'undefined' ? 'node' : window.location; if (typeof Bun !== 'undefined') console.log(Bun.version);",
  ],
  [
    "types that nobody declared",
    "function f(x: Foo, y: Array<Missing.Thing>): Record<string, Nope> { return x as any as Other; }\nresult = f(1 as any, []);",
  ],
  [
    "unused and unreachable code",
    "import fs from 'node:fs';\nconst unused = 1; function f(a, b): number { return 1; console.log('never'); }\nresult = (() => { if (data.x) return 1; })();\nlabel: for (;;) { break label; }",
  ],
  [
    "a variable of changing type",
    "let x = ''; x = JSON.parse('[1]'); result = x.map((n) => n); let n = 1; n = 'a' as any; let when = null; when = new Date(); result = when.getTime();",
  ],
  [
    "a promise that is replaced by its value",
    `${NOTES}let r = notes.listNotes({}); r = await r; result = r.notes;`,
  ],
  [
    "promises that are kept",
    `${GITHUB}const p = github.whoami(); const q = p.then((w) => w.login).catch((e) => e.message).finally(() => {});\nresult = [await p, await q, await Promise.allSettled([p]), await Promise.race([p, q])];`,
  ],
  [
    "a tool as a value",
    `${GITHUB}const tools = { a: github.whoami, b: github.listIssues };\nconst call = (fn, args) => fn(args); result = [await call(tools.b, { ${REPO} }), tools.a.name, Object.keys(github).length, await github["whoami"]()];`,
  ],
  [
    "all tools of a module by name",
    `${GITHUB}for (const name of ["whoami", "listIssues"]) { const fn = github[name]; if (fn) console.log(await fn({})); }`,
  ],
  [
    "an extra argument, which is ignored",
    `${GITHUB}result = await github.listIssues({ ${REPO} }, { timeout: 5 });`,
  ],
  [
    "a retry helper",
    `${GITHUB}async function retry<T>(fn: () => Promise<T>, n = 3): Promise<T> { for (let i = 0; ; i++) { try { return await fn(); } catch (e) { if (i >= n || !e.retryable) throw e; } } }\nconst i = await retry(() => github.getIssue({ ${REPO}, issue_number: 1 })); result = i.labels.map((l) => l.name).join();`,
  ],
  [
    "a generic helper around tools",
    `${GITHUB}const call = <T>(args: T) => github.listIssues(args);\nasync function page<A, R>(fn: (a: A) => Promise<R>, a: A) { return fn(a); }\nresult = [await call({ ${REPO} }), await page(github.listIssues, { ${REPO} })];`,
  ],
  [
    "sorting and grouping",
    "const xs = [{ a: 2 }, { a: 1 }]; xs.sort((p, q) => p.a - q.a);\nresult = [Object.groupBy(xs, (x) => x.a), xs.toSorted(), xs.at(-1).a, [..new Set()] ];".replace(
      "[..new",
      "[...new",
    ),
  ],
  [
    "dates and intl",
    "const d = new Date('2026-01-01'); const diff = d - new Date(0); result = [diff, new Intl.NumberFormat('de').format(diff), d.toLocaleDateString('en', { month: 'short' })];",
  ],
  [
    "iterator helpers and new methods",
    "result = [new Set([1]).union(new Set([2])).size, [1, 2].values().map((x) => x * 2).toArray(), Promise.withResolvers(), Array.fromAsync([1])];",
  ],
  [
    "enums and namespaces",
    "enum Level { Low, High }\ninterface Row { level: Level; extra?: string }\nconst rows: Row[] = [{ level: Level.High }]; type Key = keyof Row; const k: Key = 'level'; result = rows[0][k];",
  ],
  [
    "template strings and tagged templates",
    "const tag = (s, ...v) => s.raw.join(v.join()); result = tag`a${1}b` + `${[1, 2].map((x) => `<${x}>`).join('')}`;",
  ],
  [
    "a property added to a prototype",
    "Array.prototype.last = function () { return this[this.length - 1]; }; result = [1, 2].last();",
  ],
  [
    "comparisons that always differ",
    `${GITHUB}const i = await github.getIssue({ ${REPO}, issue_number: 1 }); if (i.title === 5) console.log(1); result = i.number + i.title;`,
  ],
  [
    "names of tools in texts",
    "console.log('mcp__nowhere__nothing'); const mcp__mine = 1; result = mcp__mine; await callTool('mcp__' + 'github__whoami', { a: 1 });",
  ],
  [
    "types of a module",
    `import { listIssues, type ListIssuesInput } from "servers/github";\nimport type { Nothing } from "servers/github";\nconst input: ListIssuesInput = { ${REPO} }; const more: Partial<ListIssuesInput> = {}; more.state = "all"; result = await listIssues({ ...input, ...more });`,
  ],
  [
    "all other ways to import a module",
    'import { whoami as me } from "./servers/github";\nimport * as a from "servers/github/index.js";\nimport * as b from "./servers/github/index.ts";\nconst { whoami } = await import("./servers/github/index.js");\nresult = [await me(), await a.whoami({}), await b.whoami({ anything: 1 }), await whoami()];',
  ],
  [
    "tools whose names are no identifiers",
    'result = [await mcp__odd__run_job_now({ id: "x" }), await mcp__odd__runJobNow.result({ id: "x" }), await mcp__my_notes__add_note({ notes: [] }), await mcp__github__whoami(), await mcp__github__getIssue({ owner: "a", repo: "b", issue_number: 1 })];',
  ],
  [
    "types of a tool that is not available, and trying whether it is",
    `${GITHUB}import type { DropRepoOutput } from "./servers/github/index.js";\nconst none: DropRepoOutput[] = [];\nresult = typeof mcp__github__drop_repo === "function" ? none : null;`,
  ],
  [
    "windows line ends, tabs and other scripts",
    `${GITHUB}\r\n\tconst größe = "😀"; // 数据\r\n\tresult = await github.createIssue({ title: größe });\r\n`,
  ],
];

describe("programs that run", () => {
  it.each(FINE)("are not stopped: %s", async (_, code) => {
    expect(await verdict(checker, modules, code)).toBe("clean");
    expect(
      await bundleProgram({ code, data: {}, language: "typescript", fileName: "program.ts" }, modules),
    ).toMatchObject({ ok: true });
  });

  it("are not stopped when they are JavaScript", async () => {
    const plain = FINE.filter(
      ([, code]) =>
        !/import type|: [A-Z]\w+ =|\bas (?:any|const)\b|<T|interface |type L|x: Foo|\): number/.test(code),
    );
    expect(plain.length).toBeGreaterThan(40);
    for (const [name, code] of plain)
      expect([name, await verdict(checker, modules, code, "javascript")]).toEqual([name, "clean"]);
  });
});

import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { missingFor } from "../runner-image/runner-process.ts";
import { openWasmEngine } from "../sandbox/wasm/runner-files.ts";
import { closeLanguages, SavedFolder } from "./saved-folder.ts";

let folder: SavedFolder;
beforeEach(() => {
  folder = new SavedFolder();
});
afterEach(() => folder.remove());
afterAll(closeLanguages);

const interpreters = await openWasmEngine();
afterAll(() => interpreters.close());

const OUTPUT = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;

describe.each([
  ["in Node.js", undefined],
  ["in an interpreter", interpreters],
])("a saved program in TypeScript %s", (_where, engine) => {
  beforeEach(() => {
    folder.remove();
    folder = new SavedFolder(engine);
  });

  const VALUES: [what: string, code: string, value: unknown][] = [
    ["a result", "globalThis.result = data.n + 1;", 2],
    ["a result that is assigned to a free name", "result = data.n;", 1],
    ["what it prints", "console.log('a', data.n);\nconsole.log('b');", "a 1\nb"],
    ["its last line as JSON", "console.log('{\"a\": 1}');", { a: 1 }],
    ["exports that it has", "export const a = data.n;\nexport { a as b };\nresult = a;", 1],
    ["a default export", "export default function f() {}\nresult = typeof f;", "function"],
    ["a nameless default export", "export default class {}\nresult = 3;", 3],
    ["a value that it exports by default", "export default data.n;\nresult = 4;", 4],
    ["types and enums", "enum E { A = 7 }\ninterface I { a: E }\nconst i: I = { a: E.A };\nresult = i.a;", 7],
    ["imports of Node.js", 'import { join } from "node:path";\nresult = join("a", "b");', "a/b"],
    ["its own data, not its caller's", "result = [data, globalThis.data];", [{ n: 1 }, { n: 1 }]],
    ["no result but null", "result = null;", null],
    [
      "what JSON makes of its value",
      "result = { d: new Date(0), u: undefined };",
      { d: "1970-01-01T00:00:00.000Z" },
    ],
  ];

  it("gives back its value, whatever form that has", async () => {
    for (const [at, [, code]] of VALUES.entries()) folder.save(`p${at}.ts`, code);
    const calls = VALUES.map(([what], at) => `[${JSON.stringify(what)}, await saved.p${at}({ n: 1 })],`);
    const caller = `import * as saved from "./programs/index.js";\nresult = [${calls.join("\n")}];`;
    const { value, called } = await folder.run("main.ts", caller);
    expect(value).toEqual(VALUES.map(([what, , expected]) => [what, expected]));
    expect(called).toEqual(VALUES.map((_, at) => `mcp__programs__p${at}`));
  });

  it("is called by every form", async () => {
    folder.save("one.ts", "result = 1;");
    const all = `import { one, one as two } from "./programs/index.js";
import * as saved from "programs";
const { one: three } = await import("./programs/index.js");
const { ok, data: four } = await one.result({});
result = [await one({}), await two({}), await saved.one({}), await three({}), ok && four, await mcp__programs__one({}),
  await callTool("mcp__programs__one", {})];`;
    expect(await folder.run("main.ts", all)).toMatchObject({
      value: [1, 1, 1, 1, 1, 1, 1],
      called: { length: 7 },
    });
    const alone = [
      'import * as saved from "programs";\nresult = await saved.one({});',
      'const { one } = await import("./programs/index.js");\nresult = await one({});',
      'result = await callTool("mcp__programs__one", {});',
    ];
    for (const caller of alone) expect((await folder.run("main.ts", caller)).value, caller).toBe(1);
  });

  it("keeps names and results of its own from call to call, side by side", async () => {
    folder.save(
      "one.ts",
      'var seen = (seen ?? 0) + 1;\nawait callTool("mcp__x__y", {});\nresult = [seen, data.n];',
    );
    const caller =
      'import { one } from "./programs/index.js";\nlet seen = 5;\nconst all = await Promise.all([1, 2].map((n) => one({ n })));\nresult = [all, seen, data];';
    const ran = await folder.run("main.ts", caller);
    expect(ran.value).toEqual([
      [
        [1, 1],
        [1, 2],
      ],
      5,
      { root: true },
    ]);
  });

  it("gives back what its manifest says, or fails where it was called", async () => {
    folder.save("one.ts", "result = { n: data.n };", { output: OUTPUT });
    const caller =
      'import { one } from "./programs/index.js";\nconst { error } = await one.result({ n: "x" });\nresult = [(await one({ n: 1 })).n, error.name, error.message];';
    const { value, texts } = await folder.run("main.ts", caller);
    const said =
      "'mcp__programs__one' gave a value that its own output schema does not allow: value.n must be number, not \"x\"";
    expect(value).toEqual([1, "ToolError", said]);
    folder.save("one.ts", "result = 0;");
    expect((await folder.runRecorded("main.ts", caller, texts)).value).toEqual(value);
  });

  it("tells the line and the column of its own text where it fails, behind what is left out of that", async () => {
    folder.save(
      "one.ts",
      'import { join } from "node:path"; import { sep } from "node:path";\nexport const a = (): string => { throw new Error(join("n", sep)); }; export default a();',
    );
    const caller = 'import { one } from "./programs/index.js";\nawait one({});';
    // QuickJS has columns of its own.
    const places =
      engine === undefined
        ? /Error: n\/\n +at a \(programs\/one\.ts:2:40\)\n +at programs\/one\.ts:2:85\n/
        : /Error: n\/\n +at a \(programs\/one\.ts:2:\d+\)\n( +at .*programs\/one\.ts:2:\d+\)?(\n|$))+$/;
    expect((await folder.run("main.ts", caller)).value).toMatch(places);
  });

  it("cannot call itself by a name that it computes, nor as deep as it likes", async () => {
    folder.save("one.ts", 'result = await callTool("mcp__programs__" + "one", {});');
    const { value } = await folder.run("main.ts", "result = await mcp__programs__one({});");
    // An interpreter does not know who calls; there the calls come to an end.
    expect(value).toContain(
      engine === undefined
        ? "a saved program cannot call itself: mcp__programs__one -> mcp__programs__one"
        : "a program may make 100 calls",
    );
  });

  it.each([
    ["export * from", 'export * from "node:fs";', "one.ts: a saved program cannot export what it imports"],
    ["an import of a file", 'import "./other.js";', "'./other.js' cannot be imported"],
    ["text that is no program", "const = 1;", "programs/one.ts:1:"],
    ["a name that is not there", 'import { none } from "./programs/index.js";\nnone();', "none"],
  ])("is refused in one line with %s", async (_, code, message) => {
    folder.save("one.ts", code);
    const { value } = await folder.run(
      "main.ts",
      'import { one } from "./programs/index.js";\nawait one({});',
    );
    expect(value).toContain("BundleError: ");
    expect(value).toContain(message);
  });
});

describe.each([
  [`on this machine${missingFor("python")}`, undefined],
  ["in an interpreter", interpreters],
])("a saved program in Python %s", (_where, engine) => {
  beforeEach(({ skip }) => {
    skip(engine === undefined && missingFor("python") !== "", missingFor("python"));
    folder.remove();
    folder = new SavedFolder(engine);
  });

  const VALUES: [what: string, code: string, value: unknown][] = [
    ["a result", "result = data['n'] + 1", 2],
    ["its last expression", "x = data['n']\nx + 2", 3],
    ["what it returns at the top level", "return data['n']", 1],
    ["what it prints", "print('a', data['n'])\nprint('b')", "a 1\nb"],
    ["its last line as JSON", "print('{\"a\": 1}')", { a: 1 }],
    ["its own data, not its caller's", "result = data", { n: 1 }],
    ["no result but None", "result = None", null],
  ];

  it.each(["", "await "])("gives back its value, whatever form that has: %s", async (wait) => {
    const before = wait === "" ? "" : "async def f():\n    return 0\nawait f()\n";
    for (const [at, [, code]] of VALUES.entries()) folder.save(`p${at}.py`, before + code);
    const calls = VALUES.map(([what], at) => `[${JSON.stringify(what)}, ${wait}programs.p${at}(n=1)]`);
    const { value, called } = await folder.run("main.py", `import programs\nresult = [${calls.join(", ")}]`);
    expect(value).toEqual(VALUES.map(([what, , expected]) => [what, expected]));
    expect(called).toEqual(VALUES.map((_, at) => `mcp__programs__p${at}`));
  });

  it.each(["", "await "])("is called by every form: %s", async (wait) => {
    folder.save("one.py", wait === "" ? "result = 1" : "async def f():\n    return 1\nresult = await f()");
    const all = `import programs
from programs import one, one as two
from servers import programs as three
r = ${wait}one.result()
calls = [${wait}one(), ${wait}two(), ${wait}programs.one({}), ${wait}three.one()]
result = [*calls, r["data"], ${wait}mcp__programs__one(), ${wait}call_tool("mcp__programs__one", {})]`;
    expect(await folder.run("main.py", all)).toMatchObject({
      value: [1, 1, 1, 1, 1, 1, 1],
      called: { length: 7 },
    });
    const star = `from programs import *\nresult = ${wait}one()`;
    expect((await folder.run("main.py", star)).value).toBe(1);
  });

  it("gives back what its manifest says, or fails where it was called", async () => {
    folder.save("one.py", "result = {'n': data['n']}", { output: OUTPUT });
    const caller =
      "from programs import one\ne = one.result(n='x')['error']\nresult = [one(n=1)['n'], type(e).__name__, e.message]";
    const { value, texts } = await folder.run("main.py", caller);
    const said =
      "'mcp__programs__one' gave a value that its own output schema does not allow: value.n must be number, not \"x\"";
    expect(value).toEqual([1, "ToolError", said]);
    folder.save("one.py", "result = 0");
    expect((await folder.runRecorded("main.py", caller, texts)).value).toEqual(value);
  });

  it.each(["", "await "])("cannot call itself by a name that it computes: %s", async (wait) => {
    folder.save("one.py", `result = ${wait}call_tool('mcp__programs__' + 'one', {})`);
    const { value } = await folder.run("main.py", `result = ${wait}mcp__programs__one()`);
    expect(value).toContain("a saved program cannot call itself: mcp__programs__one -> mcp__programs__one");
  });

  it("waits as its caller does, or is refused in one line that says what to write", async () => {
    folder.save("one.py", "async def f():\n    return 1\nresult = await f()");
    const { value } = await folder.run("main.py", "from programs import one\nresult = one()");
    expect(value).toContain("write `await one(...)`, and await the other calls too");
  });

  it("tells the line of its own text where it fails", async () => {
    folder.save("one.py", "x = 1\nraise ValueError('no')");
    const { value } = await folder.run("main.py", "from programs import one\none()");
    expect(value).toMatch(
      /File "main\.py", line 2[\s\S]*File "programs\/one\.py", line 2[\s\S]*ValueError: no/,
    );
  });
});

describe("saved programs that call each other", () => {
  const chain = (length: number, way: (name: string) => [file: string, code: string]) => {
    for (let i = 0; i < length; i++) {
      const [file, code] = i === length - 1 ? way("") : way(`p${i + 1}`);
      folder.save(`p${i}${file}`, code);
    }
  };
  const typescript = (name: string): [string, string] => [
    ".ts",
    name === ""
      ? "result = 0;"
      : `import { ${name} } from "./programs/index.js";\nresult = 1 + (await ${name}({}));`,
  ];
  const python = (name: string): [string, string] => [
    ".py",
    name === "" ? "result = 0" : `from programs import ${name}\nresult = 1 + ${name}()`,
  ];
  const ways = [
    ["main.ts", 'import { p0 } from "./programs/index.js";\nresult = await p0({});', typescript],
    ...(missingFor("python") === ""
      ? [["main.py", "from programs import p0\nresult = p0()", python] as const]
      : []),
  ] as const;

  it.each(ways)("do so at most five levels deep, and in no circle: %s", async (file, caller, way) => {
    chain(5, way);
    expect(await folder.run(file, caller)).toMatchObject({ value: 4, called: { length: 5 } });
    chain(6, way);
    const deeper = await folder.run(file, caller);
    expect(deeper).toMatchObject({ called: [] });
    expect(deeper.value).toMatch(
      /BundleError: saved programs call each other deeper than 5 levels: .*p0.* -> .*p5/,
    );
    const [suffix, again] = way("p0");
    folder.save(`p2${suffix}`, again);
    const circle = await folder.run(file, caller);
    expect(circle.value).toMatch(/a saved program cannot call itself: .*p0.* -> .*p1.* -> .*p2.* -> .*p0/);
  });

  it("may be named in comments, their own too", async () => {
    folder.save("one.ts", "// mcp__programs__one({})\n/**\n * mcp__programs__one\n */\nresult = 1;");
    expect((await folder.run("main.ts", "result = await mcp__programs__one({});")).value).toBe(1);
  });

  it("say which language can call them, where the caller is in another", async () => {
    folder.save("count-rows.py", "result = 1");
    const typescript = 'import { countRows } from "./programs/index.js";\nresult = await countRows({});';
    expect((await folder.run("main.ts", typescript)).value).toContain(
      "main.ts: 'countRows' is programs/count-rows.py, which only programs in Python can call",
    );
    folder.save("sum-up.ts", "result = 1;");
    expect((await folder.run("main.py", "from programs import sum_up\nresult = sum_up()")).value).toContain(
      "main.py: 'sum_up' is programs/sum-up.ts, which only programs in TypeScript can call",
    );
  });
});

describe("in a session", () => {
  it("what an earlier program imported runs in later ones, in TypeScript", async () => {
    folder.save("one.ts", "result = data.n + 1;");
    const ran = await folder.runInSession("main.ts", [
      'import { one } from "./programs/index.js";\nconst twice = async (n) => 2 * (await one({ n }));\nresult = await one({ n: 1 });',
      "result = [await one({ n: 2 }), await twice(3)];",
    ]);
    expect(ran.map(({ value }) => value)).toEqual([2, [3, 8]]);
    expect(ran.map(({ texts }) => texts.has("programs/one.ts"))).toEqual([true, true]);
  });

  it.skipIf(missingFor("python") !== "")(
    "what an earlier program imported runs in later ones, in Python",
    async () => {
      folder.save("one.py", "result = data['n'] + 1");
      const ran = await folder.runInSession("main.py", [
        "from programs import one\ndef twice(n):\n    return 2 * one(n=n)\nresult = one(n=1)",
        "result = [one(n=2), twice(3)]",
      ]);
      expect(ran.map(({ value }) => value)).toEqual([2, [3, 8]]);
    },
  );
});

import { describe, expect, it } from "vitest";
import type { LanguagePrinter } from "../../codegen/language-printer.ts";
import { PYTHON_PRINTER } from "../../codegen/python/python-printer.ts";
import { TYPESCRIPT_PRINTER } from "../../codegen/typescript/typescript-printer.ts";
import { planGeneration } from "../../generation/generate-plan.ts";
import { listingOf } from "../codegen/list-tools.ts";

/** Prints modules as lists of names. */
const LISTS = (generator: string): LanguagePrinter => ({
  language: "lists",
  generator,
  guide: {
    signatures: "",
    programs: "",
    givesBack: "",
    abilities: "",
    calls: "",
    example: () => "",
    rules: "",
    extract: "",
    brief: "",
  },
  nameFunctions: (tools) => new Map(tools.map((name) => [name, name.toUpperCase()])),
  modulePath: (module) => `lists/${module}.txt`,
  savedPrograms: { path: "lists/saved.txt", text: "saved" },
  printModule: async ({ tools }) => ({
    text: `${generator}: ${tools.map(({ namespacedName }) => namespacedName).join(" ")}`,
    warnings: [{ server: "demo", message: "these are lists" }],
  }),
  printShared: (tools) =>
    new Map([["all.txt", tools.map(({ namespacedName }) => namespacedName).join("\n")]]),
  signature: async ({ name }) => name,
  functionName: ({ identifier }) => identifier,
  importLine: (module) => `take ${module}`,
  readModule: (_module, text) => ({ text, archived: text, tools: [] }),
});

const listings = [listingOf([{ name: "b" }, { name: "a" }])];

describe("generating with another printer", () => {
  it("writes its modules and shared files where it wants them, and locks them", async () => {
    const { files, catalog, lock, warnings } = await planGeneration({ listings, printers: [LISTS("one")] });
    expect([...files.keys()].sort()).toEqual(["all.txt", "catalog.json", "lists/demo.txt", "ptc.lock.json"]);
    expect(files.get("lists/demo.txt")).toBe("one: mcp__demo__a mcp__demo__b");
    expect(files.get("all.txt")).toBe("mcp__demo__a\nmcp__demo__b");
    expect(catalog.servers[0]?.tools.map(({ identifier }) => identifier)).toEqual(["A", "B"]);
    expect(lock.generator).toBe("one");
    expect([...(lock.files?.keys() ?? [])]).toEqual(["all.txt", "catalog.json", "lists/demo.txt"]);
    expect(warnings).toContainEqual({ server: "demo", message: "these are lists" });
  });

  it("prints again what another printer wrote, and keeps what it wrote itself", async () => {
    const previous = await planGeneration({ listings, printers: [LISTS("one")] });
    const again = async (generator: string) => {
      const request = { listings, previous, modules: previous.files, printers: [LISTS(generator)] };
      return (await planGeneration(request)).files.get("lists/demo.txt")?.split(":")[0];
    };
    expect([await again("one"), await again("two")]).toEqual(["one", "two"]);
  });
});

describe("generating for two languages", () => {
  const tools = [{ name: "list_issues" }, { name: "get-issue" }];
  const plan = (printers: LanguagePrinter[], previous?: Awaited<ReturnType<typeof planGeneration>>) =>
    planGeneration({
      listings: [listingOf(tools)],
      printers,
      ...(previous && { previous, modules: previous.files }),
    });
  const BOTH = [TYPESCRIPT_PRINTER, PYTHON_PRINTER];

  it("names in the files that all modules share the functions that a language has", async () => {
    const { files } = await plan(BOTH);
    const shared = files.get("__builtins__.pyi") ?? "";
    const named = [...shared.matchAll(/= _servers\.demo\.(\w+)$/gm)].map(([, name = ""]) => name);
    expect(named.length).toBe(tools.length);
    for (const name of named) expect(files.get("servers/demo/__init__.pyi")).toContain(`def ${name}(`);
  });

  it("writes the files that each would have alone, and locks them all", async () => {
    const [typescript, python, both] = [
      await plan([TYPESCRIPT_PRINTER]),
      await plan([PYTHON_PRINTER]),
      await plan(BOTH),
    ];
    const alone = new Map([...python.files, ...typescript.files]);
    expect([...both.files.keys()].sort()).toEqual([...alone.keys()].sort());
    for (const [path, text] of both.files)
      if (path !== "ptc.lock.json") expect(text, path).toBe(alone.get(path));
    const locked = [...(both.lock.files?.keys() ?? []), "servers/demo/index.ts", "ptc.lock.json"];
    expect(locked.sort()).toEqual([...alone.keys()].sort());
    expect(both.lock.servers.get("demo")?.moduleSha256).toMatch(/^sha256:/);
    expect(python.lock.servers.get("demo")?.moduleSha256).toBeUndefined();
  });

  it("gives the same bytes again, also where one was turned on or off in between", async () => {
    const typescript = await plan([TYPESCRIPT_PRINTER]);
    const both = await plan(BOTH);
    expect((await plan(BOTH, typescript)).files).toEqual(both.files);
    expect((await plan(BOTH, both)).files).toEqual(both.files);
    expect((await plan([TYPESCRIPT_PRINTER], both)).files).toEqual(typescript.files);
    const otherOrder = await plan([PYTHON_PRINTER, TYPESCRIPT_PRINTER], both);
    for (const [path, text] of both.files)
      if (path !== "ptc.lock.json") expect(otherOrder.files.get(path), path).toBe(text);
  });
});

describe("the program that a model reads before its first", () => {
  const example = (printer: LanguagePrinter, name: string, argument: string) =>
    printer.guide.example({ module: "demo", tool: { name, identifier: name.toUpperCase() }, argument });

  it("calls a tool twice at once in Python, or once where it takes nothing", () => {
    expect(example(PYTHON_PRINTER, "get_issue", "title")).toBe(
      [
        "import asyncio",
        "from servers.demo import get_issue",
        'found = await asyncio.gather(*[get_issue(title=each) for each in ["a", "b"]])',
        "print(str(found)[:500])",
      ].join("\n"),
    );
    expect(example(PYTHON_PRINTER, "get_issue", "")).toBe(
      "from servers.demo import get_issue\nfound = await get_issue()\nprint(str(found)[:500])",
    );
  });

  it("calls a tool for each of several values in TypeScript, or once where it takes nothing", () => {
    const program = (call: string) =>
      [
        'import { GET_ISSUE } from "./servers/demo/index.js";',
        `const found = await ${call};`,
        "console.log(JSON.stringify(found).slice(0, 500));",
      ].join("\n");
    expect(example(TYPESCRIPT_PRINTER, "get_issue", "title")).toBe(
      program('parallel(["a", "b"].map((each) => () => GET_ISSUE({ title: each })), { limit: 5 })'),
    );
    expect(example(TYPESCRIPT_PRINTER, "get_issue", "")).toBe(program("GET_ISSUE({})"));
  });

  it.each(["JSON", "console", "each", "found", "parallel"])(
    "is none in TypeScript where it has another use for the name: %s",
    (identifier) => {
      const call = { module: "demo", tool: { name: "get", identifier }, argument: "a" };
      expect(TYPESCRIPT_PRINTER.guide.example(call)).toBeUndefined();
    },
  );

  it.each([
    ["found", ""],
    ["print", "a"],
    ["get_issue", "class"],
    ["get_issue", "odd-name"],
  ])("is none in Python where names would not do: %s(%s)", (name, argument) => {
    expect(example(PYTHON_PRINTER, name, argument)).toBeUndefined();
  });
});

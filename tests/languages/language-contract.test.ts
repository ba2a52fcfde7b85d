import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildServerModel } from "../../catalog/tool-model.ts";
import {
  type Language,
  openLanguage,
  type RegisteredLanguage,
  type TypecheckMode,
} from "../../languages/language.ts";
import { LANGUAGE_NAMES, LANGUAGES, OpenLanguages } from "../../languages/languages.ts";
import type { ModuleSource } from "../../languages/module-source.ts";
import { PYTHON } from "../../languages/python/language.ts";
import { TYPESCRIPT } from "../../languages/typescript/language.ts";
import { buildFailure } from "../../protocol/failure.ts";
import { listingOf } from "../codegen/list-tools.ts";
import { CAPITALS } from "./capitals.ts";
import { SAMPLE_SERVERS } from "./typescript/type-check/sample-modules.ts";

/** Programs of each language, every one of which holds the text `spoken`. */
interface Samples {
  plain: string;
  /** Uses the server github rightly, and what its bundle then holds beside its text. */
  uses: string;
  holds: string;
  /** Cannot be prepared, whatever is checked. */
  refused: string;
  /** Can be prepared, and has a mistake of types. */
  mistaken: string;
  /** Gives nothing back. */
  lost: string;
}

const SAMPLES: readonly (readonly [RegisteredLanguage, Samples])[] = [
  [
    TYPESCRIPT,
    {
      plain: 'console.log("spoken");',
      uses: 'import { createIssue } from "./servers/github/index.js";\nawait createIssue({ title: "spoken" });',
      holds: "mcp__github__create_issue",
      refused: 'import "./servers/spoken/index.js";',
      mistaken: 'await mcp__github__create_issue({ titel: "spoken" });',
      lost: 'const said = "spoken";',
    },
  ],
  [
    PYTHON,
    {
      plain: 'print("spoken")',
      uses: 'from servers.github import create_issue\ncreate_issue(title="spoken")',
      holds: "mcp__github__create_issue",
      refused: "from servers import spoken",
      mistaken: 'mcp__github__create_issue(titel="spoken")',
      lost: 'said = "spoken"',
    },
  ],
  [
    CAPITALS,
    {
      plain: "spoken",
      uses: "github spoken",
      holds: "create_issue",
      refused: "spoken 2",
      mistaken: "spoken?",
      lost: "spoken",
    },
  ],
];

async function modulesFor(registered: RegisteredLanguage): Promise<ModuleSource> {
  const printer = await registered.loadPrinter();
  const printed = SAMPLE_SERVERS.map(async ({ module, name, tools }) => {
    const { server } = buildServerModel(listingOf(tools, name), module);
    return [module, printer.readModule(module, (await printer.printModule(server)).text)] as const;
  });
  const modules = new Map(await Promise.all(printed));
  return { modules: () => [...modules.keys()], load: async (module) => modules.get(module) };
}

describe.each(SAMPLES)("$title", (registered, samples) => {
  const { names, unnamed, suffixes, interpreters, start, syntax, idioms } = registered;
  let language: Language;
  let modules: ModuleSource;
  beforeAll(async () => {
    language = await openLanguage(registered);
    modules = await modulesFor(registered);
  });
  afterAll(() => language.close());

  const programOf = (code: string) => ({ code, data: {}, ...unnamed });
  const prepare = (code: string, mode: TypecheckMode = "error", earlier?: readonly string[]) =>
    language.prepare(
      programOf(code),
      modules,
      { mode, patienceMs: 60_000 },
      undefined,
      earlier?.map(programOf),
    );

  it("is told by names of its own, by suffixes and by interpreters", async () => {
    const known = [unnamed.language, ...Object.values(suffixes), ...Object.values(interpreters)];
    expect(known.filter((name) => !names.includes(name))).toEqual([]);
    expect(Object.keys(suffixes).some((suffix) => unnamed.fileName.endsWith(suffix))).toBe(true);
    expect(names).toContain((await registered.loadPrinter()).language);
  });

  it("is started with as much memory as it is given, and variables that have values", () => {
    const [program, ...options] = start.command(1_234, 2);
    expect([program, options.join(" ")]).toEqual([
      expect.stringMatching(/./),
      expect.stringContaining("1234"),
    ]);
    expect(start.variables.filter((each) => !/^[A-Z_]+=./.test(each))).toEqual([]);
  });

  it("has patterns of its text that take a character at least", () => {
    for (const pattern of [syntax.comment, syntax.string])
      expect(new RegExp(`^(?:${pattern})$`).test("")).toBe(false);
    expect(syntax.keywords).toMatch(/^\S+(?: \S+)*$/);
  });

  it("knows its own programs", async () => {
    expect(language.looksLike(samples.plain)).toBe(true);
    expect(await language.accepts(samples.plain)).toBe(true);
  });

  it("prepares a program, also of a session, and without a word of its types", async () => {
    for (const [mode, earlier] of [["error"], ["off"], ["warn", [samples.plain]]] as const)
      expect(await prepare(samples.plain, mode, earlier)).toEqual({
        ok: true,
        bundle: expect.stringMatching(/spoken/i),
      });
    expect(await prepare(samples.uses)).toEqual({ ok: true, bundle: expect.stringMatching(/spoken/i) });
  });

  it("gives a program the modules that it uses, and loads no others", async () => {
    const loaded: string[] = [];
    const watched: ModuleSource = {
      ...modules,
      load(name) {
        loaded.push(name);
        return modules.load(name);
      },
    };
    const prepared = await language.prepare(programOf(samples.uses), watched, { mode: "off" });
    expect(prepared).toEqual({ ok: true, bundle: expect.stringContaining(samples.holds) });
    expect([...new Set(loaded)]).toEqual(["github"]);
  });

  it("refuses what it cannot prepare, whatever is checked, and says why in words and as data", async () => {
    for (const mode of ["error", "warn", "off"] as const)
      expect(await prepare(samples.refused, mode)).toEqual({
        ok: false,
        type: "BundleError",
        message: expect.stringMatching(/^program\.[a-z]+(?::\d+)*: .*spoken/),
        reasons: [expect.objectContaining({ code: expect.any(String) })],
      });
  });

  it("stops a program with a mistake of types, warns of it, or does not look", async () => {
    const bundle = expect.stringMatching(/spoken/i);
    const told = expect.stringMatching(/^program\.[a-z]+(?::\d+)*: .*(?:titel|spoken)/);
    expect(await prepare(samples.mistaken)).toEqual({
      ok: false,
      type: "TypeCheckError",
      message: told,
      reasons: [],
    });
    expect(await prepare(samples.mistaken, "warn")).toEqual({ ok: true, bundle, warning: told });
    expect(await prepare(samples.mistaken, "off")).toEqual({ ok: true, bundle });
  });

  it("advises on a value that was lost, in its own words, and is silent where there is none", async () => {
    const lost = await language.advise(
      programOf(samples.lost),
      { ok: true, consoleText: "", isEmpty: true },
      modules,
    );
    expect(lost).toEqual([expect.stringMatching(new RegExp(`${idioms.value}|print it`))]);
    const given = { ok: true, consoleText: "spoken", isEmpty: false } as const;
    expect(await language.advise(programOf(samples.plain), given, modules)).toEqual([]);
    const failed = { ok: false, error: buildFailure("Timeout", "it took too long") } as const;
    expect(await language.advise(programOf(samples.plain), failed, modules)).toEqual([]);
  });

  it("calls a saved program by its name", () => {
    const called = {
      name: "say-it",
      functionName: "sayIt",
      toolName: "say_it",
      code: "",
      digest: "sha256:0",
    };
    expect(registered.callSaved(called)).toMatch(/say-it|sayIt|say_it/);
  });

  it("can be closed more than once", async () => {
    const own = await openLanguage(registered);
    await own.close();
    await expect(own.close()).resolves.toBeUndefined();
  });
});

describe("the languages of a host", () => {
  const REGISTERED = { typescript: TYPESCRIPT, capitals: CAPITALS };
  const opened: string[] = [];
  const noted = (name: keyof typeof REGISTERED): RegisteredLanguage => ({
    ...REGISTERED[name],
    open(processes) {
      opened.push(name);
      return REGISTERED[name].open(processes);
    },
  });
  const registered = { typescript: noted("typescript"), capitals: noted("capitals") };

  it("are all in one table, the one of programs that name none first", () => {
    expect([LANGUAGE_NAMES, LANGUAGES]).toEqual([
      ["typescript", "python"],
      [TYPESCRIPT, PYTHON],
    ]);
  });

  it("are opened when they are needed, once, on or off", async () => {
    const languages = new OpenLanguages<keyof typeof REGISTERED>(["typescript"], {}, registered);
    expect(opened).toEqual([]);
    const [first] = await languages.on();
    expect([first?.title, opened]).toEqual(["TypeScript", ["typescript"]]);
    const [recorded, ...none] = await languages.recorded("shouting");
    expect([recorded?.title, none, opened]).toEqual(["Capitals", [], ["typescript", "capitals"]]);
    expect(await languages.recorded("whispers")).toEqual([]);
    languages.turnOn(["capitals", "typescript"]);
    expect((await languages.on()).map(({ title }) => title)).toEqual(["Capitals", "TypeScript"]);
    expect(opened).toHaveLength(2);
    await languages.close();
  });

  it("are started in advance where that was asked for, each once", async () => {
    const warmed: string[] = [];
    const warming = (title: string): RegisteredLanguage => ({
      ...CAPITALS,
      title,
      open: async (processes) => ({
        ...(await CAPITALS.open(processes)),
        warm: async () => void warmed.push(title),
        close: async () => void warmed.push(`${title} closed`),
      }),
    });
    const languages = new OpenLanguages<"a" | "b">(["a"], {}, { a: warming("A"), b: warming("B") });
    languages.turnOn(["a", "b"]);
    await nextTurn();
    expect(warmed).toEqual([]);
    languages.turnOn(["a"]);
    await languages.warm();
    languages.turnOn(["a", "b"]);
    await languages.warm();
    await languages.warm();
    expect(warmed).toEqual(["A", "B"]);
    await languages.close();
    expect(warmed.slice(2)).toEqual(["A closed", "B closed"]);
  });
});

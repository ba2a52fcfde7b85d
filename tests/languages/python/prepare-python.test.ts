import { describe, expect, it } from "vitest";
import { PYTHON_PRINTER } from "../../../codegen/python/python-printer.ts";
import { planGeneration } from "../../../generation/generate-plan.ts";
import type { ModuleSource } from "../../../languages/module-source.ts";
import { openPython } from "../../../languages/python/python.ts";
import { listingOf } from "../../codegen/list-tools.ts";

const TOOLS = [
  { name: "list_issues", inputSchema: { type: "object", properties: { owner: {}, "per-page": {} } } },
  { name: "get-issue" },
];
const listings = [listingOf(TOOLS, "github"), listingOf([{ name: "send" }], "slack")];
const { files } = await planGeneration({ listings, printers: [PYTHON_PRINTER] });

const source: ModuleSource = {
  modules: () => ["github", "slack"],
  load: async (module) => {
    const text = files.get(PYTHON_PRINTER.modulePath(module));
    return text === undefined ? undefined : PYTHON_PRINTER.readModule(module, text);
  },
};

const checked: string[] = [];
const python = openPython(
  {},
  {
    async check({ code }) {
      checked.push(code);
      return code.includes("wrong") ? { kind: "errors", message: "is wrong", count: 1 } : { kind: "clean" };
    },
    warm: async () => {},
    close: async () => {},
  },
);

const prepare = (code: string, mode: "error" | "warn" | "off" = "error") =>
  python.prepare({ code, data: {}, language: "python", fileName: "report.py" }, source, { mode });
async function bundleOf(code: string) {
  const prepared = await prepare(code);
  if (!prepared.ok) throw new Error(prepared.message);
  return JSON.parse(prepared.bundle) as {
    mode: string;
    source: string;
    file_name: string;
    modules: Record<string, object>;
  };
}

describe("a program in Python", () => {
  it("is sent as it is written, with the names of the modules that it uses", async () => {
    const code = 'from servers.github import list_issues\nprint(list_issues(owner="a"))  # é\n';
    expect(await bundleOf(code)).toMatchObject({
      mode: "sync",
      source: code,
      file_name: "report.py",
      modules: {
        github: {
          list_issues: { tool: "mcp__github__list_issues", parameters: { per_page: "per-page" } },
          get_issue: { tool: "mcp__github__get-issue", parameters: {} },
        },
      },
    });
  });

  it.each([
    ["await f()", "async"],
    ["async def f(): pass", "async"],
    ["print(f'{await f()}')", "async"],
    ["x = 'await' # async", "sync"],
    ["awaited = asynchronous = 1", "sync"],
  ])("waits for its calls itself where it has a word of waiting: %s", async (code, mode) => {
    expect((await bundleOf(code)).mode).toBe(mode);
  });

  it.each([
    ["import servers.github", ["github"]],
    ["import os, servers.github as gh", ["github"]],
    ["from servers.slack import send", ["slack"]],
    ["from servers import github", ["github"]],
    ["from servers import (\n  github as gh,  # this\n  slack,\n)", ["github", "slack"]],
    ["def f():\n    from servers import slack", ["slack"]],
    ["import servers\nservers.slack.send()", ["slack"]],
    ["mcp__github__list_issues(owner='o')", ["github"]],
    ["call_tool('mcp__slack__send', {})", ["slack"]],
    ["import servers\nfor name in dir(servers): print(name)", ["github", "slack"]],
    ["import importlib\nimportlib.import_module('serv' + 'ers.github')", ["github", "slack"]],
    ["from servers import *", ["github", "slack"]],
    ["print('no tools')", []],
  ])("takes the modules that it names, or all: %s", async (code, modules) => {
    expect(Object.keys((await bundleOf(code)).modules)).toEqual(modules);
  });

  it("is refused with line and nearest name where it imports a server that is none", async () => {
    expect(await prepare("import os\nfrom servers.gihub import list_issues\n")).toEqual({
      ok: false,
      type: "BundleError",
      message:
        "report.py:2: there is no server module 'gihub'; did you mean servers.github?\n    from servers.gihub import list_issues",
      reasons: [{ code: "unknown_server", module: "gihub" }],
    });
    expect(await prepare("x = 'import servers.gihub'")).toMatchObject({ ok: true });
    expect(
      await prepare("try:\n    import servers.gihub\nexcept ImportError:\n    print('none')"),
    ).toMatchObject({ ok: true });
  });

  it("has its mistaken imports told by their lines, in order, and the first few of many", async () => {
    const refusal = async (code: string) => {
      const prepared = await prepare(code);
      return prepared.ok ? [] : prepared.message.split("\n").filter((line) => !line.startsWith("  "));
    };
    const code = `from servers import (
    github,
    slak,
)
import os, json, servers.gihub
from servers.nowhere import send; import servers.elsewhere`;
    expect(await refusal(code)).toEqual([
      "report.py:3: there is no server module 'slak'; did you mean servers.slack?",
      "report.py:5: there is no server module 'gihub'; did you mean servers.github?",
      expect.stringMatching(
        /^report\.py:6: .* 'nowhere': a program can import servers\.<name> of github, slack/,
      ),
    ]);
    const many = Array.from({ length: 30 }, (_, n) => `import servers.none${n}`).join("\n");
    const told = await refusal(many);
    expect(told.at(-1)).toBe(`and ${30 - (told.length - 1)} more`);
    expect(told[0]).toContain("report.py:1: there is no server module 'none0'");
  });

  it("runs without a module that is missing, unless it imports it", async () => {
    const modules: ModuleSource = {
      ...source,
      load: async (module) => (module === "slack" ? undefined : source.load(module)),
    };
    const prepareHere = (code: string) =>
      python.prepare({ code, data: {}, language: "python", fileName: "report.py" }, modules, {
        mode: "off",
      });
    const anyway = await prepareHere("import servers\nfor name in dir(servers): print(name)");
    if (!anyway.ok) throw new Error(anyway.message);
    expect(Object.keys(JSON.parse(anyway.bundle).modules)).toEqual(["github"]);
    expect(await prepareHere("from servers.slack import send")).toMatchObject({
      ok: false,
      type: "BundleError",
      message: "servers.slack is missing or was edited; run `ptc generate`",
      reasons: [{ code: "missing_module", module: "slack" }],
    });
  });

  it("is checked where it mentions tools, and runs all the same where mistakes are warnings", async () => {
    checked.length = 0;
    await prepare("print('no tools')");
    expect(checked).toEqual([]);
    const wrong = "mcp__github__list_issues(wrong=1)";
    expect(await prepare(wrong)).toMatchObject({ ok: false, type: "TypeCheckError", message: "is wrong" });
    expect(await prepare(wrong, "warn")).toMatchObject({ ok: true, warning: "is wrong" });
    expect(await prepare(wrong, "off")).not.toHaveProperty("warning");
    expect(checked).toEqual([wrong, wrong]);
  });

  it("learns of a model where it means one that it may ask", async () => {
    const { files: texts } = await planGeneration({
      listings: [listingOf([{ name: "extract" }], "ptc")],
      printers: [PYTHON_PRINTER],
    });
    const withModel = (callable: string[]): ModuleSource => ({
      modules: () => ["ptc"],
      load: async (module) =>
        PYTHON_PRINTER.readModule(
          module,
          texts.get(PYTHON_PRINTER.modulePath(module)) ?? "",
          new Set(callable),
        ),
    });
    const asks = async (code: string, modules: ModuleSource) => {
      const program = { code, data: {}, language: "python", fileName: "report.py" };
      const prepared = await python.prepare(program, modules, { mode: "off" });
      return prepared.ok && (JSON.parse(prepared.bundle) as { extract?: boolean }).extract === true;
    };
    const allowed = withModel(["mcp__ptc__extract"]);
    expect(await asks("print(extract('x', str))", allowed)).toBe(true);
    expect(await asks("print(1)", allowed)).toBe(false);
    expect(await asks("print(extract('x', str))", withModel([]))).toBe(false);
    expect(await asks("print(extract('x', str))", source)).toBe(false);
    expect(texts.get("__builtins__.pyi")).toContain("async def extract[T](value: Any, type: type[T]) -> T:");
    expect(files.get("__builtins__.pyi")).not.toContain("extract");
  });
});

it("refuses a program that imports a saved one of another language, and no other that has its name", async () => {
  const others = [{ identifier: "report", fileName: "programs/report.ts", title: "TypeScript" }];
  const saving = { ...source, saved: { load: async () => undefined, others } };
  const messageOf = async (code: string) => {
    const program = { code, data: {}, language: "python", fileName: "a.py" };
    const prepared = await python.prepare(program, saving, { mode: "off" });
    return prepared.ok ? undefined : prepared.message;
  };
  expect(await messageOf("from servers.programs import (\n  report,\n)\nreport()")).toBe(
    "a.py: 'report' is programs/report.ts, which only programs in TypeScript can call: a saved program runs where its caller runs",
  );
  expect(await messageOf("report = 'from servers import programs'")).toBeUndefined();
  expect(await messageOf("from programs import *\nreport = 1")).toBeUndefined();
});

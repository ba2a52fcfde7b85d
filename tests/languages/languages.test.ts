import { duplexPair } from "node:stream";
import { describe, expect, it } from "vitest";
import type { GeneratedModule } from "../../codegen/language-printer.ts";
import { executeProgram } from "../../execution/program.ts";
import type { RunReport } from "../../execution/record/run-recorder.ts";
import { openLanguage, type TypecheckMode } from "../../languages/language.ts";
import {
  isLanguage,
  isSameLanguage,
  languageNamed,
  languageOfFile,
  languageOfInterpreter,
  programSuffixes,
  runnerOf,
  unnamedProgram,
  whyNotOn,
} from "../../languages/languages.ts";
import { encodeFrame, FrameDecoder } from "../../protocol/frames.ts";
import { PROTOCOL_VERSION } from "../../protocol/limits.ts";
import type { HostMessage } from "../../protocol/messages.ts";
import type { SandboxOutput } from "../../sandbox/sandbox.ts";
import { Redactor } from "../../secrets/redaction.ts";
import type { ProgramParts } from "../execution/program-parts.ts";
import { CAPITALS } from "./capitals.ts";

const LIMITS = {
  timeoutMs: 60_000,
  maxOutputBytes: 65_536,
  maxStderrBytes: 65_536,
  maxParallelCalls: 1,
  maxToolCalls: 1,
};

const MODULE: GeneratedModule = { text: "MODULE A", archived: "MODULE A, SOME OF IT NOT FOR ALL", tools: [] };

/** A sandbox whose runner answers with the bundle that it was sent. */
function echoSandbox(runner: string, output: SandboxOutput) {
  const [channel, inside] = duplexPair();
  const decoder = new FrameDecoder(1_000_000);
  const send = (message: object) => inside.write(encodeFrame(message, 1_000_000));
  inside.on("data", (chunk: Buffer) => {
    for (const payload of decoder.push(chunk)) {
      const message = JSON.parse(payload.toString()) as HostMessage;
      if (message.type !== "program") continue;
      const claim = Buffer.from(`${JSON.stringify({ ok: true, data: message.bundle, from: "result" })}\n`);
      output.onStdout(claim);
      send({ type: "done", bytes: claim.length, console_bytes: 0 });
    }
  });
  let end = (_: { code: number }) => {};
  const exited = new Promise<{ code: number }>((resolve) => {
    end = resolve;
  });
  send({ type: "hello", protocol: PROTOCOL_VERSION, language: runner, runtime: "1" });
  const kill = async () => end({ code: 137 });
  return { id: "1", image: `sha256:${"0".repeat(64)}`, channel, exited, kill, dispose: kill };
}

async function execute(
  code: string,
  { language = "capitals", runner = "python", typecheck = "off" as TypecheckMode } = {},
) {
  let report: RunReport | undefined;
  const parts: ProgramParts = {
    sandboxes: { acquire: async (output) => echoSandbox(runner, output) },
    languages: [await openLanguage(CAPITALS)],
    modules: { modules: () => ["a", "b"], load: async () => MODULE },
    dispatcher: { dispatch: () => Promise.reject(new Error("nobody calls")) },
    approver: { ask: async () => ({ decision: "denied", by: "nobody" }) },
    redactor: new Redactor(["correct-horse-battery"]),
    recorder: {
      begin: () => ({
        async end(ended) {
          report = ended;
          return undefined;
        },
      }),
    },
    clock: { monotonicMs: () => performance.now() },
    toolVersion: "0",
  };
  const program = { code, data: {}, language, fileName: "program.up" };
  const { signal } = new AbortController();
  const executed = await executeProgram({ ...parts, program, limits: LIMITS, typecheck, signal });
  await executed.cleared;
  return { ...executed, result: executed.envelope.result, report };
}

describe("a program in any language", () => {
  it.each(["capitals", "shouting"])("is prepared by the language that it names, %s", async (language) => {
    const { result, report } = await execute("hello", { language });
    expect(result).toMatchObject({ ok: true, data: "HELLO" });
    expect(report).toMatchObject({ bundle: "HELLO", program: { language, code: "hello" } });
  });

  it("comes without its fences", async () => {
    expect((await execute("```\nhello\n```")).result).toMatchObject({ ok: true, data: "\nHELLO\n" });
  });

  it("gets the modules that it asks for; those are archived, with what was not for it", async () => {
    const { result, report } = await execute("a b");
    expect(result).toMatchObject({ ok: true, data: "A B WITH MODULE A" });
    expect(report?.modules).toEqual(new Map([["a", MODULE.archived]]));
    expect((await execute("c")).report?.modules).toEqual(new Map());
  });

  it("fails as its language says, and warns as it says, without secrets", async () => {
    expect((await execute("correct-horse-battery 2")).result).toMatchObject({
      ok: false,
      error: {
        type: "BundleError",
        message: expect.stringMatching(/^program\.up: digits have no capitals: (?!correct)/),
      },
    });
    const { result, typeWarning } = await execute("correct-horse-battery?", { typecheck: "warn" });
    expect(result).toMatchObject({ ok: true });
    expect(typeWarning).toMatch(/^program\.up: not sure: (?!correct)/);
  });

  it("does not run when nobody knows its language, nor where another runner waits", async () => {
    expect((await execute("hello", { language: "whispers" })).result).toMatchObject({
      ok: false,
      error: {
        type: "BundleError",
        message: "there is no language 'whispers'; programs are in capitals, shouting",
      },
    });
    expect((await execute("hello", { runner: "javascript" })).result).toMatchObject({
      ok: false,
      error: {
        type: "SandboxUnavailable",
        message: "the sandbox runs 'javascript' and not 'python'",
      },
    });
  });
});

describe("the language of a program", () => {
  it.each([
    ["#!/usr/bin/env python3", "python"],
    ["#!/usr/bin/env python3.12\nprint(1)", "python"],
    ["#!/usr/bin/env -S deno run", "typescript"],
    ["#!/usr/bin/env\t-S\tbun", "typescript"],
    ["#!/usr/bin/env \t -S \t tsx", "typescript"],
    ["#!/usr/bin/py3thon", undefined],
    ["#!  /usr/bin/node", "javascript"],
    ["#!/usr/bin/node --test", "javascript"],
    ["#!pypy3", "python"],
    ["#!tsx", "typescript"],
    ["#!/bin/sh python", undefined],
    ["#!/usr/bin/env", undefined],
    ["#!/usr/bin/env ruby", undefined],
    ["#!/usr/bin/env constructor", undefined],
    ["#!/opt/python/ruby", undefined],
    ["#!", undefined],
    ["", undefined],
    ["print(1)\n#!/usr/bin/python", undefined],
    [" #!/usr/bin/python", undefined],
  ])("is that of the interpreter in its first line: %j, %s", (code, language) => {
    expect(languageOfInterpreter(code)).toBe(language);
  });

  it.each([
    ["a.py", "python"],
    ["A.PY", "python"],
    ["a.b/c.d.mts", "typescript"],
    ["a.mjs", "javascript"],
    ["a.ts.txt", undefined],
    [".py", undefined],
    ["py", undefined],
    ["", undefined],
  ])("is that of its file's suffix: %j, %s", (file, language) => {
    expect(languageOfFile(file)).toBe(language);
  });

  it.each([
    ["python", "python"],
    [" Python ", "python"],
    [" TypeScript\n", "typescript"],
    ["JavaScript", "javascript"],
    ["py", "python"],
    ["python3", "python"],
    ["mjs", "javascript"],
    ["Node", "javascript"],
    ["ruby", undefined],
    ["toString", undefined],
    ["", undefined],
  ])("is what people mean by its name: %j, %s", (name, language) => {
    expect(languageNamed(name)).toBe(language);
  });

  it("is told apart from others, and from none", () => {
    expect(isSameLanguage("typescript", "javascript")).toBe(true);
    expect(isSameLanguage("typescript", "python")).toBe(false);
    expect(isSameLanguage("ruby", "ruby")).toBe(false);
    expect([isLanguage("javascript"), isLanguage("ruby")]).toEqual([true, false]);
  });

  it("is off until ptc.yaml has it, which a message says", () => {
    expect(whyNotOn("javascript", ["typescript"])).toBeUndefined();
    expect(whyNotOn("python", ["typescript", "python"])).toBeUndefined();
    expect(whyNotOn("python", ["typescript"])).toBe(
      "Python is off; add `languages: [typescript, python]` to ptc.yaml",
    );
    expect(whyNotOn("ruby", ["python"])).toBe("there is no language 'ruby'; programs are in python");
    expect(whyNotOn("ruby", ["typescript", "python"])).toBe(
      "there is no language 'ruby'; programs are in typescript, javascript, python",
    );
  });

  it("says how its files end, what runs it, and what a program without a name is", () => {
    expect(programSuffixes(["python", "typescript"])).toEqual([".py", ".ts", ".mts", ".js", ".mjs"]);
    expect([runnerOf("python"), runnerOf("javascript"), runnerOf("ruby")]).toEqual([
      "python",
      runnerOf("typescript"),
      runnerOf("typescript"),
    ]);
    expect(unnamedProgram(["python", "typescript"])).toEqual({
      language: "python",
      fileName: "program.py",
    });
    expect(unnamedProgram([])).toEqual({ language: "typescript", fileName: "program.ts" });
  });
});

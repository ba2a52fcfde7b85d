import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import type { ApprovalQuestion } from "../../../../library/ptc.ts";
import { useNoWalls, usePtcOfFile } from "../../../library/open.ts";
import { anew } from "../anew.ts";
import { useNoHaste } from "../patient.ts";
import { PROGRAMS, type SuiteProgram } from "./programs.ts";
import { world } from "./world.ts";

useNoWalls();
useNoHaste();

const { tools, begin } = anew({ make: world, first: [] });
const opened = usePtcOfFile({
  tools,
  config: { approvals: { mode: "plan" }, sandbox: { warm: 0 }, languages: ["typescript", "python"] },
});

const EXPECTED = join(import.meta.dirname, "expected.yaml");
/** Writes what came out instead of comparing it, for a person to read. */
const WRITES = process.env.PTC_WRITE_PLANS === "1";

interface Came {
  /** The calls of the first plan, with when each is made and how often again. `*` marks one that the answer cannot approve. */
  plan: string[];
  /** What else the first plan says. */
  more?: string;
  /** The calls that were asked about. */
  asked: string[];
  /** The changes that were made. */
  made: string[];
}

const expected = (existsSync(EXPECTED) ? parse(readFileSync(EXPECTED, "utf8")) : {}) as Record<string, Came>;
const came: Record<string, Came> = {};
const keyOf = ({ shape, name, language }: SuiteProgram) =>
  `${shape}: ${name}${language === undefined ? "" : " (Python)"}`;

const told = (tool: string, args: unknown) =>
  `${tool.replace("mcp__functions__", "")} ${JSON.stringify(args).replaceAll("mcp__functions__", "")}`;

/** An approved call: its arguments, in which a text in angle brackets stands for one that comes. */
interface Approved {
  tool: string;
  pattern: RegExp;
}

function approvedCall(tool: string, args: unknown): Approved {
  const text = told(tool, args).replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return { tool, pattern: new RegExp(`^${text.replaceAll(/"?<[^<>]*>"?/g, ".+?")}$`) };
}

const AGAIN = "again once if it fails";

interface Counts {
  shape: string;
  before: number;
  after: number;
  planned: number;
  known: number;
  /** The calls that pass on what only a change, or a read after one, answers. */
  later: number;
  bound: number;
  outside: number;
  ended: boolean;
}
const counts: Counts[] = [];

async function runProgram(program: SuiteProgram): Promise<Came> {
  const made = begin();
  const questions: ApprovalQuestion[] = [];
  const approved: Approved[] = [];
  const code = program.code.replaceAll(
    new RegExp(`(?<![\\w.])(${Object.keys(tools).join("|")})\\(`, "g"),
    "mcp__functions__$1(",
  );
  const run = await opened().run(code, {
    language: program.language ?? "typescript",
    typecheck: "off",
    approve: (question) => {
      questions.push(question);
      const { plan, tool, arguments: args } = question;
      const isFirst = questions.length === 1;
      if (plan === undefined) {
        approved.push(approvedCall(tool, args));
        return { allow: true };
      }
      const approvable = plan.calls.filter(({ isApprovable }) => isApprovable);
      const chosen = approvable.filter(
        ({ number }) => !isFirst || program.allow === undefined || program.allow.includes(number),
      );
      for (const call of chosen) {
        const times = call.notes.includes(AGAIN) ? 2 : 1;
        approved.push(...Array.from({ length: times }, () => approvedCall(call.tool, call.arguments)));
      }
      return chosen.length === 0
        ? { allow: false, for: "plan" }
        : { allow: true, for: "plan", calls: chosen.map(({ number }) => number) };
    },
  });
  const asking = run.calls.filter(({ decision }) => /^approved|^denied/.test(decision));
  const plan = questions[0]?.plan?.calls ?? [];
  const isOpen = (args: unknown) => /<(?:[^<>]* what call|from |decided)[^<>]*>/.test(JSON.stringify(args));
  const isLater = (args: unknown) => /<(?:[^<>]* what call|from )[^<>]*>/.test(JSON.stringify(args));
  const planned = plan.filter(({ notes }) => !notes.some((note) => note.includes("no approval is needed")));
  counts.push({
    ...{ shape: program.shape, before: asking.length, after: questions.length, planned: planned.length },
    known: planned.filter((call) => !isOpen(call.arguments)).length,
    later: planned.filter((call) => isLater(call.arguments)).length,
    bound: planned.filter(({ isApprovable }) => isApprovable).length,
    outside: outsideOf(
      approved,
      made.filter(({ tool }) => tool !== "log"),
    ),
    ended: run.ok,
  });
  const more = questions[0]?.plan?.more;
  return {
    plan: plan.map((call) =>
      [
        `${told(call.tool, call.arguments)}${call.isApprovable ? "" : " *"}`,
        ...call.notes.filter((note) => note === AGAIN || note.startsWith("only if ")),
      ].join(", "),
    ),
    ...(more === undefined ? {} : { more }),
    asked: questions.map(({ tool, arguments: args }) => told(tool, args)),
    made: made.map(({ tool, arguments: args }) => told(tool, args)),
  };
}

/** How many changes were made that nobody has approved. Each approval counts once. */
function outsideOf(
  approved: readonly Approved[],
  made: readonly { tool: string; arguments: unknown }[],
): number {
  const left = [...approved];
  let outside = 0;
  for (const { tool, arguments: args } of made) {
    const at = left.findIndex(({ pattern }) => pattern.test(told(tool, args)));
    if (at < 0) outside++;
    else left.splice(at, 1);
  }
  return outside;
}

/** Without what differs from run to run. */
function steady(value: Came): Came {
  const text = JSON.stringify(value).replaceAll(/at \d+(?:\.\d+)?|(?<=text\\":\\")\d{6,}/g, "at <now>");
  return JSON.parse(text) as Came;
}

describe("the plan of a program", () => {
  test.each(PROGRAMS.map((program) => [keyOf(program), program] as const))("%s", async (key, program) => {
    const found = steady(await runProgram(program));
    came[key] = found;
    if (!WRITES) expect(found).toEqual(expected[key]);
    expect(counts.at(-1)?.outside).toBe(0);
  });
});

const HARDER = new Set(["code by mail", "id of a file", "cart and order"]);
/** Their programs have more questions by their nature: the person is to see what they do otherwise. */
const ODD = new Set(["retry", "time", "branch", "denied", "unstable"]);

afterAll(() => {
  if (WRITES) writeFileSync(EXPECTED, stringify(came, { lineWidth: 0 }));
  const groups: [string, Counts[]][] = [
    ["all", counts],
    ["all but hostile", counts.filter(({ shape }) => shape !== "hostile")],
    [
      "whose plan can be whole",
      counts.filter(({ shape }) => ![ODD, HARDER, new Set(["hostile"])].some((some) => some.has(shape))),
    ],
    ["codes, files, carts", counts.filter(({ shape }) => HARDER.has(shape))],
    ["branches, retries, time, denied, unstable", counts.filter(({ shape }) => ODD.has(shape))],
    ["hostile", counts.filter(({ shape }) => shape === "hostile")],
  ];
  const sum = (
    of: Counts[],
    what: "before" | "after" | "planned" | "known" | "later" | "bound" | "outside",
  ) => of.reduce((total, each) => total + each[what], 0);
  const lines = groups.map(([name, of]) => {
    const each = (what: "before" | "after") => (sum(of, what) / of.length).toFixed(2);
    const share = (what: "known" | "bound") => `${((100 * sum(of, what)) / sum(of, "planned")).toFixed(0)} %`;
    const there = sum(of, "planned") - sum(of, "later");
    return `${name}: ${of.length} programs, questions ${each("before")} -> ${each("after")}, arguments known ${share("known")} of ${sum(of, "planned")} calls and ${((100 * sum(of, "known")) / there).toFixed(0)} % of the ${there} that pass on nothing which is there only later, known or bound ${share("bound")}, outside ${sum(of, "outside")}`;
  });
  process.stdout.write(`${lines.join("\n")}\n`);
});

test("the table has what came of each program, and nothing else", () => {
  if (WRITES) return;
  expect(Object.keys(expected)).toEqual(PROGRAMS.map(keyOf));
  expect(PROGRAMS.length).toBeGreaterThanOrEqual(80);
});
